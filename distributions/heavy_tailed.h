#pragma once

#include <aorta/distributions/distribution.h>
#include <aorta/distributions/gamma.h>
#include <aorta/distributions/location_scale.h>

// Distributions of positive numbers whose large values come more often than an exponential's.

namespace aorta::distributions {

/// |y| of a Cauchy variable y of location 0. Its mean and variance are inf.
class HalfCauchy : public DistributionOf<HalfCauchy> {
 public:
  explicit HalfCauchy(const Parameter& scale);

  const Tensor& scale() const { return cauchy_.scale(); }
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
  Cauchy cauchy_;
};

/// alpha scale^alpha / x^(alpha + 1), x >= scale; scale, alpha > 0.
class Pareto : public DistributionOf<Pareto> {
 public:
  Pareto(const Parameter& scale, const Parameter& alpha);

  const Tensor& scale() const { return scale_; }
  const Tensor& alpha() const { return alpha_; }
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  /// inf where alpha <= 1.
  Tensor mean() const override;
  Tensor mode() const override { return scale_; }
  /// inf where alpha <= 2.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor scale_, alpha_;
};

/// What is left of many distributions beyond a high threshold `loc` (Pickands 1975): (1 + k
/// z)^(-1/k - 1) / scale, z = (x - loc) / scale >= 0; scale > 0, any concentration k. k 0 is an
/// exponential, and below 0 values end at loc - scale / k.
class GeneralizedPareto : public DistributionOf<GeneralizedPareto> {
 public:
  GeneralizedPareto(const Parameter& loc, const Parameter& scale, const Parameter& concentration);

  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  const Tensor& concentration() const { return concentration_; }
  Constraint support() const override;
  bool has_rsample() const override { return true; }
  /// inf where the concentration is at least 1.
  Tensor mean() const override;
  /// loc, or the other end where the concentration is below -1.
  Tensor mode() const override;
  /// inf where the concentration is at least 1/2.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  /// -log(1 - cdf).
  Tensor hazard(const Tensor& value) const;
  /// The value of such a hazard.
  Tensor value_of(const Tensor& hazard) const;
  /// Where values end; inf where they don't.
  Tensor end() const;
  Tensor loc_, scale_, concentration_;
};

/// k/scale z^(k - 1) exp(-z^k), z = x/scale > 0; scale, concentration k > 0.
class Weibull : public DistributionOf<Weibull> {
 public:
  Weibull(const Parameter& scale, const Parameter& concentration);

  const Tensor& scale() const { return scale_; }
  const Tensor& concentration() const { return concentration_; }
  Constraint support() const override { return constraints::positive(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  /// 0 where the concentration is at most 1.
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor icdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor scale_, concentration_;
};

/// 1/y of y from Gamma(concentration, rate).
class InverseGamma : public DistributionOf<InverseGamma> {
 public:
  InverseGamma(const Parameter& concentration, const Parameter& rate);

  const Tensor& concentration() const { return gamma_.concentration(); }
  const Tensor& rate() const { return gamma_.rate(); }
  /// The distribution of 1/x.
  const Gamma& base_dist() const { return gamma_; }
  Constraint support() const override { return constraints::positive(); }
  bool has_rsample() const override { return true; }
  /// inf where the concentration is at most 1.
  Tensor mean() const override;
  Tensor mode() const override;
  /// inf where the concentration is at most 2.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Gamma gamma_;
};

/// (x1 / df1) / (x2 / df2) of x1 from Chi2(df1) and x2 from Chi2(df2); df1, df2 > 0.
class FisherSnedecor : public DistributionOf<FisherSnedecor> {
 public:
  FisherSnedecor(const Parameter& df1, const Parameter& df2);

  const Tensor& df1() const { return df1_; }
  const Tensor& df2() const { return df2_; }
  Constraint support() const override { return constraints::positive(); }
  bool has_rsample() const override { return true; }
  /// NaN where df2 <= 2.
  Tensor mean() const override;
  /// NaN where df1 <= 2.
  Tensor mode() const override;
  /// NaN where df2 <= 4.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor df1_, df2_;
};

}  // namespace aorta::distributions
