#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/normalization.h>

#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <limits>

namespace aorta::kernel {

using ChannelNormOp = Op<ChannelNormKernel, ChannelNormGradient>;
using LineNormOp = Op<LineNormKernel, LineNormGradient>;
constinit ChannelNormOp batch_norm_op{"batch_norm"};
constinit ChannelNormOp instance_norm_op{"instance_norm"};
constinit ChannelNormOp group_norm_op{"group_norm"};
constinit LineNormOp layer_norm_op{"layer_norm"};
constinit LineNormOp rms_norm_op{"rms_norm"};
constinit Op<ChannelNormKernel, NoGradient> channel_norm_backward_op{"channel_norm_backward"};
constinit Op<LineNormKernel, NoGradient> line_norm_backward_op{"line_norm_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

// A parameter or a running statistic.
void check_parameter(const char* op, const char* name, const Tensor& parameter, const Tensor& input,
                     const Shape& shape) {
  if (!parameter.defined()) return;
  const DType dtype = parameter.dtype();
  check(dtype == input.dtype() || (dtype == DType::f32 && is_half(input.dtype())), op,
        std::string(name) + " must have the input's dtype, or f32 beside a half type", dtype,
        " for ", input.dtype());
  check(parameter.shape() == shape, op,
        std::string(name) + " must have the shape " + to_string(shape), parameter.shape());
  check(parameter.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", parameter.device());
}

// (N, C, *) with at least `spatial` dimensions for the positions.
void check_channels(const char* op, const Tensor& input, int spatial, const Tensor& weight,
                    const Tensor& bias) {
  check_floating(op, input.dtype());
  const char* const rule =
      spatial > 0 ? "input must be (N, C, *), at least one *" : "input must be (N, C, *)";
  check(input.dim() >= 2 + spatial, op, rule, input.shape());
  const Shape channels{input.shape()[1]};
  check_parameter(op, "weight", weight, input, channels);
  check_parameter(op, "bias", bias, input, channels);
}

void check_running(const char* op, const Tensor& input, const Tensor& mean, const Tensor& var,
                   bool needed) {
  check(mean.defined() == var.defined(), op, "running_mean and running_var, or neither",
        mean.defined() ? "running_mean alone" : "running_var alone");
  check(mean.defined() || !needed, op,
        "running_mean and running_var are what normalises: they must be given", "neither");
  const Shape channels{input.shape()[1]};
  check_parameter(op, "running_mean", mean, input, channels);
  check_parameter(op, "running_var", var, input, channels);
}

int64_t positions_of(const Tensor& input) {
  int64_t positions = 1;
  for (int d = 2; d < input.dim(); ++d) positions *= input.shape()[d];
  return positions;
}

// One after another, as `dtype`; undefined stays undefined.
Tensor numbers(const Tensor& given, DType dtype) {
  return given.defined() ? given.detach().to(dtype).contiguous() : Tensor();
}
const double* data_or_null(const Tensor& given) {
  return given.defined() ? given.data<double>() : nullptr;
}

// Where the elements of (N, C, *) lie; the tensors are in one of the two layouts.
ChannelNormArgs args_of(const Tensor& input, const Tensor& mean, const Tensor& var, bool last,
                        const ChannelNormPlan& plan) {
  ChannelNormArgs args;
  args.batch = input.shape()[0];
  args.channels = input.shape()[1];
  args.positions = positions_of(input);
  args.channels_last = last || (args.positions == 1 && plan.width == 1);
  args.plan = plan;
  args.dtype = input.dtype();
  args.mean = mean.data<double>();
  args.var = var.data<double>();
  return args;
}

Tensor empty_in(const Tensor& input, bool last) {
  const Shape& shape = input.shape();
  return empty_strided(shape, last ? channels_last_strides(shape) : contiguous_strides(shape),
                       {.dtype = input.dtype(), .device = input.device()});
}

Tensor doubles(const Shape& shape, Device device) {
  return empty(shape, {.dtype = DType::f64, .device = device});
}

// `mean` and `var` are read where they are given, else they are set.
Tensor normalise(const ChannelNormOp& op, const Tensor& input, const Tensor& weight,
                 const Tensor& bias, Tensor& mean, Tensor& var, const ChannelNormPlan& plan,
                 const Tensor& residual = {}, const Tensor& gradient = {}) {
  const ProfilerRange range(op.name(), {&input});
  const bool last = is_channels_last(input);
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  const Tensor x = input.contiguous(format);
  Tensor output = empty_in(input, last);
  if (!plan.given) {
    mean = doubles({plan.groups, input.shape()[1] / plan.width}, input.device());
    var = doubles(mean.shape(), input.device());
  }
  if (input.numel() > 0) {
    const Tensor w = numbers(weight, DType::f64), b = numbers(bias, DType::f64);
    ChannelNormArgs args = args_of(x, mean, var, last, plan);
    args.input = x.data();
    args.output = output.data();
    args.weight = data_or_null(w);
    args.bias = data_or_null(b);
    const Tensor r = residual.defined() ? residual.detach().contiguous(format) : Tensor();
    const Tensor g = gradient.defined() ? gradient.detach().contiguous(format) : Tensor();
    if (r.defined()) args.residual = r.data();
    if (g.defined()) args.gradient = g.data();
    op.kernel(input.device())(args);
  }
  if (needs_gradient(input, weight, bias) || (residual.defined() && needs_gradient(residual)))
    op.gradient()(output, input, weight, bias, residual, mean, var, plan);
  tell_tracer(op.name(), {&output}, {&input, &weight, &bias, &residual}, plan);
  return output;
}

// running = (1 - momentum) running + momentum value.
void move_towards(const Tensor& running, const Tensor& value, double momentum) {
  running.copy_(lerp(running.detach().to(DType::f64), value, momentum));
}

// Eval mode: the running statistics, one group.
Tensor normalise_by(const ChannelNormOp& op, const Tensor& input, const Tensor& running_mean,
                    const Tensor& running_var, const Tensor& weight, const Tensor& bias, double eps,
                    bool relu = false, const Tensor& residual = {}) {
  Tensor mean = running_mean.detach().to(ToOptions{.dtype = DType::f64, .copy = true}).contiguous();
  Tensor var = running_var.detach().to(ToOptions{.dtype = DType::f64, .copy = true}).contiguous();
  const ChannelNormPlan plan{.eps = eps, .given = true, .relu = relu};
  const Tensor output = normalise(op, input, weight, bias, mean, var, plan, residual);
  tell_tracer(op.name(), {&output},
              {&input, &weight, &bias, &residual, &running_mean, &running_var}, plan);
  return output;
}

double unbiased(int64_t count) {
  return static_cast<double>(count) / static_cast<double>(count - 1);
}

// The gradients of no elements, those of parameters with as many elements as given.
NormGradients nothing(const Tensor& gradient, int64_t parameters, NormWanted wanted) {
  NormGradients result;
  const TensorOptions options{.dtype = DType::f64, .device = gradient.device()};
  if (wanted.input) result.input = zeros_like(gradient);
  if (wanted.weight) result.weight = zeros({parameters}, options);
  if (wanted.bias) result.bias = zeros({parameters}, options);
  return result;
}

// Memory for the gradient of a parameter.
double* allocate(bool wanted, int64_t count, Device device, Tensor& gradient) {
  if (!wanted) return nullptr;
  gradient = doubles({count}, device);
  return gradient.data<double>();
}

// Lines of `normalized_shape`.
void check_lines(const char* op, const Tensor& input, const Shape& normalized_shape,
                 const Tensor& weight, const Tensor& bias) {
  check_floating(op, input.dtype());
  const int n = normalized_shape.size();
  check(n > 0, op, "normalized_shape must have a dimension", normalized_shape);
  bool ends = input.dim() >= n;
  for (int d = 0; ends && d < n; ++d)
    ends = input.shape()[input.dim() - n + d] == normalized_shape[d];
  check(ends, op, "the input's shape must end with normalized_shape", input.shape(), " and ",
        normalized_shape);
  check_parameter(op, "weight", weight, input, normalized_shape);
  check_parameter(op, "bias", bias, input, normalized_shape);
}

Tensor normalise_lines(const LineNormOp& op, const Tensor& input, const Tensor& weight,
                       const Tensor& bias, const LineNormPlan& plan) {
  const ProfilerRange range(op.name(), {&input});
  const Tensor x = input.contiguous();
  Tensor output = empty_in(input, false);
  const int64_t lines = plan.length > 0 ? input.numel() / plan.length : 0;
  const Tensor mean = doubles({lines}, input.device()), var = doubles({lines}, input.device());
  if (input.numel() > 0) {
    const Tensor w = numbers(weight, compute_dtype(input.dtype()));
    const Tensor b = numbers(bias, compute_dtype(input.dtype()));
    LineNormArgs args;
    args.lines = lines;
    args.plan = plan;
    args.dtype = input.dtype();
    args.input = x.data();
    args.output = output.data();
    args.mean = mean.data<double>();
    args.var = var.data<double>();
    if (w.defined()) args.weight = w.data();
    if (b.defined()) args.bias = b.data();
    op.kernel(input.device())(args);
  }
  if (needs_gradient(input, weight, bias))
    op.gradient()(output, input, weight, bias, mean, var, plan);
  tell_tracer(op.name(), {&output}, {&input, &weight, &bias}, plan);
  return output;
}

}  // namespace

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, const BatchNormFuncOptions& options) {
  const CalledOp called("batch_norm");
  check_defined("batch_norm", {{"input", input}});
  const char* const op = "batch_norm";
  check_channels(op, input, 0, weight, bias);
  const Tensor& residual = options.residual;
  if (residual.defined()) {
    check(options.relu, op, "a residual needs relu", options.relu);
    check(residual.shape() == input.shape() && residual.dtype() == input.dtype(), op,
          "residual must have the input's shape and dtype", residual.shape(), " ", residual.dtype(),
          " for ", input.shape(), " ", input.dtype());
    check(residual.device() == input.device(), op, "tensors must be on one device", input.device(),
          " and ", residual.device());
  }
  check_running(op, input, running_mean, running_var, !options.training);
  if (!options.training)
    return normalise_by(batch_norm_op, input, running_mean, running_var, weight, bias, options.eps,
                        options.relu, residual);
  const int64_t groups = options.statistic_groups, batch = input.shape()[0];
  check(groups >= 1 && batch % groups == 0, op, "statistic_groups must divide the batch", groups,
        " for ", input.shape());
  const int64_t count = batch / groups * positions_of(input);
  check(input.numel() == 0 || count > 1, op,
        "training needs more than one value a channel and group", input.shape());
  Tensor mean, var;
  const Tensor output =
      normalise(batch_norm_op, input, weight, bias, mean, var,
                {.groups = groups, .eps = options.eps, .relu = options.relu}, residual);
  if (running_mean.defined() && input.numel() > 0) {
    for (int64_t g = 0; g < groups; ++g) {
      move_towards(running_mean, mean[g], options.momentum);
      move_towards(running_var, mul(var[g], unbiased(count)), options.momentum);
    }
  }
  return output;
}

Tensor instance_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                     const Tensor& weight, const Tensor& bias,
                     const InstanceNormFuncOptions& options) {
  const CalledOp called("instance_norm");
  check_defined("instance_norm", {{"input", input}});
  const char* const op = "instance_norm";
  check_channels(op, input, 1, weight, bias);
  check_running(op, input, running_mean, running_var, !options.use_input_stats);
  if (!options.use_input_stats)
    return normalise_by(instance_norm_op, input, running_mean, running_var, weight, bias,
                        options.eps);
  const int64_t count = positions_of(input);
  check(input.numel() == 0 || count > 1, op, "more than one position is needed", input.shape());
  Tensor mean, var;
  const Tensor output =
      normalise(instance_norm_op, input, weight, bias, mean, var,
                {.groups = std::max<int64_t>(input.shape()[0], 1), .eps = options.eps});
  if (running_mean.defined() && input.numel() > 0) {
    move_towards(running_mean, aorta::mean(mean, 0), options.momentum);
    move_towards(running_var, mul(aorta::mean(var, 0), unbiased(count)), options.momentum);
  }
  return output;
}

