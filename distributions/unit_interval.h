#pragma once

#include <aorta/distributions/distribution.h>

// Distributions of numbers in [0, 1], beside Beta and Uniform.

namespace aorta::distributions {

/// a b x^(a - 1) (1 - x^a)^(b - 1), a concentration1 and b concentration0, both > 0: like Beta, but
/// with a cdf whose inverse is simple (Kumaraswamy 1980).
class Kumaraswamy : public DistributionOf<Kumaraswamy> {
 public:
  Kumaraswamy(const Parameter& concentration1, const Parameter& concentration0);

  const Tensor& concentration1() const { return a_; }
  const Tensor& concentration0() const { return b_; }
  Constraint support() const override { return constraints::unit_interval(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  /// NaN where one of both is below 1, or both are 1.
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor moment(double n) const;
  Tensor a_, b_;
};

/// C p^x (1 - p)^(1 - x): a coin's formula for numbers between 0 and 1, such as pixels
/// (Loaiza-Ganem, Cunningham 2019): `ContinuousBernoulli({.logits = x})`.
class ContinuousBernoulli : public DistributionOf<ContinuousBernoulli> {
 public:
  explicit ContinuousBernoulli(const ProbsOrLogits& options);

  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::unit_interval(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  /// log C.
  Tensor log_constant() const;
  Tensor quantile(const Tensor& u) const;
  Odds odds_;
};

}  // namespace aorta::distributions
