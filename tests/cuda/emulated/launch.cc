#include <aorta/tests/cuda/emulated/block.h>
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/collectives.h>
#include <aorta/tests/cuda/emulated/report.h>
#include <aorta/tests/cuda/emulated/stream.h>

#include <memory>
#include <utility>

namespace aorta::emulated {
namespace {

constexpr const char* kName = "cudaLaunchKernelEx";
// What cuda/ compiles every kernel for (kThreads of launch.cuh); its check holds that it does.
constexpr uint64_t kLaunchBounds = 256;
// What CUDA takes from 12.1 on, on devices of compute capability 7.0 and more, as the double is.
constexpr size_t kParameterBytes = 32764;

std::string text_of(const dim3& size) {
  return std::to_string(size.x) + "x" + std::to_string(size.y) + "x" + std::to_string(size.z);
}

/// What is wrong with the numbers of a launch, or nothing.
std::string problem_of(const cudaLaunchConfig_t& config, const KernelCall& call) {
  const dim3 &grid = config.gridDim, &block = config.blockDim;
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  if (threads == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || threads > 1024) {
    return "a block has 1 to 1024 threads, up to 1024 along x and y and 64 along z, got " +
           text_of(block);
  }
  if (threads > kLaunchBounds) {
    return "a block has no more threads than the kernel's __launch_bounds__, got " +
           std::to_string(threads) + " of " + std::to_string(kLaunchBounds);
  }
  const bool empty = grid.x == 0 || grid.y == 0 || grid.z == 0;
  if (empty || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535) {
    return "a grid has 1 to 2^31-1 blocks along x and up to 65535 along y and z, got " +
           text_of(grid);
  }
  if (call.parameter_bytes > kParameterBytes) {
    return "parameters take at most 32764 bytes, got " + std::to_string(call.parameter_bytes);
  }
  if (config.dynamicSmemBytes > kSharedBytes) {
    return "dynamic shared memory is at most 48 KiB, got " +
           std::to_string(config.dynamicSmemBytes);
  }
  return "";
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, KernelCall* call_given) {
  std::shared_ptr<KernelCall> kernel(call_given);
  return call(kName, [&] {
    CUstream_st* stream = Streams::get().find(config.stream, current_device());
    if (!stream || stream->destroyed) {
      return broken(kName, "the stream must be one that was made and not destroyed",
                    stream ? "a destroyed one" : "none of these", page::kStream,
                    cudaErrorInvalidResourceHandle);
    }
    if (stream->device != current_device()) {
      return broken(kName, "the stream is of the current device",
                    "a stream of cuda:" + std::to_string(stream->device) +
                        ", current is cuda:" + std::to_string(current_device()),
                    page::kStream, cudaErrorInvalidResourceHandle);
    }
    if (const std::string problem = problem_of(config, *kernel); !problem.empty()) {
      return broken(kName, problem, name_of_code(kernel->function), page::kLimits,
                    cudaErrorInvalidValue);
    }
    check_no_call_in_progress(kName, *stream);
    const dim3 grid = config.gridDim, block = config.blockDim;
    const int device = stream->device;
    // The work alone holds the call: with threads it ends in the stream's.
    return Streams::get().queue(*stream, {"kernel",
                                          [=, kernel = std::move(kernel)] {
                                            KernelRun run(*kernel, grid, block, device);
                                            if (!run.run())
                                              Streams::get().sticky = cudaErrorLaunchFailure;
                                          },
                                          {}});
  });
}

}  // namespace aorta::emulated
