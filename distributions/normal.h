#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// exp(-(x - loc)^2 / (2 scale^2)) / (scale sqrt(2 pi)): mean loc, standard deviation scale > 0.
class Normal : public DistributionOf<Normal> {
 public:
  Normal(const Parameter& loc, const Parameter& scale);

  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor mode() const override { return loc_; }
  Tensor stddev() const override { return scale_; }
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor loc_, scale_;
};

/// exp(y) of a normal y: x > 0, whose logarithm has mean loc and standard deviation scale.
class LogNormal : public DistributionOf<LogNormal> {
 public:
  LogNormal(const Parameter& loc, const Parameter& scale);

  const Tensor& loc() const { return normal_.loc(); }
  const Tensor& scale() const { return normal_.scale(); }
  /// The distribution of the logarithm.
  const Normal& base_dist() const { return normal_; }
  Constraint support() const override { return constraints::positive(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Normal normal_;
};

/// |y| of a normal y of mean 0 and standard deviation scale.
class HalfNormal : public DistributionOf<HalfNormal> {
 public:
  explicit HalfNormal(const Parameter& scale);

  const Tensor& scale() const { return normal_.scale(); }
  Constraint support() const override { return constraints::nonnegative(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Normal normal_;
};

}  // namespace aorta::distributions
