#pragma once

#include <aorta/distributions/constraint.h>
#include <aorta/distributions/parameters.h>

#include <memory>

// Probability distributions, with torch.distributions' names, parameters, shapes and formulas. They
// are composed of ops, so log_prob, entropy, rsample and kl_divergence have gradients by the
// parameters, and log_prob by the value, to any order; samples and cdfs of gammas to the second.

namespace aorta::distributions {

/// A batch of distributions (batch_shape B), each over events of shape E: event_shape () for
/// numbers, (K) for vectors. A sample is (S, B, E), S the shape that is asked for; log_prob takes
/// (*, E), where * broadcasts with B, and gives the broadcast shape.
///
/// Parameters and values are checked, which waits for a GPU; see set_default_validate_args.
/// Errors: `Normal: scale must be positive, got -1 at [2]`. What a distribution doesn't have is an
/// error too: `cdf: the distribution must have one, got Categorical`.
class Distribution {
 public:
  virtual ~Distribution() = default;

  /// Its class: "Normal".
  const char* name() const { return name_; }
  const Shape& batch_shape() const { return batch_shape_; }
  const Shape& event_shape() const { return event_shape_; }
  /// Where values lie.
  virtual Constraint support() const = 0;
  /// Whether rsample() exists: samples that are differentiable functions of the parameters.
  virtual bool has_rsample() const { return false; }
  /// Whether enumerate_support() exists.
  virtual bool has_enumerate_support() const { return false; }

  /// (B, E).
  virtual Tensor mean() const;
  virtual Tensor variance() const;
  virtual Tensor stddev() const;
  virtual Tensor mode() const;

  /// Draws (S, B, E) without gradients. `generator` is the default one when null.
  Tensor sample(const Shape& sample_shape = {}, Generator* generator = nullptr) const;
  /// sample()'s numbers with gradients by the parameters ("reparameterised"; Kingma, Welling 2014).
  Tensor rsample(const Shape& sample_shape = {}, Generator* generator = nullptr) const;

  /// The logarithm of the density, or of the probability.
  virtual Tensor log_prob(const Tensor& value) const = 0;
  /// The probability of at most `value`, and its inverse.
  virtual Tensor cdf(const Tensor& value) const;
  virtual Tensor icdf(const Tensor& value) const;
  /// In nats, (B).
  virtual Tensor entropy() const;
  /// exp(entropy()).
  Tensor perplexity() const;
  /// All values (N, B, E) of a distribution that has finitely many; (N, 1, ..., E) without
  /// `expand`.
  virtual Tensor enumerate_support(bool expand = true) const;

  /// A copy, and one of batch_shape `batch_shape`, to which this one's broadcasts; where the class
  /// is known, `expand` gives the class itself.
  virtual std::shared_ptr<Distribution> clone() const = 0;
  virtual std::shared_ptr<Distribution> expanded(const Shape& batch_shape) const = 0;

  /// Whether parameters and values are checked; on at first.
  static void set_default_validate_args(bool value);

 protected:
  explicit Distribution(const char* name) : name_(name) {}
  Distribution(const Distribution&) = default;
  Distribution& operator=(const Distribution&) = default;

  /// Samples, with gradients where there is an rsample.
  virtual Tensor draw(const Shape& sample_shape, Generator* generator) const = 0;
  /// Makes the parameters those of `batch_shape`.
  virtual void expand_to(const Shape& batch_shape) = 0;

  void set_shapes(const Shape& batch_shape, const Shape& event_shape = {});
  /// (S, B, E).
  Shape extended(const Shape& sample_shape) const;
  /// Errors: `value` isn't of the event's shape, doesn't broadcast, or lies outside the support.
  void check_value(const Tensor& value) const { check_value(value, support()); }
  /// Does so with values beyond the support: cdf takes the end of an open one.
  void check_value(const Tensor& value, const Constraint& allowed) const;
  /// Checks a probability that icdf takes.
  void check_probability(const Tensor& value) const;

 private:
  const char* name_;
  Shape batch_shape_, event_shape_;
};

/// What a distribution of class Self has in common with all others: it is copied like a value.
template <class Self>
class DistributionOf : public Distribution {
 public:
  /// This one with `batch_shape`, to which its own broadcasts.
  Self expand(const Shape& batch_shape) const {
    Self result = static_cast<const Self&>(*this);
    DistributionOf& base = result;
    base.expand_to(batch_shape);
    base.set_shapes(batch_shape, event_shape());
    return result;
  }
  std::shared_ptr<Distribution> clone() const override {
    return std::make_shared<Self>(static_cast<const Self&>(*this));
  }
  std::shared_ptr<Distribution> expanded(const Shape& batch_shape) const override {
    return std::make_shared<Self>(expand(batch_shape));
  }

 protected:
  using Distribution::Distribution;
};

/// Errors: `what` of `op` lies outside of the constraint. Nothing where arguments aren't checked.
void require(const char* op, const char* what, const Tensor& value, const Constraint& constraint);

}  // namespace aorta::distributions
