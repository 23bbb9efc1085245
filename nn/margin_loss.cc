#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/nn/call.h>
#include <aorta/nn/margin_loss.h>
#include <aorta/nn/reduced_loss.h>

#include <cmath>
#include <numbers>

namespace aorta::nn {
namespace {

// Targets of 1 and -1 may be integers.
void check_signs(const char* op, const Tensor& input, const Tensor& target, Reduction reduction) {
  check(is_floating(input.dtype()), op, "input must be floating", input.dtype());
  check(input.shape() == target.shape(), op, "input and target must have one shape", input.shape(),
        " and ", target.shape());
  check_reduction(op, reduction);
}

// Input (N, C) or (C) and a target of the classes' dtype.
void check_classes(const char* op, const Tensor& input, const Tensor& target, Reduction reduction) {
  check(is_floating(input.dtype()), op, "input must be floating", input.dtype());
  check(input.dim() == 1 || input.dim() == 2, op, "input must be (N, C) or (C)", input.shape());
  check(input.size(-1) > 0, op, "input must have a class", input.shape());
  check(target.dtype() == DType::i64, op, "target must be i64", target.dtype());
  check_reduction(op, reduction);
}

void check_weight(const char* op, const Tensor& weight, const Tensor& input) {
  if (weight.defined())
    check(weight.shape() == Shape{input.size(-1)}, op, "weight must have a number for each class",
          weight.shape(), " for ", input.shape());
}

struct Triplet {
  const Tensor &anchor, &positive, &negative;
};

// How far the negative is from being a margin further away than the positive.
Tensor triplet_loss(const char* op, const DistanceFunction& distance, const Triplet& t,
                    double margin, bool swap, Reduction reduction) {
  const Tensor near = distance(t.anchor, t.positive);
  Tensor far = distance(t.anchor, t.negative);
  if (swap) far = minimum(far, distance(t.positive, t.negative));
  check(near.shape() == far.shape(), op, "distances must have one shape", near.shape(), " and ",
        far.shape());
  return reduced(clamp_min(near - far + margin, 0), reduction);
}

}  // namespace

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const CalledOp called("pairwise_distance");
  check_defined("pairwise_distance", {{"x1", x1}, {"x2", x2}});
  const Tensor difference = x1 - x2;
  check(difference.dim() > 0, "pairwise_distance", "inputs must be (N, D) or (D)",
        difference.shape());
  return norm(difference + eps, p, {-1}, keepdim);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin,
                            Reduction reduction) {
  const CalledOp called("hinge_embedding_loss");
  check_defined("hinge_embedding_loss", {{"input", input}, {"target", target}});
  const Tensor x = autocast_to_f32(input), y = autocast_to_f32(target);
  check_signs("hinge_embedding_loss", x, y, reduction);
  const Tensor similar = where(ne(y, -1), x, 0),
               other = where(ne(y, 1), clamp_min(margin - x, 0), 0);
  return reduced(similar + other, reduction);
}

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin, Reduction reduction) {
  const CalledOp called("margin_ranking_loss");
  check_defined("margin_ranking_loss",
                {{"input1", input1}, {"input2", input2}, {"target", target}});
  const Tensor x1 = autocast_to_f32(input1), x2 = autocast_to_f32(input2),
               y = autocast_to_f32(target);
  const char* const op = "margin_ranking_loss";
  check_pair(op, x1, x2, reduction);
  check_signs(op, x1, y, reduction);
  return reduced(clamp_min(margin - y * (x1 - x2), 0), reduction);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  const CalledOp called("soft_margin_loss");
  check_defined("soft_margin_loss", {{"input", input}, {"target", target}});
  const Tensor x = autocast_to_f32(input), y = autocast_to_f32(target);
  check_signs("soft_margin_loss", x, y, reduction);
  return reduced(neg(logsigmoid(y * x)), reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options) {
  const CalledOp called("triplet_margin_loss");
  check_defined("triplet_margin_loss",
                {{"anchor", anchor}, {"positive", positive}, {"negative", negative}});
  const Tensor a = autocast_to_f32(anchor), p = autocast_to_f32(positive),
               n = autocast_to_f32(negative);
  const char* const op = "triplet_margin_loss";
  check(options.margin > 0, op, "margin must be positive", options.margin);
  check_pair(op, a, p, options.reduction);
  check_pair(op, a, n, options.reduction);
  const auto distance = [&options](const Tensor& x1, const Tensor& x2) {
    return pairwise_distance(x1, x2, options.p, options.eps);
  };
  return triplet_loss(op, distance, {a, p, n}, options.margin, options.swap, options.reduction);
}

Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceOptions& options) {
  const char* const op = "triplet_margin_with_distance_loss";
  check_defined(op, {{"anchor", anchor}, {"positive", positive}, {"negative", negative}});
  check(options.margin > 0, op, "margin must be positive", options.margin);
  check_reduction(op, options.reduction);
  check(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(), op,
        "tensors must have as many dimensions as each other", anchor.shape(), ", ",
        positive.shape(), " and ", negative.shape());
  if (options.distance_function)
    return triplet_loss(op, options.distance_function, {anchor, positive, negative}, options.margin,
                        options.swap, options.reduction);
  const CalledOp called(op);
  const auto distance = [](const Tensor& a, const Tensor& b) { return pairwise_distance(a, b); };
  return triplet_loss(op, distance, {anchor, positive, negative}, options.margin, options.swap,
                      options.reduction);
}

Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginOptions& options) {
  const CalledOp called("multi_margin_loss");
  check_defined("multi_margin_loss", {{"input", input}, {"target", target}});
  const Tensor x = autocast_to_f32(input);
  const char* const op = "multi_margin_loss";
  check_classes(op, x, target, options.reduction);
  check(options.p == 1 || options.p == 2, op, "p must be 1 or 2", options.p);
  check_weight(op, options.weight, x);
  Shape wanted = x.shape();
  wanted.erase(wanted.size() - 1);
  check(target.shape() == wanted, op, "target must be (N), or () for (C)", target.shape(), " for ",
        x.shape());
  const Tensor y = target.unsqueeze(-1);
  const Tensor own = eq(arange(x.size(-1), {.dtype = DType::i64, .device = x.device()}), y);
  Tensor z = clamp_min(options.margin - gather(x, -1, y) + x, 0);
  if (options.p == 2) z = square(z);
  if (options.weight.defined())
    z = z * index_select(options.weight, 0, target.reshape({-1})).view(y.shape());
  return reduced(mean(where(own, 0, z), {-1}), options.reduction);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
  const CalledOp called("multilabel_margin_loss");
  check_defined("multilabel_margin_loss", {{"input", input}, {"target", target}});
  const Tensor x = autocast_to_f32(input);
  const char* const op = "multilabel_margin_loss";
  check_classes(op, x, target, reduction);
  check(target.shape() == x.shape(), op, "input and target must have one shape", x.shape(), " and ",
        target.shape());
  const Tensor there = eq(cumsum(lt(target, 0), -1), 0);
  const Tensor classes = where(there, target, 0), count = there.to(x.dtype());
  const Tensor is_target = gt(scatter_add(zeros_like(count), -1, classes, count), 0);
  // (N, targets, others)
  const Tensor hinge = clamp_min(1 - gather(x, -1, classes).unsqueeze(-1) + x.unsqueeze(-2), 0);
  const Tensor pairs = logical_and(there.unsqueeze(-1), logical_not(is_target).unsqueeze(-2));
  return reduced(sum(where(pairs, hinge, 0), {-2, -1}) / x.size(-1), reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiLabelSoftMarginOptions& options) {
  const CalledOp called("multilabel_soft_margin_loss");
  check_defined("multilabel_soft_margin_loss", {{"input", input}, {"target", target}});
  const char* const op = "multilabel_soft_margin_loss";
  check_pair(op, input, target, options.reduction);
  check(input.dim() > 0, op, "input must be (*, C)", input.shape());
  check_weight(op, options.weight, input);
  Tensor losses = binary_cross_entropy_with_logits(input, target, {.reduction = Reduction::none});
  if (options.weight.defined()) losses = losses * options.weight;
  return reduced(mean(losses, {-1}), options.reduction);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNllOptions& options) {
  const CalledOp called("poisson_nll_loss");
  check_defined("poisson_nll_loss", {{"input", input}, {"target", target}});
  const Tensor x = autocast_to_f32(input), y = autocast_to_f32(target);
  check_pair("poisson_nll_loss", x, y, options.reduction);
  Tensor losses = options.log_input ? exp(x) - y * x : x - y * log(x + options.eps);
  if (options.full) {
    // Elsewhere than at its 1s, so that no gradient is infinity times the 0 of what is left out.
    const Tensor counts = gt(y, 1), n = where(counts, y, 1);
    const Tensor stirling = n * log(n) - n + 0.5 * log(2 * std::numbers::pi * n);
    losses = losses + where(counts, stirling, 0);
  }
  return reduced(losses, options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options) {
  const CalledOp called("gaussian_nll_loss");
  check_defined("gaussian_nll_loss", {{"input", input}, {"target", target}, {"var", var}});
  const char* const op = "gaussian_nll_loss";
  check_pair(op, input, target, options.reduction);
  check(is_floating(var.dtype()), op, "var must be floating", var.dtype());
  check(options.eps > 0, op, "eps must be positive", options.eps);
  Shape fewer = input.shape(), one = input.shape();
  if (input.dim() > 0) {
    fewer.erase(fewer.size() - 1);
    one.back() = 1;
  }
  check(var.shape() == input.shape() || var.shape() == one || var.shape() == fewer, op,
        "var must have the input's shape, or it without the last dimension or with 1 in it",
        var.shape(), " for ", input.shape());
  if (var.numel() > 0 && !var.is_meta()) {
    const double least = amin(var.detach()).item<double>();
    check(!(least < 0), op, "var must not be negative", least);
  }
  const Tensor all = var.shape() == fewer && var.shape() != input.shape() ? var.unsqueeze(-1) : var;
  // The value is clamped, and the gradient goes through.
  const Tensor v = where(lt(all, options.eps), (all - all.detach()) + options.eps, all);
  Tensor losses = 0.5 * (log(v) + square(input - target) / v);
  if (options.full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(losses, options.reduction);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                         const GaussianNllOptions& options) {
  const CalledOp called("gaussian_nll_loss");
  check_defined("gaussian_nll_loss", {{"input", input}, {"target", target}});
  check_pair("gaussian_nll_loss", input, target, options.reduction);
  return gaussian_nll_loss(input, target, full_like(input.detach(), var), options);
}

PairwiseDistance::PairwiseDistance(double p, double eps, bool keepdim)
    : p(p), eps(eps), keepdim(keepdim) {}
PairwiseDistance::PairwiseDistance(Module& owner, const char* name, double p, double eps,
                                   bool keepdim)
    : PairwiseDistance(p, eps, keepdim) {
  join(owner, name);
}
Tensor PairwiseDistance::forward(const Tensor& x1, const Tensor& x2) const {
  return pairwise_distance(x1, x2, p, eps, keepdim);
}

CosineSimilarity::CosineSimilarity(int64_t dim, double eps) : dim(dim), eps(eps) {}
CosineSimilarity::CosineSimilarity(Module& owner, const char* name, int64_t dim, double eps)
    : CosineSimilarity(dim, eps) {
  join(owner, name);
}
Tensor CosineSimilarity::forward(const Tensor& x1, const Tensor& x2) const {
  return cosine_similarity(x1, x2, dim, eps);
}

HingeEmbeddingLoss::HingeEmbeddingLoss(double margin, Reduction reduction)
    : margin(margin), reduction(reduction) {}
HingeEmbeddingLoss::HingeEmbeddingLoss(Module& owner, const char* name, double margin,
                                       Reduction reduction)
    : HingeEmbeddingLoss(margin, reduction) {
  join(owner, name);
}
Tensor HingeEmbeddingLoss::forward(const Tensor& input, const Tensor& target) const {
  return hinge_embedding_loss(input, target, margin, reduction);
}

MarginRankingLoss::MarginRankingLoss(double margin, Reduction reduction)
    : margin(margin), reduction(reduction) {}
MarginRankingLoss::MarginRankingLoss(Module& owner, const char* name, double margin,
                                     Reduction reduction)
    : MarginRankingLoss(margin, reduction) {
  join(owner, name);
}
Tensor MarginRankingLoss::forward(const Tensor& input1, const Tensor& input2,
                                  const Tensor& target) const {
  return margin_ranking_loss(input1, input2, target, margin, reduction);
}

SoftMarginLoss::SoftMarginLoss(Reduction reduction) : reduction(reduction) {}
SoftMarginLoss::SoftMarginLoss(Module& owner, const char* name, Reduction reduction)
    : SoftMarginLoss(reduction) {
  join(owner, name);
}
Tensor SoftMarginLoss::forward(const Tensor& input, const Tensor& target) const {
  return soft_margin_loss(input, target, reduction);
}

TripletMarginLoss::TripletMarginLoss(const TripletMarginOptions& options) : options(options) {}
TripletMarginLoss::TripletMarginLoss(Module& owner, const char* name,
                                     const TripletMarginOptions& options)
    : TripletMarginLoss(options) {
  join(owner, name);
}
Tensor TripletMarginLoss::forward(const Tensor& anchor, const Tensor& positive,
                                  const Tensor& negative) const {
  return triplet_margin_loss(anchor, positive, negative, options);
}

TripletMarginWithDistanceLoss::TripletMarginWithDistanceLoss(
    const TripletMarginWithDistanceOptions& options)
    : options(options) {}
TripletMarginWithDistanceLoss::TripletMarginWithDistanceLoss(
    Module& owner, const char* name, const TripletMarginWithDistanceOptions& options)
    : TripletMarginWithDistanceLoss(options) {
  join(owner, name);
}
Tensor TripletMarginWithDistanceLoss::forward(const Tensor& anchor, const Tensor& positive,
                                              const Tensor& negative) const {
  return triplet_margin_with_distance_loss(anchor, positive, negative, options);
}

MultiMarginLoss::MultiMarginLoss(const MultiMarginOptions& options)
    : weight(*this, "weight", options.weight),
      p(options.p),
      margin(options.margin),
      reduction(options.reduction) {}
MultiMarginLoss::MultiMarginLoss(Module& owner, const char* name, const MultiMarginOptions& options)
    : MultiMarginLoss(options) {
  join(owner, name);
}
Tensor MultiMarginLoss::forward(const Tensor& input, const Tensor& target) const {
  return multi_margin_loss(input, target,
                           {.p = p, .margin = margin, .weight = weight, .reduction = reduction});
}

MultiLabelMarginLoss::MultiLabelMarginLoss(Reduction reduction) : reduction(reduction) {}
MultiLabelMarginLoss::MultiLabelMarginLoss(Module& owner, const char* name, Reduction reduction)
    : MultiLabelMarginLoss(reduction) {
  join(owner, name);
}
Tensor MultiLabelMarginLoss::forward(const Tensor& input, const Tensor& target) const {
  return multilabel_margin_loss(input, target, reduction);
}

MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(const MultiLabelSoftMarginOptions& options)
    : weight(*this, "weight", options.weight), reduction(options.reduction) {}
MultiLabelSoftMarginLoss::MultiLabelSoftMarginLoss(Module& owner, const char* name,
                                                   const MultiLabelSoftMarginOptions& options)
    : MultiLabelSoftMarginLoss(options) {
  join(owner, name);
}
Tensor MultiLabelSoftMarginLoss::forward(const Tensor& input, const Tensor& target) const {
  return multilabel_soft_margin_loss(input, target, {.weight = weight, .reduction = reduction});
}

PoissonNLLLoss::PoissonNLLLoss(const PoissonNllOptions& options) : options(options) {}
PoissonNLLLoss::PoissonNLLLoss(Module& owner, const char* name, const PoissonNllOptions& options)
    : PoissonNLLLoss(options) {
  join(owner, name);
}
Tensor PoissonNLLLoss::forward(const Tensor& input, const Tensor& target) const {
  return poisson_nll_loss(input, target, options);
}

GaussianNLLLoss::GaussianNLLLoss(const GaussianNllOptions& options) : options(options) {}
GaussianNLLLoss::GaussianNLLLoss(Module& owner, const char* name, const GaussianNllOptions& options)
    : GaussianNLLLoss(options) {
  join(owner, name);
}
Tensor GaussianNLLLoss::forward(const Tensor& input, const Tensor& target,
                                const Tensor& var) const {
  return gaussian_nll_loss(input, target, var, options);
}
Tensor GaussianNLLLoss::operator()(const Tensor& input, const Tensor& target, double var) const {
  check_defined("gaussian_nll_loss", {{"input", input}});
  return (*this)(input, target, full_like(input.detach(), var));
}

}  // namespace aorta::nn
