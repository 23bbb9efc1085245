#pragma once

#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tools/bench/sides.h>

#include <string>

// Sides on the first GPU, and what that GPU can do.

namespace aorta::bench {

/// What F, a function of no arguments that returns a tensor, does there, waited for.
template <class F>
Side gpu_side(F f) {
  return aorta_side([f] {
    const Tensor result = f();
    backend(DeviceType::cuda).synchronize_device(kGpu.index);
    return result;
  });
}

/// PyTorch's side on the same GPU, waited for.
Side torch_gpu_side(const std::string& setup, const std::string& expression);

/// A row's sides where there is no GPU: why.
Case no_gpu();

/// A row's sides where there is a GPU, which `make_case` makes.
template <class Make>
Case gpu_case(const Make& make_case) {
  return cuda::is_available() ? make_case() : no_gpu();
}

/// What a GPU can do at most, a second; 0: not known.
struct GpuPeak {
  std::string name;      // as its driver calls it: "NVIDIA H200"; empty where none does
  double bandwidth = 0;  // bytes read and written
  double f32 = 0, tf32 = 0, bf16 = 0;  // multiplications and additions of products
};

/// That of a GPU by its name, the clock of its memory and the width of the bus to it.
GpuPeak gpu_peak(const std::string& name, int memory_kilohertz, int bus_bits);
/// That of the first GPU.
const GpuPeak& gpu_peak();

/// `work` bytes or operations in the time that they take at `peak` a second.
Side peak_side(double work, double peak);
/// `share` of the peak; nothing on a GPU whose peak isn't known.
Target share_of_peak(double share, double peak);

}  // namespace aorta::bench
