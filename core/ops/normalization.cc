#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/finfo.h>
#include <aorta/core/ops/normalization.h>

#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/written.h>

#include <algorithm>

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
  if (given.defined() && given.is_complex()) detail::refuse_complex(given.dtype());
  return given.defined() ? given.detach().to(dtype).contiguous() : Tensor();
}
// Where the numbers of channels lie.
scalar::ChannelNumbers channels_of(const Tensor& given) {
  if (!given.defined()) return {};
  return {given.data(), given.dtype(), given.dim() == 1 ? given.strides()[0] : 1};
}

// Where the elements of (N, C, *) lie; the tensors are in one of the two layouts.
ChannelNormArgs args_of(const Tensor& input, const NormForward& forward, bool last,
                        const ChannelNormPlan& plan) {
  ChannelNormArgs args;
  args.batch = input.shape()[0];
  args.channels = input.shape()[1];
  args.positions = positions_of(input);
  args.channels_last = last || (args.positions == 1 && plan.width == 1);
  args.plan = plan;
  args.dtype = input.dtype();
  args.mean = forward.mean.data<double>();
  args.var = forward.var.data<double>();
  args.maps = channels_of(forward.maps);
  args.weight = channels_of(forward.weight);
  args.bias = channels_of(forward.bias);
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

// Statistics and maps that are undefined are found and kept in `forward`; of a given `running`, or
// of the input, by which that moves.
Tensor normalise(const ChannelNormOp& op, NormForward& forward, const ChannelNormPlan& plan,
                 const scalar::RunningStatistics& running = {}, const Tensor& gradient = {}) {
  const Tensor& input = forward.input;
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input});
  const bool last = is_channels_last(input);
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  const Tensor x = input.contiguous(format);
  Tensor output = empty_in(input, last);
  if (!forward.mean.defined()) {
    forward.mean = doubles({plan.groups, input.shape()[1] / plan.width}, input.device());
    forward.var = doubles(forward.mean.shape(), input.device());
  }
  const bool maps_known = forward.maps.defined();
  if (!maps_known) {
    forward.maps = empty({3, plan.groups, input.shape()[1]},
                         {.dtype = compute_dtype(input.dtype()), .device = input.device()});
  }
  const Tensor& residual = forward.residual;
  if (input.numel() > 0) {
    ChannelNormArgs args = args_of(x, forward, last, plan);
    args.maps_known = maps_known;
    args.running = running;
    args.input = x.data();
    args.output = output.data();
    const Tensor r = residual.defined() ? residual.detach().contiguous(format) : Tensor();
    const Tensor g = gradient.defined() ? gradient.detach().contiguous(format) : Tensor();
    if (r.defined()) args.residual = r.data();
    if (g.defined()) args.gradient = g.data();
    op.kernel(input.device())(args);
  }
  if (needs_gradient(input, forward.weight, forward.bias) ||
      (residual.defined() && needs_gradient(residual)))
    op.gradient()(output, forward, plan);
  tell_tracer(op.name(), {&output}, {&input, &forward.weight, &forward.bias, &residual}, plan);
  return output;
}

// running = (1 - momentum) running + momentum value.
void move_towards(const Tensor& running, const Tensor& value, double momentum) {
  running.copy_(lerp(running.detach().to(DType::f64), value, momentum));
}

// Eval mode: the running statistics, one group.
Tensor normalise_by(const ChannelNormOp& op, const Tensor& running_mean, const Tensor& running_var,
                    NormForward forward, double eps, bool relu = false) {
  const ChannelNormPlan plan{.eps = eps, .given = true, .relu = relu};
  const Tensor output = normalise(
      op, forward, plan, {.mean = channels_of(running_mean), .var = channels_of(running_var)});
  tell_tracer(op.name(), {&output},
              {&forward.input, &forward.weight, &forward.bias, &forward.residual, &running_mean,
               &running_var},
              plan);
  return output;
}

// The running statistics of batch_norm, which its kernel moves.
struct Moved {
  const char* op;
  Tensor mean, var, batches;

  scalar::RunningStatistics running(double momentum, double unbiased) const {
    for (const Tensor& tensor : {mean, var, batches}) {
      if (!tensor.defined()) continue;
      check_writable(op, tensor);
      records_write(op, tensor, false);
    }
    return {channels_of(mean), channels_of(var), momentum, unbiased,
            batches.defined() ? batches.data<int64_t>() : nullptr};
  }
  void bump_versions() const {
    for (const Tensor& tensor : {mean, var, batches}) {
      if (tensor.defined()) bump_written(tensor);
    }
  }
};

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

