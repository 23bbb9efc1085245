#include <aorta/core/called_op.h>
#include <aorta/core/ops/convolution.h>

#include <aorta/core/body/window.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace aorta::kernel {

constinit Op<ConvolutionKernel, ConvolutionGradient> convolution_op{"convolution"};
constinit Op<ConvolutionKernel, ConvolutionGradient> convolution_transpose_op{
    "convolution_transpose"};
constinit Op<ConvolutionKernel,
             void (*)(Tensor&, const Tensor&, const Tensor&, const ConvolutionPlan&)>
    convolution_weight_op{"convolution_weight"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

std::atomic<bool>& winograd_switch() {
  static std::atomic<bool> enabled = [] {
    const char* const value = std::getenv("AORTA_WINOGRAD");
    return !value || std::strcmp(value, "0") != 0;
  }();
  return enabled;
}

// ---- Checks.

/// A convolution as the user gives it.
struct Given {
  const char* op;
  int spatial;
  const Tensor &input, &weight, &bias;
  const Dims &stride, &dilation;
  int64_t groups;
};

void check_operands(const Given& g, bool transposed) {
  const char* const inputs[] = {"input must be (C, L) or (N, C, L)",
                                "input must be (C, H, W) or (N, C, H, W)",
                                "input must be (C, D, H, W) or (N, C, D, H, W)"};
  const int n = g.input.dim();
  check(n == g.spatial + 1 || n == g.spatial + 2, g.op, inputs[g.spatial - 1], g.input.shape());
  check(g.weight.dim() == g.spatial + 2, g.op,
        "weight must have a dimension for each of input and output channels and of the kernel",
        g.weight.shape());
  check(is_floating(g.input.dtype()), g.op, "dtype must be floating", g.input.dtype());
  for (const Tensor* other : {&g.weight, &g.bias}) {
    if (!other->defined()) continue;
    check(other->dtype() == g.input.dtype(), g.op, "the operands must have one dtype",
          g.input.dtype(), " and ", other->dtype());
    check(other->device() == g.input.device(), g.op, "the operands must be on one device",
          g.input.device(), " and ", other->device());
  }
  for (int d = 0; d < g.weight.dim(); ++d)
    check(g.weight.size(d) > 0, g.op, "sizes of the weight must be positive", g.weight.shape());
  for (int d = n - g.spatial - 1; d < n; ++d)
    check(g.input.size(d) > 0, g.op, "sizes must be positive, but that of the batch",
          g.input.shape());
  check(g.groups >= 1, g.op, "groups must be at least 1", g.groups);
  check(g.weight.size(0) % g.groups == 0, g.op,
        transposed ? "input channels must be divisible by groups"
                   : "output channels must be divisible by groups",
        "weight ", g.weight.shape(), ", groups ", g.groups);
  if (!g.bias.defined()) return;
  const int64_t output_channels = transposed ? g.weight.size(1) * g.groups : g.weight.size(0);
  check(g.bias.shape() == Shape{output_channels}, g.op,
        "bias must have a number for each output channel", g.bias.shape(), " for ",
        output_channels);
}

// One number for each of `spatial` dimensions, within [least, 2^31).
Dims numbers_of(const char* op, const char* name, const Dims& given, int spatial, int64_t least) {
  const Dims numbers = given.size() == 1 ? Dims::filled(spatial, given[0]) : given;
  bool ok = numbers.size() == spatial;
  for (int64_t n : numbers) ok &= n >= least && n <= std::numeric_limits<int32_t>::max();
  const std::string rule = std::string(name) +
                           " must be a number for each spatial dimension or one for all, " +
                           (least > 0 ? "positive" : "not negative") + " and below 2^31";
  check(ok, op, rule.c_str(), given);
  return numbers;
}

ConvolutionPlan plan_of(const Given& g, const Dims& padding) {
  ConvolutionPlan plan;
  plan.spatial = g.spatial;
  plan.groups = g.groups;
  const Dims stride = numbers_of(g.op, "stride", g.stride, g.spatial, 1);
  const Dims dilation = numbers_of(g.op, "dilation", g.dilation, g.spatial, 1);
  for (int d = 0; d < g.spatial; ++d) {
    ConvDim& dim = plan.dims[3 - g.spatial + d];
    dim.kernel = g.weight.size(2 + d);
    dim.stride = stride[d];
    dim.padding = padding[d];
    dim.dilation = dilation[d];
  }
  return plan;
}

int64_t reach(const ConvDim& dim) { return (dim.kernel - 1) * dim.dilation + 1; }

// ---- Layouts.

// Contiguous strides of (A, *, B), for the shape (A, B, *).
Strides inner_strides(const Shape& shape) {
  Shape memory = shape;
  memory.erase(1);
  memory.push_back(shape[1]);
  const Strides dense = contiguous_strides(memory);
  Strides strides = dense;
  for (int d = 2; d < shape.size(); ++d) strides[d] = dense[d - 1];
  strides[1] = 1;
  return strides;
}

// x or y as the kernels read it: (N, *, C) in memory.
Tensor operand(const Tensor& x) { return movedim(x.detach(), 1, -1).contiguous(); }

// (A, B, *) with memory (A, *, B), or (A, B, *) where `planes`.
Tensor result_of(const Tensor& like, const Shape& shape, bool planes) {
  checked_numel("convolution", shape, item_size(like.dtype()));
  const TensorOptions options{.dtype = like.dtype(), .device = like.device()};
  return planes ? empty(shape, options) : empty_strided(shape, inner_strides(shape), options);
}

Shape shape_of(int64_t outer, int64_t inner, const ConvolutionPlan& plan, int64_t ConvDim::*size) {
  Shape shape{outer, inner};
  for (int d = 3 - plan.spatial; d < 3; ++d) shape.push_back(plan.dims[d].*size);
  return shape;
}

ConvolutionArgs arguments(const Tensor& x, const Tensor& y, const Tensor& w,
                          const ConvolutionPlan& plan) {
  ConvolutionArgs args;
  for (int d = 0; d < 3; ++d) args.dims[d] = plan.dims[d];
  args.batch = x.size(0);
  args.groups = plan.groups;
  args.x = x.data();
  args.y = y.data();
  args.w = w.data();
  args.w_y = w.stride(0);
  args.w_x = w.stride(1);
  for (int d = 0; d < plan.spatial; ++d) args.w_dims[3 - plan.spatial + d] = w.stride(2 + d);
  args.dtype = w.dtype();
  return args;
}

// Products of an input's element and a weight, without those of the padding.
int64_t products(int64_t batch, const Tensor& w, const ConvolutionPlan& plan) {
  int64_t meetings = batch * w.size(0) * w.size(1);
  for (int d = 0; d < plan.spatial; ++d) {
    const ConvDim& dim = plan.dims[3 - plan.spatial + d];
    int64_t along = 0;
    for (int64_t tap = 0; tap < dim.kernel; ++tap) {
      const body::WindowRange outputs = body::positions_reading(dim, tap);
      along += std::max<int64_t>(0, outputs.end - outputs.first);
    }
    meetings *= along;
  }
  return meetings;
}

// Whether each image is multiplied where it lies, channel by channel. Results in that order of
// memory are wanted, and a product with the weights on the left makes them; of small images another
// order of memory costs less than packing the weights for each.
bool keeps_planes(const Tensor& from, const Tensor& w, const ConvolutionPlan& plan) {
  constexpr int64_t kLeastPositions = 128;
  int64_t positions = 1;
  for (const ConvDim& dim : plan.dims) {
    if (dim.kernel != 1 || dim.stride != 1 || dim.padding != 0 || dim.input != dim.output)
      return false;
    positions *= dim.input;
  }
  return plan.groups == 1 && positions >= kLeastPositions &&
         from.device().type != DeviceType::cuda && from.is_contiguous() &&
         !is_channels_last(from) && !is_channels_last(w);
}

// Computes y from x, or x from y when `transposed`.
Tensor other_side(bool transposed, const Tensor& from, const Tensor& w, const Tensor& bias,
                  const ConvolutionPlan& plan) {
  const auto& op = transposed ? convolution_transpose_op : convolution_op;
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&from, &w});
  const bool planes = keeps_planes(from, w, plan);
  const Tensor source = planes ? from.detach() : operand(from);
  const Shape shape = transposed
                          ? shape_of(from.size(0), w.size(1) * plan.groups, plan, &ConvDim::input)
                          : shape_of(from.size(0), w.size(0), plan, &ConvDim::output);
  Tensor result = result_of(from, shape, planes);
  ConvolutionArgs args =
      transposed ? arguments(result, source, w, plan) : arguments(source, result, w, plan);
  args.planes = planes;
  args.x_channels = w.size(1) * plan.groups;
  args.y_channels = w.size(0);
  const Tensor shifts = bias.defined() ? bias.detach().contiguous() : bias;
  if (shifts.defined()) args.bias = shifts.data();
  if (range.is_open()) range.count(products(from.size(0), w, plan));
  if (result.numel() > 0) op.kernel(from.device())(args);
  if (!is_channels_last(from) && !is_channels_last(w)) result = result.contiguous();
  if (needs_gradient(from, w, bias)) op.gradient()(result, from, w, bias, plan);
  tell_tracer(op.name(), {&result}, {&from, &w, &bias}, plan);
  return result;
}

