#include <aorta/cuda/nccl.h>

#include <dlfcn.h>

#include <string>
#include <type_traits>

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

NcclLibrary find_nccl(void* (*symbol)(void* context, const char* name), void* context) {
  NcclLibrary library;
  NcclCalls& calls = library.calls;
  const char* missing = nullptr;
  const auto find = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(symbol(context, name));
    if (!call && !missing) missing = name;
  };
  find(calls.get_version, "ncclGetVersion");
  find(calls.get_error_string, "ncclGetErrorString");
  find(calls.get_last_error, "ncclGetLastError");
  find(calls.get_unique_id, "ncclGetUniqueId");
  find(calls.init_rank, "ncclCommInitRankConfig");
  find(calls.get_async_error, "ncclCommGetAsyncError");
  find(calls.finalize, "ncclCommFinalize");
  find(calls.destroy, "ncclCommDestroy");
  find(calls.abort, "ncclCommAbort");
  find(calls.all_reduce, "ncclAllReduce");
  find(calls.broadcast, "ncclBroadcast");
  find(calls.all_gather, "ncclAllGather");
  find(calls.reduce_scatter, "ncclReduceScatter");
  int version = 0;
  if (calls.get_version && calls.get_version(&version) != ncclSuccess) version = 0;
  if (version > 0 && version < kOldest) {
    library.state.problem =
        "NCCL " + version_text(version) + " is too old: " + version_text(kOldest) + " is needed";
  } else if (missing) {
    library.state.problem = kName;
    library.state.problem.append(" has no ").append(missing);
  } else if (version == 0) {
    library.state.problem = kName;
    library.state.problem.append(" doesn't tell its version");
  } else {
    library.state.version = version;
  }
  return library;
}

const NcclLibrary& nccl_library() {
  static const NcclLibrary library = [] {
    void* scope = RTLD_DEFAULT;
    if (!dlsym(scope, "ncclCommInitRankConfig")) {
      scope = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
      if (!scope) return NcclLibrary{{}, {.version = 0, .problem = dlerror()}};
    }
    return find_nccl([](void* handle, const char* name) { return dlsym(handle, name); }, scope);
  }();
  return library;
}

}  // namespace aorta::cuda
