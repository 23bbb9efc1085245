#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/heavy_tailed.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {
namespace {

// Where a parameter isn't above `least` the moment of `one`, a function of it, is `otherwise`.
template <class Moment>
Tensor moment_above(const Tensor& parameter, double least, double otherwise, const Moment& one) {
  const Tensor there = gt(parameter, least);
  return where(there, one(where(there, parameter, least + 1)), otherwise);
}

// Sets two positive parameters, as tensors of one shape.
void set_positive(const char* op, const NamedParameter& first, const NamedParameter& second,
                  Tensor& first_out, Tensor& second_out) {
  const std::vector<Tensor> both = broadcast_parameters(op, {first, second});
  first_out = both[0];
  second_out = both[1];
  require(op, first.name, first_out, constraints::positive());
  require(op, second.name, second_out, constraints::positive());
}

}  // namespace

HalfCauchy::HalfCauchy(const Parameter& scale)
    : DistributionOf("HalfCauchy"), cauchy_(made_for(name(), [&] { return Cauchy(0, scale); })) {
  set_shapes(cauchy_.batch_shape());
}

Tensor HalfCauchy::mean() const { return full_like(scale(), INFINITY); }
Tensor HalfCauchy::mode() const { return zeros_like(scale()); }
Tensor HalfCauchy::variance() const { return full_like(scale(), INFINITY); }

Tensor HalfCauchy::log_prob(const Tensor& value) const {
  check_value(value);
  return where(ge(value, 0), cauchy_.log_prob(value) + std::numbers::ln2, -INFINITY);
}

Tensor HalfCauchy::cdf(const Tensor& value) const {
  check_value(value);
  return atan(value / scale()) * (2 / std::numbers::pi);
}

Tensor HalfCauchy::icdf(const Tensor& value) const {
  check_probability(value);
  return scale() * tan(value * (std::numbers::pi / 2));
}

Tensor HalfCauchy::entropy() const { return cauchy_.entropy() - std::numbers::ln2; }

Tensor HalfCauchy::draw(const Shape& sample_shape, Generator* generator) const {
  return abs(cauchy_.rsample(sample_shape, generator));
}

void HalfCauchy::expand_to(const Shape& batch_shape) { cauchy_ = cauchy_.expand(batch_shape); }

Pareto::Pareto(const Parameter& scale, const Parameter& alpha) : DistributionOf("Pareto") {
  set_positive(name(), {"scale", scale}, {"alpha", alpha}, scale_, alpha_);
  set_shapes(scale_.shape());
}

Constraint Pareto::support() const {
  return {"be at least scale", [scale = scale_](const Tensor& x) { return ge(x, scale); }};
}

Tensor Pareto::mean() const {
  return moment_above(alpha_, 1, INFINITY, [&](const Tensor& a) { return scale_ * a / (a - 1); });
}

Tensor Pareto::variance() const {
  return moment_above(alpha_, 2, INFINITY, [&](const Tensor& a) {
    return square(scale_) * a / (square(a - 1) * (a - 2));
  });
}

Tensor Pareto::log_prob(const Tensor& value) const {
  check_value(value);
  return log(alpha_) + alpha_ * log(scale_) - (alpha_ + 1) * log(value);
}

Tensor Pareto::cdf(const Tensor& value) const {
  check_value(value);
  return -expm1(alpha_ * log(scale_ / value));
}

Tensor Pareto::icdf(const Tensor& value) const {
  check_probability(value);
  return scale_ * exp(-log1p(-value) / alpha_);
}

Tensor Pareto::entropy() const { return log(scale_ / alpha_) + 1 + reciprocal(alpha_); }

Tensor Pareto::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor u = rand(extended(sample_shape), options_of(scale_), generator);
  return scale_ * exp(-log1p(-u) / alpha_);
}

void Pareto::expand_to(const Shape& batch_shape) {
  scale_ = scale_.expand(batch_shape);
  alpha_ = alpha_.expand(batch_shape);
}