// ---- The functions of users.

Tensor batched(const Tensor& input, int spatial) {
  return input.dim() == spatial + 1 ? input.unsqueeze(0) : input;
}

Tensor convolve(const Given& g, const ConvPadding& padding) {
  const CalledOp called(g.op);
  check_defined(g.op, {{"input", g.input}, {"weight", g.weight}});
  if (autocast_changes({&g.input, &g.weight})) {
    const Tensor bias = g.bias.defined() ? autocast_to_half(g.bias) : g.bias;
    const Tensor input = autocast_to_half(g.input), weight = autocast_to_half(g.weight);
    return convolve({g.op, g.spatial, input, weight, bias, g.stride, g.dilation, g.groups},
                    padding);
  }
  check_operands(g, false);
  const Tensor input = batched(g.input, g.spatial);
  check(input.size(1) == g.weight.size(1) * g.groups, g.op,
        "input channels must equal weight channels x groups", "input ", g.input.shape(),
        ", weight ", g.weight.shape(), ", groups ", g.groups);
  const Dims sizes = numbers_of(g.op, "padding", padding.sizes(), g.spatial, 0);
  ConvolutionPlan plan = plan_of(g, sizes);
  for (int d = 0; d < g.spatial; ++d) {
    ConvDim& dim = plan.dims[3 - g.spatial + d];
    dim.input = input.size(2 + d);
    int64_t room = dim.input + 2 * dim.padding - reach(dim);
    if (padding.same()) {
      check(dim.stride == 1, g.op, "padding \"same\" needs stride 1", g.stride);
      dim.padding = (reach(dim) - 1) / 2;
      room = dim.input - 1;
    }
    check(room >= 0, g.op, "the kernel must fit into the padded input", "input ", g.input.shape(),
          ", weight ", g.weight.shape(), ", padding ", padding.sizes(), ", dilation ", g.dilation);
    dim.output = room / dim.stride + 1;
  }
  const Tensor output = convolution(input, g.weight, g.bias, plan);
  return g.input.dim() == g.spatial + 1 ? output.squeeze(0) : output;
}

