#pragma once

#include <aorta/distributions/distribution.h>

// The gamma distribution and those that are made of its samples. These are drawn one after the
// other on the CPU; their gradients, of first and second order, are those of the quantile
// (Figurnov, Mohamed, Mnih 2018).

namespace aorta::distributions {

/// rate^a x^(a - 1) exp(-rate x) / Gamma(a), x > 0; concentration a > 0, rate > 0.
class Gamma : public DistributionOf<Gamma> {
 public:
  Gamma(const Parameter& concentration, const Parameter& rate);

  const Tensor& concentration() const { return concentration_; }
  const Tensor& rate() const { return rate_; }
  Constraint support() const override { return constraints::nonnegative(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor concentration_, rate_;
};

/// The sum of df squares of standard normal numbers: Gamma(df / 2, 1 / 2); df > 0.
class Chi2 : public DistributionOf<Chi2> {
 public:
  explicit Chi2(const Parameter& df);

  Tensor df() const;
  const Gamma& gamma() const { return gamma_; }
  Constraint support() const override { return constraints::nonnegative(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return gamma_.mean(); }
  Tensor mode() const override { return gamma_.mode(); }
  Tensor variance() const override { return gamma_.variance(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;
  Tensor entropy() const override { return gamma_.entropy(); }

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Gamma gamma_;
};

/// Vectors (K) of numbers >= 0 whose sum is 1: the product of x_i^(a_i - 1), over the generalised
/// beta function; concentration a (B, K), above 0. Where all are far below 1, samples may round to
/// vectors of 0, 1 and equal parts.
class Dirichlet : public DistributionOf<Dirichlet> {
 public:
  explicit Dirichlet(const Tensor& concentration);

  const Tensor& concentration() const { return concentration_; }
  Constraint support() const override { return constraints::simplex(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  /// Where no concentration is above 1: 1 at the largest.
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor concentration_;
};

/// x^(a - 1) (1 - x)^(b - 1) / B(a, b), 0 <= x <= 1; concentration1 a > 0, concentration0 b > 0.
class Beta : public DistributionOf<Beta> {
 public:
  Beta(const Parameter& concentration1, const Parameter& concentration0);

  Tensor concentration1() const;
  Tensor concentration0() const;
  Constraint support() const override { return constraints::unit_interval(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor mode() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override { return dirichlet_.entropy(); }

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Dirichlet dirichlet_;  // of two
};

/// Student's: loc + scale y / sqrt(z / df) of a normal y and z of Chi2(df); df, scale > 0.
class StudentT : public DistributionOf<StudentT> {
 public:
  explicit StudentT(const Parameter& df, const Parameter& loc = 0, const Parameter& scale = 1);

  const Tensor& df() const { return df_; }
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  Constraint support() const override { return constraints::real(); }
  bool has_rsample() const override { return true; }
  /// NaN where df <= 1.
  Tensor mean() const override;
  Tensor mode() const override { return loc_; }
  /// inf where df <= 2, NaN where df <= 1.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor df_, loc_, scale_;
};

}  // namespace aorta::distributions
