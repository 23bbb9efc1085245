// kl_divergence of each pair as PyTorch's, with gradients, and against means over samples.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>

namespace aorta::distributions {
namespace {

Normal normal(const Tensors& p) { return {p[0], p[1]}; }
LogNormal log_normal(const Tensors& p) { return {p[0], p[1]}; }
HalfNormal half_normal(const Tensors& p) { return HalfNormal(p[0]); }
Bernoulli bernoulli(const Tensors& p) { return Bernoulli({.logits = p[0]}); }
Bernoulli coin(const Tensors& p) { return Bernoulli({.probs = p[0]}); }
Categorical categorical(const Tensors& p) { return Categorical({.logits = p[0]}); }
Categorical classes(const Tensors& p) { return Categorical({.probs = p[0]}); }
OneHotCategorical one_hot(const Tensors& p) { return OneHotCategorical({.logits = p[0]}); }
Geometric geometric(const Tensors& p) { return Geometric({.probs = p[0]}); }
Exponential exponential(const Tensors& p) { return Exponential(p[0]); }
Uniform uniform(const Tensors& p) { return {p[0], p[1]}; }
Laplace laplace(const Tensors& p) { return {p[0], p[1]}; }
Gumbel gumbel(const Tensors& p) { return {p[0], p[1]}; }
Cauchy cauchy(const Tensors& p) { return {p[0], p[1]}; }
MultivariateNormal mvn(const Tensors& p) { return {p[0], {.scale_tril = p[1]}}; }
Independent independent(const Tensors& p) { return {normal(p), 1}; }
Poisson poisson(const Tensors& p) { return Poisson(p[0]); }
Gamma gamma(const Tensors& p) { return {p[0], p[1]}; }
Chi2 chi2(const Tensors& p) { return Chi2(p[0]); }
Beta beta(const Tensors& p) { return {p[0], p[1]}; }
Dirichlet dirichlet(const Tensors& p) { return Dirichlet(p[0]); }
Pareto pareto(const Tensors& p) { return {p[0], p[1]}; }
Binomial seven_coins(const Tensors& p) { return {7, {.probs = p[0]}}; }
ContinuousBernoulli continuous_coin(const Tensors& p) {
  return ContinuousBernoulli({.probs = p[0]});
}
LowRankMultivariateNormal low_rank(const Tensors& p) { return {p[0], p[1], p[2]}; }
OneHotCategoricalStraightThrough straight_through(const Tensors& p) {
  return OneHotCategoricalStraightThrough({.probs = p[0]});
}
TransformedDistribution squashed(const Tensors& p) {
  return {normal(p), {TanhTransform(), AffineTransform(0.5, -2)}};
}

template <class P, class Q>
Compare pair(P p, Q q) {
  return
      [p, q](const Tensors& of_p, const Tensors& of_q) { return kl_divergence(p(of_p), q(of_q)); };
}

}  // namespace

const std::map<std::string, Compare>& pairs() {
  static const std::map<std::string, Compare> all = {
      {"normal_normal", pair(normal, normal)},
      {"log_normal_log_normal", pair(log_normal, log_normal)},
      {"half_normal_half_normal", pair(half_normal, half_normal)},
      {"bernoulli_bernoulli", pair(bernoulli, bernoulli)},
      {"bernoulli_ends", pair(coin, coin)},
      {"categorical_categorical", pair(categorical, categorical)},
      {"categorical_zero", pair(classes, classes)},
      {"one_hot_one_hot", pair(one_hot, one_hot)},
      {"geometric_geometric", pair(geometric, geometric)},
      {"exponential_exponential", pair(exponential, exponential)},
      {"uniform_exponential", pair(uniform, exponential)},
      {"uniform_normal", pair(uniform, normal)},
      {"uniform_gumbel", pair(uniform, gumbel)},
      {"uniform_uniform", pair(uniform, uniform)},
      {"uniform_outside", pair(uniform, uniform)},
      {"exponential_normal", pair(exponential, normal)},
      {"exponential_gumbel", pair(exponential, gumbel)},
      {"exponential_uniform", pair(exponential, uniform)},
      {"normal_exponential", pair(normal, exponential)},
      {"normal_uniform", pair(normal, uniform)},
      {"gumbel_normal", pair(gumbel, normal)},
      {"gumbel_exponential", pair(gumbel, exponential)},
      {"gumbel_uniform", pair(gumbel, uniform)},
      {"laplace_normal", pair(laplace, normal)},
      {"laplace_exponential", pair(laplace, exponential)},
      {"laplace_uniform", pair(laplace, uniform)},
      {"normal_gumbel", pair(normal, gumbel)},
      {"normal_laplace", pair(normal, laplace)},
      {"laplace_laplace", pair(laplace, laplace)},
      {"cauchy_cauchy", pair(cauchy, cauchy)},
      {"mvn_mvn", pair(mvn, mvn)},
      {"independent_independent", pair(independent, independent)},
      {"squashed_squashed", pair(squashed, squashed)},
      {"gumbel_gumbel", pair(gumbel, gumbel)},
      {"poisson_poisson", pair(poisson, poisson)},
      {"bernoulli_poisson", pair(coin, poisson)},
      {"poisson_bernoulli", pair(poisson, coin)},
      {"gamma_gamma", pair(gamma, gamma)},
      {"gamma_beta", pair(gamma, beta)},
      {"gamma_exponential", pair(gamma, exponential)},
      {"gamma_normal", pair(gamma, normal)},
      {"gamma_gumbel", pair(gamma, gumbel)},
      {"gamma_uniform", pair(gamma, uniform)},
      {"beta_gamma", pair(beta, gamma)},
      {"beta_beta", pair(beta, beta)},
      {"beta_exponential", pair(beta, exponential)},
      {"beta_normal", pair(beta, normal)},
      {"beta_uniform", pair(beta, uniform)},
      {"exponential_gamma", pair(exponential, gamma)},
      {"exponential_beta", pair(exponential, beta)},
      {"gumbel_gamma", pair(gumbel, gamma)},
      {"gumbel_beta", pair(gumbel, beta)},
      {"laplace_gamma", pair(laplace, gamma)},
      {"laplace_beta", pair(laplace, beta)},
      {"normal_gamma", pair(normal, gamma)},
      {"normal_beta", pair(normal, beta)},
      {"uniform_beta", pair(uniform, beta)},
      {"uniform_gamma", pair(uniform, gamma)},
      {"chi2_chi2", pair(chi2, chi2)},
      {"chi2_gamma", pair(chi2, gamma)},
      {"gamma_chi2", pair(gamma, chi2)},
      {"dirichlet_dirichlet", pair(dirichlet, dirichlet)},
      {"low_rank_low_rank", pair(low_rank, low_rank)},
      {"pareto_pareto", pair(pareto, pareto)},
      {"pareto_outside", pair(pareto, pareto)},
      {"continuous_bernoullis", pair(continuous_coin, continuous_coin)},
      {"binomial_binomial", pair(seven_coins, seven_coins)},
      {"straight_through_straight_through", pair(straight_through, straight_through)},
      {"exponential_continuous_bernoulli", pair(exponential, continuous_coin)},
      {"gamma_continuous_bernoulli", pair(gamma, continuous_coin)},
      {"gumbel_continuous_bernoulli", pair(gumbel, continuous_coin)},
      {"laplace_continuous_bernoulli", pair(laplace, continuous_coin)},
      {"normal_continuous_bernoulli", pair(normal, continuous_coin)},
      {"pareto_continuous_bernoulli", pair(pareto, continuous_coin)},
      {"exponential_pareto", pair(exponential, pareto)},
      {"gamma_pareto", pair(gamma, pareto)},
      {"gumbel_pareto", pair(gumbel, pareto)},
      {"laplace_pareto", pair(laplace, pareto)},
      {"normal_pareto", pair(normal, pareto)},
      {"beta_pareto", pair(beta, pareto)},
      {"continuous_bernoulli_pareto", pair(continuous_coin, pareto)},
      {"beta_continuous_bernoulli", pair(beta, continuous_coin)},
      {"uniform_continuous_bernoulli", pair(uniform, continuous_coin)},
      {"uniform_beyond_continuous_bernoulli", pair(uniform, continuous_coin)},
      {"continuous_bernoulli_exponential", pair(continuous_coin, exponential)},
      {"continuous_bernoulli_normal", pair(continuous_coin, normal)},
      {"continuous_bernoulli_uniform", pair(continuous_coin, uniform)},
      {"continuous_bernoulli_beyond_uniform", pair(continuous_coin, uniform)},
      {"uniform_pareto", pair(uniform, pareto)},
      {"uniform_beyond_pareto", pair(uniform, pareto)},
      {"pareto_exponential", pair(pareto, exponential)},
      {"pareto_gamma", pair(pareto, gamma)},
      {"pareto_normal", pair(pareto, normal)},
      {"pareto_endless_exponential", pair(pareto, exponential)},
      {"pareto_endless_gamma", pair(pareto, gamma)},
      {"pareto_endless_normal", pair(pareto, normal)},
      {"pareto_beta", pair(pareto, beta)},
      {"pareto_uniform", pair(pareto, uniform)},
      {"poisson_binomial", pair(poisson, seven_coins)},
      {"mvn_low_rank", pair(mvn, low_rank)},
      {"low_rank_mvn", pair(low_rank, mvn)},
      {"chi2_normal", pair(chi2, normal)},
      {"exponential_chi2", pair(exponential, chi2)},
      {"one_hot_straight_through", pair(one_hot, straight_through)},
      {"straight_through_one_hot", pair(straight_through, one_hot)},
  };
  return all;
}

namespace {

const std::map<std::string, Fixture>& divergences_fixtures() {
  static const auto all = read_cases("divergences");
  return all;
}

class Divergences : public testing::TestWithParam<std::string> {};

TEST_P(Divergences, AgreeWithPyTorch) {
  const Fixture& fixture = divergences_fixtures().at(GetParam());
  const Tensors p = numbered(fixture, "p"), q = numbered(fixture, "q");
  for (const Tensors& group : {p, q})
    for (const Tensor& parameter : group) parameter.requires_grad_();
  const Tensor divergence = pairs().at(GetParam())(p, q);
  EXPECT_TRUE(near(divergence, fixture.at("kl"), 1e-12));
  if (!divergence.requires_grad()) return;
  sum(weights_of(divergence) * divergence).backward();
  for (const auto& [letter, group] : {std::pair{"dp", p}, std::pair{"dq", q}}) {
    for (size_t i = 0; i < group.size(); ++i) {
      const auto wanted = fixture.find(letter + std::to_string(i));
      if (wanted == fixture.end()) continue;
      EXPECT_TRUE(near(group[i].grad(), wanted->second, tolerance_of_gradients(GetParam())))
          << wanted->first;
    }
  }
}

TEST_P(Divergences, HaveSecondDerivatives) {
  const WithoutChecks guard;  // matrices are moved out of their triangle
  const Fixture& fixture = divergences_fixtures().at(GetParam());
  Tensors inputs = numbered(fixture, "p");
  const auto count = static_cast<int64_t>(inputs.size());
  for (const Tensor& q : numbered(fixture, "q")) inputs.push_back(q);
  for (const Tensor& input : inputs) input.requires_grad_();
  const auto divergence = [&](const Tensors& of) {
    const Tensors p(of.begin(), of.begin() + count), q(of.begin() + count, of.end());
    const Tensor all = pairs().at(GetParam())(p, q);
    return where(isfinite(all), all, 0.0);
  };
  // At the ends of the probabilities nothing can be moved.
  const bool at_end = GetParam() == "bernoulli_ends" || GetParam() == "categorical_zero";
  if (at_end || !divergence(inputs).requires_grad()) return;
  EXPECT_SECOND_GRADIENTS(divergence, inputs);
}

TEST_P(Divergences, AgreeWithPyTorchInSinglePrecision) {
  if (GetParam() == "bernoulli_ends" || GetParam() == "categorical_zero") return;
  const Fixture& fixture = divergences_fixtures().at(GetParam());
  const Tensor divergence =
      pairs().at(GetParam())(numbered(fixture, "p", f32), numbered(fixture, "q", f32));
  EXPECT_EQ(divergence.dtype(), f32);
  EXPECT_TRUE(near(divergence, fixture.at("kl"), 1e-4));
}

std::vector<std::string> names_of_pairs() {
  std::vector<std::string> result;
  for (const auto& [name, compare] : pairs()) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, Divergences, testing::ValuesIn(names_of_pairs()),
                         [](const auto& test) { return test.param; });

TEST(DivergenceFixtures, HaveACaseEach) {
  for (const auto& [name, fixture] : divergences_fixtures())
    EXPECT_TRUE(pairs().contains(name)) << name;
}

// Batches of coins and classes broadcast, as all others do.
TEST(Divergences, Broadcast) {
  const Tensor x = tensor({0.3, -1.0, 2.0}), y = tensor({{0.1, 0.2, 0.3}, {1.0, 1.0, 1.0}});
  EXPECT_EQ(kl_divergence(Bernoulli({.logits = x}), Bernoulli({.logits = y})).shape(),
            (Shape{2, 3}));
  EXPECT_EQ(kl_divergence(Categorical({.logits = x}), Categorical({.logits = y})).shape(),
            Shape{2});
  EXPECT_EQ(kl_divergence(Normal(x, 1), Exponential(exp(y))).shape(), (Shape{2, 3}));
}

// PyTorch's, of which each is that of another pair: two halves that are alike, and two maps.
TEST(Divergences, OfMappedPairs) {
  EXPECT_NEAR(kl_divergence(HalfCauchy(1.), HalfCauchy(2.)).item<double>(), std::log(9. / 8), 1e-6);
  EXPECT_NEAR(kl_divergence(InverseGamma(1., 2.), InverseGamma(2., 2.)).item<double>(),
              0.57721566490153, 1e-6);  // Euler's constant
  const Tensor zeros_of_3 = zeros({3}), ones_of_3 = ones({3});
  EXPECT_NEAR(
      kl_divergence(LogisticNormal(zeros_of_3, 1), LogisticNormal(ones_of_3, 1)).item<double>(),
      1.5, 1e-6);
}

// Each is finite where both have the same values, which is where PyTorch's are infinite. Values by
// mpmath.
TEST(Divergences, OfContinuousCoinsAndAllOfTheUnitInterval) {
  const ContinuousBernoulli coin({.probs = tensor({0.2}, {.dtype = f64})});
  EXPECT_NEAR(kl_divergence(Uniform(0, 1), coin).item<double>(), 0.0788308481298833996, 1e-12);
  EXPECT_NEAR(kl_divergence(coin, Uniform(0, 1)).item<double>(), 0.0764144528033587828, 1e-12);
}

// PyTorch's isn't the mean of log(p(x) / q(x)), which this one is.
TEST(Divergences, OfWisharts) {
  const Tensor df = tensor({3.5, 6.0}, {.dtype = f64}), other = tensor({4.5, 2.5}, {.dtype = f64});
  const Tensor tril = tensor({{2.0, 0.0}, {0.5, 0.7}}, {.dtype = f64});
  const Wishart p(df, {.scale_tril = tril}), q(other, {.covariance_matrix = eye(2)});
  Generator generator(79);
  const Tensor x = p.sample({20000}, &generator), ratio = p.log_prob(x) - q.log_prob(x);
  const Tensor off = (kl_divergence(p, q) - mean(ratio, {0})) / stddev(ratio, {0});
  EXPECT_LT(amax(abs(off)).item<double>(), 4 / std::sqrt(20000));
  EXPECT_TRUE(near(kl_divergence(p, p), zeros({2}, {.dtype = f64}), 1e-13));
  // Matrices of one number are gamma variables.
  const Tensor v = tensor({{{3.0}}, {{0.4}}}, {.dtype = f64}), one = ones_like(v);
  EXPECT_TRUE(near(kl_divergence(Wishart(df, {.covariance_matrix = v}),
                                 Wishart(other, {.covariance_matrix = one})),
                   kl_divergence(Gamma(0.5 * df, 0.5 / v.flatten()), Gamma(0.5 * other, 0.5)),
                   1e-13));
  EXPECT_SECOND_GRADIENTS(
      [&](const Tensors& of) {
        return kl_divergence(Wishart(of[0], {.scale_tril = tril * of[2]}),
                             Wishart(of[1], {.scale_tril = tril / of[2] + eye(2)}));
      },
      Tensors{df.clone().requires_grad_(), other.clone().requires_grad_(),
              tensor(1.3, {.dtype = f64, .requires_grad = true})});
}

// What PyTorch's gradients are NaN or 0 of: parameters of an infinite divergence, beside finite
// ones.
TEST(Divergences, InfiniteOnesLeaveGradientsFinite) {
  const auto expect = [](const Distribution& p, const Distribution& q, const Tensors& parameters) {
    const Tensor divergence = kl_divergence(p, q);
    EXPECT_TRUE(isinf(divergence[0]).item<bool>());
    EXPECT_TRUE(isfinite(divergence[1]).item<bool>());
    const Tensors outputs{sum(divergence)};
    for (const Tensor& gradient : autograd::grad(outputs, parameters)) {
      EXPECT_EQ(gradient[0].item<double>(), 0);
      EXPECT_NE(gradient[1].item<double>(), 0);
      EXPECT_TRUE(isfinite(gradient[1]).item<bool>());
    }
  };
  const auto two = [](double a, double b) {
    return tensor({a, b}, {.dtype = f64, .requires_grad = true});
  };
  const Tensor low = two(-0.5, 0.1), high = two(0.5, 0.7), rate = two(2, 3), other = two(0.3, 1.5);
  const Uniform uniform(low, high);
  expect(uniform, Exponential(rate), {low, high, rate});
  expect(uniform, Gamma(other, rate), {low, high, other, rate});
  expect(uniform, Beta(other, rate), {low, high, other, rate});
  expect(uniform, ContinuousBernoulli({.logits = rate}), {low, high, rate});
  const Tensor scale = two(1, 0.05), alpha = two(0.9, 2.5);
  expect(uniform, Pareto(scale, alpha), {low, high, scale, alpha});
  const Pareto pareto(scale, alpha);
  expect(pareto, Exponential(rate), {scale, alpha, rate});
  expect(pareto, Gamma(other, rate), {scale, alpha, other, rate});
  expect(pareto, Normal(other, rate), {scale, alpha, other, rate});
}

TEST(Divergences, OfBinomials) {
  const Tensor four = tensor({4.0, 4.0}), more = tensor({4.0, 6.0});
  EXPECT_TRUE(near(kl_divergence(Binomial(more, {.probs = 0.5}), Binomial(four, {.probs = 0.5})),
                   tensor({0.0, INFINITY}), 1e-6));
  EXPECT_EQ(
      error_of(
          [&] { kl_divergence(Binomial(four, {.probs = 0.5}), Binomial(more, {.probs = 0.5})); }),
      "kl_divergence: total_count of the second distribution must be at most that of the first, "
      "got 6 at [1]");
}

TEST(Divergences, Errors) {
  EXPECT_EQ(error_of([] { kl_divergence(Cauchy(0, 1), Normal(0, 1)); }),
            "kl_divergence: a formula must be known for the classes, got Cauchy and Normal");
  EXPECT_EQ(error_of([] {
              kl_divergence(Categorical({.logits = zeros({3})}),
                            Categorical({.logits = zeros({2})}));
            }),
            "kl_divergence: both must have as many classes, got 3 and 2");
  EXPECT_EQ(error_of([] {
              const Normal d(zeros({2, 2}), 1);
              kl_divergence(Independent(d, 1), Independent(d, 2));
            }),
            "kl_divergence: both must have as many reinterpreted_batch_ndims, got 1 and 2");
  EXPECT_EQ(error_of([] {
              kl_divergence(TransformedDistribution(Normal(0, 1), {AffineTransform(0, 2)}),
                            TransformedDistribution(Normal(0, 1), {AffineTransform(0, 3)}));
            }),
            "kl_divergence: both must have the same transforms, got 1 and 1 that differ");
  EXPECT_EQ(error_of([] {
              const MultivariateNormal two(zeros({2}), {.scale_tril = eye(2)}),
                  three(zeros({3}), {.scale_tril = eye(3)});
              kl_divergence(two, three);
            }),
            "kl_divergence: both must have one event_shape, got [2] and [3]");
}

/// A distribution of one's own.
class Always : public DistributionOf<Always> {
 public:
  explicit Always(double value) : DistributionOf("Always"), value_(value) {}
  double value() const { return value_; }
  Constraint support() const override { return constraints::real(); }
  Tensor log_prob(const Tensor& value) const override {
    check_value(value);
    return where(eq(value, value_), 0.0, -INFINITY);
  }

