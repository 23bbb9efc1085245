#pragma once

#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/loss.h>
#include <aorta/nn/module.h>

// Losses of an input and a target. The functions stand in core/ops/loss.h and cross_entropy.h; here
// are those that are composed of other ops, and all of them as modules, called with both:
// `nn::MSELoss loss; loss(net(x), y)`. Those by a margin stand in margin_loss.h.

namespace aorta::nn {

using aorta::binary_cross_entropy;
using aorta::binary_cross_entropy_with_logits;
using aorta::cosine_embedding_loss;
using aorta::cross_entropy;
using aorta::huber_loss;
using aorta::kl_div;
using aorta::l1_loss;
using aorta::mse_loss;
using aorta::nll_loss;
using aorta::smooth_l1_loss;

/// The options of dice_loss.
struct DiceOptions {
  /// Added to numerator and denominator: two empty masks agree.
  double smooth = 1;
  Reduction reduction = Reduction::mean;
};
/// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth), p = sigmoid(input): how far two masks
/// are from overlap. Input (logits) and target (in [0, 1]) of one shape (N, *); the sums are taken
/// for each sample over all the rest, and `none` gives (N). Milletari et al. 2016, without the
/// squares.
Tensor dice_loss(const Tensor& input, const Tensor& target, const DiceOptions& options = {});

/// The options of focal_loss.
struct FocalOptions {
  double alpha = 0.25;  // the weight of the class 1, and 1 - alpha that of 0; negative: no weights
  double gamma = 2;     // how much less what is easy counts
  Reduction reduction = Reduction::mean;
};
/// alpha_t (1 - p_t)^gamma times the binary cross entropy of logits, where p_t is the probability
/// of the target (in [0, 1]). Lin et al. 2017; defaults as in torchvision's sigmoid_focal_loss.
Tensor focal_loss(const Tensor& input, const Tensor& target, const FocalOptions& options = {});

/// A loss as a module: `function(input, target)` with its options. It may be a member of another
/// one, `nn::CrossEntropyLoss loss{*this, "loss", {.weight = w}}`.
class Loss : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& input, const Tensor& target) const = 0;
  Tensor operator()(const Tensor& input, const Tensor& target) const;
};

/// A loss of three tensors as a module.
class LossOfThree : public Module {
 public:
  using Module::forward;
  virtual Tensor forward(const Tensor& a, const Tensor& b, const Tensor& c) const = 0;
  Tensor operator()(const Tensor& a, const Tensor& b, const Tensor& c) const;
};

/// (input - target)^2; see mse_loss.
struct MSELoss : Loss {
  explicit MSELoss(Reduction reduction = Reduction::mean);
  MSELoss(Module& owner, const char* name, Reduction reduction = Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
};

/// |input - target|; see l1_loss.
struct L1Loss : Loss {
  explicit L1Loss(Reduction reduction = Reduction::mean);
  L1Loss(Module& owner, const char* name, Reduction reduction = Reduction::mean);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
};

/// Squares of differences below beta, absolute values above; see smooth_l1_loss.
struct SmoothL1Loss : Loss {
  explicit SmoothL1Loss(Reduction reduction = Reduction::mean, double beta = 1);
  SmoothL1Loss(Module& owner, const char* name, Reduction reduction = Reduction::mean,
               double beta = 1);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
  double beta;
};

/// Squares of differences below delta, delta times absolute values above; see huber_loss.
struct HuberLoss : Loss {
  explicit HuberLoss(Reduction reduction = Reduction::mean, double delta = 1);
  HuberLoss(Module& owner, const char* name, Reduction reduction = Reduction::mean,
            double delta = 1);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
  double delta;
};

/// target (log target - input); see kl_div.
struct KLDivLoss : Loss {
  explicit KLDivLoss(Reduction reduction = Reduction::mean, bool log_target = false);
  KLDivLoss(Module& owner, const char* name, Reduction reduction = Reduction::mean,
            bool log_target = false);
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Reduction reduction;
  bool log_target;
};

// Weights are buffers: they follow the module to its device and dtype, and are in its state.

/// The binary cross entropy of probabilities; see binary_cross_entropy.
struct BCELoss : Loss {
  explicit BCELoss(const BceOptions& options = {});
  BCELoss(Module& owner, const char* name, const BceOptions& options = {}) : BCELoss(options) {
    join(owner, name);
  }
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight;
  Reduction reduction;
};

/// The binary cross entropy of logits; see binary_cross_entropy_with_logits.
struct BCEWithLogitsLoss : Loss {
  explicit BCEWithLogitsLoss(const BceWithLogitsOptions& options = {});
  BCEWithLogitsLoss(Module& owner, const char* name, const BceWithLogitsOptions& options = {})
      : BCEWithLogitsLoss(options) {
    join(owner, name);
  }
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight, pos_weight;
  Reduction reduction;
};

/// The cross entropy of logits and classes or probabilities; see cross_entropy.
struct CrossEntropyLoss : Loss {
  explicit CrossEntropyLoss(const CrossEntropyOptions& options = {});
  CrossEntropyLoss(Module& owner, const char* name, const CrossEntropyOptions& options = {})
      : CrossEntropyLoss(options) {
    join(owner, name);
  }
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight;
  int64_t ignore_index;
  Reduction reduction;
  double label_smoothing;
};

/// The negative log likelihood of log-probabilities; see nll_loss.
struct NLLLoss : Loss {
  explicit NLLLoss(const NllLossOptions& options = {});
  NLLLoss(Module& owner, const char* name, const NllLossOptions& options = {}) : NLLLoss(options) {
    join(owner, name);
  }
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  Buffer weight;
  int64_t ignore_index;
  Reduction reduction;
};

/// How far two masks are from overlap; see dice_loss.
struct DiceLoss : Loss {
  explicit DiceLoss(const DiceOptions& options = {});
  DiceLoss(Module& owner, const char* name, const DiceOptions& options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  DiceOptions options;
};

/// The binary cross entropy in which what is easy counts less; see focal_loss.
struct FocalLoss : Loss {
  explicit FocalLoss(const FocalOptions& options = {});
  FocalLoss(Module& owner, const char* name, const FocalOptions& options = {});
  using Loss::forward;
  Tensor forward(const Tensor& input, const Tensor& target) const override;
  FocalOptions options;
};

/// 1 - cosine of the pairs with target 1, max(cosine - margin, 0) of those with -1; called with
/// three tensors.
struct CosineEmbeddingLoss : LossOfThree {
  explicit CosineEmbeddingLoss(double margin = 0, Reduction reduction = Reduction::mean);
  CosineEmbeddingLoss(Module& owner, const char* name, double margin = 0,
                      Reduction reduction = Reduction::mean);
  using LossOfThree::forward;
  Tensor forward(const Tensor& input1, const Tensor& input2, const Tensor& target) const override;
  double margin;
  Reduction reduction;
};

}  // namespace aorta::nn