Tensor group_norm(const Tensor& input, int64_t num_groups, const Tensor& weight, const Tensor& bias,
                  double eps) {
  const CalledOp called("group_norm");
  check_defined("group_norm", {{"input", input}});
  const char* const op = "group_norm";
  const Tensor x = autocast_to_f32(input), w = autocast_to_f32(weight), b = autocast_to_f32(bias);
  check_channels(op, x, 0, w, b);
  check(num_groups >= 1 && x.shape()[1] % num_groups == 0, op,
        "num_groups must divide the channels", num_groups, " for ", x.shape());
  Tensor mean, var;
  return normalise(group_norm_op, x, w, b, mean, var,
                   {.groups = std::max<int64_t>(x.shape()[0], 1),
                    .width = std::max<int64_t>(x.shape()[1] / num_groups, 1),
                    .eps = eps});
}

Tensor layer_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight,
                  const Tensor& bias, double eps) {
  const CalledOp called("layer_norm");
  check_defined("layer_norm", {{"input", input}});
  const Tensor x = autocast_to_f32(input), w = autocast_to_f32(weight), b = autocast_to_f32(bias);
  check_lines("layer_norm", x, normalized_shape, w, b);
  return normalise_lines(layer_norm_op, x, w, b, {.length = normalized_shape.numel(), .eps = eps});
}

