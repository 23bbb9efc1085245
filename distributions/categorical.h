#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// One of K classes: `Categorical({.probs = p})`, `Categorical({.logits = x})`, p or x (B, K),
/// which are normalised over the classes. Values are the classes' numbers, (B) of i64; a value in
/// any dtype may be asked for.
class Categorical : public DistributionOf<Categorical> {
 public:
  explicit Categorical(const ProbsOrLogits& options);

  Tensor probs() const { return odds_.probs(); }
  /// The logarithms of the probabilities.
  Tensor logits() const { return odds_.logits(); }
  /// K.
  int64_t num_events() const { return odds_.given().size(-1); }
  Constraint support() const override;
  bool has_enumerate_support() const override { return true; }
  /// NaN, as the variance: classes are no numbers.
  Tensor mean() const override;
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

/// The categorical distribution with vectors of K numbers for values, 1 at the class and 0
/// elsewhere, in the parameter's dtype: event_shape (K).
class OneHotCategorical : public DistributionOf<OneHotCategorical> {
 public:
  explicit OneHotCategorical(const ProbsOrLogits& options);

  Tensor probs() const { return categorical_.probs(); }
  Tensor logits() const { return categorical_.logits(); }
  const Categorical& categorical() const { return categorical_; }
  Constraint support() const override { return constraints::one_hot(); }
  bool has_enumerate_support() const override { return true; }
  Tensor mean() const override { return probs(); }
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override { return categorical_.entropy(); }
  Tensor enumerate_support(bool expand = true) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Categorical categorical_;
};

/// A OneHotCategorical whose samples have the gradients of the probabilities, which are not those
/// of the samples: the straight-through estimator (Bengio, Leonard, Courville 2013).
class OneHotCategoricalStraightThrough : public DistributionOf<OneHotCategoricalStraightThrough> {
 public:
  explicit OneHotCategoricalStraightThrough(const ProbsOrLogits& options);

  Tensor probs() const { return one_hot_.probs(); }
  Tensor logits() const { return one_hot_.logits(); }
  const OneHotCategorical& one_hot_categorical() const { return one_hot_; }
  Constraint support() const override { return one_hot_.support(); }
  bool has_rsample() const override { return true; }
  bool has_enumerate_support() const override { return true; }
  Tensor mean() const override { return one_hot_.mean(); }
  Tensor mode() const override { return one_hot_.mode(); }
  Tensor variance() const override { return one_hot_.variance(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override { return one_hot_.entropy(); }
  Tensor enumerate_support(bool expand = true) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  OneHotCategorical one_hot_;
};

}  // namespace aorta::distributions