// Memory for the gradient of a parameter, where it is wanted.
Tensor parameter_gradient(bool wanted, int64_t count, DType dtype, Device device) {
  return wanted ? empty({count}, {.dtype = dtype, .device = device}) : Tensor();
}
double* data_or_null(const Tensor& given) {
  return given.defined() ? given.data<double>() : nullptr;
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
  const CalledOp called(op.name());
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
  NormForward forward{.input = input, .weight = weight, .bias = bias, .residual = residual};
  if (!options.training)
    return normalise_by(batch_norm_op, running_mean, running_var, forward, options.eps,
                        options.relu);
  const int64_t groups = options.statistic_groups, batch = input.shape()[0];
  check(groups >= 1 && batch % groups == 0, op, "statistic_groups must divide the batch", groups,
        " for ", input.shape());
  const int64_t count = batch / groups * positions_of(input);
  check(input.numel() == 0 || count > 1, op,
        "training needs more than one value a channel and group", input.shape());
  const Tensor& batches = options.num_batches_tracked;
  if (batches.defined()) {
    check(batches.dtype() == DType::i64 && batches.device() == input.device(), op,
          "num_batches_tracked must be an i64 on the input's device", batches.dtype(), " on ",
          batches.device());
  }
  // Statistics that a gradient goes through are moved by ops that record it.
  const bool recorded = running_mean.defined() && needs_gradient(running_mean, running_var);
  const bool moves = running_mean.defined() && input.numel() > 0;
  const Moved moved{op, running_mean, running_var, batches};
  scalar::RunningStatistics running;
  if (moves && !recorded) running = moved.running(options.momentum, unbiased(count));
  const Tensor output =
      normalise(batch_norm_op, forward,
                {.groups = groups, .eps = options.eps, .relu = options.relu}, running);
  if (moves && !recorded) {
    moved.bump_versions();
    return output;
  }
  for (int64_t g = 0; moves && g < groups; ++g) {
    move_towards(running_mean, forward.mean[g], options.momentum);
    move_towards(running_var, mul(forward.var[g], unbiased(count)), options.momentum);
  }
  if (running_mean.defined() && batches.defined()) add_(batches, groups);
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
  NormForward forward{.input = input, .weight = weight, .bias = bias};
  if (!options.use_input_stats)
    return normalise_by(instance_norm_op, running_mean, running_var, forward, options.eps);
  const int64_t count = positions_of(input);
  check(input.numel() == 0 || count > 1, op, "more than one position is needed", input.shape());
  const Tensor output =
      normalise(instance_norm_op, forward,
                {.groups = std::max<int64_t>(input.shape()[0], 1), .eps = options.eps});
  if (running_mean.defined() && input.numel() > 0) {
    move_towards(running_mean, mean(forward.mean, 0), options.momentum);
    move_towards(running_var, mul(mean(forward.var, 0), unbiased(count)), options.momentum);
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
  NormForward forward{.input = x, .weight = w, .bias = b};
  return normalise(group_norm_op, forward,
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
  const double least = finfo(compute_dtype(x.dtype())).eps;
  return normalise_lines(
      rms_norm_op, x, w, {},
      {.length = normalized_shape.numel(), .eps = eps.value_or(least), .centered = false});
}

NormGradients kernel::channel_norm_backward(const Tensor& gradient, const NormForward& forward,
                                            const ChannelNormPlan& plan, NormWanted wanted) {
  if (gradient.numel() == 0) return nothing(gradient, gradient.shape()[1], wanted);
  const CalledOp called(channel_norm_backward_op.name());
  const ProfilerRange range(channel_norm_backward_op.name(), {&gradient});
  const Tensor& input = forward.input;
  const bool last = is_channels_last(input.defined() ? input : gradient);
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  const Tensor g = gradient.detach().contiguous(format);
  const Tensor x = input.defined() ? input.detach().contiguous(format) : Tensor();
  ChannelNormArgs args = args_of(g, forward, last, plan);
  args.maps_known = forward.maps.defined();
  args.gradient = g.data();
  if (x.defined()) args.input = x.data();
  NormGradients result;
  const DType dtype = compute_dtype(g.dtype());
  result.weight = parameter_gradient(wanted.weight, args.channels, dtype, g.device());
  result.bias = parameter_gradient(wanted.bias, args.channels, dtype, g.device());
  args.weight_gradient = channels_of(result.weight);
  args.bias_gradient = channels_of(result.bias);
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
  NormForward found = forward;
  return normalise(batch_norm_op, found, given, {}, gradient);
}

NormGradients kernel::line_norm_backward(const Tensor& gradient, const NormForward& forward,
                                         const LineNormPlan& plan, NormWanted wanted) {
  if (gradient.numel() == 0) return nothing(gradient, plan.length, wanted);
  const CalledOp called(line_norm_backward_op.name());
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
  result.weight = parameter_gradient(wanted.weight, plan.length, DType::f64, g.device());
  result.bias = parameter_gradient(wanted.bias, plan.length, DType::f64, g.device());
  args.weight_gradient = data_or_null(result.weight);
  args.bias_gradient = data_or_null(result.bias);
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
