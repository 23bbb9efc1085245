#pragma once

#include <aorta/distributions/distribution.h>

// Continuous relaxations of coins and classes, whose samples have gradients: Maddison, Mnih, Teh
// 2017; Jang, Gu, Poole 2017. The temperature is positive: the nearer to 0, the nearer are samples
// to 0 and 1. It is one number, or one for each coin.

namespace aorta::distributions {

/// The logit of a relaxed coin: (logits + log(u / (1 - u))) / temperature of a uniform u.
class LogitRelaxedBernoulli : public DistributionOf<LogitRelaxedBernoulli> {
 public:
  LogitRelaxedBernoulli(const Parameter& temperature, const ProbsOrLogits& options);

  const Tensor& temperature() const { return temperature_; }
  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor temperature_;
  Odds odds_;
};

/// A coin relaxed to (0, 1): the sigmoid of a LogitRelaxedBernoulli.
class RelaxedBernoulli : public DistributionOf<RelaxedBernoulli> {
 public:
  RelaxedBernoulli(const Parameter& temperature, const ProbsOrLogits& options);

  const Tensor& temperature() const { return logit_.temperature(); }
  Tensor probs() const { return logit_.probs(); }
  Tensor logits() const { return logit_.logits(); }
  const LogitRelaxedBernoulli& base_dist() const { return logit_; }
  Constraint support() const override { return constraints::unit_interval(); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  LogitRelaxedBernoulli logit_;
};

/// Classes relaxed to vectors (K) of numbers above 0 whose sum is 1, the softmax of (logits + g) /
/// temperature with Gumbel's numbers g; parameters (B, K), event_shape (K).
class RelaxedOneHotCategorical : public DistributionOf<RelaxedOneHotCategorical> {
 public:
  RelaxedOneHotCategorical(const Parameter& temperature, const ProbsOrLogits& options);

  const Tensor& temperature() const { return temperature_; }
  Tensor probs() const { return odds_.probs(); }
  Tensor logits() const { return odds_.logits(); }
  Constraint support() const override { return constraints::simplex(); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor temperature_;
  Odds odds_;
};

}  // namespace aorta::distributions
