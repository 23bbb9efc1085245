#pragma once

#include <aorta/nn/call.h>
#include <aorta/nn/loss.h>

// Losses that are 0 beyond a margin or soften one, the distance between vectors, and negative log
// likelihoods of counts and of normal numbers: functions with PyTorch's names, composed of other
// ops, and each as a module. Floating inputs; the reduction is `none`, `mean` or `sum`.

namespace aorta::nn {

/// |x1 - x2 + eps|_p along the last dimension: (N, D) and (N, D) to (N), or (D) and (D) to (); with
/// `keepdim` that dimension stays, of size 1. The inputs broadcast.
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6,
                         bool keepdim = false);

/// The input where the target is 1, max(margin - input, 0) where it is -1; their sum elsewhere.
/// Target of the input's shape, (*).
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::mean);

/// max(margin - target (input1 - input2), 0): which of two should rank higher, by a target of 1 or
/// -1. All of one shape, (*).
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target,
                           double margin = 0, Reduction reduction = Reduction::mean);

/// log(1 + exp(-target input)), target 1 or -1; all of one shape, (*).
Tensor soft_margin_loss(const Tensor& input, const Tensor& target,
                        Reduction reduction = Reduction::mean);

/// The options of triplet_margin_loss.
struct TripletMarginOptions {
  double margin = 1;  // positive
  double p = 2;       // of the distance
  double eps = 1e-6;  // added to each difference
  /// The negative may be nearer to the positive than to the anchor, and then that distance counts.
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// max(d(anchor, positive) - d(anchor, negative) + margin, 0), d = pairwise_distance; all (N, D) to
/// (N), or (D) to (). Balntas et al. 2016.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletMarginOptions& options = {});

/// The distances (N) of two tensors (N, D).
using DistanceFunction = std::function<Tensor(const Tensor& a, const Tensor& b)>;
/// The options of triplet_margin_with_distance_loss, with PyTorch's names and defaults.
struct TripletMarginWithDistanceOptions {
  DistanceFunction distance_function = {};  // pairwise_distance where none is given
  double margin = 1;
  bool swap = false;
  Reduction reduction = Reduction::mean;
};
/// triplet_margin_loss by a distance of one's own, whose results have any one shape.
Tensor triplet_margin_with_distance_loss(const Tensor& anchor, const Tensor& positive,
                                         const Tensor& negative,
                                         const TripletMarginWithDistanceOptions& options = {});

/// The options of multi_margin_loss.
struct MultiMarginOptions {
  int p = 1;  // 1 or 2
  double margin = 1;
  Tensor weight = {};  // (C), of the target's class
  Reduction reduction = Reduction::mean;
};
/// sum over i != y of weight_y max(margin - x_y + x_i, 0)^p / C, for x (N, C) and classes y (N), or
/// (C) and ().
Tensor multi_margin_loss(const Tensor& input, const Tensor& target,
                         const MultiMarginOptions& options = {});

/// sum over targets j and others i of max(1 - x_j + x_i, 0) / C, for x (N, C) or (C). The target
/// has the same shape: the classes, up to the first that is negative. It takes N C^2 elements.
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& target,
                              Reduction reduction = Reduction::mean);

/// The options of multilabel_soft_margin_loss.
struct MultiLabelSoftMarginOptions {
  Tensor weight = {};  // (C)
  Reduction reduction = Reduction::mean;
};
/// The mean over classes of the binary cross entropy of logits: input and target (in [0, 1]) (*, C)
/// to (*).
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target,
                                   const MultiLabelSoftMarginOptions& options = {});

/// The options of poisson_nll_loss.
struct PoissonNllOptions {
  bool log_input = true;  // the input is the rate's logarithm
  bool full = false;      // with Stirling's approximation of log(target!), where the target is > 1
  double eps = 1e-8;      // added to a rate before its logarithm
  Reduction reduction = Reduction::mean;
};
/// exp(input) - target input, or input - target log(input + eps): the negative log likelihood of
/// counts. Input and target of one shape, (*).
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target,
                        const PoissonNllOptions& options = {});

/// The options of gaussian_nll_loss.
struct GaussianNllOptions {
  bool full = false;  // with the constant log(2 pi) / 2
  double eps = 1e-6;  // a variance below it counts as it; its gradient isn't clamped
  Reduction reduction = Reduction::mean;
};
/// (log(var) + (input - target)^2 / var) / 2. Input and target (N, *); `var` of the same shape, of
/// 1 in the last dimension, or without it, or one number for all; not negative. Nix, Weigend 1994.
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options = {});
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, double var,
                         const GaussianNllOptions& options = {});

