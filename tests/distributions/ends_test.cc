// Values and gradients at the ends of supports, and of parameters whose exponentials overflow.
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>

namespace aorta::distributions {
namespace {

Tensor numbers(const std::vector<double>& values) { return tensor(values, {.dtype = f64}); }

Tensor gradient(const Tensor& y, const Tensor& x) {
  return autograd::grad({sum(y)}, {x}, {}, {.retain_graph = true})[0];
}

// (e^(l x) - 1) / (e^l - 1) and its slope l e^(l x) / (e^l - 1).
TEST(ContinuousCoins, HaveTheirSlopesNearTheEnds) {
  const Tensor x = numbers({1e-20, 1e-9, 0.5}).requires_grad_();
  const ContinuousBernoulli coin({.logits = numbers({2})});
  const double c = 2 / std::expm1(2.0);
  EXPECT_TRUE(
      near(coin.cdf(x) / x.detach(), numbers({c, c * (1 + 1e-9), std::expm1(1.0) * c}), 1e-14));
  EXPECT_TRUE(
      near(gradient(coin.cdf(x), x), numbers({c, c * std::exp(2e-9), c * std::exp(1.0)}), 1e-14));
  const Tensor u = numbers({0, 1}).requires_grad_();
  EXPECT_TRUE(near(coin.icdf(u), numbers({0, 1}), 1e-15));
  EXPECT_TRUE(near(gradient(coin.icdf(u), u), numbers({1 / c, std::exp(-2.0) / c}), 1e-12));
  EXPECT_TRUE(near(coin.cdf(numbers({0, 1})), numbers({0, 1}), 1e-16));
  for (double l = 0.1; l < 6; l += 0.17) {
    const ContinuousBernoulli up({.logits = numbers({l})}), down({.logits = numbers({-l})});
    const Tensor slopes = numbers({std::expm1(l) / l, -std::expm1(-l) / l});
    EXPECT_TRUE(near(gradient(up.icdf(u), u), slopes, 1e-12)) << l;
    EXPECT_TRUE(near(gradient(down.icdf(u), u), flip(slopes, {0}), 1e-12)) << l;
  }
}

// 1 / l^2 is the variance's limit, u^(1/l) the quantile's power.
TEST(ContinuousCoins, OfLargeLogitsHaveGradients) {
  for (const double l : {-10000.0, -1000.0, -50.0, 50.0, 1000.0, 10000.0}) {
    const Tensor logits = numbers({l}).requires_grad_();
    const ContinuousBernoulli coin({.logits = logits});
    EXPECT_TRUE(near(coin.variance() * l * l, numbers({1}), 1e-9)) << l;
    EXPECT_TRUE(near(gradient(coin.variance(), logits) * l * l * l, numbers({-2}), 1e-9)) << l;
    EXPECT_TRUE(near(gradient(coin.stddev(), logits) * l * l, numbers({l > 0 ? -1.0 : 1.0}), 1e-9));
    const Tensor u = numbers({0.3}), q = l > 0 ? u : 1 - u;
    EXPECT_TRUE(near(gradient(coin.icdf(u), logits) * l * l, -log(q), 1e-6)) << l;
    EXPECT_TRUE(near(coin.icdf(numbers({0, 1})), numbers({0, 1}), 1e-15)) << l;
  }
  const Tensor logits = numbers({50, -50, 600}).requires_grad_();
  const Tensor ends = ContinuousBernoulli({.logits = logits}).icdf(numbers({0, 1, 1}));
  EXPECT_TRUE(near(gradient(ends, logits), zeros({3}, {.dtype = f64}), 1e-12));
}

// 0 is no value of these, and one of their cdfs, as in PyTorch.
TEST(OpenSupports, HaveACdfAtTheirEnd) {
  const Tensor zero = numbers({0});
  EXPECT_TRUE(equal(LogNormal(numbers({0.5}), 2).cdf(zero), zero));
  EXPECT_TRUE(equal(Weibull(numbers({2}), 3).cdf(zero), zero));
  EXPECT_TRUE(equal(InverseGamma(numbers({2}), 3).cdf(zero), zero));
  EXPECT_EQ(error_of([&] { LogNormal(0, 1).cdf(numbers({-1})); }),
            "LogNormal: value must not be negative, got -1 at [0]");
  EXPECT_EQ(error_of([&] { LogNormal(0, 1).log_prob(zero); }),
            "LogNormal: value must be positive, got 0 at [0]");
}

TEST(Kumaraswamys, HaveGradientsOfTheCdfAtItsEnd) {
  const Tensor a = numbers({0.5, 2}).requires_grad_(), b = numbers({0.3, 4}).requires_grad_();
  const Tensor x = numbers({1, 0.5}).requires_grad_();
  const Tensor cdf = Kumaraswamy(a, b).cdf(x);  // 1 - (1 - x^a)^b
  EXPECT_TRUE(near(cdf, numbers({1, 1 - std::pow(0.75, 4)}), 1e-15));
  EXPECT_TRUE(near(gradient(cdf, a), numbers({0, std::pow(0.75, 3) * std::log(0.5)}), 1e-15));
  EXPECT_TRUE(near(gradient(cdf, b), numbers({0, -std::pow(0.75, 4) * std::log(0.75)}), 1e-15));
  EXPECT_TRUE(near(gradient(cdf, x), numbers({0, 4 * std::pow(0.75, 3)}), 1e-15));
}

TEST(Uniforms, OfWideIntervalsHaveAStandardDeviation) {
  const Tensor low = tensor({0.0}).requires_grad_();
  const Tensor deviation = Uniform(low, tensor({1e25})).stddev();
  EXPECT_NEAR(deviation.item<double>() / 1e25, 1 / std::sqrt(12.0), 1e-6);
  EXPECT_NEAR(gradient(deviation, low).item<double>(), -1 / std::sqrt(12.0), 1e-6);
}

TEST(GeneralizedParetos, OfInfiniteMomentsLeaveGradientsFinite) {
  const Tensor scale = numbers({2, 2}).requires_grad_();
  const GeneralizedPareto d(0, scale, numbers({1.5, 0}));
  EXPECT_TRUE(near(d.mean(), numbers({INFINITY, 2}), 1e-15));
  EXPECT_TRUE(near(gradient(d.mean(), scale), numbers({0, 1}), 1e-15));
  EXPECT_TRUE(near(d.stddev(), numbers({INFINITY, 2}), 1e-15));
  EXPECT_TRUE(near(gradient(d.stddev(), scale), numbers({0, 1}), 1e-15));
}

// tanh(x) in the first row, tanh(y) / cosh(x) behind it.
TEST(CorrCholesky, HasGradientsWhereTheCosineOverflows) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = tensor({0.5, 2000.0, 0.25}, {.dtype = dtype}).requires_grad_();
    const Tensor y = CorrCholeskyTransform()(x);
    EXPECT_TRUE(near(gradient(y.narrow(-2, 2, 1), x).to(f64), zeros({3}, {.dtype = f64}), 0));
    EXPECT_TRUE(near(y[2].detach().to(f64), numbers({1, 0, 0}), 0));
  }
}

