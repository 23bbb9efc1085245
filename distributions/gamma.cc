#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma.h>
#include <aorta/distributions/gamma_functions.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {

Gamma::Gamma(const Parameter& concentration, const Parameter& rate) : DistributionOf("Gamma") {
  const std::vector<Tensor> both =
      broadcast_parameters(name(), {{"concentration", concentration}, {"rate", rate}});
  concentration_ = both[0];
  rate_ = both[1];
  set_shapes(rate_.shape());
  require(name(), "concentration", concentration_, constraints::positive());
  require(name(), "rate", rate_, constraints::positive());
}

Tensor Gamma::mean() const { return concentration_ / rate_; }
Tensor Gamma::mode() const { return clamp_min((concentration_ - 1) / rate_, 0); }
Tensor Gamma::variance() const { return concentration_ / square(rate_); }

Tensor Gamma::log_prob(const Tensor& value) const {
  check_value(value);
  return concentration_ * log(rate_) + x_log_y(concentration_ - 1, value) - rate_ * value -
         lgamma(concentration_);
}

Tensor Gamma::cdf(const Tensor& value) const {
  check_value(value);
  return gamma_cdf(concentration_, rate_ * value);
}

Tensor Gamma::entropy() const {
  return concentration_ - log(rate_) + lgamma(concentration_) +
         (1 - concentration_) * digamma(concentration_);
}

namespace {

// The numbers inside, and their gradients as they are: what is cut off has one too.
Tensor kept_inside(const Tensor& numbers, double least, double most) {
  clamp_(numbers.detach(), least, most);
  return numbers;
}

}  // namespace

Tensor Gamma::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor standard = standard_gamma(concentration_.expand(extended(sample_shape)), generator);
  return kept_inside(standard / rate_, finfo(standard.dtype()).tiny, INFINITY);
}

void Gamma::expand_to(const Shape& batch_shape) {
  concentration_ = concentration_.expand(batch_shape);
  rate_ = rate_.expand(batch_shape);
}

namespace {

Gamma gamma_of_squares(const char* name, const Parameter& df) {
  const Tensor count = broadcast_parameters(name, {{"df", df}})[0];
  require(name, "df", count, constraints::positive());
  return {0.5 * count, 0.5};
}

Dirichlet dirichlet_of_two(const char* name, const Parameter& concentration1,
                           const Parameter& concentration0) {
  const std::vector<Tensor> both = broadcast_parameters(
      name, {{"concentration1", concentration1}, {"concentration0", concentration0}});
  require(name, "concentration1", both[0], constraints::positive());
  require(name, "concentration0", both[1], constraints::positive());
  return Dirichlet(stack({both[0], both[1]}, -1));
}

}  // namespace

Chi2::Chi2(const Parameter& df) : DistributionOf("Chi2"), gamma_(gamma_of_squares(name(), df)) {
  set_shapes(gamma_.batch_shape());
}

Tensor Chi2::df() const { return 2 * gamma_.concentration(); }

Tensor Chi2::log_prob(const Tensor& value) const {
  check_value(value);
  return gamma_.log_prob(value);
}

Tensor Chi2::cdf(const Tensor& value) const {
  check_value(value);
  return gamma_.cdf(value);
}

Tensor Chi2::draw(const Shape& sample_shape, Generator* generator) const {
  return gamma_.rsample(sample_shape, generator);
}

void Chi2::expand_to(const Shape& batch_shape) { gamma_ = gamma_.expand(batch_shape); }

Dirichlet::Dirichlet(const Tensor& concentration) : DistributionOf("Dirichlet") {
  concentration_ = broadcast_parameters(name(), {{"concentration", concentration}})[0];
  check(concentration_.dim() > 0 && concentration_.size(-1) > 0, name(),
        "concentration must be (*, K), K > 0", concentration_.shape());
  set_shapes(without_last(concentration_.shape()), {concentration_.size(-1)});
  require(name(), "concentration", concentration_, constraints::positive());
}

Tensor Dirichlet::mean() const { return concentration_ / sum(concentration_, {-1}, true); }

Tensor Dirichlet::mode() const {
  const Tensor above = clamp_min(concentration_ - 1, 0), total = sum(above, {-1}, true);
  const Tensor largest = one_hot(argmax(concentration_, -1), event_shape()[0]);
  const Tensor none = eq(total, 0);
  return where(none, largest.to(above.dtype()), above / where(none, 1.0, total));
}

Tensor Dirichlet::variance() const {
  const Tensor total = sum(concentration_, {-1}, true);
  return concentration_ * (total - concentration_) / (square(total) * (total + 1));
}

