#pragma once

#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>
#include <aorta/core/tensor.h>

#include <algorithm>
#include <cmath>
#include <numbers>

// What is computed element by element on the CPU in f64: samples that take numbers one after the
// other, and special functions.

namespace aorta::distributions {

/// Numbers for one sampler after the other, of one generator; the default one when null.
class Numbers {
 public:
  explicit Numbers(Generator* generator)
      : generator_(generator ? *generator : default_generator()) {}
  /// In (0, 1).
  double uniform() { return std::max(generator_.next_uniform(), 0x1p-54); }
  double normal() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * generator_.next_uniform());
  }

 private:
  Generator& generator_;
};

/// The elements of a tensor as contiguous f64 numbers of the CPU.
inline Tensor numbers_of(const Tensor& x) {
  return x.detach().to(ToOptions{.dtype = DType::f64, .device = Device()}).contiguous();
}

/// f of each element, or of each pair of two tensors of one shape, as `x` is.
template <class F>
Tensor each(const Tensor& x, const F& f) {
  const Tensor from = numbers_of(x), result = empty(x.shape(), {.dtype = DType::f64});
  for (int64_t i = 0; i < x.numel(); ++i) result.data<double>()[i] = f(from.data<double>()[i]);
  return result.to(ToOptions{.dtype = x.dtype(), .device = x.device()});
}
template <class F>
Tensor each(const Tensor& x, const Tensor& y, const F& f) {
  const Tensor others = numbers_of(y);
  const double* other = others.data<double>();
  return each(x, [&](double value) { return f(value, *other++); });
}

}  // namespace aorta::distributions