// d/dk_i of lgamma(n + 1) - sum lgamma(k_i + 1) + sum k_i log(p_i), n the sum of k.
TEST(Multinomials, DensitiesHaveTheGradientByTheCounts) {
  const Tensor k = numbers({2, 0, 3}).requires_grad_(), p = numbers({0.2, 0.3, 0.5});
  const Tensor density = Multinomial(5, {.probs = p}).log_prob(k);
  const Tensor expected = digamma(numbers({6})) - digamma(k.detach() + 1) + log(p);
  EXPECT_TRUE(near(gradient(density, k), expected, 1e-12));
}

// Each coin is that of its own temperature.
TEST(RelaxedCoins, MayHaveATemperatureEach) {
  const Tensor logits = numbers({-1, 0.5, 2}), value = numbers({0.2, 0.6, 0.9});
  const Tensor temperatures = numbers({0.5, 1, 2}).requires_grad_();
  const RelaxedBernoulli coins(temperatures, {.logits = logits});
  for (int64_t i = 0; i < 3; ++i) {
    const Tensor temperature = temperatures[i].detach().requires_grad_();
    const Tensor alone = RelaxedBernoulli(temperature, {.logits = logits[i]}).log_prob(value[i]);
    EXPECT_TRUE(near(coins.log_prob(value)[i], alone, 1e-15));
    EXPECT_TRUE(near(gradient(coins.log_prob(value), temperatures)[i], gradient(alone, temperature),
                     1e-15));
  }
  const RelaxedBernoulli broadcast(numbers({0.5, 1}).reshape({2, 1}), {.logits = logits});
  EXPECT_EQ(broadcast.batch_shape(), (Shape{2, 3}));
  EXPECT_EQ(broadcast.rsample({4}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(coins.expand({2, 3}).log_prob(value).shape(), (Shape{2, 3}));
  EXPECT_EQ(coins.expand({2, 3}).temperature().shape(), (Shape{2, 3}));
  EXPECT_EQ(error_of([&] {
              RelaxedBernoulli(numbers({1, 0, 1}), {.logits = logits});
            }),
            "RelaxedBernoulli: temperature must be positive, got 0 at [1]");
}

TEST(Classes, OfInfiniteProbabilitiesAreAnError) {
  EXPECT_EQ(error_of([] {
              OneHotCategorical({.probs = numbers({1, INFINITY})});
            }),
            "OneHotCategorical: the sum of probs must be positive and finite, got inf at [0]");
}

}  // namespace
}  // namespace aorta::distributions
