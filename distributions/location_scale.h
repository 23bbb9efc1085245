#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// 1 / (high - low) in [low, high); low < high.
class Uniform : public DistributionOf<Uniform> {
 public:
  Uniform(const Parameter& low, const Parameter& high);

  const Tensor& low() const { return low_; }
  const Tensor& high() const { return high_; }
  Constraint support() const override { return constraints::interval(low_, high_); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  /// NaN: every value is one.
  Tensor mode() const override;
  Tensor stddev() const override;
  Tensor variance() const override;
  /// -inf at `high`.
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor low_, high_;
};

/// rate exp(-rate x), x >= 0; rate > 0.
class Exponential : public DistributionOf<Exponential> {
 public:
  explicit Exponential(const Parameter& rate);

  const Tensor& rate() const { return rate_; }
  Constraint support() const override { return constraints::nonnegative(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor stddev() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor rate_;
};

/// exp(-|x - loc| / scale) / (2 scale); scale > 0.
class Laplace : public DistributionOf<Laplace> {
 public:
  Laplace(const Parameter& loc, const Parameter& scale);

  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor mode() const override { return loc_; }
  Tensor stddev() const override;
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

/// exp(z - exp(z)) / scale, z = (loc - x) / scale: the largest of many; scale > 0.
class Gumbel : public DistributionOf<Gumbel> {
 public:
  Gumbel(const Parameter& loc, const Parameter& scale);

  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override { return loc_; }
  Tensor stddev() const override;
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

/// 1 / (pi scale (1 + ((x - loc) / scale)^2)); scale > 0. Its mean is NaN, its variance inf.
class Cauchy : public DistributionOf<Cauchy> {
 public:
  Cauchy(const Parameter& loc, const Parameter& scale);

  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override { return loc_; }
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

}  // namespace aorta::distributions
