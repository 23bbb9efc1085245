#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/pooling.h>

#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>

#include <array>
#include <limits>

namespace aorta::kernel {

constinit Op<PoolKernel, void (*)(Tensor&, const Tensor&, const Tensor&, int)> max_pool_op{
    "max_pool"};
constinit Op<PoolKernel, void (*)(Tensor&, const Tensor&, const Tensor&, int)> max_pool_backward_op{
    "max_pool_backward"};
constinit Op<PoolKernel, AverageGradient> avg_pool_op{"avg_pool"};
constinit Op<PoolKernel, AverageGradient> avg_pool_backward_op{"avg_pool_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

using body::PoolArgs;
using body::PoolDim;

/// The windows, as the user gives them.
struct Windows {
  const Dims &kernel_size, &stride, &padding, &dilation;
  bool ceil_mode;
};

// `channels`: whether there must be some.
void check_input(const char* op, const Tensor& input, int spatial, bool channels) {
  check_defined(op, {{"input", input}});
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  const char* const rules[] = {"input must be (C, L) or (N, C, L)",
                               "input must be (C, H, W) or (N, C, H, W)",
                               "input must be (C, D, H, W) or (N, C, D, H, W)"};
  const int n = input.dim();
  check(n == spatial + 1 || n == spatial + 2, op, rules[spatial - 1], input.shape());
  for (int d = n - spatial - channels; d < n; ++d)
    check(input.shape()[d] > 0, op, "sizes must be positive, but that of the batch", input.shape());
}

// One number for each of `spatial` dimensions, within [least, 2^31).
Dims window_numbers(const char* op, const char* rule, const Dims& given, int spatial,
                    int64_t least) {
  const Dims numbers = given.size() == 1 ? Dims::filled(spatial, given[0]) : given;
  bool ok = numbers.size() == spatial;
  for (int64_t n : numbers) ok &= n >= least && n <= std::numeric_limits<int32_t>::max();
  check(ok, op, rule, given);
  return numbers;
}

// The number of windows along a dimension.
int64_t count_windows(const PoolDim& dim, bool ceil_mode) {
  const int64_t reach = (dim.kernel - 1) * dim.dilation + 1;
  const int64_t room = dim.input + 2 * dim.padding - reach;
  if (room < 0 && !(ceil_mode && room > -dim.stride)) return 0;
  const int64_t count = (room + (ceil_mode ? dim.stride - 1 : 0)) / dim.stride + 1;
  return ceil_mode && (count - 1) * dim.stride >= dim.input + dim.padding ? count - 1 : count;
}

// With dilation all that a window reads may lie in the padding: of one that starts there.
bool every_window_reads(const PoolDim& dim) {
  if (dim.dilation == 1) return true;
  for (int64_t o = 0; o < dim.output && o * dim.stride < dim.padding; ++o) {
    const body::WindowRange range = body::pool_window(dim, o);
    if (range.first >= range.end) return false;
  }
  return true;
}

void plan_windows(const char* op, const Tensor& input, int spatial, const Windows& windows,
                  PoolDim* dims) {
  check_input(op, input, spatial, true);
  const char* const one = "a number for each spatial dimension or one for all, ";
  const auto numbers = [&](const char* name, const Dims& given, int64_t least) {
    const std::string rule = std::string(name) + " must be " + one +
                             (least > 0 ? "positive" : "not negative") + " and below 2^31";
    return window_numbers(op, rule.c_str(), given, spatial, least);
  };
  const Dims kernel = numbers("kernel_size", windows.kernel_size, 1);
  const Dims stride = windows.stride.empty() ? kernel : numbers("stride", windows.stride, 1);
  const Dims padding = numbers("padding", windows.padding, 0);
  const Dims dilation = numbers("dilation", windows.dilation, 1);
  Shape sizes;
  for (int d = 0; d < spatial; ++d) {
    PoolDim& dim = dims[3 - spatial + d];
    dim.input = input.shape()[input.dim() - spatial + d];
    dim.kernel = kernel[d];
    dim.stride = stride[d];
    dim.padding = padding[d];
    dim.dilation = dilation[d];
    check(padding[d] <= ((kernel[d] - 1) * dilation[d] + 1) / 2, op,
          "padding can be at most half of the window", padding, " for kernel_size ", kernel,
          ", dilation ", dilation);
    dim.output = count_windows(dim, windows.ceil_mode);
    sizes.push_back(dim.output);
  }
  for (int64_t size : sizes)
    check(size > 0, op, "the input must be at least as large as the window", input.shape(),
          " for kernel_size ", kernel, ", dilation ", dilation, ", padding ", padding);
  for (int d = 3 - spatial; d < 3; ++d)
    check(every_window_reads(dims[d]), op, "every window must meet the input", input.shape(),
          " for kernel_size ", kernel, ", dilation ", dilation, ", padding ", padding);
}

void plan_adaptive(const char* op, const Tensor& input, int spatial, const Dims& output_size,
                   PoolDim* dims) {
  check_input(op, input, spatial, false);
  const Dims sizes =
      window_numbers(op,
                     "output_size must be a number for each spatial dimension or one for all, -1 "
                     "or more and below 2^31",
                     output_size, spatial, -1);
  for (int d = 0; d < spatial; ++d) {
    PoolDim& dim = dims[3 - spatial + d];
    dim.adaptive = true;
    dim.input = input.shape()[input.dim() - spatial + d];
    dim.output = sizes[d] < 0 ? dim.input : sizes[d];
  }
}

// Without a batch, four dimensions are (C, D, H, W).
bool is_batch_channels_last(const Tensor& x, int spatial) {
  return x.dim() == spatial + 2 && is_channels_last(x);
}

// The input in one of the two layouts, and where everything lies.
struct PreparedPool {
  Tensor input, output;
  PoolArgs args;
};

PreparedPool prepare(const Tensor& input, int spatial, const PoolDim* dims, bool backward,
                     bool last) {
  PreparedPool p{
      input.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous), {}, {}};
  Shape shape = input.shape();
  const int lead = shape.size() - spatial;
  for (int d = 0; d < spatial; ++d) {
    const PoolDim& dim = dims[3 - spatial + d];
    shape[lead + d] = backward ? dim.input : dim.output;
  }
  p.output = empty_strided(shape, last ? channels_last_strides(shape) : contiguous_strides(shape),
                           {.dtype = input.dtype(), .device = input.device()});
  for (int d = 0; d < 3; ++d) p.args.dims[d] = dims[d];
  for (int d = 0; d < lead; ++d) (last && d == 1 ? p.args.inner : p.args.outer) *= shape[d];
  p.args.input = p.input.data();
  p.args.output = p.output.data();
  p.args.dtype = input.dtype();
  return p;
}

ValuesIndices max_of_windows(const Tensor& input, int spatial, const PoolDim* dims, bool indices) {
  const CalledOp called(max_pool_op.name());
  const ProfilerRange range(max_pool_op.name(), {&input});
  PreparedPool p = prepare(input, spatial, dims, false, is_batch_channels_last(input, spatial));
  ValuesIndices result{p.output, {}};
  if (indices || needs_gradient(input)) {
    result.indices = empty_strided(p.output.shape(), p.output.strides(),
                                   {.dtype = i64, .device = input.device()});
    p.args.indices = result.indices.data<int64_t>();
  }
  if (p.output.numel() > 0) max_pool_op.kernel(input.device())(p.args);
  if (needs_gradient(input)) max_pool_op.gradient()(result.values, input, result.indices, spatial);
  tell_tracer(max_pool_op.name(), {&result.values, &result.indices}, {&input}, spatial,
              std::array<PoolDim, 3>{dims[0], dims[1], dims[2]});
  return result;
}

ValuesIndices max_pool(const char* op, int spatial, const Tensor& input, const Windows& windows,
                       bool indices) {
  const CalledOp called(op);
  PoolDim dims[3];
  plan_windows(op, input, spatial, windows, dims);
  return max_of_windows(input, spatial, dims, indices);
}

ValuesIndices adaptive_max_pool(const char* op, int spatial, const Tensor& input,
                                const Dims& output_size, bool indices) {
  const CalledOp called(op);
  PoolDim dims[3];
  plan_adaptive(op, input, spatial, output_size, dims);
  return max_of_windows(input, spatial, dims, indices);
}

Tensor average(const Op<PoolKernel, AverageGradient>& op, const Tensor& input,
               const AveragePlan& plan, bool backward) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input});
  PreparedPool p = prepare(input, plan.spatial, plan.dims, backward,
                           plan.channels_last || is_batch_channels_last(input, plan.spatial));
  p.args.count_include_pad = plan.count_include_pad;
  p.args.divisor_override = plan.divisor_override;
  if (p.input.numel() == 0) {
    p.output.zero_();
  } else if (p.output.numel() > 0) {
    op.kernel(input.device())(p.args);
  }
  if (needs_gradient(input)) op.gradient()(p.output, input, plan);
  tell_tracer(op.name(), {&p.output}, {&input}, plan);
  return p.output;
}

