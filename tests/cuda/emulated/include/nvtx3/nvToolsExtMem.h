#pragma once

// The part of NVTX's memory API that cuda/memory_marks.cc uses, declared by us; see cuda_runtime.h.
// NVTX hands the calls to a tool that listens: here that is the double.

#include <nvtx3/nvToolsExt.h>

#include <cstddef>
#include <cstdint>

#define NVTX_EXT_COMPATID_MEM 0x0102
#define NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR 0x1
#define NVTX_MEM_TYPE_VIRTUAL_ADDRESS 0x1
#define NVTX_MEM_REGION_REF_TYPE_POINTER 0x1

using nvtxMemHeapHandle_t = struct nvtxMemHeap_v1*;
using nvtxMemRegionHandle_t = struct nvtxMemRegion_v1*;

union nvtxMemRegionRef_t {
  const void* pointer;
  nvtxMemRegionHandle_t handle;
};
struct nvtxMemVirtualRangeDesc_v1 {
  size_t size;
  const void* ptr;
};
struct nvtxMemHeapDesc_v1 {
  uint16_t extCompatID, structSize;
  uint32_t reserved0, usage, type;
  size_t typeSpecificDescSize;
  const void* typeSpecificDesc;
  uint32_t category, messageType;
  nvtxMessageValue_t message;
};
struct nvtxMemRegionsRegisterBatch_v1 {
  uint16_t extCompatID, structSize;
  uint32_t regionType;
  nvtxMemHeapHandle_t heap;
  size_t regionCount, regionDescElementSize;
  const void* regionDescElements;
  nvtxMemRegionHandle_t* regionHandleElementsOut;
};
struct nvtxMemRegionsUnregisterBatch_v1 {
  uint16_t extCompatID, structSize;
  uint32_t refType;
  size_t refCount, refElementSize;
  const nvtxMemRegionRef_t* refElements;
};
using nvtxMemVirtualRangeDesc_t = nvtxMemVirtualRangeDesc_v1;
using nvtxMemHeapDesc_t = nvtxMemHeapDesc_v1;
using nvtxMemRegionsRegisterBatch_t = nvtxMemRegionsRegisterBatch_v1;
using nvtxMemRegionsUnregisterBatch_t = nvtxMemRegionsUnregisterBatch_v1;

extern "C" {
nvtxMemHeapHandle_t nvtxMemHeapRegister(nvtxDomainHandle_t domain, const nvtxMemHeapDesc_t* heap);
void nvtxMemHeapUnregister(nvtxDomainHandle_t domain, nvtxMemHeapHandle_t heap);
void nvtxMemRegionsRegister(nvtxDomainHandle_t domain, const nvtxMemRegionsRegisterBatch_t* batch);
void nvtxMemRegionsUnregister(nvtxDomainHandle_t domain,
                              const nvtxMemRegionsUnregisterBatch_t* batch);
}
