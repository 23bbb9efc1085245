#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/unit_interval.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {

Kumaraswamy::Kumaraswamy(const Parameter& concentration1, const Parameter& concentration0)
    : DistributionOf("Kumaraswamy") {
  const std::vector<Tensor> both = broadcast_parameters(
      name(), {{"concentration1", concentration1}, {"concentration0", concentration0}});
  a_ = both[0];
  b_ = both[1];
  require(name(), "concentration1", a_, constraints::positive());
  require(name(), "concentration0", b_, constraints::positive());
  set_shapes(a_.shape());
}

// The mean of x^n: b times the beta function of 1 + n/a and b.
Tensor Kumaraswamy::moment(double n) const {
  const Tensor one = 1 + n / a_;
  return b_ * exp(lgamma(one) + lgamma(b_) - lgamma(one + b_));
}

Tensor Kumaraswamy::mean() const { return moment(1); }
Tensor Kumaraswamy::variance() const { return moment(2) - square(moment(1)); }

Tensor Kumaraswamy::mode() const {
  const Tensor none = logical_or(logical_or(lt(a_, 1), lt(b_, 1)), eq(a_ * b_, 1));
  return where(none, NAN, pow((a_ - 1) / where(none, 1.0, a_ * b_ - 1), reciprocal(a_)));
}

Tensor Kumaraswamy::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor at_end = logical_and(eq(value, 1), eq(b_, 1));  // where 0 log(0) is 0
  const Tensor power = where(at_end, 0.0, pow(value, a_));
  return log(a_) + log(b_) + x_log_y(a_ - 1, value) + (b_ - 1) * log1p(-power);
}

Tensor Kumaraswamy::cdf(const Tensor& value) const {
  check_value(value);
  return -expm1(b_ * log1p(-pow(value, a_)));
}

Tensor Kumaraswamy::icdf(const Tensor& value) const {
  check_probability(value);
  return pow(-expm1(log1p(-value) / b_), reciprocal(a_));
}

Tensor Kumaraswamy::entropy() const {
  return 1 - reciprocal(b_) + (1 - reciprocal(a_)) * (digamma(b_ + 1) + std::numbers::egamma) -
         log(a_) - log(b_);
}

Tensor Kumaraswamy::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor u = open_uniform(extended(sample_shape), a_, generator);
  return pow(-expm1(log1p(-u) / b_), reciprocal(a_));
}

void Kumaraswamy::expand_to(const Shape& batch_shape) {
  a_ = a_.expand(batch_shape);
  b_ = b_.expand(batch_shape);
}

namespace {

// Around p = 1/2 the formulas divide 0 by 0: there series in p - 1/2 stand for them, and the
// formulas are of another p. Beside it they cancel, and are computed in f64.
struct Coin {
  explicit Coin(const Tensor& probs)
      : p(clamp_probs(probs).to(f64)),
        middle(logical_and(gt(p, 0.499), lt(p, 0.501))),
        far(where(middle, 0.499, p)),
        off(where(middle, p - 0.5, 0.0)) {}
  Tensor p, middle, far, off;
};

}  // namespace

ContinuousBernoulli::ContinuousBernoulli(const ProbsOrLogits& options)
    : DistributionOf("ContinuousBernoulli"), odds_(Odds::of_coins(name(), options)) {
  set_shapes(odds_.given().shape());
}

// C = 2 atanh(1 - 2p) / (1 - 2p).
Tensor ContinuousBernoulli::log_constant() const {
  const Coin coin(probs());
  const Tensor off = square(coin.off), far = coin.far;
  const Tensor exact = log(abs(log1p(-far) - log(far))) - log(abs(1 - 2 * far));
  const Tensor series = std::numbers::ln2 + (4.0 / 3 + 104.0 / 45 * off) * off;
  return where(coin.middle, series, exact).to(probs().dtype());
}

Tensor ContinuousBernoulli::mean() const {
  const Coin coin(probs());
  const Tensor off = coin.off, far = coin.far;
  const Tensor exact = far / (2 * far - 1) + reciprocal(log1p(-far) - log(far));
  const Tensor series = 0.5 + (1.0 / 3 + 16.0 / 45 * square(off)) * off;
  return where(coin.middle, series, exact).to(probs().dtype());
}

Tensor ContinuousBernoulli::variance() const {
  const Coin coin(probs());
  const Tensor off = square(coin.off), far = coin.far;
  const Tensor exact =
      far * (far - 1) / square(1 - 2 * far) + reciprocal(square(log1p(-far) - log(far)));
  const Tensor series = 1.0 / 12 - (1.0 / 15 - 128.0 / 945 * off) * off;
  return where(coin.middle, series, exact).to(probs().dtype());
}

Tensor ContinuousBernoulli::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits(), x = as_floating(value, l);
  const Shape shape = broadcast_shapes(name(), l.shape(), x.shape());
  return log_constant() - binary_cross_entropy_with_logits(l.expand(shape), x.expand(shape),
                                                           {.reduction = Reduction::none});
}

Tensor ContinuousBernoulli::cdf(const Tensor& value) const {
  check_value(value);
  const Coin coin(probs());
  const Tensor far = coin.far;
  const Tensor exact = (pow(far, value) * pow(1 - far, 1 - value) + far - 1) / (2 * far - 1);
  return clamp(where(coin.middle, value, exact), 0, 1).to(probs().dtype());
}

Tensor ContinuousBernoulli::quantile(const Tensor& u) const {
  const Coin coin(probs());
  const Tensor far = coin.far, none = log1p(-far);
  const Tensor exact = (log1p(-far + u * (2 * far - 1)) - none) / (log(far) - none);
  return where(coin.middle, u, exact).to(probs().dtype());
}

Tensor ContinuousBernoulli::icdf(const Tensor& value) const {
  check_probability(value);
  return quantile(value);
}

Tensor ContinuousBernoulli::entropy() const {
  const Tensor l = logits();
  return -log_constant() - logsigmoid(-l) - mean() * l;
}

Tensor ContinuousBernoulli::draw(const Shape& sample_shape, Generator* generator) const {
  return clamp(quantile(open_uniform(extended(sample_shape), odds_.given(), generator)), 0, 1);
}

void ContinuousBernoulli::expand_to(const Shape& batch_shape) { odds_.expand_to(batch_shape); }

}  // namespace aorta::distributions
