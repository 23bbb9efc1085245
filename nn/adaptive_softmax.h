#pragma once

#include <aorta/nn/call.h>
#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>

namespace aorta::nn {

/// The options of AdaptiveLogSoftmaxWithLoss, with PyTorch's names and defaults.
struct AdaptiveLogSoftmaxOptions {
  double div_value = 4;  // each cluster's features are those of the one before over this
  bool head_bias = false;
};
/// A softmax over many classes, the frequent ones first. The head scores those below cutoffs[0] and
/// each cluster of the others, [cutoffs[i], cutoffs[i + 1]) or to n_classes; a cluster's own layers
/// `tail` see the inputs alone whose target lies in it. Grave et al. 2017. `cutoffs` rise, from 1
/// on and below n_classes.
class AdaptiveLogSoftmaxWithLoss : public ModuleOf<AdaptiveLogSoftmaxWithLoss> {
 public:
  AdaptiveLogSoftmaxWithLoss(int64_t in_features, int64_t n_classes, const List<int64_t>& cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {});
  AdaptiveLogSoftmaxWithLoss(Module& owner, const char* name, int64_t in_features,
                             int64_t n_classes, const List<int64_t>& cutoffs,
                             const AdaptiveLogSoftmaxOptions& options = {});
  /// The log-probability of each target, and the mean of their negatives ().
  struct Output {
    Tensor output, loss;
  };
  /// Input (N, in_features) and target (N) of i64, or (in_features) and ().
  Output forward(const Tensor& input, const Tensor& target) const;
  /// The log-probabilities (N, n_classes) of all classes for input (N, in_features).
  Tensor log_prob(const Tensor& input) const;
  /// The likeliest classes (N), for input (N, in_features), or () for (in_features).
  Tensor predict(const Tensor& input) const;

  int64_t in_features, n_classes;
  std::vector<int64_t> cutoffs;  // with n_classes as the last
  AdaptiveLogSoftmaxOptions options;
  Linear head;
  ModuleList tail;

 private:
  Tensor all_of(const Tensor& input, const Tensor& head_output) const;
};

}  // namespace aorta::nn
