#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/normal.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {
Normal::Normal(const Parameter& loc, const Parameter& scale) : DistributionOf("Normal") {
  const std::vector<Tensor> both = broadcast_parameters(name(), {{"loc", loc}, {"scale", scale}});
  loc_ = both[0];
  scale_ = both[1];
  set_shapes(loc_.shape());
  require(name(), "loc", loc_, constraints::real());
  require(name(), "scale", scale_, constraints::positive());
}

Tensor Normal::variance() const { return square(scale_); }

Tensor Normal::log_prob(const Tensor& value) const {
  check_value(value);
  return -0.5 * square((value - loc_) / scale_) - log(scale_) - kHalfLogTwoPi;
}

// By erfc, which keeps its digits where the probability is small.
Tensor Normal::cdf(const Tensor& value) const {
  check_value(value);
  return 0.5 * erfc((loc_ - value) / (scale_ * std::numbers::sqrt2));
}

Tensor Normal::icdf(const Tensor& value) const {
  check_probability(value);
  return loc_ + scale_ * normal_quantile(value);
}

Tensor Normal::entropy() const { return log(scale_) + (0.5 + kHalfLogTwoPi); }

Tensor Normal::draw(const Shape& sample_shape, Generator* generator) const {
  return loc_ + scale_ * randn(extended(sample_shape), options_of(loc_), generator);
}

void Normal::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
}

LogNormal::LogNormal(const Parameter& loc, const Parameter& scale)
    : DistributionOf("LogNormal"), normal_(made_for(name(), [&] { return Normal(loc, scale); })) {
  set_shapes(normal_.batch_shape());
}

Tensor LogNormal::mean() const { return exp(loc() + 0.5 * square(scale())); }
Tensor LogNormal::mode() const { return exp(loc() - square(scale())); }

Tensor LogNormal::variance() const {
  const Tensor s = square(scale());
  return expm1(s) * exp(2 * loc() + s);
}

Tensor LogNormal::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor y = log(value);
  return normal_.log_prob(y) - y;
}

Tensor LogNormal::cdf(const Tensor& value) const {
  check_value(value, constraints::nonnegative());
  return normal_.cdf(log(value));
}

Tensor LogNormal::icdf(const Tensor& value) const {
  check_probability(value);
  return exp(normal_.icdf(value));
}

Tensor LogNormal::entropy() const { return normal_.entropy() + loc(); }

Tensor LogNormal::draw(const Shape& sample_shape, Generator* generator) const {
  return exp(normal_.rsample(sample_shape, generator));
}

void LogNormal::expand_to(const Shape& batch_shape) { normal_ = normal_.expand(batch_shape); }

HalfNormal::HalfNormal(const Parameter& scale)
    : DistributionOf("HalfNormal"), normal_(made_for(name(), [&] { return Normal(0, scale); })) {
  set_shapes(normal_.batch_shape());
}

Tensor HalfNormal::mean() const { return scale() * std::sqrt(2 / std::numbers::pi); }
Tensor HalfNormal::mode() const { return zeros_like(scale()); }
Tensor HalfNormal::variance() const { return square(scale()) * (1 - 2 / std::numbers::pi); }

Tensor HalfNormal::log_prob(const Tensor& value) const {
  check_value(value);
  return where(ge(value, 0), normal_.log_prob(value) + std::numbers::ln2, -INFINITY);
}

Tensor HalfNormal::cdf(const Tensor& value) const {
  check_value(value);
  return erf(value / (scale() * std::numbers::sqrt2));
}

Tensor HalfNormal::icdf(const Tensor& value) const {
  check_probability(value);
  return normal_.icdf(0.5 * (value + 1));
}

Tensor HalfNormal::entropy() const { return normal_.entropy() - std::numbers::ln2; }

Tensor HalfNormal::draw(const Shape& sample_shape, Generator* generator) const {
  return abs(normal_.rsample(sample_shape, generator));
}

void HalfNormal::expand_to(const Shape& batch_shape) { normal_ = normal_.expand(batch_shape); }

}  // namespace aorta::distributions
