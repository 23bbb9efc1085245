#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>

#include <limits>

namespace aorta::kernel {

constinit Op<ClassLossKernel, ClassLossGradient> cross_entropy_op{"cross_entropy"};
constinit Op<ClassLossKernel, ClassLossGradient> nll_loss_op{"nll_loss"};
constinit Op<ClassLossBackwardKernel, NoGradient> cross_entropy_backward_op{
    "cross_entropy_backward"};
constinit Op<ClassLossBackwardKernel, NoGradient> nll_loss_backward_op{"nll_loss_backward"};

}  // namespace aorta::kernel

namespace aorta {

using namespace kernel;

namespace {

int class_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }
bool is_class(const Tensor& target) { return !is_floating(target.dtype()); }

// The input's shape without the classes.
Shape shape_of_losses(const Tensor& input) {
  Shape shape = input.shape();
  shape.erase(class_dim(input));
  return shape;
}

void check_inputs(const char* op, const Tensor& input, const Tensor& target,
                  const CrossEntropyOptions& options) {
  check_defined(op, {{"input", input}, {"target", target}});
  check(is_floating(input.dtype()), op, "dtype must be floating", input.dtype());
  check(input.dim() >= 1, op, "input must be (C), (N, C) or (N, C, d1, ...)", input.shape());
  const int64_t classes = input.shape()[class_dim(input)];
  check(classes > 0 || shape_of_losses(input).numel() == 0, op, "there must be classes",
        input.shape());
  check(input.device() == target.device(), op, "tensors must be on one device", input.device(),
        " and ", target.device());
  check(options.reduction != Reduction::batchmean, op, "reduction must be none, mean or sum",
        "batchmean");
  const Tensor& weight = options.weight;
  if (!weight.defined()) return;
  check(!needs_gradient(weight), op, "weights take no gradient", weight.shape(),
        " that require one");
  check(weight.device() == input.device(), op, "tensors must be on one device", input.device(),
        " and ", weight.device());
  check(weight.shape() == Shape{classes}, op, "weight must be (C)", weight.shape(), " for ",
        input.shape());
}

void check_classes(const char* op, const Tensor& input, const Tensor& target) {
  check(target.dtype() == DType::i64 || target.dtype() == DType::i32, op,
        "classes must be i64 or i32", target.dtype());
  check(target.shape() == shape_of_losses(input), op,
        "target must have the input's shape without the classes", target.shape(), " for ",
        input.shape());
}

// The operands of a kernel: alive as long as it runs.
struct PreparedClassLoss {
  Tensor input, target, gradient;
  ClassLossArgs args;
};

PreparedClassLoss prepare(const Tensor& input, const Tensor& target, const ClassLoss& loss) {
  const bool last = input.dim() >= 4 && !input.is_contiguous() &&
                    input.is_contiguous(MemoryFormat::channels_last);
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  PreparedClassLoss p{input.detach().contiguous(format), {}, {}, {}};
  ClassLossArgs& args = p.args;
  if (is_class(target)) {
    p.target = target.detach().to(DType::i64).contiguous();
    args.target = p.target.data<int64_t>();
  } else {
    p.target = target.detach().to(input.dtype()).contiguous(format);
    args.probabilities = p.target.data();
  }
  args.lines = lines_of(p.input, class_dim(input));
  args.dtype = input.dtype();
  args.input = p.input.data();
  args.weight = loss.options.weight.defined() ? loss.options.weight.data() : nullptr;
  args.ignore_index = loss.options.ignore_index;
  args.reduction = loss.options.reduction;
  args.label_smoothing = loss.options.label_smoothing;
  args.statistics = loss.statistics.defined() ? loss.statistics.data() : nullptr;
  args.total = loss.total.data<double>();
  return p;
}

void fail_at(const char* op, const Tensor& input, const Tensor& target, int64_t line) {
  Dims place;
  const Shape& shape = target.shape();
  for (int d = shape.size(); d-- > 0; line /= shape[d]) place.insert(0, line % shape[d]);
  const Tensor flat = target.detach().cpu().to(DType::i64).contiguous();
  check(false, op, "target must be in [0, C) or ignore_index", flat.at<int64_t>(place), " at ",
        place, ", C ", input.shape()[class_dim(input)]);
}

Tensor run(const Op<ClassLossKernel, ClassLossGradient>& op, const Tensor& input,
           const Tensor& target, const CrossEntropyOptions& options) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&input, &target});
  const bool reduced = options.reduction != Reduction::none;
  const Shape shape = shape_of_losses(input);
  const DType compute = compute_dtype(input.dtype());
  ClassLoss loss{options, {}, empty({}, {.dtype = DType::f64, .device = input.device()})};
  if (options.weight.defined())
    loss.options.weight = options.weight.detach().to(compute).contiguous();
  if (&op == &cross_entropy_op) {
    loss.statistics = empty({is_class(target) ? 2 : 3, shape.numel()},
                            {.dtype = compute, .device = input.device()});
  }
  PreparedClassLoss p = prepare(input, target, loss);
  Tensor output =
      empty(reduced ? Shape() : shape, {.dtype = input.dtype(), .device = input.device()});
  p.args.output = output.data();
  if (shape.numel() == 0) {
    loss.total.zero_();
    output.fill_(options.reduction == Reduction::mean ? std::numeric_limits<double>::quiet_NaN()
                                                      : 0);
  } else {
    const int64_t bad = op.kernel(input.device())(p.args);
    if (bad >= 0) fail_at(op.name(), input, p.target, bad);
  }
  if (needs_gradient(input, target)) op.gradient()(output, input, target, loss);
  tell_tracer(op.name(), {&output}, {&input, &target}, options);
  return output;
}