Tensor rms_norm(const Tensor& input, const Shape& normalized_shape, const Tensor& weight,
                std::optional<double> eps) {
  const CalledOp called("rms_norm");
  check_defined("rms_norm", {{"input", input}});
  const Tensor x = autocast_to_f32(input), w = autocast_to_f32(weight);
  check_lines("rms_norm", x, normalized_shape, w, {});
  const double least = x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                               : std::numeric_limits<float>::epsilon();
  return normalise_lines(
      rms_norm_op, x, w, {},
      {.length = normalized_shape.numel(), .eps = eps.value_or(least), .centered = false});
}

NormGradients kernel::channel_norm_backward(const Tensor& gradient, const NormForward& forward,
                                            const ChannelNormPlan& plan, NormWanted wanted) {
  if (gradient.numel() == 0) return nothing(gradient, gradient.shape()[1], wanted);
  const ProfilerRange range(channel_norm_backward_op.name(), {&gradient});
  const Tensor& input = forward.input;
  const bool last = is_channels_last(input.defined() ? input : gradient);
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  const Tensor g = gradient.detach().contiguous(format);
  const Tensor x = input.defined() ? input.detach().contiguous(format) : Tensor();
  const Tensor w = numbers(forward.weight, DType::f64);
  const Tensor b = plan.relu ? numbers(forward.bias, DType::f64) : Tensor();
  ChannelNormArgs args = args_of(g, forward.mean, forward.var, last, plan);
  args.gradient = g.data();
  if (x.defined()) args.input = x.data();
  args.weight = data_or_null(w);
  args.bias = data_or_null(b);
  NormGradients result;
  args.weight_gradient = allocate(wanted.weight, args.channels, g.device(), result.weight);
  args.bias_gradient = allocate(wanted.bias, args.channels, g.device(), result.bias);
  if (wanted.input) {
    result.input = empty_in(g, last);
    args.output = result.input.data();
  }
  channel_norm_backward_op.kernel(g.device())(args);
  return result;
}

