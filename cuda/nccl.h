#pragma once

// NCCL, found where the program runs: the plugin loads without it.

#include <aorta/core/device_backend.h>
#include <aorta/cuda/shared_library.h>

#include <nccl.h>

namespace aorta::cuda {

/// The functions of NCCL that this room calls.
struct NcclCalls {
  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) get_async_error = nullptr;
  decltype(&ncclCommFinalize) finalize = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
};

/// The calls, or why they can't be made.
struct NcclLibrary {
  NcclCalls calls;
  DeviceLibrary state;
};

NcclLibrary find_nccl(SharedLibrary library);

/// That of this process: the NCCL that the program has loaded, else libnccl.so.2, looked for once.
const NcclLibrary& nccl_library();

}  // namespace aorta::cuda