Tensor average_windows(const char* op, int spatial, const Tensor& input, const Windows& windows,
                       bool count_include_pad, std::optional<int64_t> divisor_override) {
  const CalledOp called(op);
  AveragePlan plan{.spatial = spatial, .dims = {}, .count_include_pad = count_include_pad};
  plan_windows(op, input, spatial, windows, plan.dims);
  check(!divisor_override || *divisor_override != 0, op, "divisor_override must not be 0", 0);
  plan.divisor_override = divisor_override.value_or(0);
  return avg_pool(input, plan);
}

Tensor adaptive_average(const char* op, int spatial, const Tensor& input, const Dims& output_size) {
  const CalledOp called(op);
  AveragePlan plan{.spatial = spatial, .dims = {}, .count_include_pad = false};
  plan_adaptive(op, input, spatial, output_size, plan.dims);
  return avg_pool(input, plan);
}

}  // namespace

Tensor kernel::max_pool_backward(const Tensor& gradient, const Tensor& indices,
                                 const Shape& input_shape, int spatial) {
  check(gradient.shape() == indices.shape() && indices.dtype() == i64, "max_pool_backward",
        "an i64 index for each gradient", indices.dtype(), " ", indices.shape(), " for ",
        gradient.shape());
  PoolDim dims[3];
  for (int d = 0; d < spatial; ++d) {
    const int at = input_shape.size() - spatial + d;
    dims[3 - spatial + d].input = input_shape[at];
    dims[3 - spatial + d].output = gradient.shape()[at];
  }
  const CalledOp called(max_pool_backward_op.name());
  const ProfilerRange range(max_pool_backward_op.name(), {&gradient, &indices});
  const bool last = is_batch_channels_last(indices, spatial);
  PreparedPool p = prepare(gradient, spatial, dims, true, last);
  const Tensor places =
      indices.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
  p.args.indices = places.data<int64_t>();
  if (gradient.numel() == 0) {
    p.output.zero_();
  } else {
    max_pool_backward_op.kernel(gradient.device())(p.args);
  }
  if (needs_gradient(gradient))
    max_pool_backward_op.gradient()(p.output, gradient, indices, spatial);
  return p.output;
}

