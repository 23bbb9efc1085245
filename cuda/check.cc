#include <aorta/core/check.h>
#include <aorta/cuda/check.h>

#include <cstdlib>

namespace aorta::cuda {

void throw_cuda_error(cudaError_t error, const char* op) {
  cudaGetLastError();  // an error that isn't sticky would be found again by the next launch
  std::string rule = "CUDA error ";
  rule += cudaGetErrorName(error);
  rule += " (";
  rule += cudaGetErrorString(error);
  rule += ")";
  fail(op, rule);
}

bool synchronous_launches() {
  static const bool on = [] {
    const char* wish = std::getenv("AORTA_CUDA_SYNC");
    return wish && std::string_view(wish) == "1";
  }();
  return on;
}

void check_finished(const char* op, cudaStream_t stream) {
  if (synchronous_launches()) check_cuda(cudaStreamSynchronize(stream), op);
}

}  // namespace aorta::cuda
