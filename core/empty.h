#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

/// Not initialised.
Tensor empty(const Shape& shape, const TensorOptions& options = {});
/// Not initialised, with given strides in elements (no gaps needed, no overlap checked).
Tensor empty_strided(const Shape& shape, const Strides& strides, const TensorOptions& options = {});

namespace detail {
Tensor with_requires_grad(Tensor result, bool requires_grad);
}  // namespace detail

}  // namespace aorta