Tensor kernel::avg_pool(const Tensor& input, const AveragePlan& plan) {
  return average(avg_pool_op, input, plan, false);
}
Tensor kernel::avg_pool_backward(const Tensor& gradient, const AveragePlan& plan) {
  return average(avg_pool_backward_op, gradient, plan, true);
}

Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool("max_pool1d", 1, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  false)
      .values;
}
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool("max_pool2d", 2, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  false)
      .values;
}
Tensor max_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool("max_pool3d", 3, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  false)
      .values;
}

ValuesIndices max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride, const Dims& padding, const Dims& dilation,
                                      bool ceil_mode) {
  const CalledOp called("max_pool1d_with_indices");
  return max_pool("max_pool1d", 1, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  true);
}
ValuesIndices max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride, const Dims& padding, const Dims& dilation,
                                      bool ceil_mode) {
  const CalledOp called("max_pool2d_with_indices");
  return max_pool("max_pool2d", 2, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  true);
}
ValuesIndices max_pool3d_with_indices(const Tensor& input, const Dims& kernel_size,
                                      const Dims& stride, const Dims& padding, const Dims& dilation,
                                      bool ceil_mode) {
  const CalledOp called("max_pool3d_with_indices");
  return max_pool("max_pool3d", 3, input, {kernel_size, stride, padding, dilation, ceil_mode},
                  true);
}

Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad) {
  return average_windows("avg_pool1d", 1, input, {kernel_size, stride, padding, {1}, ceil_mode},
                         count_include_pad, {});
}
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return average_windows("avg_pool2d", 2, input, {kernel_size, stride, padding, {1}, ceil_mode},
                         count_include_pad, divisor_override);
}
Tensor avg_pool3d(const Tensor& input, const Dims& kernel_size, const Dims& stride,
                  const Dims& padding, bool ceil_mode, bool count_include_pad,
                  std::optional<int64_t> divisor_override) {
  return average_windows("avg_pool3d", 3, input, {kernel_size, stride, padding, {1}, ceil_mode},
                         count_include_pad, divisor_override);
}

Tensor adaptive_max_pool1d(const Tensor& input, const Dims& output_size) {
  return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, false).values;
}
Tensor adaptive_max_pool2d(const Tensor& input, const Dims& output_size) {
  return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, false).values;
}
Tensor adaptive_max_pool3d(const Tensor& input, const Dims& output_size) {
  return adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, false).values;
}
ValuesIndices adaptive_max_pool1d_with_indices(const Tensor& input, const Dims& output_size) {
  const CalledOp called("adaptive_max_pool1d_with_indices");
  return adaptive_max_pool("adaptive_max_pool1d", 1, input, output_size, true);
}
ValuesIndices adaptive_max_pool2d_with_indices(const Tensor& input, const Dims& output_size) {
  const CalledOp called("adaptive_max_pool2d_with_indices");
  return adaptive_max_pool("adaptive_max_pool2d", 2, input, output_size, true);
}
ValuesIndices adaptive_max_pool3d_with_indices(const Tensor& input, const Dims& output_size) {
  const CalledOp called("adaptive_max_pool3d_with_indices");
  return adaptive_max_pool("adaptive_max_pool3d", 3, input, output_size, true);
}
Tensor adaptive_avg_pool1d(const Tensor& input, const Dims& output_size) {
  return adaptive_average("adaptive_avg_pool1d", 1, input, output_size);
}
Tensor adaptive_avg_pool2d(const Tensor& input, const Dims& output_size) {
  return adaptive_average("adaptive_avg_pool2d", 2, input, output_size);
}
Tensor adaptive_avg_pool3d(const Tensor& input, const Dims& output_size) {
  return adaptive_average("adaptive_avg_pool3d", 3, input, output_size);
}

}  // namespace aorta
