#pragma once

#include <aorta/core/dispatch/pointwise_args.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {

// What stands in the middle, or at a fraction, of elements in order. Composed of sort, topk and
// gather.

/// The element in the middle of all, the lower of two; NaN if any is. The gradient is shared evenly
/// among equals. Of no elements NaN, and of integers an error.
Tensor median(const Tensor& input);
/// The element in the middle along `dim`, the lower of two, and where it was; the first NaN if
/// there is one. Errors: a dimension of size 0.
ValuesIndices median(const Tensor& input, int64_t dim, bool keepdim = false);
/// The median of what isn't NaN; NaN where nothing is left.
Tensor nanmedian(const Tensor& input);
ValuesIndices nanmedian(const Tensor& input, int64_t dim, bool keepdim = false);

/// The element along `dim` that occurs most often, the smallest of several, and the last place
/// where it was; NaN equals nothing. Errors: a dimension of size 0.
ValuesIndices mode(const Tensor& input, int64_t dim = -1, bool keepdim = false);

/// The value at the fraction `q`, a number in [0, 1] or a tensor () or (Q) of them of the input's
/// dtype, of the n elements in order along `dim`, or of all without one: that of rank q (n - 1).
/// Between two ranks `interpolation` decides: "linear", "lower", "higher", "midpoint", or "nearest"
/// (ties to even). NaN where a line has one. For q (Q) the result is (Q, *the other dimensions).
/// Floating dtypes, half types computed in f32. Errors: no elements; q outside [0, 1].
Tensor quantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim = {},
                bool keepdim = false, const char* interpolation = "linear");
/// quantile of what isn't NaN; NaN where nothing is left.
Tensor nanquantile(const Tensor& input, const Operand& q, std::optional<int64_t> dim = {},
                   bool keepdim = false, const char* interpolation = "linear");

}  // namespace aorta