 private:
  Tensor draw(const Shape& sample_shape, Generator*) const override {
    return full(extended(sample_shape), value_);
  }
  void expand_to(const Shape&) override {}
  double value_;
};

// Wherever both stand: exp() of a place has no room in the dtype.
TEST(Divergences, OfDistantGumbels) {
  const auto expect = [](DType dtype, double at, double tolerance) {
    const Tensor loc = tensor({at}, {.dtype = dtype}), one = ones({1}, {.dtype = dtype});
    const Gumbel q(loc, one);
    EXPECT_NEAR(kl_divergence(q, q).item<double>(), 0, tolerance) << at;
    EXPECT_NEAR(kl_divergence(Normal(loc, one), q).item<double>(), 0.2297827, tolerance) << at;
    EXPECT_NEAR(kl_divergence(Uniform(loc, loc + 1), q).item<double>(), 1.1321206, tolerance) << at;
  };
  for (const double at : {0.0, 100.0, -100.0}) expect(f32, at, 2e-5);
  for (const double at : {800.0, -800.0}) expect(f64, at, 1e-6);
}

TEST(Divergences, ClassesOfOnesOwnCanBeRegistered) {
  EXPECT_NE(error_of([] { kl_divergence(Always(1), Normal(0, 1)); }), kNoError);
  register_kl<Always, Normal>(
      [](const Always& p, const Normal& q) { return -q.log_prob(full({}, p.value())); });
  EXPECT_NEAR(kl_divergence(Always(1), Normal(0, 1)).item<double>(), 1.4189385332046727, 1e-6);
  EXPECT_EQ(Always(2).expand({3}).sample({2}).shape(), (Shape{2, 3}));
}

}  // namespace
}  // namespace aorta::distributions