Tensor convolve_transposed(const Given& g, const Dims& given_padding, const Dims& output_padding) {
  const CalledOp called(g.op);
  check_defined(g.op, {{"input", g.input}, {"weight", g.weight}});
  if (autocast_changes({&g.input, &g.weight})) {
    const Tensor bias = g.bias.defined() ? autocast_to_half(g.bias) : g.bias;
    const Tensor input = autocast_to_half(g.input), weight = autocast_to_half(g.weight);
    return convolve_transposed(
        {g.op, g.spatial, input, weight, bias, g.stride, g.dilation, g.groups}, given_padding,
        output_padding);
  }
  check_operands(g, true);
  const Tensor input = batched(g.input, g.spatial);
  check(input.size(1) == g.weight.size(0), g.op, "input channels must equal weight channels",
        "input ", g.input.shape(), ", weight ", g.weight.shape());
  const Dims padding = numbers_of(g.op, "padding", given_padding, g.spatial, 0);
  const Dims more = numbers_of(g.op, "output_padding", output_padding, g.spatial, 0);
  ConvolutionPlan plan = plan_of(g, padding);
  for (int d = 0; d < g.spatial; ++d) {
    ConvDim& dim = plan.dims[3 - g.spatial + d];
    check(more[d] < dim.stride || more[d] < dim.dilation, g.op,
          "output_padding must be smaller than stride or dilation", output_padding, " for stride ",
          g.stride, ", dilation ", g.dilation);
    dim.output = input.size(2 + d);
    dim.input = (dim.output - 1) * dim.stride - 2 * dim.padding + reach(dim) + more[d];
    check(dim.input > 0, g.op, "the output must not be empty", "input ", g.input.shape(),
          ", weight ", g.weight.shape(), ", padding ", given_padding);
  }
  const Tensor output = convolution_transpose(input, g.weight, g.bias, plan);
  return g.input.dim() == g.spatial + 1 ? output.squeeze(0) : output;
}

}  // namespace

