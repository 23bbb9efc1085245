#include <aorta/core/check.h>
#include <aorta/cuda/beside_captures.h>
#include <aorta/cuda/check.h>
#include <aorta/cuda/wait_range.h>

#include <cstdlib>

namespace aorta::cuda {

void throw_cuda_error(cudaError_t error, const char* op) {
  cudaGetLastError();  // an error that isn't sticky would be found again by the next launch
  fail(op, "CUDA must succeed", cudaGetErrorName(error), " (", cudaGetErrorString(error), ")");
}

void refuse_capture(const char* op, cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check_cuda(cudaStreamIsCapturing(stream, &status), op);
  check(status == cudaStreamCaptureStatusNone, op,
        "a graph must not hold numbers that change from call to call", "a stream that is captured");
}

bool synchronous_launches() {
  static const bool on = [] {
    for (const char* name : {"AORTA_LAUNCH_BLOCKING", "CUDA_LAUNCH_BLOCKING"}) {
      const char* wish = std::getenv(name);
      if (wish && std::string_view(wish) == "1") return true;
    }
    return false;
  }();
  return on;
}

void check_finished(const char* op, cudaStream_t stream) {
  if (!synchronous_launches()) return;
  const WaitRange range(op);
  const BesideCaptures beside;
  check_cuda(cudaStreamSynchronize(stream), op);
}

}  // namespace aorta::cuda
