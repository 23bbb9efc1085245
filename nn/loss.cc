#include <aorta/core/called_op.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/nn/call.h>
#include <aorta/nn/loss.h>
#include <aorta/nn/reduced_loss.h>

namespace aorta::nn {

void check_reduction(const char* op, Reduction reduction) {
  check(reduction != Reduction::batchmean, op, "reduction must be none, mean or sum", "batchmean");
}

void check_pair(const char* op, const Tensor& input, const Tensor& target, Reduction reduction) {
  check(is_floating(input.dtype()) && is_floating(target.dtype()), op,
        "input and target must be floating", input.dtype(), " and ", target.dtype());
  check(input.shape() == target.shape(), op, "input and target must have one shape", input.shape(),
        " and ", target.shape());
  check_reduction(op, reduction);
}

Tensor reduced(const Tensor& losses, Reduction reduction) {
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::mean ? mean(losses) : sum(losses);
}

Tensor dice_loss(const Tensor& input, const Tensor& target, const DiceOptions& options) {
  const CalledOp called("dice_loss");
  check_defined("dice_loss", {{"input", input}, {"target", target}});
  check_pair("dice_loss", input, target, options.reduction);
  check(input.dim() >= 2, "dice_loss", "input must be (N, *)", input.shape());
  const Tensor p = sigmoid(input).flatten(1), t = target.flatten(1);
  const Tensor overlap = sum(p * t, 1), total = sum(p, 1) + sum(t, 1);
  return reduced(1 - (2 * overlap + options.smooth) / (total + options.smooth), options.reduction);
}

Tensor focal_loss(const Tensor& input, const Tensor& target, const FocalOptions& options) {
  const CalledOp called("focal_loss");
  check_defined("focal_loss", {{"input", input}, {"target", target}});
  check_pair("focal_loss", input, target, options.reduction);
  check(options.alpha <= 1, "focal_loss", "alpha must be at most 1", options.alpha);
  check(options.gamma >= 0, "focal_loss", "gamma must not be negative", options.gamma);
  const Tensor p = sigmoid(input);
  const Tensor cross =
      binary_cross_entropy_with_logits(input, target, {.reduction = Reduction::none});
  const Tensor miss = p + target - 2 * (p * target);  // 1 - p_t
  Tensor losses = cross * pow(miss, options.gamma);
  if (options.alpha >= 0) {
    losses = losses * (options.alpha * target + (1 - options.alpha) * (1 - target));
  }
  return reduced(losses, options.reduction);
}

Tensor Loss::operator()(const Tensor& input, const Tensor& target) const {
  return call_module(*this, input, target);
}

Tensor LossOfThree::operator()(const Tensor& a, const Tensor& b, const Tensor& c) const {
  return call_module(*this, a, b, c);
}

MSELoss::MSELoss(Reduction reduction) : reduction(reduction) {}

MSELoss::MSELoss(Module& owner, const char* name, Reduction reduction) : MSELoss(reduction) {
  join(owner, name);
}

Tensor MSELoss::forward(const Tensor& input, const Tensor& target) const {
  return mse_loss(input, target, reduction);
}

L1Loss::L1Loss(Reduction reduction) : reduction(reduction) {}

L1Loss::L1Loss(Module& owner, const char* name, Reduction reduction) : L1Loss(reduction) {
  join(owner, name);
}

Tensor L1Loss::forward(const Tensor& input, const Tensor& target) const {
  return l1_loss(input, target, reduction);
}

SmoothL1Loss::SmoothL1Loss(Reduction reduction, double beta) : reduction(reduction), beta(beta) {}

SmoothL1Loss::SmoothL1Loss(Module& owner, const char* name, Reduction reduction, double beta)
    : SmoothL1Loss(reduction, beta) {
  join(owner, name);
}

Tensor SmoothL1Loss::forward(const Tensor& input, const Tensor& target) const {
  return smooth_l1_loss(input, target, reduction, beta);
}

HuberLoss::HuberLoss(Reduction reduction, double delta) : reduction(reduction), delta(delta) {}

HuberLoss::HuberLoss(Module& owner, const char* name, Reduction reduction, double delta)
    : HuberLoss(reduction, delta) {
  join(owner, name);
}

Tensor HuberLoss::forward(const Tensor& input, const Tensor& target) const {
  return huber_loss(input, target, reduction, delta);
}

KLDivLoss::KLDivLoss(Reduction reduction, bool log_target)
    : reduction(reduction), log_target(log_target) {}

KLDivLoss::KLDivLoss(Module& owner, const char* name, Reduction reduction, bool log_target)
    : KLDivLoss(reduction, log_target) {
  join(owner, name);
}

Tensor KLDivLoss::forward(const Tensor& input, const Tensor& target) const {
  return kl_div(input, target, reduction, log_target);
}

BCELoss::BCELoss(const BceOptions& options)
    : weight(*this, "weight", options.weight), reduction(options.reduction) {}

Tensor BCELoss::forward(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy(input, target, {.weight = weight, .reduction = reduction});
}

BCEWithLogitsLoss::BCEWithLogitsLoss(const BceWithLogitsOptions& options)
    : weight(*this, "weight", options.weight),
      pos_weight(*this, "pos_weight", options.pos_weight),
      reduction(options.reduction) {}

Tensor BCEWithLogitsLoss::forward(const Tensor& input, const Tensor& target) const {
  return binary_cross_entropy_with_logits(
      input, target, {.weight = weight, .reduction = reduction, .pos_weight = pos_weight});
}

CrossEntropyLoss::CrossEntropyLoss(const CrossEntropyOptions& options)
    : weight(*this, "weight", options.weight),
      ignore_index(options.ignore_index),
      reduction(options.reduction),
      label_smoothing(options.label_smoothing) {}

Tensor CrossEntropyLoss::forward(const Tensor& input, const Tensor& target) const {
  return cross_entropy(input, target,
                       {.weight = weight,
                        .ignore_index = ignore_index,
                        .reduction = reduction,
                        .label_smoothing = label_smoothing});
}

NLLLoss::NLLLoss(const NllLossOptions& options)
    : weight(*this, "weight", options.weight),
      ignore_index(options.ignore_index),
      reduction(options.reduction) {}

Tensor NLLLoss::forward(const Tensor& input, const Tensor& target) const {
  return nll_loss(input, target,
                  {.weight = weight, .ignore_index = ignore_index, .reduction = reduction});
}

DiceLoss::DiceLoss(const DiceOptions& options) : options(options) {}

DiceLoss::DiceLoss(Module& owner, const char* name, const DiceOptions& options)
    : DiceLoss(options) {
  join(owner, name);
}

Tensor DiceLoss::forward(const Tensor& input, const Tensor& target) const {
  return dice_loss(input, target, options);
}

FocalLoss::FocalLoss(const FocalOptions& options) : options(options) {}

FocalLoss::FocalLoss(Module& owner, const char* name, const FocalOptions& options)
    : FocalLoss(options) {
  join(owner, name);
}

Tensor FocalLoss::forward(const Tensor& input, const Tensor& target) const {
  return focal_loss(input, target, options);
}

CosineEmbeddingLoss::CosineEmbeddingLoss(double margin, Reduction reduction)
    : margin(margin), reduction(reduction) {}

CosineEmbeddingLoss::CosineEmbeddingLoss(Module& owner, const char* name, double margin,
                                         Reduction reduction)
    : CosineEmbeddingLoss(margin, reduction) {
  join(owner, name);
}

Tensor CosineEmbeddingLoss::forward(const Tensor& input1, const Tensor& input2,
                                    const Tensor& target) const {
  return cosine_embedding_loss(input1, input2, target, margin, reduction);
}

}  // namespace aorta::nn
