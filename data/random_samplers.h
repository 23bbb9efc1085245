#pragma once

#include <aorta/data/sampler.h>

namespace aorta::data {

/// The given indices in a random order, another one each epoch.
class SubsetRandomSampler : public Sampler {
 public:
  explicit SubsetRandomSampler(const List<int64_t>& indices);
  int64_t size() const override { return static_cast<int64_t>(indices_.size()); }
  std::vector<int64_t> indices(int64_t epoch, Generator& random) const override;

 private:
  std::vector<int64_t> indices_;
};

/// `num_samples` draws from 0 ... weights.size() - 1. With replacement each draw is i with
/// probability weights[i] / sum of the weights; without, each is one of those that are left, with
/// probability in proportion to its weight. Weights needn't sum to 1.
class WeightedRandomSampler : public Sampler {
 public:
  /// Throws `weighted_random_sampler: ...` unless num_samples is positive, the weights are finite
  /// and not negative, their sum is above 0 and, without replacement, num_samples of them are.
  WeightedRandomSampler(const List<double>& weights, int64_t num_samples, bool replacement = true);
  /// Takes the weights of a tensor (N).
  WeightedRandomSampler(const Tensor& weights, int64_t num_samples, bool replacement = true);
  int64_t size() const override { return num_samples_; }
  std::vector<int64_t> indices(int64_t epoch, Generator& random) const override;

 private:
  std::vector<double> weights_;
  int64_t num_samples_;
  bool replacement_;
};

}  // namespace aorta::data
