// The kernel of runtime_rules_test.cc: nvcc compiles it for a GPU, and g++ for the emulated device.
#include <cuda_runtime.h>

namespace aorta::rules {

static __global__ void __launch_bounds__(256) nothing() {}

cudaError_t launch_nothing(const cudaLaunchConfig_t& config) {
  return cudaLaunchKernelEx(&config, nothing);
}

}  // namespace aorta::rules
