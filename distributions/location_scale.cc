#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/location_scale.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {
namespace {

// loc and scale of a family that is moved by the one and stretched by the other.
void set_location_scale(const char* name, const Parameter& loc, const Parameter& scale,
                        Tensor& loc_out, Tensor& scale_out) {
  const std::vector<Tensor> both = broadcast_parameters(name, {{"loc", loc}, {"scale", scale}});
  loc_out = both[0];
  scale_out = both[1];
  require(name, "loc", loc_out, constraints::real());
  require(name, "scale", scale_out, constraints::positive());
}

}  // namespace

Uniform::Uniform(const Parameter& low, const Parameter& high) : DistributionOf("Uniform") {
  const std::vector<Tensor> both = broadcast_parameters(name(), {{"low", low}, {"high", high}});
  low_ = both[0];
  high_ = both[1];
  set_shapes(low_.shape());
  require(name(), "low", low_, constraints::real());
  require(name(), "high", high_,
          {"be greater than low", [this](const Tensor& x) { return gt(x, low_); }});
}

Tensor Uniform::mean() const { return (high_ + low_) / 2; }
Tensor Uniform::mode() const { return full_like(low_, NAN); }
Tensor Uniform::stddev() const { return (high_ - low_) / std::sqrt(12.0); }
Tensor Uniform::variance() const { return square(high_ - low_) / 12; }

Tensor Uniform::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor inside = logical_and(ge(value, low_), lt(value, high_));
  return where(inside, -log(high_ - low_), -INFINITY);
}

Tensor Uniform::cdf(const Tensor& value) const {
  check_value(value);
  return clamp((value - low_) / (high_ - low_), 0, 1);
}

Tensor Uniform::icdf(const Tensor& value) const {
  check_probability(value);
  return low_ + value * (high_ - low_);
}

Tensor Uniform::entropy() const { return log(high_ - low_); }

Tensor Uniform::draw(const Shape& sample_shape, Generator* generator) const {
  return low_ + (high_ - low_) * rand(extended(sample_shape), options_of(low_), generator);
}

void Uniform::expand_to(const Shape& batch_shape) {
  low_ = low_.expand(batch_shape);
  high_ = high_.expand(batch_shape);
}

Exponential::Exponential(const Parameter& rate) : DistributionOf("Exponential") {
  rate_ = broadcast_parameters(name(), {{"rate", rate}})[0];
  set_shapes(rate_.shape());
  require(name(), "rate", rate_, constraints::positive());
}

Tensor Exponential::mean() const { return reciprocal(rate_); }
Tensor Exponential::mode() const { return zeros_like(rate_); }
Tensor Exponential::stddev() const { return reciprocal(rate_); }
Tensor Exponential::variance() const { return square(reciprocal(rate_)); }

Tensor Exponential::log_prob(const Tensor& value) const {
  check_value(value);
  return log(rate_) - rate_ * value;
}

Tensor Exponential::cdf(const Tensor& value) const {
  check_value(value);
  return -expm1(-rate_ * value);
}

Tensor Exponential::icdf(const Tensor& value) const {
  check_probability(value);
  return -log1p(-value) / rate_;
}

Tensor Exponential::entropy() const { return 1 - log(rate_); }

Tensor Exponential::draw(const Shape& sample_shape, Generator* generator) const {
  return -log1p(-rand(extended(sample_shape), options_of(rate_), generator)) / rate_;
}

void Exponential::expand_to(const Shape& batch_shape) { rate_ = rate_.expand(batch_shape); }

Laplace::Laplace(const Parameter& loc, const Parameter& scale) : DistributionOf("Laplace") {
  set_location_scale(name(), loc, scale, loc_, scale_);
  set_shapes(loc_.shape());
}

Tensor Laplace::stddev() const { return scale_ * std::numbers::sqrt2; }
Tensor Laplace::variance() const { return 2 * square(scale_); }

Tensor Laplace::log_prob(const Tensor& value) const {
  check_value(value);
  return -log(2 * scale_) - abs(value - loc_) / scale_;
}

Tensor Laplace::cdf(const Tensor& value) const {
  check_value(value);
  const Tensor x = (value - loc_) / scale_, below = lt(x, 0);
  // Each side reads its own numbers: abs() has no slope at loc.
  return where(below, 0.5 * exp(where(below, x, 0.0)), 1 - 0.5 * exp(-where(below, 0.0, x)));
}

Tensor Laplace::icdf(const Tensor& value) const {
  check_probability(value);
  const Tensor x = value - 0.5, below = lt(x, 0);
  return loc_ +
         scale_ * where(below, log1p(2 * where(below, x, 0.0)), -log1p(-2 * where(below, 0.0, x)));
}

Tensor Laplace::entropy() const { return 1 + log(2 * scale_); }

Tensor Laplace::draw(const Shape& sample_shape, Generator* generator) const {
  // In (-1, 1): the logarithm of 0 would be infinite.
  const Tensor u = clamp_min(2 * rand(extended(sample_shape), options_of(loc_), generator) - 1,
                             finfo(loc_.dtype()).eps - 1);
  return loc_ - scale_ * sign(u) * log1p(-abs(u));
}

void Laplace::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
}

Gumbel::Gumbel(const Parameter& loc, const Parameter& scale) : DistributionOf("Gumbel") {
  set_location_scale(name(), loc, scale, loc_, scale_);
  set_shapes(loc_.shape());
}

Tensor Gumbel::mean() const { return loc_ + scale_ * std::numbers::egamma; }
Tensor Gumbel::stddev() const { return scale_ * (kPi / std::sqrt(6)); }
Tensor Gumbel::variance() const { return square(stddev()); }

Tensor Gumbel::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor z = (loc_ - value) / scale_;
  return z - exp(z) - log(scale_);
}

Tensor Gumbel::cdf(const Tensor& value) const {
  check_value(value);
  return exp(-exp((loc_ - value) / scale_));
}

Tensor Gumbel::icdf(const Tensor& value) const {
  check_probability(value);
  return loc_ - scale_ * log(-log(value));
}

Tensor Gumbel::entropy() const { return log(scale_) + (1 + std::numbers::egamma); }

Tensor Gumbel::draw(const Shape& sample_shape, Generator* generator) const {
  return loc_ - scale_ * log(-log(open_uniform(extended(sample_shape), loc_, generator)));
}

void Gumbel::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
}

Cauchy::Cauchy(const Parameter& loc, const Parameter& scale) : DistributionOf("Cauchy") {
  set_location_scale(name(), loc, scale, loc_, scale_);
  set_shapes(loc_.shape());
}

Tensor Cauchy::mean() const { return full_like(loc_, NAN); }
Tensor Cauchy::variance() const { return full_like(loc_, INFINITY); }

Tensor Cauchy::log_prob(const Tensor& value) const {
  check_value(value);
  return -std::log(kPi) - log(scale_) - log1p(square((value - loc_) / scale_));
}

Tensor Cauchy::cdf(const Tensor& value) const {
  check_value(value);
  return atan((value - loc_) / scale_) / kPi + 0.5;
}

Tensor Cauchy::icdf(const Tensor& value) const {
  check_probability(value);
  return loc_ + scale_ * tan(kPi * (value - 0.5));
}

Tensor Cauchy::entropy() const { return std::log(4 * kPi) + log(scale_); }

Tensor Cauchy::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor u = open_uniform(extended(sample_shape), loc_, generator);
  return loc_ + scale_ * tan(kPi * (u - 0.5));
}

void Cauchy::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
}

}  // namespace aorta::distributions
