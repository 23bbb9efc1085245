#include <aorta/core/check.h>
#include <aorta/core/clock.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/resource_error.h>
#include <aorta/cuda/backend.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/convolution_cudnn.h>
#include <aorta/cuda/convolution_graph.h>
#include <aorta/cuda/cudnn_device.h>
#include <aorta/cuda/gemm_plan.h>
#include <aorta/cuda/wait_range.h>

#include <algorithm>
#include <limits>

namespace aorta::cuda {
namespace {

using kernel::ConvolutionArgs;

constexpr size_t kTimedEngines = 8;
constexpr int kTimedRuns = 3;
constexpr int64_t kFresh = 256;  // how memory of the allocator's is aligned

/// A call: what an engine computes from what, and where.
struct Call {
  const char* op;
  const ConvolutionArgs& args;
  const void* w;
  int device;

  /// Queues it. The lock is held, and the handle has the current stream.
  void run(const CudnnEngine& engine, cudnnHandle_t handle) const {
    const Workspace workspace(engine.workspace(), device);
    engine.run(pointers_of(args, w), workspace.data(), handle, op);
  }

  /// Seconds of the fastest of some runs. One that can't run is never the fastest.
  double time(const CudnnEngine& engine, cudnnHandle_t handle) const {
    const cudaStream_t stream = current_stream(device);
    const WaitRange waits(op);
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

std::shared_ptr<const CudnnEngine> fastest_engine(const ConvolutionProblem& problem,
                                                  cudnnHandle_t handle, const Call& call) {
  std::shared_ptr<const CudnnEngine> best;
  double seconds = std::numeric_limits<double>::infinity();
  for (auto& engine : find_convolutions(problem, {.handle = handle}, call.op, kTimedEngines)) {
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

std::shared_ptr<const CudnnEngine> first_engine(const ConvolutionProblem& problem,
                                                cudnnHandle_t handle, const char* op) {
  auto engines = find_convolutions(problem, {.handle = handle}, op, 1);
  return engines.empty() ? nullptr : std::move(engines.front());
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
  const Call call{op, args, w.data(), device};
  const auto find = [&](cudnnHandle_t handle) {
    return problem.timed ? fastest_engine(problem, handle, call)
                         : first_engine(problem, handle, op);
  };
  const auto queue = [&](const CudnnEngine& engine, cudnnHandle_t handle) {
    call.run(engine, handle);
  };
  return run_by_cudnn({op, device, problem.key(), find, queue});
}

DeviceLibrary cudnn_state() { return cudnn_library().state; }

}  // namespace aorta::cuda
