#pragma once

#include <aorta/distributions/categorical.h>
#include <aorta/distributions/distribution.h>

// Counts of coins and of classes. Samples have the parameter's dtype.

namespace aorta::distributions {

/// How many of total_count n coins fall on their side of probability p: `Binomial(10, {.probs =
/// 0.3})`; n >= 0 whole, a number or a tensor. Samples are drawn one after the other on the CPU.
class Binomial : public DistributionOf<Binomial> {
 public:
  Binomial(const Parameter& total_count, const ProbsOrLogits& options);

  const Tensor& total_count() const { return total_; }
  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override;
  bool has_enumerate_support() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  /// A sum over all values: total_count must be one number for all.
  Tensor entropy() const override;
  Tensor enumerate_support(bool expand = true) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor total_;
  Odds odds_;
};

/// How often a coin succeeds, with probability p < 1, before it has failed total_count r times; r >
/// 0 need not be whole. Samples are Poisson's of rates that are Gamma's.
class NegativeBinomial : public DistributionOf<NegativeBinomial> {
 public:
  NegativeBinomial(const Parameter& total_count, const ProbsOrLogits& options);

  const Tensor& total_count() const { return total_; }
  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor total_;
  Odds odds_;
};

/// How often each of K classes comes in total_count n draws: vectors (K) of counts whose sum is n;
/// probs or logits (B, K).
class Multinomial : public DistributionOf<Multinomial> {
 public:
  Multinomial(int64_t total_count, const ProbsOrLogits& options);

  int64_t total_count() const { return total_; }
  Tensor probs() const { return categorical_.probs(); }
  Tensor logits() const { return categorical_.logits(); }
  const Categorical& categorical() const { return categorical_; }
  Constraint support() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  int64_t total_;
  Categorical categorical_;
};

}  // namespace aorta::distributions
