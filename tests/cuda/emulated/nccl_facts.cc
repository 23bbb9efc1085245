// What nccl.h says of NCCL's names, ours and the toolkit's; apart, for it includes all of the
// runtime.
#if !defined(AORTA_TOOLKIT) || __has_include(<nccl.h>)
#include <nccl.h>
#define AORTA_HAS_NCCL
#endif

#include <aorta/tests/cuda/emulated/fact_macros.h>
#include <aorta/tests/cuda/emulated/header_facts.h>

#include <cstddef>
#include <type_traits>

namespace aorta::emulated {

std::map<std::string, std::string> AORTA_NCCL_FACTS() {
  return {
#ifdef AORTA_HAS_NCCL
      // clang-format off
VALUE(ncclSuccess)
VALUE(ncclUnhandledCudaError)
VALUE(ncclSystemError)
VALUE(ncclInternalError)
VALUE(ncclInvalidArgument)
VALUE(ncclInvalidUsage)
VALUE(ncclRemoteError)
VALUE(ncclInProgress)
VALUE(ncclNumResults)
VALUE(ncclSum)
VALUE(ncclProd)
VALUE(ncclMax)
VALUE(ncclMin)
VALUE(ncclAvg)
VALUE(ncclNumOps)
VALUE(ncclMaxRedOp)
VALUE(ncclInt8)
VALUE(ncclUint8)
VALUE(ncclInt32)
VALUE(ncclUint32)
VALUE(ncclInt64)
VALUE(ncclUint64)
VALUE(ncclFloat16)
VALUE(ncclFloat32)
VALUE(ncclFloat64)
VALUE(ncclBfloat16)
VALUE(ncclFloat8e4m3)
VALUE(ncclFloat8e5m2)
VALUE(ncclNumTypes)
VALUE(NCCL_UNIQUE_ID_BYTES)
VALUE(NCCL_CONFIG_UNDEF_INT)
VALUE(NCCL_VERSION_CODE)
VALUE(ncclConfig_t(NCCL_CONFIG_INITIALIZER).magic)
VALUE(ncclConfig_t(NCCL_CONFIG_INITIALIZER).version)
SIZE(ncclRedOp_t)
SIZE(ncclUniqueId)
SIZE(ncclConfig_t)
PLACE(ncclConfig_t, magic)
PLACE(ncclConfig_t, version)
PLACE(ncclConfig_t, blocking)
PLACE(ncclConfig_t, netName)
PLACE(ncclConfig_t, commName)
PLACE(ncclConfig_t, nvlinkCentricSched)
CALL(cudaDeviceGetPCIBusId)
CALL(ncclGetVersion)
CALL(ncclGetUniqueId)
CALL(ncclGetErrorString)
CALL(ncclGetLastError)
CALL(ncclCommInitAll)
CALL(ncclCommInitRank)
CALL(ncclCommFinalize)
CALL(ncclCommDestroy)
CALL(ncclCommAbort)
CALL(ncclCommGetAsyncError)
CALL(ncclCommCount)
CALL(ncclCommCuDevice)
CALL(ncclCommUserRank)
CALL(ncclGroupStart)
CALL(ncclGroupEnd)
CALL(ncclAllReduce)
CALL(ncclReduce)
CALL(ncclBroadcast)
CALL(ncclReduceScatter)
CALL(ncclAllGather)
CALL(ncclSend)
CALL(ncclRecv)
{"ncclCommInitRankConfig", std::to_string(std::is_same_v<decltype(&ncclCommInitRankConfig),
    ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*)>)},
  // clang-format on
#endif
  };
}

}  // namespace aorta::emulated
