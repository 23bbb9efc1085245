#include <aorta/cuda/nccl.h>

#include <string>

namespace aorta::cuda {
namespace {

// The first that there is for CUDA 13; calls that don't block are older.
constexpr int kOldest = 22700;
const char* const kName = "libnccl.so.2";

// 22809 is 2.28.9.
std::string version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

}  // namespace

NcclLibrary find_nccl(SharedLibrary shared) {
  NcclLibrary library;
  NcclCalls& calls = library.calls;
  shared.find(calls.get_version, "ncclGetVersion");
  shared.find(calls.get_error_string, "ncclGetErrorString");
  shared.find(calls.get_last_error, "ncclGetLastError");
  shared.find(calls.get_unique_id, "ncclGetUniqueId");
  shared.find(calls.init_rank, "ncclCommInitRankConfig");
  shared.find(calls.get_async_error, "ncclCommGetAsyncError");
  shared.find(calls.finalize, "ncclCommFinalize");
  shared.find(calls.destroy, "ncclCommDestroy");
  shared.find(calls.abort, "ncclCommAbort");
  shared.find(calls.all_reduce, "ncclAllReduce");
  shared.find(calls.broadcast, "ncclBroadcast");
  shared.find(calls.all_gather, "ncclAllGather");
  shared.find(calls.reduce_scatter, "ncclReduceScatter");
  int version = 0;
  if (calls.get_version && calls.get_version(&version) != ncclSuccess) version = 0;
  if (version > 0 && version < kOldest) {
    library.state.problem =
        "NCCL " + version_text(version) + " is too old: " + version_text(kOldest) + " is needed";
  } else if (!shared.problem().empty()) {
    library.state.problem = shared.problem();
  } else if (version == 0) {
    library.state.problem = kName;
    library.state.problem.append(" doesn't tell its version");
  } else {
    library.state.version = version;
  }
  return library;
}

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = find_nccl(SharedLibrary(kName, "ncclCommInitRankConfig"));
  return library;
}

}  // namespace aorta::cuda
