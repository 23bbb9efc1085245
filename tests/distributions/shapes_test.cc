// Shapes of samples and of expanded distributions, and what bad parameters and values are told.
#include <aorta/core/ops/indexing.h>
#include <aorta/distributions/formulas.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>

namespace aorta::distributions {
namespace {

Shape joined(const Shape& a, const Shape& b, const Shape& c) {
  return distributions::joined(distributions::joined(a, b), c);
}

class Shapes : public testing::TestWithParam<std::string> {
 protected:
  static std::shared_ptr<Distribution> make() {
    static const auto fixtures = read_cases("values");
    return makers().at(GetParam())(numbered(fixtures.at(GetParam()), "p"));
  }
};

TEST_P(Shapes, OfSamplesAndTheirDensities) {
  const auto d = make();
  Generator generator(1);
  for (const Shape& sample_shape : {Shape{}, Shape{5}, Shape{3, 2}, Shape{0}, Shape{2, 0}}) {
    SCOPED_TRACE(to_string(sample_shape));
    const Tensor x = d->sample(sample_shape, &generator);
    EXPECT_EQ(x.shape(), joined(sample_shape, d->batch_shape(), d->event_shape()));
    EXPECT_FALSE(x.requires_grad());
    const Tensor density = d->log_prob(x);  // and so x lies in the support
    EXPECT_EQ(density.shape(), joined(sample_shape, d->batch_shape(), {}));
    EXPECT_FALSE(any(isnan(density)).item<bool>());
  }
}

TEST_P(Shapes, OfExpandedOnes) {
  const auto d = make();
  const Shape wide = joined({4}, d->batch_shape(), {});
  const auto expanded = d->expanded(wide);
  EXPECT_EQ(expanded->batch_shape(), wide);
  EXPECT_EQ(expanded->event_shape(), d->event_shape());
  EXPECT_STREQ(expanded->name(), d->name());
  Generator generator(1);
  const Tensor x = expanded->sample({3}, &generator);
  EXPECT_EQ(x.shape(), joined({3, 4}, d->batch_shape(), d->event_shape()));
  EXPECT_TRUE(near(expanded->log_prob(x), d->log_prob(x), 1e-13));
  EXPECT_EQ(d->batch_shape().size() + 1, wide.size());  // the first is as it was
  // All of them differ: each has noise of its own.
  if (d->has_rsample()) {
    EXPECT_FALSE(near(x.select(1, 0), x.select(1, 1), 1e-6));
  }
  EXPECT_EQ(d->clone()->batch_shape(), d->batch_shape());
}

std::vector<std::string> names_of_all() {
  std::vector<std::string> result;
  for (const auto& [name, make] : makers()) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, Shapes, testing::ValuesIn(names_of_all()),
                         [](const auto& test) { return test.param; });

TEST(Expanded, KnowTheirClassAndKeepGradients) {
  const Tensor loc = tensor({1.0, 2.0}, {.requires_grad = true});
  const Normal d = Normal(loc, 1).expand({3, 2});
  EXPECT_EQ(d.loc().shape(), (Shape{3, 2}));
  sum(d.mean()).backward();
  EXPECT_TRUE(near(loc.grad(), tensor({3.0, 3.0}), 0));
  EXPECT_NE(error_of([&] { d.expand({2}); }), kNoError);
}

TEST(Samples, OfSizesThatAreNone) {
  EXPECT_EQ(error_of([] {
              Poisson(ones({2})).sample({3, -1});
            }),
            "Poisson: the sizes of a sample must not be negative, got [3,-1]");
  EXPECT_EQ(error_of([] { Normal(zeros(Shape::filled(8, 1)), 1).sample(Shape::filled(5, 1)); }),
            "sample: a tensor has at most 12 dimensions, got [1,1,1,1,1] and [1,1,1,1,1,1,1,1]");
  const int64_t huge = int64_t{1} << 62;
  EXPECT_EQ(error_of([&] {
              Categorical({.probs = ones({2, 4})}).sample({huge, 5});
            }),
            "Categorical: the number of bytes must fit in 63 bits, got [4611686018427387904,5,2]");
  EXPECT_EQ(error_of([&] {
              Categorical({.probs = ones({0, 4})}).sample({huge, 5});
            }),
            "Categorical: the number of bytes must fit in 63 bits, got [4611686018427387904,5,0]");
}

TEST(Independents, MoveDimensionsIntoTheEvent) {
  const Independent d(Bernoulli({.logits = zeros({4, 3, 2})}), 2);
  EXPECT_EQ(d.batch_shape(), Shape{4});
  EXPECT_EQ(d.event_shape(), (Shape{3, 2}));
  EXPECT_FALSE(d.has_enumerate_support());
  EXPECT_EQ(d.entropy().shape(), Shape{4});
  EXPECT_EQ(Independent(Bernoulli({.logits = zeros({4})}), 0).enumerate_support().shape(),
            (Shape{2, 4}));
  EXPECT_EQ(Bernoulli({.logits = zeros({4})}).enumerate_support(false).shape(), (Shape{2, 1}));
  EXPECT_EQ(
      error_of([] { Independent(Normal(zeros({2}), 1), 2); }),
      "Independent: reinterpreted_batch_ndims must be at most the batch's dimensions, got 2 of "
      "[2]");
}

TEST(Parameters, OutsideTheirSet) {
  const Tensor x = zeros({3}), bad = tensor({1.0, 2.0, -1.0});
  EXPECT_EQ(error_of([&] { Normal(x, bad); }), "Normal: scale must be positive, got -1 at [2]");
  EXPECT_EQ(error_of([] { Normal(0, 0); }), "Normal: scale must be positive, got 0");
  EXPECT_EQ(error_of([] {
              Normal(tensor({{0.0, NAN}}), 1);
            }),
            "Normal: loc must not be NaN, got nan at [0,1]");
  EXPECT_EQ(error_of([&] { LogNormal(x, bad); }),
            "LogNormal: scale must be positive, got -1 at [2]");
  EXPECT_EQ(error_of([&] { HalfNormal{bad}; }),
            "HalfNormal: scale must be positive, got -1 at [2]");
  EXPECT_EQ(error_of([&] { Uniform(bad, 2); }),
            "Uniform: high must be greater than low, got 2 at [1]");
  EXPECT_EQ(error_of([&] { Exponential{bad}; }),
            "Exponential: rate must be positive, got -1 at [2]");
  EXPECT_EQ(error_of([] { Laplace(0, -2); }), "Laplace: scale must be positive, got -2");
  EXPECT_EQ(error_of([] { Gumbel(0, NAN); }), "Gumbel: scale must be positive, got nan");
  EXPECT_EQ(error_of([] { Cauchy(0, -2); }), "Cauchy: scale must be positive, got -2");
  EXPECT_EQ(error_of([] { Bernoulli({.probs = 1.5}); }),
            "Bernoulli: probs must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { Bernoulli({.logits = NAN}); }),
            "Bernoulli: logits must not be NaN, got nan");
  EXPECT_EQ(error_of([] { Bernoulli({}); }),
            "Bernoulli: probs or logits must be given, one of the two, got none");
  EXPECT_EQ(error_of([] { Bernoulli({.probs = 0.5, .logits = 0}); }),
            "Bernoulli: probs or logits must be given, one of the two, got both");
  EXPECT_EQ(error_of([] { Geometric({.probs = 0}); }), "Geometric: probs must be positive, got 0");
  EXPECT_EQ(error_of([&] { Categorical({.probs = bad}); }),
            "Categorical: probs must not be negative, got -1 at [2]");
  EXPECT_EQ(error_of([&] { Categorical({.probs = x}); }),
            "Categorical: the sum of probs must be positive and finite, got 0 at [0]");
  EXPECT_EQ(error_of([] { Categorical({.logits = 1}); }),
            "Categorical: logits must be (*, K), K > 0, got []");
  EXPECT_EQ(error_of([] {
              OneHotCategorical({.logits = tensor({-INFINITY, -INFINITY})});
            }),
            "OneHotCategorical: the largest of the logits must be finite, got -inf");
  EXPECT_EQ(error_of([] { RelaxedBernoulli(0, {.logits = 1}); }),
            "RelaxedBernoulli: temperature must be positive, got 0");
  EXPECT_EQ(error_of([&] { RelaxedOneHotCategorical(x, {.logits = x}); }),
            "RelaxedOneHotCategorical: temperature must be one number, got [3]");
  EXPECT_EQ(error_of([&] { AffineTransform(0, x); }),
            "AffineTransform: scale must not be 0 or NaN, got 0 at [0]");
  EXPECT_EQ(error_of([&] { Normal(x, ones({2})); }),
            "Normal: shapes must broadcast, got [3] and [2]");
  EXPECT_EQ(error_of([] { Normal(arange(3), 1); }), "Normal: loc must be floating, got i64");
  EXPECT_EQ(error_of([] { Normal(Tensor(), 1); }),
            "Normal: loc must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([] { Normal({}, 1); }), "Normal: loc must be given, got none");
}

TEST(Parameters, OfCountsAndMixturesAndHeavyTails) {
  EXPECT_EQ(error_of([] { Binomial(2.5, {.probs = 0.5}); }),
            "Binomial: total_count must be a count (0, 1, 2, ...), got 2.5");
  EXPECT_EQ(error_of([] { Binomial(2, {.probs = 1.5}); }),
            "Binomial: probs must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { Binomial(2, {.probs = 0.5}).log_prob(tensor(3.0)); }),
            "Binomial: value must be a count up to total_count, got 3");
  EXPECT_EQ(error_of([] {
              Binomial(tensor({1.0, 2.0}), {.probs = 0.5}).entropy();
            }),
            "enumerate_support: total_count must be one number for all, got several");
  EXPECT_EQ(error_of([] { NegativeBinomial(2, {.probs = 1}); }),
            "NegativeBinomial: probs must be below 1, got 1");
  EXPECT_EQ(error_of([] { NegativeBinomial(0, {.probs = 0.5}); }),
            "NegativeBinomial: total_count must be positive, got 0");
  EXPECT_EQ(error_of([] { Multinomial(-1, {.logits = zeros({2})}); }),
            "Multinomial: total_count must not be negative, got -1");
  EXPECT_EQ(error_of([] {
              Multinomial(3, {.logits = zeros({2})}).log_prob(tensor({1.0, 1.0}));
            }),
            "Multinomial: value must be counts whose sum is 3, got [1,1]");
  EXPECT_EQ(error_of([] {
              MixtureSameFamily(Categorical({.logits = zeros({2})}), Normal(zeros({3}), 1));
            }),
            "MixtureSameFamily: the last batch dimension of the components must be as long as "
            "there are classes, got [3] for 2");
  EXPECT_EQ(error_of([] {
              MixtureSameFamily(Categorical({.logits = zeros({2})}), Exponential(ones({2})))
                  .log_prob(tensor({1.0, -1.0}));
            }),
            "MixtureSameFamily: value must not be negative, got -1 at [1]");
  EXPECT_EQ(error_of([] { Pareto(2, 1).log_prob(tensor(1.0)); }),
            "Pareto: value must be at least scale, got 1");
  EXPECT_EQ(error_of([] { Weibull(1, 0); }), "Weibull: concentration must be positive, got 0");
  EXPECT_EQ(error_of([] { HalfCauchy(-1); }), "HalfCauchy: scale must be positive, got -1");
  EXPECT_EQ(error_of([] { InverseGamma(1, -1); }), "InverseGamma: rate must be positive, got -1");
  EXPECT_EQ(error_of([] { FisherSnedecor(1, 0); }), "FisherSnedecor: df2 must be positive, got 0");
  EXPECT_EQ(error_of([] { Kumaraswamy(1, 0); }),
            "Kumaraswamy: concentration0 must be positive, got 0");
  EXPECT_EQ(error_of([] { LogisticNormal(0, 1); }),
            "LogisticNormal: loc and scale must be (*, K), got []");
  EXPECT_EQ(error_of([] { PowerTransform(0); }),
            "PowerTransform: exponent must not be 0 or NaN, got 0");
  EXPECT_EQ(error_of([] { StickBreakingTransform()(ones({})); }),
            "StickBreakingTransform: x must be (*, K), got []");
  EXPECT_EQ(
      error_of([] {
        LowRankMultivariateNormal(zeros({2}), zeros({3, 1}), ones({2}));
      }),
      "LowRankMultivariateNormal: loc and cov_diag must be (*, n) and cov_factor (*, n, r), got "
      "[2], [2] and [3,1]");
  EXPECT_EQ(error_of([] {
              LowRankMultivariateNormal(zeros({2}), zeros({2, 1}), zeros({2}));
            }),
            "LowRankMultivariateNormal: cov_diag must be positive, got 0 at [0]");
}

TEST(Parameters, HaveTheDimensionsOfAnEvent) {
  EXPECT_EQ(error_of([] { require("draw", "probs", ones({}), constraints::simplex()); }),
            "draw: probs must have an event's dimensions (1), got []");
  EXPECT_EQ(error_of([] {
              require("draw", "x", ones({2}), constraints::independent(constraints::real(), 2));
            }),
            "draw: x must have an event's dimensions (2), got [2]");
}

TEST(Parameters, OfMultivariateNormals) {
  const Tensor loc = zeros({2});
  EXPECT_EQ(error_of([&] {
              MultivariateNormal(loc, {.scale_tril = tensor({{1.0, 0.5}, {0.0, 1.0}})});
            }),
            "MultivariateNormal: scale_tril must be lower triangular with a positive diagonal, got "
            "[1,0.5,0,1]");
  EXPECT_EQ(error_of([&] {
              MultivariateNormal(loc, {.covariance_matrix = tensor({{1.0, 0.5}, {0.0, 1.0}})});
            }),
            "MultivariateNormal: covariance_matrix must be symmetric, got [1,0.5,0,1]");
  EXPECT_EQ(error_of([&] {
              MultivariateNormal(loc, {.precision_matrix = tensor({{1.0, 2.0}, {2.0, 1.0}})});
            }).substr(0, 20),
            "MultivariateNormal: ");
  EXPECT_EQ(
      error_of(
          [&] { MultivariateNormal(loc, {.covariance_matrix = eye(2), .scale_tril = eye(2)}); }),
      "MultivariateNormal: covariance_matrix, precision_matrix or scale_tril must be given, one "
      "of the three, got 2");
  EXPECT_EQ(error_of([&] { MultivariateNormal(loc, {.scale_tril = eye(3)}); }),
            "MultivariateNormal: loc must be (*, n) and the matrix (*, n, n), got [2] and [3,3]");
}

TEST(Parameters, OfIntegersInAnIntervalOfOtherDtypes) {
  const Constraint signed_bounds = constraints::interval(tensor(-4), tensor(1.25));
  EXPECT_TRUE(signed_bounds.check(tensor({1}).to(u8)).item<bool>());
  EXPECT_FALSE(signed_bounds.check(tensor({2}).to(u8)).item<bool>());
}

TEST(Parameters, OfCorrelations) {
  EXPECT_EQ(error_of([] { LKJCholesky(1); }), "LKJCholesky: dim must be at least 2, got 1");
  EXPECT_EQ(error_of([] { LKJCholesky(2, 0); }),
            "LKJCholesky: concentration must be positive, got 0");
  EXPECT_EQ(error_of([] { LKJCholesky(2).log_prob(2 * eye(2)); }),
            "LKJCholesky: value must be lower triangular with a positive diagonal and rows of "
            "length 1, got [2,0,0,2]");
}

TEST(Parameters, OfWisharts) {
  const Tensor one = eye(2);
  EXPECT_EQ(error_of([&] { Wishart(1, {.scale_tril = one}); }),
            "Wishart: df must be greater than n - 1, got 1");
  EXPECT_EQ(error_of([] { Wishart(3, {.scale_tril = ones({2})}); }),
            "Wishart: scale_tril must be (*, n, n), got [2]");
  EXPECT_EQ(error_of([] {
              Wishart(3, {.covariance_matrix = ones({0, 0})});
            }),
            "Wishart: covariance_matrix must have rows, got [0,0]");
  EXPECT_EQ(error_of([&] { Wishart(3, {.covariance_matrix = one, .scale_tril = one}); }),
            "Wishart: covariance_matrix, precision_matrix or scale_tril must be given, one of the "
            "three, got 2");
  const Wishart d(3, {.scale_tril = one});
  EXPECT_EQ(error_of([&] {
              d.log_prob(tensor({{1.0, 2.0}, {2.0, 1.0}}));
            }),
            "Wishart: value must be symmetric and positive definite, got [1,2,2,1]");
  EXPECT_EQ(error_of([&] {
              d.log_prob(tensor({{1.0, 2.0}, {0.0, 1.0}}));
            }),
            "Wishart: value must be symmetric and positive definite, got [1,2,0,1]");
}

TEST(ValuesOutside, TheSupport) {
  const Tensor x = tensor({0.5, -1.0, 2.0});
  EXPECT_EQ(error_of([&] { Exponential(1).log_prob(x); }),
            "Exponential: value must not be negative, got -1 at [1]");
  EXPECT_EQ(error_of([&] { Uniform(-2, 1).log_prob(x); }),
            "Uniform: value must be in [-2, 1], got 2 at [2]");
  EXPECT_EQ(error_of([&] {
              Uniform(tensor({-2.0, -2.0, -2.0}), 1).cdf(x);
            }),
            "Uniform: value must be in [low, high], got 2 at [2]");
  EXPECT_EQ(error_of([&] { Bernoulli({.probs = 0.5}).log_prob(x); }),
            "Bernoulli: value must be 0 or 1, got 0.5 at [0]");
  EXPECT_EQ(error_of([&] { LogNormal(0, 1).log_prob(x); }),
            "LogNormal: value must be positive, got -1 at [1]");
  EXPECT_EQ(error_of([] {
              Categorical({.logits = zeros({3})}).log_prob(tensor({0, 3}));
            }),
            "Categorical: value must be an integer in [0, 2], got 3 at [1]");
  EXPECT_EQ(error_of([] { Geometric({.probs = 0.5}).log_prob(tensor(1.5)); }),
            "Geometric: value must be a count (0, 1, 2, ...), got 1.5");
  EXPECT_EQ(error_of([&] { OneHotCategorical({.logits = zeros({3})}).log_prob(x); }),
            "OneHotCategorical: value must be zeros with one 1, got [0.5,-1,2]");
  EXPECT_EQ(error_of([&] { RelaxedOneHotCategorical(1, {.logits = zeros({3})}).log_prob(x); }),
            "RelaxedOneHotCategorical: value must be at least 0 and sum to 1, got [0.5,-1,2]");
  EXPECT_EQ(error_of([&] { Independent(Exponential(ones({3})), 1).log_prob(x); }),
            "Independent: value must not be negative, got [0.5,-1,2]");
  EXPECT_EQ(error_of([&] { Normal(0, 1).log_prob(tensor({NAN})); }),
            "Normal: value must not be NaN, got nan at [0]");
  EXPECT_EQ(error_of([&] { Laplace(0, 1).icdf(x); }),
            "Laplace: value must be in [0, 1], got -1 at [1]");
  EXPECT_EQ(
      error_of([&] { MultivariateNormal(zeros({2}), {.scale_tril = eye(2)}).log_prob(x); }),
      "MultivariateNormal: the last sizes of value must be the event's shape, got [3] for [2]");
  EXPECT_EQ(error_of([&] { Normal(zeros({2}), 1).log_prob(x); }),
            "Normal: shapes must broadcast, got [3] and [2]");
  EXPECT_EQ(error_of([&] { Normal(0, 1).log_prob(Tensor()); }),
            "Normal: value must be defined, got an undefined tensor");
}

TEST(WhatADistributionHasNot, IsAnErrorThatNamesBoth) {
  EXPECT_EQ(error_of([] { Categorical({.logits = zeros({2})}).cdf(zeros({})); }),
            "cdf: the distribution must have one, got Categorical");
  EXPECT_EQ(error_of([] { Bernoulli({.probs = 0.5}).rsample(); }),
            "rsample: the distribution must have one, got Bernoulli");
  EXPECT_EQ(error_of([] { TransformedDistribution(Normal(0, 1), {ExpTransform()}).mean(); }),
            "mean: the distribution must have one, got TransformedDistribution");
  EXPECT_EQ(error_of([] { Normal(0, 1).enumerate_support(); }),
            "enumerate_support: the distribution must have one, got Normal");
}

TEST(Checks, CanBeSwitchedOff) {
  Distribution::set_default_validate_args(false);
  EXPECT_EQ(error_of([] { Normal(0, -1).log_prob(tensor(1.0)); }), kNoError);
  Distribution::set_default_validate_args(true);
  EXPECT_NE(error_of([] { Normal(0, -1); }), kNoError);
}

// A sampler that refuses candidates must not look for one for ever.
TEST(Checks, ThatAreOffLeaveSamplersThatEnd) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  Distribution::set_default_validate_args(false);
  for (const double bad : {-1.0, nan}) {
    EXPECT_TRUE(isnan(Gamma(bad, 1).sample()).item<bool>()) << bad;
    EXPECT_EQ(Binomial(100, {.probs = bad}).sample().numel(), 1);
    EXPECT_EQ(VonMises(0, bad).sample().numel(), 1);
  }
  Distribution::set_default_validate_args(true);
}

// Where no values are there is nothing to check.
TEST(Checks, LeaveTheMetaDeviceAlone) {
  const TensorOptions meta{.device = "meta"};
  const Normal d(empty({2}, meta), empty({3, 1}, meta));
  EXPECT_EQ(d.rsample({4}).shape(), (Shape{4, 3, 2}));
  EXPECT_EQ(d.log_prob(empty({2}, meta)).shape(), (Shape{3, 2}));
}

TEST(IntegerValues, AreTakenWherePyTorchTakesThem) {
  const Bernoulli coin({.probs = tensor({0.25}, {.dtype = f64})});
  EXPECT_NEAR(coin.log_prob(tensor({1})).item<double>(), std::log(0.25), 1e-12);
  EXPECT_NEAR(Exponential(2).log_prob(tensor(3)).item<double>(), std::log(2.0) - 6, 1e-6);
  const Categorical classes({.probs = tensor({0.25, 0.75})});
  EXPECT_NEAR(classes.log_prob(tensor(1.0)).item<double>(), std::log(0.75), 1e-6);
}

}  // namespace
}  // namespace aorta::distributions