/// See pairwise_distance.
class PairwiseDistance : public ModuleOf<PairwiseDistance> {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false);
  PairwiseDistance(Module& owner, const char* name, double p = 2, double eps = 1e-6,
                   bool keepdim = false);
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  double p, eps;
  bool keepdim;
};

/// See cosine_similarity.
class CosineSimilarity : public ModuleOf<CosineSimilarity> {
 public:
  explicit CosineSimilarity(int64_t dim = 1, double eps = 1e-8);
  CosineSimilarity(Module& owner, const char* name, int64_t dim = 1, double eps = 1e-8);
  Tensor forward(const Tensor& x1, const Tensor& x2) const;

  int64_t dim;
  double eps;
};

/// See hinge_embedding_loss.
struct HingeEmbeddingLoss : Loss {
  explicit HingeEmbeddingLoss(double margin = 1, Reduction reduction = Reduction::mean);
  HingeEmbeddingLoss(Module& owner, const char* name, double margin = 1,
                     Reduction reduction = Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  double margin;
  Reduction reduction;
};

/// See margin_ranking_loss.
struct MarginRankingLoss : LossOfThree {
  explicit MarginRankingLoss(double margin = 0, Reduction reduction = Reduction::mean);
  MarginRankingLoss(Module& owner, const char* name, double margin = 0,
                    Reduction reduction = Reduction::mean);
  using LossOfThree::forward;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) const override;
  double margin;
  Reduction reduction;
};

/// See soft_margin_loss.
struct SoftMarginLoss : Loss {
  explicit SoftMarginLoss(Reduction reduction = Reduction::mean);
  SoftMarginLoss(Module& owner, const char* name, Reduction reduction = Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
};

/// See triplet_margin_loss.
struct TripletMarginLoss : LossOfThree {
  explicit TripletMarginLoss(const TripletMarginOptions& options = {});
  TripletMarginLoss(Module& owner, const char* name, const TripletMarginOptions& options = {});
  using LossOfThree::forward;
  Tensor forward(const Tensor& anchor, const Tensor& positive,
                 const Tensor& negative) const override;
  TripletMarginOptions options;
};

/// See triplet_margin_with_distance_loss.
struct TripletMarginWithDistanceLoss : LossOfThree {
  explicit TripletMarginWithDistanceLoss(const TripletMarginWithDistanceOptions& options = {});
  TripletMarginWithDistanceLoss(Module& owner, const char* name,
                                const TripletMarginWithDistanceOptions& options = {});
  using LossOfThree::forward;
  Tensor forward(const Tensor& anchor, const Tensor& positive,
                 const Tensor& negative) const override;
  TripletMarginWithDistanceOptions options;
};

/// See multi_margin_loss; the weight is a buffer.
struct MultiMarginLoss : Loss {
  explicit MultiMarginLoss(const MultiMarginOptions& options = {});
  MultiMarginLoss(Module& owner, const char* name, const MultiMarginOptions& options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight;
  int p;
  double margin;
  Reduction reduction;
};

/// See multilabel_margin_loss.
struct MultiLabelMarginLoss : Loss {
  explicit MultiLabelMarginLoss(Reduction reduction = Reduction::mean);
  MultiLabelMarginLoss(Module& owner, const char* name, Reduction reduction = Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
};

/// See multilabel_soft_margin_loss; the weight is a buffer.
struct MultiLabelSoftMarginLoss : Loss {
  explicit MultiLabelSoftMarginLoss(const MultiLabelSoftMarginOptions& options = {});
  MultiLabelSoftMarginLoss(Module& owner, const char* name,
                           const MultiLabelSoftMarginOptions& options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight;
  Reduction reduction;
};

/// See poisson_nll_loss.
struct PoissonNLLLoss : Loss {
  explicit PoissonNLLLoss(const PoissonNllOptions& options = {});
  PoissonNLLLoss(Module& owner, const char* name, const PoissonNllOptions& options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  PoissonNllOptions options;
};

/// See gaussian_nll_loss; called with the variance as the third tensor, or as a number.
struct GaussianNLLLoss : LossOfThree {
  explicit GaussianNLLLoss(const GaussianNllOptions& options = {});
  GaussianNLLLoss(Module& owner, const char* name, const GaussianNllOptions& options = {});
  using LossOfThree::forward;
  using LossOfThree::operator();
  Tensor forward(const Tensor& input, const Tensor& target, const Tensor& var) const override;
  Tensor operator()(const Tensor& input, const Tensor& target, double var) const;
  GaussianNllOptions options;
};

}  // namespace aorta::nn
