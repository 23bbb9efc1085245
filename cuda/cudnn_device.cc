#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/resource_error.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/cudnn_device.h>

#include <map>
#include <mutex>
#include <string>

namespace aorta::cuda {
namespace {

constexpr size_t kMostEngines = 4096;

/// What the process has of cuDNN on one GPU. A handle is used by one thread at a time. Never
/// destroyed.
struct DeviceCudnn {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::vector<int64_t>, std::shared_ptr<const CudnnEngine>> engines;
};

DeviceCudnn& state_of(int device) {
  static auto* const all = new DeviceCudnn[kMaxDevices];
  return all[device];
}

/// Null for none. The lock is held, and the device is current.
std::shared_ptr<const CudnnEngine> engine_for(DeviceCudnn& state, const CudnnCall& call) {
  if (const auto known = state.engines.find(call.key); known != state.engines.end())
    return known->second;
  std::shared_ptr<const CudnnEngine> engine = call.find(state.handle);
  if (state.engines.size() >= kMostEngines) state.engines.clear();
  return state.engines[call.key] = std::move(engine);
}

}  // namespace

bool run_by_cudnn(const CudnnCall& call) {
  const char* const op = call.op;
  const cudaStream_t stream = current_stream(call.device);
  {
    DeviceCudnn& state = state_of(call.device);
    const std::lock_guard lock(state.mutex);
    if (!state.handle) check_cudnn(cudnn_library().calls.create(&state.handle), op);
    check_cudnn(cudnn_library().calls.set_stream(state.handle, stream), op);
    const std::shared_ptr<const CudnnEngine> engine = engine_for(state, call);
    if (!engine) return false;
    const ProfilerRange range("cuDNN", {}, (" engine " + std::to_string(engine->index())).c_str());
    const DeviceWork work(op, DeviceType::cuda, stream);
    try {
      call.queue(*engine, state.handle);
    } catch (const ResourceError&) {  // our kernels need less
      return false;
    }
  }
  check_finished(op, stream);
  return true;
}

}  // namespace aorta::cuda
