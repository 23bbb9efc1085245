#pragma once

#include <aorta/distributions/distribution.h>
#include <aorta/distributions/transforms.h>

namespace aorta::distributions {

/// The cdf of a distribution of numbers, which makes its samples uniform in [0, 1]; the inverse is
/// the icdf, and a normal one's after another's cdf makes a copula:
/// `ComposeTransform({CumulativeDistributionTransform(Exponential(2)),
/// CumulativeDistributionTransform(Normal(0, 1)).inverse()})`.
class CumulativeDistributionTransform : public TransformOf<CumulativeDistributionTransform> {
 public:
  explicit CumulativeDistributionTransform(const Distribution& distribution);
  const char* name() const override { return "CumulativeDistributionTransform"; }
  const Distribution& distribution() const { return *distribution_; }
  Tensor operator()(const Tensor& x) const override { return distribution_->cdf(x); }
  Tensor inv(const Tensor& y) const override { return distribution_->icdf(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return distribution_->support(); }
  Constraint codomain() const override { return constraints::unit_interval(); }
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override { return forward_shape(shape); }
  /// True for copies of one.
  bool equals(const Transform& other) const override;

 private:
  std::shared_ptr<const Distribution> distribution_;
};

/// y = f(x) of x from `base`: `TransformedDistribution(Normal(0, 1), {AffineTransform(loc, scale),
/// TanhTransform()})`. log_prob(y) is that of the inverse x minus the logarithm of the Jacobian's
/// determinant. A transform of events that are vectors makes batch dimensions of the base a part of
/// the event, and one that broadcasts expands the base.
class TransformedDistribution : public DistributionOf<TransformedDistribution> {
 public:
  TransformedDistribution(const Distribution& base, const Transforms& transforms);

  const Distribution& base_dist() const { return *base_; }
  const Transforms& transforms() const { return transform_.parts(); }
  Constraint support() const override;
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor sign_beside(const Tensor& value) const;
  std::shared_ptr<const Distribution> base_;
  ComposeTransform transform_;
};

}  // namespace aorta::distributions
