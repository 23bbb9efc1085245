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
  const Tensor power = pow(value, a_), at_end = eq(power, 1);  // whose logarithm is infinite
  return where(at_end, 1.0, -expm1(b_ * log1p(-where(at_end, 0.0, power))));
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

// Around l = 0, p = 1/2, the formulas divide 0 by 0: there series in l stand for them, and the
// formulas are of another l. Beside it they cancel, and are computed in f64. A coin within 0.001 of
// p = 1/2 has a fair one's cdf and quantiles, as in PyTorch.
struct Coin {
  explicit Coin(const Tensor& logits)
      : l(logits.to(f64)),
        fair(lt(abs(l), 0.004000005333346)),
        middle(lt(abs(l), 0.1)),
        far(where(middle, 1.0, l)),
        off(square(where(middle, l, 0.0))) {}
  // By `series` where l is nearly 0.
  Tensor choose(const Tensor& series, const Tensor& exact) const {
    return where(middle, series, exact);
  }
  Tensor l, fair, middle, far;
  Tensor off;  // l squared
};

}  // namespace

ContinuousBernoulli::ContinuousBernoulli(const ProbsOrLogits& options)
    : DistributionOf("ContinuousBernoulli"), odds_(Odds::of_coins(name(), options)) {
  set_shapes(odds_.given().shape());
}

// C = l / tanh(l / 2).
Tensor ContinuousBernoulli::log_constant() const {
  const Coin coin(logits());
  const Tensor l = coin.far, off = coin.off;
  const Tensor series =
      std::numbers::ln2 +
      off * (1.0 / 12 + off * (-7.0 / 1440 + off * (31.0 / 90720 - 127.0 / 4838400 * off)));
  return coin.choose(series, log(abs(l)) - log(abs(tanh(0.5 * l)))).to(logits().dtype());
}

Tensor ContinuousBernoulli::mean() const {
  const Coin coin(logits());
  const Tensor l = coin.far, off = coin.off;
  const Tensor series =
      0.5 + where(coin.middle, coin.l, 0.0) *
                (1.0 / 12 + off * (-1.0 / 720 + off * (1.0 / 30240 - 1.0 / 1209600 * off)));
  return coin.choose(series, sigmoid(l) / tanh(0.5 * l) - reciprocal(l)).to(logits().dtype());
}

Tensor ContinuousBernoulli::variance() const {
  const Coin coin(logits());
  const Tensor l = coin.far, off = coin.off;
  const Tensor series = 1.0 / 12 + off * (-1.0 / 240 + off * (1.0 / 6048 - 1.0 / 172800 * off));
  const Tensor steep = abs(l);  // 1 / (2 sinh(l / 2))^2 without numbers that overflow
  const Tensor exact = reciprocal(square(l)) - exp(-steep) / square(expm1(-steep));
  return coin.choose(series, exact).to(logits().dtype());
}

Tensor ContinuousBernoulli::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits(), x = as_floating(value, l);
  const Shape shape = broadcast_shapes(name(), l.shape(), x.shape());
  return log_constant() - binary_cross_entropy_with_logits(l.expand(shape), x.expand(shape),
                                                           {.reduction = Reduction::none});
}

// (e^(l x) - 1) / (e^l - 1), for a positive l with e^l taken out of both, so that nothing overflows
// and nothing is lost near 0.
Tensor ContinuousBernoulli::cdf(const Tensor& value) const {
  check_value(value);
  const Coin coin(logits());
  const Tensor x = clamp(value.to(f64), 0, 1), steep = where(coin.fair, 1.0, abs(coin.l));
  const Tensor falling = expm1(-steep * x) / expm1(-steep);
  const Tensor exact = where(gt(coin.l, 0), exp(steep * (x - 1)) * falling, falling);
  return where(coin.fair, x, exact).to(logits().dtype());
}

// That of -l, of 1 - u, is 1 less it; of a negative l it is log(1 - u + u e^l) / l.
Tensor ContinuousBernoulli::quantile(const Tensor& u) const {
  const Coin coin(logits());
  const Tensor p = u.to(f64), steep = where(coin.fair, 1.0, abs(coin.l)), up = gt(coin.l, 0);
  const Tensor q = where(up, 1 - p, p), small = lt(q, 0.5);
  const Tensor near_one = log(where(small, 1.0, 1 - q + q * exp(-steep)));
  const Tensor near_zero = log1p(where(small, q, 0.0) * expm1(-steep));
  const Tensor falling = -where(small, near_zero, near_one) / steep;
  const Tensor excess = clamp_min(falling.detach() - 1, 0);  // of rounding, or infinite at the end
  const Tensor inside = where(gt(excess, 1), 1.0, falling - excess);
  return where(coin.fair, p, where(up, 1 - inside, inside)).to(logits().dtype());
}

Tensor ContinuousBernoulli::icdf(const Tensor& value) const {
  check_probability(value);
  return quantile(value);
}

Tensor ContinuousBernoulli::entropy() const {
  const Tensor l = logits();
  if (l.dtype() != f64) return ContinuousBernoulli({.logits = l.to(f64)}).entropy().to(l.dtype());
  return -log_constant() - logsigmoid(-l) - mean() * l;
}

Tensor ContinuousBernoulli::draw(const Shape& sample_shape, Generator* generator) const {
  return quantile(open_uniform(extended(sample_shape), odds_.given(), generator));
}

void ContinuousBernoulli::expand_to(const Shape& batch_shape) { odds_.expand_to(batch_shape); }

}  // namespace aorta::distributions
