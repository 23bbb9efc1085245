#pragma once

#include <aorta/core/backends.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/is_near.h>
#include <aorta/tests/needs_gpu.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>

namespace aorta::gpu_test {

/// A test of what a GPU does, which waits for it in the end.
class Gpu : public NeedsGpu {
 protected:
  void TearDown() override {
    if (cuda::is_available()) synchronize("cuda:0");
  }
  static DeviceBackend& device() { return backend(DeviceType::cuda); }
};

/// A test of kernels of our own where cuDNN has some too.
class OwnKernels : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    backends::cudnn::set_enabled(false);
  }
  void TearDown() override {
    backends::cudnn::set_enabled(before_);
    Gpu::TearDown();
  }

 private:
  const bool before_ = backends::cudnn::enabled();
};

/// How many elements are too many for indices of 32 bits: fewer than 2^31 where the test is told so
/// (cuda/limits.h).
inline int64_t element_limit() {
  const char* wish = std::getenv("AORTA_CUDA_LIMITS");
  return wish && *wish ? std::stoll(wish) : int64_t{1} << 31;
}

/// Elements whose copy takes a GPU so long that the host is there before it. The emulated device
/// comes late however few they are.
inline int64_t elements_that_take_long() {
  const char* const plugin = std::getenv("AORTA_CUDA_PLUGIN");
  return plugin && std::strstr(plugin, "emulated") ? 1 << 16 : 32 << 20;
}

/// What a wait says when an op has met a value out of range.
inline std::string bad_value_text(const std::string& op, int64_t place) {
  return op + ": values must be in range, got one that isn't, at place " + std::to_string(place) +
         " of an earlier call on cuda:0 (AORTA_LAUNCH_BLOCKING=1 shows which)";
}

/// Fills the blocks that the allocator gives out next with 0xff: NaN in every floating dtype.
inline void poison(int64_t bytes) {
  DeviceBackend& device = backend(DeviceType::cuda);
  void* blocks[4];
  for (void*& block : blocks) {
    block = device.allocate(bytes, 0);
    device.fill_bytes(block, 0xff, bytes, 0);
  }
  for (void* block : blocks) device.deallocate(block, bytes, 0);
}

/// Values of a dtype: normal numbers times 3, and, among floating ones, special values.
inline Tensor random_values(const Shape& shape, DType dtype, uint32_t seed, bool specials = true) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 3);
  const double special[] = {0.0,  -0.0,  1.0,      -1.0, 0.5,    1e-3,   -1e-3,
                            20.0, -20.0, INFINITY, NAN,  1e-300, -100.0, -INFINITY};
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (double& value : values) {
    value = normal(random);
    if (!is_floating(dtype)) value = std::floor(value);
    if (dtype == DType::u8 || dtype == DType::boolean) value = std::fabs(value);
    if (is_floating(dtype) && specials && random() % 8 == 0) value = special[random() % 14];
  }
  return tensor(values, shape).to(dtype);
}

/// What is wrong with `result`, or nothing. Integers and bools are equal; floating values within
/// `relative` and `absolute`, NaN with NaN.
inline std::string difference(const Tensor& result, const Tensor& wanted, double relative,
                              double absolute) {
  if (result.dtype() != wanted.dtype()) return "the dtypes differ";
  if (result.shape() != wanted.shape()) return "the shapes differ";
  const std::vector<double> a = result.to_vector<double>(), b = wanted.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool floating = is_floating(result.dtype());
    if (is_near(a[i], b[i], floating ? relative * std::fabs(b[i]) + absolute : 0)) continue;
    return "element " + std::to_string(i) + ": " + std::to_string(a[i]) + ", not " +
           std::to_string(b[i]);
  }
  return "";
}

/// Relative error allowed between two devices that run the same arithmetic.
inline double tolerance(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-13;
    case DType::f16:
      return 0x1p-10;
    case DType::bf16:
      return 0x1p-7;
    default:
      return 2e-6;
  }
}

}  // namespace aorta::gpu_test