Tensor Dirichlet::log_prob(const Tensor& value) const {
  check_value(value);
  return sum(x_log_y(concentration_ - 1, value), {-1}) + lgamma(sum(concentration_, {-1})) -
         sum(lgamma(concentration_), {-1});
}

Tensor Dirichlet::entropy() const {
  const Tensor total = sum(concentration_, {-1});
  return sum(lgamma(concentration_), {-1}) - lgamma(total) +
         (total - static_cast<double>(event_shape()[0])) * digamma(total) -
         sum((concentration_ - 1) * digamma(concentration_), {-1});
}

Tensor Dirichlet::draw(const Shape& sample_shape, Generator* generator) const {
  // In f64, for small parts have no place in f32 and would become equal ones.
  const Tensor concentration = concentration_.to(f64).expand(extended(sample_shape));
  const Tensor parts = standard_gamma(concentration, generator);
  const Tensor shares = parts / sum(parts, {-1}, true), exact = shares.detach();
  const DType dtype = concentration_.dtype();
  const double least = finfo(dtype).tiny, most = 1 - finfo(dtype).eps / 2;
  // What is moved inside takes the slope of its logarithm along.
  const Tensor scale = where(eq(exact, 0), 1, clamp(exact, least, most) / exact);
  return kept_inside((shares * scale).to(dtype), least, most);
}

void Dirichlet::expand_to(const Shape& batch_shape) {
  concentration_ = concentration_.expand(joined(batch_shape, event_shape()));
}

Beta::Beta(const Parameter& concentration1, const Parameter& concentration0)
    : DistributionOf("Beta"), dirichlet_(dirichlet_of_two(name(), concentration1, concentration0)) {
  set_shapes(dirichlet_.batch_shape());
}

Tensor Beta::concentration1() const { return dirichlet_.concentration().select(-1, 0); }
Tensor Beta::concentration0() const { return dirichlet_.concentration().select(-1, 1); }
Tensor Beta::mean() const { return dirichlet_.mean().select(-1, 0); }
Tensor Beta::mode() const { return dirichlet_.mode().select(-1, 0); }
Tensor Beta::variance() const { return dirichlet_.variance().select(-1, 0); }

Tensor Beta::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor a = concentration1(), b = concentration0();
  return x_log_y(a - 1, value) + x_log_y(b - 1, 1 - value) + lgamma(a + b) - lgamma(a) - lgamma(b);
}

Tensor Beta::draw(const Shape& sample_shape, Generator* generator) const {
  return dirichlet_.rsample(sample_shape, generator).select(-1, 0);
}

void Beta::expand_to(const Shape& batch_shape) { dirichlet_ = dirichlet_.expand(batch_shape); }

StudentT::StudentT(const Parameter& df, const Parameter& loc, const Parameter& scale)
    : DistributionOf("StudentT") {
  const std::vector<Tensor> all =
      broadcast_parameters(name(), {{"df", df}, {"loc", loc}, {"scale", scale}});
  df_ = all[0];
  loc_ = all[1];
  scale_ = all[2];
  set_shapes(df_.shape());
  require(name(), "df", df_, constraints::positive());
  require(name(), "loc", loc_, constraints::real());
  require(name(), "scale", scale_, constraints::positive());
}

Tensor StudentT::mean() const { return where(gt(df_, 1), loc_, NAN); }

Tensor StudentT::variance() const {
  const Tensor finite = gt(df_, 2), df = where(finite, df_, 3.0);
  const Tensor variance = where(finite, square(scale_) * df / (df - 2), INFINITY);
  return where(gt(df_, 1), variance, NAN);
}

Tensor StudentT::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor y = (value - loc_) / scale_, half = 0.5 * (df_ + 1);
  return lgamma(half) - lgamma(0.5 * df_) - 0.5 * log(df_ * std::numbers::pi) - log(scale_) -
         half * log1p(square(y) / df_);
}

Tensor StudentT::entropy() const {
  const Tensor half = 0.5 * (df_ + 1), other = 0.5 * df_;
  return log(scale_) + half * (digamma(half) - digamma(other)) + 0.5 * log(df_ * std::numbers::pi) +
         lgamma(other) - lgamma(half);
}

Tensor StudentT::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor y = randn(extended(sample_shape), options_of(loc_), generator);
  const Tensor z = Chi2(df_).rsample(sample_shape, generator);
  return loc_ + scale_ * y * rsqrt(z / df_);
}

void StudentT::expand_to(const Shape& batch_shape) {
  df_ = df_.expand(batch_shape);
  loc_ = loc_.expand(batch_shape);
  scale_ = scale_.expand(batch_shape);
}

}  // namespace aorta::distributions
