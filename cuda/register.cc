#include <aorta/cuda/backend.h>
#include <aorta/cuda/pointwise.h>

#include <string>
#include <utility>

namespace aorta::cuda {

// One a file of kernels: each fills its rows' CUDA column. That of collectives has none.
void register_attention();
void register_collectives();
void register_convolution();
void register_copy();
void register_cross_entropy();
void register_ctc_loss();
void register_dropout();
void register_fft();
void register_gamma_point();
void register_im2col();
void register_indexing();
void register_interpolate();
void register_linalg();
void register_line_normalization();
void register_loss();
void register_matmul();
void register_normalization();
void register_pooling();
void register_random();
void register_rearrange();
void register_recurrent();
void register_reduction();
void register_scan();
void register_scatter();
void register_searchsorted();
void register_softmax();
void register_sort();
void register_total_norm();
void register_update();

namespace {

template <int... part>
void register_pointwise(std::integer_sequence<int, part...>) {
  (register_pointwise_part<part>(), ...);
}

void register_kernels() {
  register_pointwise(std::make_integer_sequence<int, kPointwiseParts>{});
  register_attention();
  register_convolution();
  register_copy();
  register_cross_entropy();
  register_ctc_loss();
  register_dropout();
  register_fft();
  register_gamma_point();
  register_im2col();
  register_indexing();
  register_interpolate();
  register_linalg();
  register_line_normalization();
  register_loss();
  register_matmul();
  register_normalization();
  register_pooling();
  register_random();
  register_rearrange();
  register_recurrent();
  register_reduction();
  register_scan();
  register_scatter();
  register_searchsorted();
  register_softmax();
  register_sort();
  register_total_norm();
  register_update();
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// Why CUDA can't be used here; empty when it can.
std::string find_problem() {
  int driver = 0, devices = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return "there is no NVIDIA driver on this machine";
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return "the NVIDIA driver supports CUDA " + version_text(driver) + ", and CUDA " +
           version_text(CUDART_VERSION) + " is needed";
  }
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaErrorNoDevice || (error == cudaSuccess && devices == 0)) {
    return "there is no GPU on this machine";
  }
  if (error != cudaSuccess) {
    return std::string(cudaGetErrorName(error)) + " (" + cudaGetErrorString(error) + ")";
  }
  return "";
}

}  // namespace
}  // namespace aorta::cuda

/// What core calls when it has loaded the plugin: registers the backend and the kernels, and
/// returns nullptr, or why CUDA can't be used.
extern "C" const char* aorta_register_cuda() {
  static const std::string problem = aorta::cuda::find_problem();
  if (!problem.empty()) {
    cudaGetLastError();  // isn't left for other code of this thread that uses CUDA
    return problem.c_str();
  }
  aorta::register_backend(aorta::DeviceType::cuda, &aorta::cuda::cuda_backend());
  aorta::cuda::register_kernels();
  aorta::cuda::register_collectives();
  return nullptr;
}