Tensor kernel::batch_norm_recomputed(const NormForward& forward, const ChannelNormPlan& plan) {
  return batch_norm_masked_gradient({}, forward, plan);
}

Tensor kernel::batch_norm_masked_gradient(const Tensor& gradient, const NormForward& forward,
                                          const ChannelNormPlan& plan) {
  ChannelNormPlan given = plan;
  given.given = true;
  Tensor mean = forward.mean, var = forward.var;
  return normalise(batch_norm_op, forward.input, forward.weight, forward.bias, mean, var, given,
                   forward.residual, gradient);
}

NormGradients kernel::line_norm_backward(const Tensor& gradient, const NormForward& forward,
                                         const LineNormPlan& plan, NormWanted wanted) {
  if (gradient.numel() == 0) return nothing(gradient, plan.length, wanted);
  const ProfilerRange range(line_norm_backward_op.name(), {&gradient});
  const Tensor g = gradient.detach().contiguous(), x = forward.input.detach().contiguous();
  const Tensor w = numbers(forward.weight, compute_dtype(x.dtype()));
  LineNormArgs args;
  args.lines = forward.mean.numel();
  args.plan = plan;
  args.dtype = x.dtype();
  args.input = x.data();
  args.gradient = g.data();
  args.mean = forward.mean.data<double>();
  args.var = forward.var.data<double>();
  if (w.defined()) args.weight = w.data();
  NormGradients result;
  args.weight_gradient = allocate(wanted.weight, plan.length, g.device(), result.weight);
  args.bias_gradient = allocate(wanted.bias, plan.length, g.device(), result.bias);
  if (wanted.input) {
    result.input = empty_in(g, false);
    args.output = result.input.data();
  }
  line_norm_backward_op.kernel(g.device())(args);
  return result;
}