Tensor run_backward(const Op<ClassLossBackwardKernel, NoGradient>& op, const Tensor& gradient,
                    const Tensor& input, const Tensor& target, const ClassLoss& loss) {
  const CalledOp called(op.name());
  const ProfilerRange range(op.name(), {&gradient, &input, &target});
  PreparedClassLoss p = prepare(input, target, loss);
  const Tensor g = gradient.detach().to(input.dtype()).contiguous();
  const Tensor output = empty_strided(p.input.shape(), p.input.strides(),
                                      {.dtype = input.dtype(), .device = input.device()});
  p.args.gradient = g.data();
  p.args.output = output.data();
  if (output.numel() > 0) op.kernel(input.device())(p.args);
  return output;
}

}  // namespace

Tensor cross_entropy(const Tensor& input, const Tensor& target,
                     const CrossEntropyOptions& options) {
  const CalledOp called("cross_entropy");
  const char* const op = cross_entropy_op.name();
  const double smoothing = options.label_smoothing;
  check_inputs(op, input, target, options);
  check(smoothing >= 0 && smoothing <= 1, op, "label_smoothing must lie in [0, 1]", smoothing);
  const Tensor x = autocast_to_f32(input);
  if (target.shape() != input.shape()) {
    check_classes(op, input, target);
    return run(cross_entropy_op, x, target, options);
  }
  check(is_floating(target.dtype()), op, "probabilities must be floating", target.dtype());
  check(options.ignore_index < 0, op, "ignore_index is for classes", options.ignore_index);
  const DType dtype = promote(x.dtype(), target.dtype());
  return run(cross_entropy_op, x.to(dtype), target.to(dtype), options);
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options) {
  const CalledOp called("nll_loss");
  const char* const op = nll_loss_op.name();
  const CrossEntropyOptions all{options.weight, options.ignore_index, options.reduction};
  check_inputs(op, input, target, all);
  check_classes(op, input, target);
  return run(nll_loss_op, autocast_to_f32(input), target, all);
}

Tensor kernel::cross_entropy_backward(const Tensor& gradient, const Tensor& input,
                                      const Tensor& target, const ClassLoss& loss) {
  return run_backward(cross_entropy_backward_op, gradient, input, target, loss);
}
Tensor kernel::nll_loss_backward(const Tensor& gradient, const Tensor& input, const Tensor& target,
                                 const ClassLoss& loss) {
  return run_backward(nll_loss_backward_op, gradient, input, target, loss);
}

}  // namespace aorta
