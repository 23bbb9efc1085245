#include <aorta/core/backends.h>

#include <aorta/core/device_backend.h>
#include <aorta/core/device_collectives.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

namespace aorta::backends {
namespace {

constinit std::atomic<bool> matmul_tf32 = false, cudnn_tf32 = false, cudnn_deterministic = false,
                            cudnn_benchmark = false;

// A switch that is on unless the environment says 0.
bool is_wanted(const char* name) {
  const char* const value = std::getenv(name);
  return !value || std::strcmp(value, "0") != 0;
}

std::atomic<bool>& cudnn_switch() {
  static std::atomic<bool> enabled = is_wanted("AORTA_CUDNN");
  return enabled;
}

std::atomic<bool>& nccl_switch() {
  static std::atomic<bool> enabled = is_wanted("AORTA_NCCL");
  return enabled;
}

DeviceLibrary library() {
  if (!aorta::cuda::is_available())
    return {.version = 0, .problem = aorta::cuda::unavailable_reason()};
  return backend(DeviceType::cuda).convolution_library();
}

DeviceLibrary library_of_collectives() {
  if (!aorta::cuda::is_available())
    return {.version = 0, .problem = aorta::cuda::unavailable_reason()};
  return collective_library()->state();
}

}  // namespace

bool cuda::matmul::allow_tf32() { return matmul_tf32; }
void cuda::matmul::set_allow_tf32(bool allowed) { matmul_tf32 = allowed; }

bool cudnn::is_available() { return library().problem.empty(); }
int64_t cudnn::version() { return library().version; }
std::string cudnn::unavailable_reason() { return library().problem; }
bool cudnn::enabled() { return cudnn_switch(); }
void cudnn::set_enabled(bool enabled) { cudnn_switch() = enabled; }
bool cudnn::allow_tf32() { return cudnn_tf32; }
void cudnn::set_allow_tf32(bool allowed) { cudnn_tf32 = allowed; }
bool cudnn::deterministic() { return cudnn_deterministic; }
void cudnn::set_deterministic(bool deterministic) { cudnn_deterministic = deterministic; }
bool cudnn::benchmark() { return cudnn_benchmark; }
void cudnn::set_benchmark(bool benchmark) { cudnn_benchmark = benchmark; }

bool nccl::is_available() { return library_of_collectives().problem.empty(); }
int64_t nccl::version() { return library_of_collectives().version; }
std::string nccl::unavailable_reason() { return library_of_collectives().problem; }
bool nccl::enabled() { return nccl_switch(); }
void nccl::set_enabled(bool enabled) { nccl_switch() = enabled; }

}  // namespace aorta::backends