namespace {

// Below it the series stand, of which twelve terms are all digits: the formulas divide 0 by 0, and
// their derivatives cancel.
constexpr double kSmall = 0.05;

// The sum of terms(k) x^k, k = 0, ..., 11, where x is small, and elsewhere f of another x than 0.
template <class Term, class F>
Tensor small_or(const Tensor& x, const Term& term, const F& f) {
  const Tensor small = lt(abs(x), kSmall), near = where(small, x, 0.0);
  Tensor sum = term(11) * near;
  for (int k = 10; k > 0; --k) sum = (sum + term(k)) * near;
  return where(small, sum + term(0), f(where(small, 1.0, x)));
}

// log(1 + x) / x, and (e^x - 1) / x.
Tensor log1p_share(const Tensor& x) {
  return small_or(
      x, [](int k) { return (k % 2 == 0 ? 1.0 : -1.0) / (k + 1); },
      [](const Tensor& y) { return log1p(y) / y; });
}
Tensor expm1_share(const Tensor& x) {
  return small_or(
      x, [](int k) { return 1 / std::tgamma(k + 2.0); },
      [](const Tensor& y) { return expm1(y) / y; });
}

}  // namespace

GeneralizedPareto::GeneralizedPareto(const Parameter& loc, const Parameter& scale,
                                     const Parameter& concentration)
    : DistributionOf("GeneralizedPareto") {
  const std::vector<Tensor> all = broadcast_parameters(
      name(), {{"loc", loc}, {"scale", scale}, {"concentration", concentration}});
  loc_ = all[0];
  scale_ = all[1];
  concentration_ = all[2];
  set_shapes(loc_.shape());
  require(name(), "loc", loc_, constraints::real());
  require(name(), "scale", scale_, constraints::positive());
  require(name(), "concentration", concentration_, constraints::real());
}

Tensor GeneralizedPareto::end() const {
  const Tensor ends = lt(concentration_, 0);
  return where(ends, loc_ - scale_ / where(ends, concentration_, -1.0), INFINITY);
}

Constraint GeneralizedPareto::support() const {
  return {"lie between loc and the end", [loc = loc_, end = end()](const Tensor& x) {
            return logical_and(ge(x, loc), le(x, end));
          }};
}

Tensor GeneralizedPareto::mean() const {
  return loc_ + moment_above(-concentration_, -1, INFINITY,
                             [&](const Tensor& k) { return scale_ / (1 + k); });
}

Tensor GeneralizedPareto::mode() const { return where(lt(concentration_, -1), end(), loc_); }

Tensor GeneralizedPareto::variance() const {
  return moment_above(-concentration_, -0.5, INFINITY, [&](const Tensor& k) {
    return square(scale_) / (square(1 + k) * (1 + 2 * k));
  });
}

Tensor GeneralizedPareto::hazard(const Tensor& value) const {
  const Tensor z = (value - loc_) / scale_;
  // Rounding may leave values at the end beyond it.
  return z * log1p_share(clamp_min(concentration_ * z, -1));
}

Tensor GeneralizedPareto::log_prob(const Tensor& value) const {
  check_value(value);
  // At concentration -1 all values up to the end, where the hazard is infinite, are equally likely.
  const Tensor even = logical_and(eq(concentration_, -1), eq(value, end()));
  const Tensor at = where(even, loc_, value);
  return -log(scale_) - (1 + concentration_) * hazard(at);
}

Tensor GeneralizedPareto::cdf(const Tensor& value) const {
  check_value(value);
  return -expm1(-hazard(value));
}

Tensor GeneralizedPareto::value_of(const Tensor& hazard) const {
  const Tensor endless = isinf(hazard), finite = where(endless, 1.0, hazard);
  const Tensor value = loc_ + scale_ * finite * expm1_share(concentration_ * finite);
  return where(endless, end(), minimum(value, end()));
}

Tensor GeneralizedPareto::icdf(const Tensor& value) const {
  check_probability(value);
  return value_of(-log1p(-value));
}

Tensor GeneralizedPareto::entropy() const { return log(scale_) + concentration_ + 1; }

Tensor GeneralizedPareto::draw(const Shape& sample_shape, Generator* generator) const {
  return value_of(-log1p(-rand(extended(sample_shape), options_of(loc_), generator)));
}

void GeneralizedPareto::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
  concentration_ = concentration_.expand(batch_shape);
}

Weibull::Weibull(const Parameter& scale, const Parameter& concentration)
    : DistributionOf("Weibull") {
  set_positive(name(), {"scale", scale}, {"concentration", concentration}, scale_, concentration_);
  set_shapes(scale_.shape());
}

Tensor Weibull::mean() const { return scale_ * exp(lgamma(1 + reciprocal(concentration_))); }

Tensor Weibull::mode() const {
  return scale_ * moment_above(concentration_, 1, 0,
                               [](const Tensor& k) { return pow((k - 1) / k, reciprocal(k)); });
}

