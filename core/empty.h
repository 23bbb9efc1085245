#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

/// Not initialised.
Tensor empty(const Shape& shape, const TensorOptions& options = {});
/// Not initialised, with given strides in elements (no gaps needed, no overlap checked).
Tensor empty_strided(const Shape& shape, const Strides& strides, const TensorOptions& options = {});

}  // namespace aorta
