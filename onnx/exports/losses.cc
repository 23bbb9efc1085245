#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/loss.h>
#include <aorta/onnx/export_call.h>

// Losses, of elements and of classes.
namespace aorta::onnx {
namespace {

using kernel::LossKind;
using kernel::PointwiseLoss;

// t log(t), and 0 where t is 0.
std::string entropy(const ExportCall& call, const std::string& t) {
  const std::string zero = call.number(0, call.computed_dtype());
  const std::string product = call.node("Mul", {t, call.node("Log", {t})});
  return call.node("Where", {call.node("Equal", {t, zero}), zero, product});
}

std::string of_distance(const ExportCall& call, const PointwiseLoss& loss, const std::string& x,
                        const std::string& t) {
  const auto number = [&](double value) { return call.number(value, call.computed_dtype()); };
  const std::string d = call.node("Sub", {x, t});
  const std::string squared = call.node("Mul", {d, d});
  if (loss.kind == LossKind::mse) return squared;
  const std::string size = call.node("Abs", {d});
  if (loss.kind == LossKind::l1 || loss.parameter == 0) return size;
  const double limit = loss.parameter, scale = loss.kind == LossKind::huber ? limit : 1;
  const std::string near = call.node("Mul", {squared, number(scale / (2 * limit))});
  const std::string far =
      call.node("Mul", {call.node("Sub", {size, number(limit / 2)}), number(scale)});
  return call.node("Where", {call.node("Less", {size, number(limit)}), near, far});
}

// For a target t, first * t + second * (1 - t).
std::string mixed(const ExportCall& call, const std::string& t, const std::string& first,
                  const std::string& second) {
  const std::string rest = call.node("Sub", {call.number(1, call.computed_dtype()), t});
  return call.node("Add", {call.node("Mul", {t, first}), call.node("Mul", {rest, second})});
}

std::string of_probability(const ExportCall& call, const std::string& x, const std::string& t) {
  const DType dtype = call.computed_dtype();
  const auto log = [&](const std::string& p) {
    return call.node("Clip", {call.node("Log", {p}), call.number(-100, dtype)});
  };
  const std::string rest = call.node("Sub", {call.number(1, dtype), x});
  return call.node("Neg", {mixed(call, t, log(x), log(rest))});
}

std::string of_logit(const ExportCall& call, const PointwiseLoss& loss, const std::string& x,
                     const std::string& t) {
  std::string yes = call.node("Softplus", {call.node("Neg", {x})});
  if (loss.pos_weight.defined())
    yes = call.node("Mul", {yes, call.constant(loss.pos_weight.to(call.computed_dtype()))});
  return mixed(call, t, yes, call.node("Softplus", {x}));
}

std::string losses_of(const ExportCall& call, const PointwiseLoss& loss) {
  const std::string x = call.computed(0), t = call.computed(1);
  switch (loss.kind) {
    case LossKind::bce:
      return of_probability(call, x, t);
    case LossKind::bce_with_logits:
      return of_logit(call, loss, x, t);
    case LossKind::kl_div:
      return call.node("Sub", {entropy(call, t), call.node("Mul", {t, x})});
    case LossKind::kl_log:
      return call.node("Mul", {call.node("Exp", {t}), call.node("Sub", {t, x})});
    default:
      return of_distance(call, loss, x, t);
  }
}

Names pointwise_loss(const ExportCall& call) {
  const auto& [reduction, loss] = call.options<Reduction, PointwiseLoss>();
  const DType dtype = call.computed_dtype();
  std::string losses = losses_of(call, loss);
  if (loss.weight.defined())
    losses = call.node("Mul", {losses, call.constant(loss.weight.to(dtype))});
  if (reduction == Reduction::none) return {call.rounded(losses)};
  const bool is_mean = reduction == Reduction::mean;
  const std::string sum =
      call.node(is_mean ? "ReduceMean" : "ReduceSum", {losses}, {attribute("keepdims", 0)});
  if (reduction != Reduction::batchmean || call.input(0).dim() == 0) return {call.rounded(sum)};
  const std::string count = call.cast(call.integer(call.input(0).size(0)), i64, dtype);
  return {call.rounded(call.node("Div", {sum, count}))};
}

Names class_loss(const ExportCall& call, const char* op_type) {
  const auto& [options] = call.options<CrossEntropyOptions>();
  call.check(call.input(0).dim() >= 2 && !is_floating(call.input(1).dtype()),
             "input must be (N, C, ...) and the target classes", call.input(0).shape(), " and ",
             call.input(1).dtype());
  call.check(options.label_smoothing == 0, "label_smoothing must be 0", options.label_smoothing);
  Names inputs{call[0], call[1]};
  if (options.weight.defined())
    inputs.push_back(call.constant(options.weight.to(call.input(0).dtype())));
  const char* const names[] = {"none", "mean", "sum"};
  return {call.node(op_type, inputs,
                    {attribute("reduction", names[static_cast<int>(options.reduction)]),
                     attribute("ignore_index", options.ignore_index)})};
}
Names cross_entropy(const ExportCall& call) { return class_loss(call, "SoftmaxCrossEntropyLoss"); }
Names nll_loss(const ExportCall& call) { return class_loss(call, "NegativeLogLikelihoodLoss"); }

}  // namespace

void add_loss_exports(Exports& table) {
  for (const char* const name : {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div",
                                 "binary_cross_entropy", "binary_cross_entropy_with_logits"})
    table[name] = pointwise_loss;
  table["cross_entropy"] = cross_entropy;
  table["nll_loss"] = nll_loss;
}

}  // namespace aorta::onnx