Tensor Weibull::variance() const {
  const Tensor inverse = reciprocal(concentration_);
  return square(scale_) * (exp(lgamma(1 + 2 * inverse)) - exp(2 * lgamma(1 + inverse)));
}

Tensor Weibull::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor z = log(value / scale_);
  return log(concentration_ / scale_) + (concentration_ - 1) * z - exp(concentration_ * z);
}

Tensor Weibull::cdf(const Tensor& value) const {
  check_value(value, constraints::nonnegative());
  return -expm1(-pow(value / scale_, concentration_));
}

Tensor Weibull::icdf(const Tensor& value) const {
  check_probability(value);
  return scale_ * pow(-log1p(-value), reciprocal(concentration_));
}

Tensor Weibull::entropy() const {
  return std::numbers::egamma * (1 - reciprocal(concentration_)) + log(scale_ / concentration_) + 1;
}

Tensor Weibull::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor u = open_uniform(extended(sample_shape), scale_, generator);
  return scale_ * pow(-log1p(-u), reciprocal(concentration_));
}

void Weibull::expand_to(const Shape& batch_shape) {
  scale_ = scale_.expand(batch_shape);
  concentration_ = concentration_.expand(batch_shape);
}

InverseGamma::InverseGamma(const Parameter& concentration, const Parameter& rate)
    : DistributionOf("InverseGamma"),
      gamma_(made_for(name(), [&] { return Gamma(concentration, rate); })) {
  set_shapes(gamma_.batch_shape());
}

Tensor InverseGamma::mean() const {
  return moment_above(concentration(), 1, INFINITY,
                      [&](const Tensor& a) { return rate() / (a - 1); });
}

Tensor InverseGamma::mode() const { return rate() / (concentration() + 1); }

Tensor InverseGamma::variance() const {
  return moment_above(concentration(), 2, INFINITY,
                      [&](const Tensor& a) { return square(rate()) / (square(a - 1) * (a - 2)); });
}

Tensor InverseGamma::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor& a = concentration();
  return a * log(rate()) - lgamma(a) - (a + 1) * log(value) - rate() / value;
}

Tensor InverseGamma::cdf(const Tensor& value) const {
  check_value(value, constraints::nonnegative());
  return 1 - gamma_.cdf(reciprocal(value));
}

Tensor InverseGamma::entropy() const {
  const Tensor& a = concentration();
  return a + log(rate()) + lgamma(a) - (1 + a) * digamma(a);
}

Tensor InverseGamma::draw(const Shape& sample_shape, Generator* generator) const {
  return reciprocal(gamma_.rsample(sample_shape, generator));
}

void InverseGamma::expand_to(const Shape& batch_shape) { gamma_ = gamma_.expand(batch_shape); }

FisherSnedecor::FisherSnedecor(const Parameter& df1, const Parameter& df2)
    : DistributionOf("FisherSnedecor") {
  set_positive(name(), {"df1", df1}, {"df2", df2}, df1_, df2_);
  set_shapes(df1_.shape());
}

Tensor FisherSnedecor::mean() const {
  return moment_above(df2_, 2, NAN, [](const Tensor& d) { return d / (d - 2); });
}

Tensor FisherSnedecor::mode() const {
  return moment_above(df1_, 2, NAN, [](const Tensor& d) { return (d - 2) / d; }) * df2_ /
         (df2_ + 2);
}

Tensor FisherSnedecor::variance() const {
  return moment_above(df2_, 4, NAN, [&](const Tensor& d) {
    return 2 * square(d) * (df1_ + d - 2) / (df1_ * square(d - 2) * (d - 4));
  });
}

Tensor FisherSnedecor::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor a = 0.5 * df1_, b = 0.5 * df2_, ratio = df1_ / df2_;
  return lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(ratio) + (a - 1) * log(value) -
         (a + b) * log1p(ratio * value);
}

Tensor FisherSnedecor::draw(const Shape& sample_shape, Generator* generator) const {
  const auto part = [&](const Tensor& df) {
    return Gamma(0.5 * df, 0.5 * df).rsample(sample_shape, generator);
  };
  const Tensor above = part(df1_);
  return above / part(df2_);
}

void FisherSnedecor::expand_to(const Shape& batch_shape) {
  df1_ = df1_.expand(batch_shape);
  df2_ = df2_.expand(batch_shape);
}

}  // namespace aorta::distributions
