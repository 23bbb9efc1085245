#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

Tensors loss_of(const Case& c, bool logits) {
  const std::string reduction = c.text("reduction", "mean");
  CrossEntropyOptions options{.ignore_index = c.integer("ignore_index", -100),
                              .reduction = reduction == "mean"  ? Reduction::mean
                                           : reduction == "sum" ? Reduction::sum
                                                                : Reduction::none};
  if (c.has(2)) options.weight = c.inputs[2];
  const Tensor &x = c.inputs[0], &target = c.inputs[1];
  if (!logits)
    return {nll_loss(x, target, {options.weight, options.ignore_index, options.reduction})};
  Tensors results{cross_entropy(x, target, options)};
  if (c.outputs == 2) results.push_back(log_softmax(x, 1));
  return results;
}

}  // namespace

void add_losses(Operators& table) {
  table["NegativeLogLikelihoodLoss"] = {[](const Case& c) { return loss_of(c, false); }, 1e-6,
                                        1e-6};
  table["SoftmaxCrossEntropyLoss"] = {[](const Case& c) { return loss_of(c, true); }, 1e-6, 1e-6};
}

}  // namespace aorta::onnx