Tensor normalize(const Tensor& given, double p, const ReduceDims& dims, double eps) {
  const CalledOp called("normalize");
  check_defined("normalize", {{"input", given}});
  const Tensor input = autocast_to_f32(given);
  check_floating("normalize", input.dtype());
  const Tensor x = input.to(compute_dtype(input.dtype()));
  return (x / clamp_min(norm(x, p, dims, true), eps)).to(input.dtype());
}

static Tensor renormed(const Tensor& input, double p, int64_t given_dim, double maxnorm) {
  check_floating("renorm", input.dtype());
  check(input.dim() >= 2, "renorm", "input must have 2 dimensions at least", input.shape());
  check(p > 0, "renorm", "p must be positive", p);
  check(maxnorm >= 0, "renorm", "maxnorm can't be negative", maxnorm);
  const int dim = wrap_dim("renorm", given_dim, input.dim());
  Dims others;
  for (int i = 0; i < input.dim(); ++i) {
    if (i != dim) others.push_back(i);
  }
  const Tensor x = input.to(compute_dtype(input.dtype()));
  const Tensor norms = norm(x, p, others, true);
  return (x * where(gt(norms, maxnorm), maxnorm / (norms + 1e-7), 1)).to(input.dtype());
}
Tensor renorm(const Tensor& input, double p, int64_t dim, double maxnorm) {
  const CalledOp called("renorm");
  check_defined("renorm", {{"input", input}});
  return renormed(autocast_to_f32(input), p, dim, maxnorm);
}
Tensor renorm_(const Tensor& input, double p, int64_t dim, double maxnorm) {
  const CalledOp called("renorm_");
  check_defined("renorm_", {{"input", input}});
  check_writable("renorm_", input);
  const Tensor before = needs_gradient(input) ? keep_before_write(input) : input;
  input.copy_(renormed(before, p, dim, maxnorm));
  return input;
}

}  // namespace aorta