ConvPadding::ConvPadding(const char* name) : same_(name && std::strcmp(name, "same") == 0) {
  check(same_ || (name && std::strcmp(name, "valid") == 0), "convolution",
        "padding must be numbers, \"valid\" or \"same\"", "\"", name ? name : "", "\"");
}

void set_winograd(bool enabled) { winograd_switch() = enabled; }
bool winograd_enabled() { return winograd_switch(); }

Tensor kernel::convolution(const Tensor& x, const Tensor& w, const Tensor& bias,
                           const ConvolutionPlan& plan) {
  return other_side(false, x, w, bias, plan);
}

Tensor kernel::convolution_transpose(const Tensor& y, const Tensor& w, const Tensor& bias,
                                     const ConvolutionPlan& plan) {
  return other_side(true, y, w, bias, plan);
}

Tensor kernel::convolution_weight(const Tensor& x, const Tensor& y, const ConvolutionPlan& plan,
                                  bool channels_last) {
  const CalledOp called(convolution_weight_op.name());
  const ProfilerRange range(convolution_weight_op.name(), {&x, &y});
  const Tensor input = operand(x), output = operand(y);
  Tensor w =
      result_of(x, shape_of(y.size(1), x.size(1) / plan.groups, plan, &ConvDim::kernel), false);
  if (range.is_open()) range.count(products(x.size(0), w, plan));
  ConvolutionArgs args = arguments(input, output, w, plan);
  args.x_channels = x.size(1);
  args.y_channels = y.size(1);
  if (x.size(0) == 0) {
    w.zero_();
  } else {
    convolution_weight_op.kernel(x.device())(args);
  }
  if (!channels_last) w = w.contiguous();
  if (needs_gradient(x, y)) convolution_weight_op.gradient()(w, x, y, plan);
  return w;
}

Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const ConvPadding& padding, const Dims& dilation, int64_t groups) {
  return convolve({"conv1d", 1, input, weight, bias, stride, dilation, groups}, padding);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const ConvPadding& padding, const Dims& dilation, int64_t groups) {
  return convolve({"conv2d", 2, input, weight, bias, stride, dilation, groups}, padding);
}
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Dims& stride,
              const ConvPadding& padding, const Dims& dilation, int64_t groups) {
  return convolve({"conv3d", 3, input, weight, bias, stride, dilation, groups}, padding);
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding,
                        int64_t groups, const Dims& dilation) {
  return convolve_transposed({"conv_transpose1d", 1, input, weight, bias, stride, dilation, groups},
                             padding, output_padding);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding,
                        int64_t groups, const Dims& dilation) {
  return convolve_transposed({"conv_transpose2d", 2, input, weight, bias, stride, dilation, groups},
                             padding, output_padding);
}
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding,
                        int64_t groups, const Dims& dilation) {
  return convolve_transposed({"conv_transpose3d", 3, input, weight, bias, stride, dilation, groups},
                             padding, output_padding);
}

}  // namespace aorta
