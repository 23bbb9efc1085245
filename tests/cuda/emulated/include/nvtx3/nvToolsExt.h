#pragma once

// The part of NVTX that cuda/tool_ranges.cc uses, declared by us; see cuda_runtime.h. NVTX hands
// the calls to a tool that listens: here that is the double.

#include <cstdint>

#define NVTX_VERSION 3
#define NVTX_MESSAGE_TYPE_ASCII 1

using nvtxDomainHandle_t = struct nvtxDomainRegistration_st*;

union nvtxMessageValue_t {
  const char* ascii;
  const wchar_t* unicode;
  struct nvtxStringRegistration_st* registered;
};
struct nvtxEventAttributes_v2 {
  uint16_t version, size;
  uint32_t category;
  int32_t colorType;
  uint32_t color;
  int32_t payloadType, reserved0;
  union payload_t {
    uint64_t ullValue;
    int64_t llValue;
    double dValue;
    uint32_t uiValue;
    int32_t iValue;
    float fValue;
  } payload;
  int32_t messageType;
  nvtxMessageValue_t message;
};
using nvtxEventAttributes_t = nvtxEventAttributes_v2;

extern "C" {
nvtxDomainHandle_t nvtxDomainCreateA(const char* name);
int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* range);
int nvtxDomainRangePop(nvtxDomainHandle_t domain);
}
