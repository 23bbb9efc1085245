#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// 1 with probability p, else 0: `Bernoulli({.probs = 0.3})`, `Bernoulli({.logits = x})`, logits
/// log(p / (1 - p)). Samples have the parameter's dtype.
class Bernoulli : public DistributionOf<Bernoulli> {
 public:
  explicit Bernoulli(const ProbsOrLogits& options);

  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::boolean(); }
  bool has_enumerate_support() const override { return true; }
  Tensor mean() const override { return probs(); }
  /// NaN where p is 0.5.
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor enumerate_support(bool expand = true) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Odds odds_;
};

/// How often a coin that succeeds with probability p > 0 fails before: (1 - p)^k p, k = 0, 1, ...
class Geometric : public DistributionOf<Geometric> {
 public:
  explicit Geometric(const ProbsOrLogits& options);

  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Odds odds_;
};

}  // namespace aorta::distributions
