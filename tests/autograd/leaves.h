#pragma once

// Tensors of the graphs that tests write by hand, in f64.

#include <aorta/core/ops/creation.h>
#include <aorta/core/tensor.h>

#include <vector>

namespace aorta {

using Doubles = std::vector<double>;

inline Tensor constant(const Doubles& values) { return tensor(values, {.dtype = f64}); }
inline Tensor leaf(const Doubles& values, DType dtype = f64) {
  return tensor(values, {.dtype = dtype, .requires_grad = true});
}
inline Tensor leaf(double value) { return full({}, value, {.dtype = f64, .requires_grad = true}); }
inline Doubles list(const Tensor& t) { return t.to_vector<double>(); }
inline Doubles grad_of(const Tensor& t) { return list(t.grad()); }

}  // namespace aorta
