#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

// Whether tensors hold the same values, or nearly. None of them has a gradient.

/// The tolerances by name: `allclose(x, y, {.atol = 1e-6})`.
struct CloseOptions {
  double rtol = 1e-5;
  double atol = 1e-8;
  bool equal_nan = false;
};
/// Whether |x - y| <= atol + rtol |y|, as bool; equal infinities are close, and so are two NaN
/// under `equal_nan`. Differences are computed in f32 for half types and in f64 for integers and
/// bool. x and y broadcast. Errors: the shapes don't broadcast, the dtypes or devices differ, a
/// tolerance is negative or NaN.
Tensor isclose(const Tensor& input, const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
Tensor isclose(const Tensor& input, const Tensor& other, const CloseOptions& options);
/// Whether all elements are close.
bool allclose(const Tensor& input, const Tensor& other, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
bool allclose(const Tensor& input, const Tensor& other, const CloseOptions& options);
/// Whether the shapes are the same and so are all values (NaN equals nothing).
/// Errors: the devices differ.
bool equal(const Tensor& input, const Tensor& other);

}  // namespace aorta
