#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

// A copy of the input with one of its views overwritten by `src`, of the view's shape; both have
// gradients. Composed of clone, the view and copy_. Errors: another shape.

/// With src in slice(dim, start, end, step).
Tensor slice_scatter(const Tensor& input, const Tensor& src, int64_t dim = 0,
                     std::optional<int64_t> start = {}, std::optional<int64_t> end = {},
                     int64_t step = 1);
/// With src in select(dim, index).
Tensor select_scatter(const Tensor& input, const Tensor& src, int64_t dim, int64_t index);
/// With src in diagonal(offset, dim1, dim2).
Tensor diagonal_scatter(const Tensor& input, const Tensor& src, int64_t offset = 0,
                        int64_t dim1 = 0, int64_t dim2 = 1);
/// With src in as_strided(shape, strides, offset) of a contiguous copy.
Tensor as_strided_scatter(const Tensor& input, const Tensor& src, const Shape& shape,
                          const Strides& strides, int64_t offset = 0);

}  // namespace aorta
