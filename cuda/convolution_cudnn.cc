#include <aorta/core/check.h>
#include <aorta/core/clock.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/resource_error.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/convolution_cudnn.h>
#include <aorta/cuda/convolution_graph.h>
#include <aorta/cuda/gemm_plan.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>

namespace aorta::cuda {
namespace {

using kernel::ConvolutionArgs;

constexpr size_t kMostEngines = 4096;
constexpr size_t kTimedEngines = 8;
constexpr int kTimedRuns = 3;
constexpr int64_t kFresh = 256;  // how memory of the allocator's is aligned

/// What the process has of cuDNN on one GPU. A handle is used by one thread at a time. Never
/// destroyed.
struct DeviceCudnn {
  std::mutex mutex;
  cudnnHandle_t handle = nullptr;
  std::map<std::vector<int64_t>, std::shared_ptr<const ConvolutionEngine>> engines;
};

DeviceCudnn& state_of(int device) {
  static auto* const all = new DeviceCudnn[kMaxDevices];
  return all[device];
}

/// A call: what an engine computes from what, and where.
struct Call {
  const char* op;
  const ConvolutionArgs& args;
  const void* w;
  int device;

  /// Queues it. The lock is held, and the handle has the current stream.
  void run(const ConvolutionEngine& engine, cudnnHandle_t handle) const {
    const Workspace workspace(engine.workspace(), device);
    engine.run(args, w, workspace.data(), handle, op);
  }

  /// Seconds of the fastest of some runs. One that can't run is never the fastest.
  double time(const ConvolutionEngine& engine, cudnnHandle_t handle) const {
    const cudaStream_t stream = current_stream(device);
    const BesideCaptures beside;
    double fastest = std::numeric_limits<double>::infinity();
    for (int i = 0; i < kTimedRuns; ++i) {
      check_cuda(cudaStreamSynchronize(stream), op);
      const double start = seconds_now();
      run(engine, handle);
      check_cuda(cudaStreamSynchronize(stream), op);
      fastest = std::min(fastest, seconds_now() - start);
    }
    return fastest;
  }
};

std::shared_ptr<const ConvolutionEngine> fastest_engine(const ConvolutionProblem& problem,
                                                        cudnnHandle_t handle, const Call& call) {
  std::shared_ptr<const ConvolutionEngine> best;
  double seconds = std::numeric_limits<double>::infinity();
  for (auto& engine :
       ConvolutionEngine::find_some(problem, {.handle = handle}, call.op, kTimedEngines)) {
    double taken = 0;
    try {
      taken = call.time(*engine, handle);
    } catch (const ResourceError&) {  // no room for its workspace
      continue;
    }
    if (best && taken >= seconds) continue;
    seconds = taken;
    best = std::move(engine);
  }
  return best;
}

/// The engine for a problem, looked for when it is new; null for none. The lock is held, and the
/// device is current.
std::shared_ptr<const ConvolutionEngine> engine_for(DeviceCudnn& state,
                                                    const ConvolutionProblem& problem,
                                                    const Call& call) {
  std::vector<int64_t> key = problem.key();
  if (const auto known = state.engines.find(key); known != state.engines.end())
    return known->second;
  std::shared_ptr<const ConvolutionEngine> engine =
      problem.timed ? fastest_engine(problem, state.handle, call)
                    : ConvolutionEngine::find(problem, {.handle = state.handle}, call.op);
  if (state.engines.size() >= kMostEngines) state.engines.clear();
  return state.engines[std::move(key)] = std::move(engine);
}

// w as (O, *kernel, C/groups), with the strides that it has.
Tensor weights(const ConvolutionArgs& args, int device) {
  return from_blob(args.w,
                   {args.y_channels, args.dims[0].kernel, args.dims[1].kernel, args.dims[2].kernel,
                    args.x_channels / args.groups},
                   {args.w_y, args.w_dims[0], args.w_dims[1], args.w_dims[2], args.w_x},
                   {.dtype = args.dtype, .device = Device(DeviceType::cuda, device)});
}

}  // namespace

bool convolution_by_cudnn(const char* op, const ConvolutionArgs& args, ConvResult result) {
  if (!cudnn_library().state.problem.empty()) return false;
  const int device = device_of(args.x);
  const DeviceScope scope(device);
  Tensor w = weights(args, device);
  const bool fresh = !w.is_contiguous();
  const ConvolutionProblem problem =
      ConvolutionProblem::make(args, result, fresh ? kFresh : alignment_of(args.w));
  if (fresh) w = w.contiguous();
  const cudaStream_t stream = current_stream(device);
  const Call call{op, args, w.data(), device};
  {
    DeviceCudnn& state = state_of(device);
    const std::lock_guard lock(state.mutex);
    if (!state.handle) check_cudnn(cudnn_library().calls.create(&state.handle), op);
    check_cudnn(cudnn_library().calls.set_stream(state.handle, stream), op);
    const std::shared_ptr<const ConvolutionEngine> engine = engine_for(state, problem, call);
    if (!engine) return false;
    const ProfilerRange range("cuDNN", {}, (" engine " + std::to_string(engine->index())).c_str());
    const DeviceWork work(op, DeviceType::cuda, stream);
    try {
      call.run(*engine, state.handle);
    } catch (const ResourceError&) {  // no room for its workspace: our kernels need less
      return false;
    }
  }
  check_finished(op, stream);
  return true;
}

DeviceLibrary cudnn_state() { return cudnn_library().state; }

}  // namespace aorta::cuda
