#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/onnx/operators.h>

#include <array>
#include <limits>

namespace aorta::onnx {
namespace {

struct LossOptions {
  Reduction reduction;
  int64_t ignored;  // a class that none is, where the file names none

  explicit LossOptions(const Node& node)
      : reduction(std::array{Reduction::mean, Reduction::sum,
                             Reduction::none}[node.choice("reduction", {"mean", "sum", "none"})]),
        ignored(node.integer("ignore_index", std::numeric_limits<int64_t>::min())) {}
};

Run negative_log_likelihood(const Node& node) {
  const LossOptions o(node);
  return [o](const Inputs& x) -> Tensors {
    return {nll_loss(x[0], x[1].to(i64), {x.or_none(2), o.ignored, o.reduction})};
  };
}

Run softmax_cross_entropy(const Node& node) {
  const LossOptions o(node);
  const bool probabilities = node.outputs() > 1;
  return [=](const Inputs& x) -> Tensors {
    const CrossEntropyOptions options{
        .weight = x.or_none(2), .ignore_index = o.ignored, .reduction = o.reduction};
    Tensors results{cross_entropy(x[0], x[1].to(i64), options)};
    if (probabilities) results.push_back(log_softmax(x[0], 1));
    return results;
  };
}

}  // namespace

void add_losses(Operators& table) {
  table["NegativeLogLikelihoodLoss"] = {negative_log_likelihood, 2, 3, 1, {2}};
  table["SoftmaxCrossEntropyLoss"] = {softmax_cross_entropy, 2, 3, 2, {2}};
}

}  // namespace aorta::onnx
