// Gradients of rsample, of first and second order.
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>

namespace aorta::distributions {
namespace {

Tensors gradients(const Tensor& output, const Tensors& inputs) {
  const Tensors outputs{output};
  return autograd::grad(outputs, inputs);
}

// For x(u, parameter) with u fixed, dx/dparameter = -(dF/dparameter) / (dF/dx), F the cdf.
TEST(Rsample, GradientsAreThoseOfTheCdf) {
  for (const std::string name : {"normal",
                                 "log_normal",
                                 "half_normal",
                                 "uniform",
                                 "exponential",
                                 "laplace",
                                 "gumbel",
                                 "cauchy",
                                 "squashed",
                                 "affine",
                                 "composed",
                                 "gamma",
                                 "chi2",
                                 "half_cauchy",
                                 "pareto",
                                 "weibull",
                                 "inverse_gamma",
                                 "kumaraswamy",
                                 "continuous_bernoulli_logits",
                                 "generalized_pareto",
                                 "power",
                                 "soft"}) {
    SCOPED_TRACE(name);
    static const auto fixtures = read_cases("values");
    const Tensors parameters = numbered(fixtures.at(name), "p");
    for (const Tensor& p : parameters) p.requires_grad_();
    Generator generator(11);
    const Tensor x = makers().at(name)(parameters)->rsample({3}, &generator);
    EXPECT_TRUE(x.requires_grad());
    const Tensor w = weights_of(x);
    const std::vector<Tensor> got = gradients(sum(w * x), parameters);
    const Tensor fixed = x.detach().clone().requires_grad_();
    const auto d = makers().at(name)(parameters);
    const Tensor by_x = gradients(sum(d->cdf(fixed)), {fixed})[0];
    const std::vector<Tensor> wanted = gradients(sum(-w * d->cdf(fixed) / by_x), parameters);
    for (size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(near(got[i], wanted[i], 1e-8)) << i;
  }
}

TEST(Rsample, OfMultivariateNormalsIsLinearInTheNoise) {
  const Tensor loc = tensor({1.0, -2.0}, {.dtype = f64, .requires_grad = true});
  const Tensor tril = tensor({{2.0, 0.0}, {0.5, 0.3}}, {.dtype = f64, .requires_grad = true});
  Generator generator(5);
  const Tensor x = MultivariateNormal(loc, {.scale_tril = tril}).rsample({3}, &generator);
  const Tensor w = weights_of(x);
  sum(w * x).backward();
  const NoGradGuard guard;
  const Tensor noise = linalg::solve_triangular(tril, (x - loc).t(), {.upper = false});
  EXPECT_TRUE(near(loc.grad(), sum(w, {0}), 1e-12));
  EXPECT_TRUE(near(tril.grad(), matmul(noise, w).t(), 1e-12));
}

TEST(Rsample, OfRelaxedOnesHasTheSoftmaxsJacobian) {
  const Tensor temperature = tensor(0.6, {.dtype = f64, .requires_grad = true});
  const Tensor logits = tensor({0.3, -1.0, 0.5}, {.dtype = f64, .requires_grad = true});
  Generator generator(5);
  const Tensor coin = RelaxedBernoulli(temperature, {.logits = logits}).rsample({}, &generator);
  const std::vector<Tensor> of_coin = gradients(sum(coin), {temperature, logits});
  const Tensor slope = coin * (1 - coin);
  EXPECT_TRUE(near(of_coin[1], slope.detach() / 0.6, 1e-12));
  EXPECT_TRUE(near(of_coin[0], -sum(slope * logit(coin)).detach() / 0.6, 1e-12));

  const Tensor y =
      RelaxedOneHotCategorical(temperature, {.logits = logits}).rsample({}, &generator);
  EXPECT_NEAR(sum(y).item<double>(), 1, 1e-12);
  const Tensor w = weights_of(y);
  const Tensor by_score =
      (y * (w - sum(w * y))).detach();  // of the scores divided by the temperature
  // The logits are normalised: what all of them have in common changes nothing.
  EXPECT_TRUE(near(gradients(sum(w * y), {logits})[0], by_score / 0.6, 1e-12));
}

// The gradient of a mean over samples is that of the mean, but for the noise.
TEST(Rsample, GradientsOfMeansAreThoseOfTheMeans) {
  Generator generator(37);
  const Tensor a = tensor({0.4, 2.5, 30.0}, {.dtype = f64, .requires_grad = true});
  for (const bool of_beta : {false, true}) {
    SCOPED_TRACE(of_beta);
    const auto make = [&] { return of_beta ? Beta(a, 2).clone() : Gamma(a, 2 + a).clone(); };
    const Tensor x = make()->rsample({10000}, &generator);
    const Tensor got = gradients(sum(mean(x, {0})), {a})[0];
    EXPECT_TRUE(near(got, gradients(sum(make()->mean()), {a})[0], 0.01));
  }
  const Tensor df = tensor({9.0}, {.dtype = f64, .requires_grad = true});
  const StudentT d(df, 0, 1);
  const Tensor got = gradients(mean(square(d.rsample({20000}, &generator))), {df})[0];
  EXPECT_TRUE(near(got, gradients(sum(d.variance()), {df})[0], 0.01));
}

// What lies below the dtype's numbers is moved to the least one, and has its gradient.
TEST(Rsample, OfSmallConcentrationsHasGradients) {
  Generator generator(43);
  const Tensor a = full({2000}, 0.01).requires_grad_();
  const Tensor x = Gamma(a, 1).rsample({}, &generator);
  const Tensor slope = gradients(sum(log(x)), {a})[0];
  const Tensor least = eq(x.detach(), 0x1p-126);
  EXPECT_GT(sum(least).item<int64_t>(), 700);
  const Tensor wanted = where(least, 8677.57, slope);  // PyTorch's
  EXPECT_TRUE(near(slope, wanted, 1e-5));
  // The mean of log x is digamma(a) - digamma(2 a).
  for (const DType dtype : {f32, f64}) {
    const Tensor one = tensor(0.01, {.dtype = dtype, .requires_grad = true});
    const Beta beta(one, tensor(0.01, {.dtype = dtype}));
    const Tensor logs = log(beta.rsample({20000}, &generator));
    EXPECT_NEAR(gradients(mean(logs), {one})[0].item<double>(), 7500, 0.05 * 7500) << dtype;
  }
}

TEST(Rsample, StraightThroughTakesTheGradientsOfTheProbabilities) {
  const Tensor logits = tensor({{0.3, -1.0, 0.5}}, {.dtype = f64, .requires_grad = true});
  Generator generator(5), same(5);
  const Tensor x = OneHotCategoricalStraightThrough({.logits = logits}).rsample({4}, &generator);
  EXPECT_TRUE(near(x, OneHotCategorical({.logits = logits}).sample({4}, &same), 1e-15));
  const Tensor w = weights_of(x);
  const Tensor wanted = gradients(sum(w * softmax(logits, -1)), {logits})[0];
  EXPECT_TRUE(near(gradients(sum(w * x), {logits})[0], wanted, 1e-12));
}

// A sample x solves cdf(x) = u; two of Newton's steps from there have its first two derivatives.
TEST(Rsample, OfGammasHasSecondDerivativesOfTheQuantile) {
  for (const std::string name : {"gamma", "chi2", "inverse_gamma"}) {
    SCOPED_TRACE(name);
    static const auto fixtures = read_cases("values");
    const Tensors parameters = numbered(fixtures.at(name), "p");
    for (const Tensor& p : parameters) p.requires_grad_();
    Generator generator(11);
    const Tensor x = makers().at(name)(parameters)->rsample({3}, &generator), fixed = x.detach();
    const auto d = makers().at(name)(parameters);
    const Tensor u = d->cdf(fixed).detach();
    Tensor moved = fixed;
    for (int step = 0; step < 2; ++step)
      moved = moved - (d->cdf(moved) - u) / exp(d->log_prob(moved));
    const auto second = [&](const Tensor& of) {
      const Tensors outputs{sum(weights_of(of) * of)};
      const Tensors first = autograd::grad(outputs, parameters, {}, {.create_graph = true});
      Tensor all = sum(weights_of(first[0]) * first[0]);
      for (size_t i = 1; i < first.size(); ++i) all = all + sum(first[i]);
      return gradients(all, parameters);
    };
    const Tensors got = second(x), wanted = second(moved);
    for (size_t i = 0; i < parameters.size(); ++i) EXPECT_TRUE(near(got[i], wanted[i], 1e-9)) << i;
  }
}

// The means are those of log x, digamma(a) - digamma(a + 2).
TEST(Rsample, SecondDerivativesOfMeansAreThoseOfTheMeans) {
  Generator generator(71);
  const Tensor a = tensor({1.5, 30.0}, {.dtype = f64, .requires_grad = true});
  const auto second = [&](const Tensor& of) {
    const Tensors outputs{sum(of)}, inputs{a};
    return gradients(sum(autograd::grad(outputs, inputs, {}, {.create_graph = true})[0]), {a})[0];
  };
  const Tensor got = second(mean(log(Beta(a, 2).rsample({40000}, &generator)), {0}));
  const Tensor wanted = second(digamma(a) - digamma(a + 2));
  EXPECT_TRUE(near(got / wanted, ones_like(a), 0.03));
}

TEST(Rsample, OfGammasHasTwoDerivatives) {
  const Tensor a = tensor({0.4, 2.5}, {.dtype = f64, .requires_grad = true});
  Generator generator(41);
  const Tensor x = Gamma(a, 1).rsample({}, &generator);
  const Tensors outputs{sum(x)}, inputs{a};
  const Tensors first{sum(autograd::grad(outputs, inputs, {}, {.create_graph = true})[0])};
  const Tensor second = autograd::grad(first, inputs, {}, {.create_graph = true})[0];
  EXPECT_EQ(
      error_of([&] { gradients(sum(second), {a}); }),
      "gamma: samples and the cdf have two derivatives by the concentration, got [2] asked for "
      "another");
}

}  // namespace
}  // namespace aorta::distributions
