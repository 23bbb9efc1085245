#pragma once

#include <aorta/core/body/pooling.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {

// Pooling over the last 1, 2 or 3 dimensions of (N, C, L), (N, C, H, W) or (N, C, D, H, W); without
// N too. Floating dtypes; half types are summed in f32 and rounded once. channels_last is kept.
// kernel_size, stride, padding, dilation and output_size are a number for each spatial dimension or
// one for all. A window covers positions o * stride - padding + j * dilation, j < kernel_size; an
// empty stride is the kernel_size. padding is at most half the window's extent. Along each
// dimension the output has
//   floor((size + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1
// windows; ceil_mode rounds up, without windows that would begin in the padding at the end.
// Errors: another number of dimensions, a size of 0 (but N), numbers out of range, no window.

/// The largest element of each window; NaN wins.
Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, const Dims& dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, const Dims& dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, const Dims& dilation = 1, bool ceil_mode = false);

/// Returns the values and where they stand (i64): the row-major position in the spatial dimensions
/// of the input. Among equal values the first one counts.
ValuesIndices max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride = {}, const Dims& padding = 0,
                                      const Dims& dilation = 1, bool ceil_mode = false);
ValuesIndices max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride = {}, const Dims& padding = 0,
                                      const Dims& dilation = 1, bool ceil_mode = false);
ValuesIndices max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride = {}, const Dims& padding = 0,
                                      const Dims& dilation = 1, bool ceil_mode = false);

/// The sum of each window over the number of its positions: with `count_include_pad` those in the
/// padding count, as zeros; `divisor_override` (not 0) replaces the number.
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});
Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& stride = {},
                  const Dims& padding = 0, bool ceil_mode = false, bool count_include_pad = true,
                  std::optional<int64_t> divisor_override = {});

/// What a pooling takes by name: `max_pool2d(x, 3, {.stride = 2, .padding = 1})`. An empty stride
/// is the kernel_size.
struct MaxPoolOptions {
  Dims stride = {};
  Dims padding = 0;
  Dims dilation = 1;
  bool ceil_mode = false;
};
struct AvgPoolOptions {
  Dims stride = {};
  Dims padding = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;
  std::optional<int64_t> divisor_override = {};  // not of avg_pool1d
};

/// The functions above with such options; templates for the reason that stands at conv2d.
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  return max_pool1d(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
ValuesIndices max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Options& o) {
  return max_pool1d_with_indices(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  return max_pool2d(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
ValuesIndices max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Options& o) {
  return max_pool2d_with_indices(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
Tensor max_pool3d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  return max_pool3d(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<MaxPoolOptions> Options = MaxPoolOptions>
ValuesIndices max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Options& o) {
  return max_pool3d_with_indices(input, kernel_size, o.stride, o.padding, o.dilation, o.ceil_mode);
}
template <std::same_as<AvgPoolOptions> Options = AvgPoolOptions>
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  check(!o.divisor_override, "avg_pool1d", "divisor_override must not be given",
        o.divisor_override.value_or(0));
  return avg_pool1d(input, kernel_size, o.stride, o.padding, o.ceil_mode, o.count_include_pad);
}
template <std::same_as<AvgPoolOptions> Options = AvgPoolOptions>
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  return avg_pool2d(input, kernel_size, o.stride, o.padding, o.ceil_mode, o.count_include_pad,
                    o.divisor_override);
}
template <std::same_as<AvgPoolOptions> Options = AvgPoolOptions>
Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size, const Options& o) {
  return avg_pool3d(input, kernel_size, o.stride, o.padding, o.ceil_mode, o.count_include_pad,
                    o.divisor_override);
}

/// Windows from floor(o * size / output_size) to ceil((o + 1) * size / output_size), so that there
/// are output_size of them; -1 keeps a size.
Tensor adaptive_max_pool1d(const Tensor& input, const Dims& output_size);
Tensor adaptive_max_pool2d(const Tensor& input, const Dims& output_size);
Tensor adaptive_max_pool3d(const Tensor& input, const Dims& output_size);
ValuesIndices adaptive_max_pool1d_with_indices(const Tensor& input, const Dims& output_size);
ValuesIndices adaptive_max_pool2d_with_indices(const Tensor& input, const Dims& output_size);
ValuesIndices adaptive_max_pool3d_with_indices(const Tensor& input, const Dims& output_size);
Tensor adaptive_avg_pool1d(const Tensor& input, const Dims& output_size);
Tensor adaptive_avg_pool2d(const Tensor& input, const Dims& output_size);
Tensor adaptive_avg_pool3d(const Tensor& input, const Dims& output_size);

}  // namespace aorta

namespace aorta::kernel {

/// The windows of an average over the last `spatial` dimensions.
struct AveragePlan {
  int spatial = 2;
  body::PoolDim dims[3];  // the last `spatial` ones count
  bool count_include_pad = true;
  int64_t divisor_override = 0;
  /// The layout of what a gradient is a gradient of, which averages over all positions don't show.
  bool channels_last = false;
};
/// The averages, and their transpose: every input position's sum of what its windows have divided
/// by their divisors, in the order of the windows. Each is the other's gradient.
Tensor avg_pool(const Tensor& input, const AveragePlan& plan);
Tensor avg_pool_backward(const Tensor& gradient, const AveragePlan& plan);

/// Every window's gradient at the place of its value, summed in the order of the windows; 0
/// elsewhere. `gradient` and `indices` have the shape of the windows, `input_shape` as many
/// dimensions. Errors: an index that isn't one of the input's.
Tensor max_pool_backward(const Tensor& gradient, const Tensor& indices, const Shape& input_shape,
                         int spatial);

using PoolKernel = void (*)(const body::PoolArgs& args);
extern Op<PoolKernel,
          void (*)(Tensor& values, const Tensor& input, const Tensor& indices, int spatial)>
    max_pool_op;
/// The kernel reads `indices`; of each PoolDim it looks at the sizes alone.
extern Op<PoolKernel,
          void (*)(Tensor& output, const Tensor& gradient, const Tensor& indices, int spatial)>
    max_pool_backward_op;
/// The backward kernel's `input` has the windows, its `output` the positions.
using AverageGradient = void (*)(Tensor& output, const Tensor& input, const AveragePlan& plan);
extern Op<PoolKernel, AverageGradient> avg_pool_op, avg_pool_backward_op;

}  // namespace aorta::kernel
