// What PyTorch says of each distribution: densities, moments, entropies, and their gradients.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/body/gamma_point.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/operand_names.h>

#include <algorithm>
#include <numbers>
#include <optional>

namespace aorta::distributions {

// The options of the first parameter that is there.
static TensorOptions options_of(const Tensors& parameters) {
  for (const Tensor& parameter : parameters)
    if (parameter.defined()) return {.dtype = parameter.dtype()};
  return {};
}

const std::map<std::string, Make>& makers() {
  const auto normals = [](const Tensor& loc, const Tensor& scale) { return Normal(loc, scale); };
  static const std::map<std::string, Make> all = {
      {"normal", [=](const Tensors& p) { return normals(p[0], p[1]).clone(); }},
      {"normal_tails", [=](const Tensors& p) { return normals(p[0], p[1]).clone(); }},
      {"log_normal", [](const Tensors& p) { return LogNormal(p[0], p[1]).clone(); }},
      {"half_normal", [](const Tensors& p) { return HalfNormal(p[0]).clone(); }},
      {"bernoulli_probs", [](const Tensors& p) { return Bernoulli({.probs = p[0]}).clone(); }},
      {"bernoulli_logits", [](const Tensors& p) { return Bernoulli({.logits = p[0]}).clone(); }},
      {"bernoulli_ends", [](const Tensors& p) { return Bernoulli({.probs = p[0]}).clone(); }},
      {"geometric_probs", [](const Tensors& p) { return Geometric({.probs = p[0]}).clone(); }},
      {"geometric_logits", [](const Tensors& p) { return Geometric({.logits = p[0]}).clone(); }},
      {"geometric_one", [](const Tensors& p) { return Geometric({.probs = p[0]}).clone(); }},
      {"categorical_probs", [](const Tensors& p) { return Categorical({.probs = p[0]}).clone(); }},
      {"categorical_logits",
       [](const Tensors& p) { return Categorical({.logits = p[0]}).clone(); }},
      {"categorical_zero", [](const Tensors& p) { return Categorical({.probs = p[0]}).clone(); }},
      {"one_hot", [](const Tensors& p) { return OneHotCategorical({.logits = p[0]}).clone(); }},
      {"uniform", [](const Tensors& p) { return Uniform(p[0], p[1]).clone(); }},
      {"exponential", [](const Tensors& p) { return Exponential(p[0]).clone(); }},
      {"laplace", [](const Tensors& p) { return Laplace(p[0], p[1]).clone(); }},
      {"gumbel", [](const Tensors& p) { return Gumbel(p[0], p[1]).clone(); }},
      {"cauchy", [](const Tensors& p) { return Cauchy(p[0], p[1]).clone(); }},
      {"independent",
       [=](const Tensors& p) { return Independent(normals(p[0], p[1]), 1).clone(); }},
      {"mvn_tril",
       [](const Tensors& p) { return MultivariateNormal(p[0], {.scale_tril = p[1]}).clone(); }},
      {"mvn_tril_batch",
       [](const Tensors& p) { return MultivariateNormal(p[0], {.scale_tril = p[1]}).clone(); }},
      {"mvn_covariance",
       [](const Tensors& p) {
         return MultivariateNormal(p[0], {.covariance_matrix = p[1]}).clone();
       }},
      {"mvn_precision",
       [](const Tensors& p) {
         return MultivariateNormal(p[0], {.precision_matrix = p[1]}).clone();
       }},
      {"relaxed_bernoulli",
       [](const Tensors& p) { return RelaxedBernoulli(p[0], {.logits = p[1]}).clone(); }},
      {"relaxed_one_hot",
       [](const Tensors& p) { return RelaxedOneHotCategorical(p[0], {.logits = p[1]}).clone(); }},
      {"squashed",
       [=](const Tensors& p) {
         return TransformedDistribution(normals(p[0], p[1]),
                                        {TanhTransform(), AffineTransform(0.5, -2)})
             .clone();
       }},
      {"affine",
       [](const Tensors& p) {
         return TransformedDistribution(Exponential(ones({3}, options_of(p))),
                                        {AffineTransform(p[0], p[1])})
             .clone();
       }},
      {"events",
       [](const Tensors& p) {
         const TensorOptions options = options_of(p);
         return TransformedDistribution(Laplace(zeros({2, 3}, options), 1),
                                        {AffineTransform(p[0], p[1], 1), SigmoidTransform()})
             .clone();
       }},
      {"composed",
       [=](const Tensors& p) {
         const TensorOptions options = options_of(p);
         const ComposeTransform both({AffineTransform(p[0], p[1]), ExpTransform()});
         return TransformedDistribution(normals(zeros({3}, options), ones({3}, options)), {both})
             .clone();
       }},
      {"poisson", [](const Tensors& p) { return Poisson(p[0]).clone(); }},
      {"poisson_zero", [](const Tensors& p) { return Poisson(p[0]).clone(); }},
      {"gamma", [](const Tensors& p) { return Gamma(p[0], p[1]).clone(); }},
      {"gamma_extremes", [](const Tensors& p) { return Gamma(p[0], p[1]).clone(); }},
      {"chi2", [](const Tensors& p) { return Chi2(p[0]).clone(); }},
      {"beta", [](const Tensors& p) { return Beta(p[0], p[1]).clone(); }},
      {"dirichlet", [](const Tensors& p) { return Dirichlet(p[0]).clone(); }},
      {"straight_through",
       [](const Tensors& p) { return OneHotCategoricalStraightThrough({.logits = p[0]}).clone(); }},
      {"student_t", [](const Tensors& p) { return StudentT(p[0], p[1], p[2]).clone(); }},
      {"half_cauchy", [](const Tensors& p) { return HalfCauchy(p[0]).clone(); }},
      {"pareto", [](const Tensors& p) { return Pareto(p[0], p[1]).clone(); }},
      {"pareto_endless", [](const Tensors& p) { return Pareto(p[0], p[1]).clone(); }},
      {"weibull", [](const Tensors& p) { return Weibull(p[0], p[1]).clone(); }},
      {"inverse_gamma", [](const Tensors& p) { return InverseGamma(p[0], p[1]).clone(); }},
      {"inverse_gamma_endless", [](const Tensors& p) { return InverseGamma(p[0], p[1]).clone(); }},
      {"fisher_snedecor", [](const Tensors& p) { return FisherSnedecor(p[0], p[1]).clone(); }},
      {"fisher_snedecor_nan", [](const Tensors& p) { return FisherSnedecor(p[0], p[1]).clone(); }},
      {"kumaraswamy", [](const Tensors& p) { return Kumaraswamy(p[0], p[1]).clone(); }},
      {"continuous_bernoulli_probs",
       [](const Tensors& p) { return ContinuousBernoulli({.probs = p[0]}).clone(); }},
      {"continuous_bernoulli_logits",
       [](const Tensors& p) { return ContinuousBernoulli({.logits = p[0]}).clone(); }},
      {"binomial_probs", [](const Tensors& p) { return Binomial(p[0], {.probs = p[1]}).clone(); }},
      {"binomial_logits",
       [](const Tensors& p) { return Binomial(p[0], {.logits = p[1]}).clone(); }},
      {"negative_binomial_probs",
       [](const Tensors& p) { return NegativeBinomial(p[0], {.probs = p[1]}).clone(); }},
      {"negative_binomial_logits",
       [](const Tensors& p) { return NegativeBinomial(p[0], {.logits = p[1]}).clone(); }},
      {"multinomial", [](const Tensors& p) { return Multinomial(4, {.logits = p[0]}).clone(); }},
      {"multinomial_zero",
       [](const Tensors& p) { return Multinomial(3, {.probs = p[0]}).clone(); }},
      {"mixture",
       [=](const Tensors& p) {
         return MixtureSameFamily(Categorical({.logits = p[0]}), normals(p[1], p[2])).clone();
       }},
      {"mixture_of_vectors",
       [](const Tensors& p) {
         return MixtureSameFamily(Categorical({.logits = p[0]}),
                                  Independent(Laplace(p[1], p[2]), 1))
             .clone();
       }},
      {"low_rank",
       [](const Tensors& p) { return LowRankMultivariateNormal(p[0], p[1], p[2]).clone(); }},
      {"low_rank_batch",
       [](const Tensors& p) { return LowRankMultivariateNormal(p[0], p[1], p[2]).clone(); }},
      {"logistic_normal", [](const Tensors& p) { return LogisticNormal(p[0], p[1]).clone(); }},
      {"power",
       [](const Tensors& p) {
         return TransformedDistribution(Exponential(ones({3}, options_of(p))),
                                        {PowerTransform(p[0])})
             .clone();
       }},
      {"soft",
       [=](const Tensors& p) {
         return TransformedDistribution(normals(p[0], p[1]), {SoftplusTransform()}).clone();
       }},
      {"unlogged",
       [](const Tensors& p) {
         return TransformedDistribution(LogNormal(p[0], p[1]), {ExpTransform().inverse(),
                                                                AffineTransform(1, -2).inverse()})
             .clone();
       }},
      {"unbroken",
       [](const Tensors& p) {
         return TransformedDistribution(Dirichlet(p[0]),
                                        {StickBreakingTransform().inverse(), TanhTransform(),
                                         TanhTransform().inverse()})
             .clone();
       }},
      {"wishart_covariance",
       [](const Tensors& p) { return Wishart(p[0], {.covariance_matrix = p[1]}).clone(); }},
      {"wishart_precision",
       [](const Tensors& p) { return Wishart(p[0], {.precision_matrix = p[1]}).clone(); }},
      {"wishart_tril",
       [](const Tensors& p) { return Wishart(p[0], {.scale_tril = p[1]}).clone(); }},
      {"lkj", [](const Tensors& p) { return LKJCholesky(4, p[0]).clone(); }},
      {"correlated",
       [=](const Tensors& p) {
         return TransformedDistribution(normals(p[0], p[1]), {CorrCholeskyTransform()}).clone();
       }},
      {"divided",
       [=](const Tensors& p) {
         const CatTransform parts({ExpTransform(), AffineTransform(1, 2), TanhTransform()}, -1,
                                  {2, 1, 2});
         return TransformedDistribution(normals(p[0], p[1]), {parts}).clone();
       }},
      {"reshaped",
       [=](const Tensors& p) {
         return TransformedDistribution(normals(p[0], p[1]),
                                        {ExpTransform(), ReshapeTransform({6}, {3, 2})})
             .clone();
       }},
      {"copula",
       [=](const Tensors& p) {
         const CumulativeDistributionTransform uniform{Exponential(p[0])};
         const CumulativeDistributionTransform normal{normals(p[1], full({}, 1.5, options_of(p)))};
         return TransformedDistribution(HalfNormal(ones({3}, options_of(p))),
                                        {uniform, normal.inverse()})
             .clone();
       }},
      {"generalized_pareto",
       [](const Tensors& p) { return GeneralizedPareto(p[0], p[1], p[2]).clone(); }},
      {"generalized_pareto_zero",
       [](const Tensors& p) { return GeneralizedPareto(p[0], p[1], p[2]).clone(); }},
      {"von_mises", [](const Tensors& p) { return VonMises(p[0], p[1]).clone(); }},
      {"broken",
       [=](const Tensors& p) {
         return TransformedDistribution(normals(p[0], p[1]),
                                        {AffineTransform(0.5, 2), StickBreakingTransform()})
             .clone();
       }},
  };
  return all;
}

Tensor ask(const std::string& what, const Distribution& d, const Tensor& value) {
  if (what == "log_prob") return d.log_prob(value);
  if (what == "cdf") return d.cdf(value);
  if (what == "icdf") return d.icdf(value);
  if (what == "entropy") return d.entropy();
  if (what == "mean") return d.mean();
  if (what == "mode") return d.mode();
  if (what == "variance") return d.variance();
  if (what == "stddev") return d.stddev();
  if (what == "enumerate_support") return d.enumerate_support();
  return {};
}

const std::set<std::string>& questions() {
  static const std::set<std::string> all = {"log_prob", "cdf",    "icdf",
                                            "entropy",  "mean",   "mode",
                                            "variance", "stddev", "enumerate_support"};
  return all;
}

// What gradients by matrices say: those by the elements of a symmetric matrix only their sums with
// the mirrored ones, those of a triangular one nothing of the other triangle, and by rows of length
// 1 the numbers before the diagonal move that one.
static Tensor told(const std::string& name, bool by_value, const Tensor& value,
                   const Tensor& gradient) {
  if (name == "correlated" && by_value) {
    const Tensor of_diagonal = diagonal(gradient / value, 0, -2, -1).unsqueeze(-1);
    return tril(gradient - value * of_diagonal, -1);
  }
  if (!name.starts_with("wishart")) return gradient;
  const bool triangular = name == "wishart_tril" && !by_value;
  return triangular ? tril(gradient) : gradient + gradient.transpose(-2, -1);
}

Tensor gradient_of(const std::string& name, const Fixture& fixture, const std::string& what,
                   size_t i) {
  Tensors inputs;
  for (const Tensor& p : numbered(fixture, "p")) inputs.push_back(p.requires_grad_());
  const bool by_value = i == inputs.size();
  const Tensor at = fixture.at(asked_at(what));
  const Tensor value = by_value ? at.clone().requires_grad_() : at;
  const Tensor output = ask(what, *makers().at(name)(inputs), value);
  sum(weights_of(output) * output).backward();
  return by_value ? value.grad() : inputs[i].grad();
}

testing::AssertionResult is_gradient(const std::string& name, const Fixture& fixture,
                                     const std::string& key, const Tensor& got) {
  const std::string what = key.substr(0, key.rfind("_d"));
  const auto alike = [&](const Tensor& x) {
    return key.ends_with("_d0")
               ? x
               : told(name, key.ends_with("_dvalue"), fixture.at(asked_at(what)), x);
  };
  return near(alike(got), alike(fixture.at(key)), tolerance_of_gradients(name));
}

namespace {

const std::map<std::string, Fixture>& fixtures() {
  static const auto all = read_cases("values");
  return all;
}

class Values : public testing::TestWithParam<std::string> {};

TEST_P(Values, AgreeWithPyTorch) {
  const Fixture& fixture = fixtures().at(GetParam());
  const auto d = makers().at(GetParam())(numbered(fixture, "p"));
  EXPECT_EQ(fixture.at("batch_shape").to_vector<int64_t>(),
            std::vector<int64_t>(d->batch_shape().begin(), d->batch_shape().end()));
  EXPECT_EQ(fixture.at("event_shape").to_vector<int64_t>(),
            std::vector<int64_t>(d->event_shape().begin(), d->event_shape().end()));
  for (const std::string& what : questions()) {
    if (!fixture.contains(what)) continue;
    SCOPED_TRACE(what);
    const Tensor got = ask(what, *d, fixture.at(asked_at(what)));
    EXPECT_TRUE(near(got, fixture.at(what), tolerance_of_values(GetParam())));
    EXPECT_EQ(got.dtype(), fixture.at(what).dtype());
  }
}

TEST_P(Values, NameTheParameterOrValueThatIsUndefined) {
  static const Declared declared = declared_in({"distributions"});
  const Fixture& fixture = fixtures().at(GetParam());
  const Make& make = makers().at(GetParam());
  const Tensors parameters = numbered(fixture, "p");
  std::vector<std::optional<Missed>> missed =
      missed_by(parameters, [&](const Tensors& p) { make(p); });
  // One of three matrices must be given: all of them are named.
  if (GetParam().starts_with("mvn") || GetParam().starts_with("wishart")) {
    EXPECT_EQ(missed.back()->operand,
              missed.front()->function +
                  ": covariance_matrix, precision_matrix or scale_tril must be given, "
                  "one of the three, got 0");
    missed.pop_back();
  }
  // What these are made of has been made by then.
  if (GetParam().starts_with("mixture") || GetParam() == "copula") missed.resize(1);
  const std::string type = missed.front()->function;
  const std::vector<OperandNames> makes = declared.method(type, type);
  EXPECT_TRUE(std::any_of(makes.begin(), makes.end(), [&](const OperandNames& names_of_values) {
    return are_operands(missed, names_of_values);
  })) << to_string(missed);
  const auto d = make(parameters);
  const std::string wanted =
      d->name() + std::string(": value must be defined, got an undefined tensor");
  for (const char* what : {"log_prob", "cdf", "icdf"}) {
    if (!fixture.contains(what)) continue;
    EXPECT_EQ(error_of([&] { ask(what, *d, Tensor()); }), wanted) << what;
  }
}

TEST_P(Values, AgreeWithPyTorchInSinglePrecision) {
  const Fixture& fixture = fixtures().at(GetParam());
  const auto d = makers().at(GetParam())(numbered(fixture, "p", DType::f32));
  for (const std::string& what : questions()) {
    // The logarithms of machine epsilon are others.
    if (!fixture.contains(what) || GetParam() == "bernoulli_ends" ||
        GetParam() == "categorical_zero" || GetParam() == "geometric_one" ||
        GetParam() == "gamma_extremes")  // numbers of 2e5 cancel
      continue;
    SCOPED_TRACE(what);
    const Tensor value = fixture.at(asked_at(what));
    const Tensor got = ask(what, *d, value.is_floating_point() ? value.to(f32) : value);
    EXPECT_TRUE(near(got, fixture.at(what), 2e-5));
    if (what != "mode" && what != "enumerate_support") {
      EXPECT_EQ(got.dtype(), DType::f32);
    }
  }
}

TEST_P(Values, GradientsAgreeWithPyTorch) {
  const Fixture& fixture = fixtures().at(GetParam());
  const size_t parameters = numbered(fixture, "p").size();
  for (const std::string& what : questions()) {
    for (size_t i = 0; i <= parameters; ++i) {
      const std::string key = gradient_key(what, i, parameters);
      if (!fixture.contains(key)) continue;
      EXPECT_TRUE(is_gradient(GetParam(), fixture, key, gradient_of(GetParam(), fixture, what, i)))
          << key;
    }
  }
}

std::vector<std::string> names_of_values() {
  std::vector<std::string> result;
  for (const auto& [name, make] : makers()) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, Values, testing::ValuesIn(names_of_values()),
                         [](const auto& test) { return test.param; });

TEST(ValueFixtures, HaveACaseEach) {
  for (const auto& [name, fixture] : fixtures()) EXPECT_TRUE(makers().contains(name)) << name;
}

// 1 + erf(x) has none of its digits.
TEST(Normals, TheTailOfTheCdfKeepsItsDigits) {
  const double p = Normal(0, 1).cdf(tensor({-9.0}, {.dtype = f64})).item<double>();
  EXPECT_NEAR(p / 1.1285884059538407e-19, 1, 1e-5);  // parameters of numbers alone are f32
  const Normal exact(tensor({0.0}, {.dtype = f64}), 1);
  EXPECT_NEAR(exact.cdf(tensor({-9.0}, {.dtype = f64})).item<double>() / 1.1285884059538407e-19, 1,
              1e-12);
}

// Beside concentration 0, where 0 is divided by 0, of mpmath; and at the ends.
TEST(GeneralizedParetos, OfSmallAndNegativeConcentrations) {
  const Tensor k = tensor({-0.04, -1.0e-9, 1.0e-12, 0.01, 0.03}, {.dtype = f64}),
               zero = zeros({}, {.dtype = f64});
  const GeneralizedPareto d(zero, 1, k);
  EXPECT_TRUE(near(d.log_prob(zero + 1.7),
                   tensor({-1.69013914311710083, -1.699999999745, -1.700000000000255,
                           -1.70256882370871283, -1.70781182172194986},
                          {.dtype = f64}),
                   1e-14));
  EXPECT_TRUE(near(d.icdf(zero + 0.9),
                   tensor({2.19972901610225645, 2.30258509034309663, 2.30258509299669663,
                           2.3292992280754131, 2.38397684125354725},
                          {.dtype = f64}),
                   1e-14));
  const Tensor one = zero + 1;
  EXPECT_TRUE(near(GeneralizedPareto(zero, 1, tensor({-1.0, -2.0, -0.5}, {.dtype = f64}))
                       .log_prob(tensor({1.0, 0.5, 2.0}, {.dtype = f64})),
                   tensor({0.0, double(INFINITY), double(-INFINITY)}, {.dtype = f64}), 0));
  const GeneralizedPareto ends(zero, 1, tensor({-2.0, 0.0, 2.0}, {.dtype = f64}));
  EXPECT_TRUE(
      near(ends.icdf(one), tensor({0.5, double(INFINITY), double(INFINITY)}, {.dtype = f64}), 0));
  EXPECT_TRUE(near(ends.mode(), tensor({0.5, 0.0, 0.0}, {.dtype = f64}), 0));
  EXPECT_TRUE(near(ends.mean(), tensor({1.0 / 3, 1.0, double(INFINITY)}, {.dtype = f64}), 1e-15));
  EXPECT_EQ(error_of([&] { ends.log_prob(one); }),
            "GeneralizedPareto: value must lie between loc and the end, got 1 at [0]");
}

// PyTorch's by the concentration are 0 there.
TEST(GeneralizedParetos, HaveDerivativesAtConcentrationZero) {
  const auto all_of = [](const Tensors& of) {
    const GeneralizedPareto d(of[0], of[1], of[2]);
    return Tensors{d.log_prob(of[3]), d.cdf(of[3]), d.icdf(of[4])};
  };
  Tensors at{tensor({0.1, -0.5}), tensor({1.5, 0.3}), zeros({2}), tensor({0.7, 2.5}),
             tensor({0.2, 0.999})};
  for (Tensor& one : at) one = one.to(f64).requires_grad_();
  EXPECT_GRADIENTS(all_of, at);
  EXPECT_SECOND_GRADIENTS(all_of, at);
}

// Beside p = 1/2, where differences of nearly equal numbers are divided. Values by mpmath.
TEST(UnitInterval, ContinuousCoinsThatAreNearlyFair) {
  struct Row {
    float p;
    double mean, variance, density;
  };
  for (const Row& row : {Row{0.4985f, 0.49949999530316336, 0.08333318333054951, 0.6931501806136076},
                         Row{0.503f, 0.5010000165939941, 0.08333273331396898, 0.693159180915002},
                         Row{0.45f, 0.4832886505582607, 0.08316581462572314, 0.6964950491083486}}) {
    const ContinuousBernoulli coin({.probs = tensor({row.p})});
    EXPECT_NEAR(coin.mean().item<float>(), row.mean, 1e-7);
    EXPECT_NEAR(coin.variance().item<float>(), row.variance, 1e-8);
    const double log_p = std::log1p(-static_cast<double>(row.p));  // the density at 0, but for C
    EXPECT_NEAR(coin.log_prob(zeros({1})).item<float>() - log_p, row.density, 2e-7);
    EXPECT_EQ(coin.mean().dtype(), f32);
  }
}

// 1 - log |l| is the entropy's limit.
TEST(UnitInterval, ContinuousCoinsOfLargeLogits) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    for (const double l : {-1000.0, -100.0, -40.0, 40.0, 100.0, 1000.0}) {
      const ContinuousBernoulli coin({.logits = tensor({l}, {.dtype = dtype})});
      EXPECT_NEAR(coin.entropy().item<double>(), 1 - std::log(std::fabs(l)), 1e-5) << l;
      const Tensor end = tensor({l > 0 ? 1.0 : 0.0}, {.dtype = dtype});
      EXPECT_NEAR(coin.log_prob(end).item<double>(), std::log(std::fabs(l)), 1e-5) << l;
      EXPECT_NEAR(coin.cdf(coin.icdf(tensor({0.3}, {.dtype = dtype}))).item<double>(), 0.3, 2e-3);
    }
  }
}

// n log(1 + e^-l) beside which k l - n l cancels.
TEST(Binomials, KeepTheirDigitsAtLargeLogits) {
  const Tensor l = tensor({20.5}, {.dtype = f64}).requires_grad_();
  const Tensor n = tensor({1e9}, {.dtype = f64});
  const Tensor density = Binomial(n, {.logits = l}).log_prob(n);
  EXPECT_NEAR(density.item<double>() / (-1e9 * std::log1p(std::exp(-20.5))), 1, 1e-5);
  density.backward();
  EXPECT_NEAR(l.grad().item<double>() / 1.25015, 1, 1e-5);
}

TEST(UnitInterval, KumaraswamysEndOfAUniformDensity) {
  const Tensor b = ones({2}).requires_grad_();
  const Tensor density = Kumaraswamy(2, b).log_prob(tensor({1.0, 0.5}));
  EXPECT_NEAR(density[0].item<float>(), std::log(2), 1e-6);
  EXPECT_NEAR(density[1].item<float>(), 0, 1e-6);
  sum(density).backward();
  EXPECT_EQ(b.grad()[0].item<float>(), 1);
  EXPECT_NEAR(b.grad()[1].item<float>(), 1 + std::log(0.75), 1e-6);
}

TEST(Distributions, ParametersBroadcastAndArePromoted) {
  const Normal numbers(0, 2);
  EXPECT_EQ(numbers.batch_shape(), Shape{});
  EXPECT_EQ(numbers.loc().dtype(), f32);
  const Normal mixed(tensor({0.0, 1.0}, {.dtype = f64}), 2);
  EXPECT_EQ(mixed.scale().dtype(), f64);
  EXPECT_EQ(mixed.scale().shape(), Shape{2});
  const Normal both(zeros({3, 1}), ones({2}, {.dtype = f64}));
  EXPECT_EQ(both.batch_shape(), (Shape{3, 2}));
  EXPECT_EQ(both.loc().dtype(), f64);
  EXPECT_EQ(Bernoulli({.probs = 0.3}).batch_shape(), Shape{});
  EXPECT_EQ(Categorical({.logits = zeros({5, 2, 4})}).batch_shape(), (Shape{5, 2}));
}

// mpmath's quantiles, far into the tail.
TEST(Normals, QuantilesOfTails) {
  const Normal d(tensor({0.0}, {.dtype = f64}), 1);
  const Tensor p = tensor({0.5, 0.975, 1e-10, 1e-300, 0.0, 1.0}, {.dtype = f64});
  EXPECT_TRUE(near(d.icdf(p),
                   tensor({0.0, 1.959963984540054, -6.361340902404056, -37.04709629936119923,
                           -INFINITY, INFINITY},
                          {.dtype = f64}),
                   1e-13));
  EXPECT_GRADIENTS([&](const Tensor& q) { return d.icdf(q); },
                   Tensors{tensor({0.1, 0.7}, {.dtype = f64, .requires_grad = true})});
}

TEST(GammaSamples, MoveWithTheConcentrationAsTheirQuantile) {
  const Tensor rows = load("tests/fixtures/distributions/slopes.npz")["slopes"];
  for (int64_t i = 0; i < rows.size(0); ++i) {
    const std::vector<double> row = rows[i].to_vector<double>();
    EXPECT_NEAR(body::gamma_point(row[0], row[1]).slope / row[2], 1, 1e-9)
        << row[0] << " " << row[1];
  }
}

// At loc the density's logarithm is -log(2 pi) less log(I0(k)) - k, of which mpmath tells the
// derivatives.
TEST(VonMises, HasItsDigitsAndDerivativesAtAllConcentrations) {
  const Tensor rows = load("tests/fixtures/distributions/slopes.npz")["bessel"];
  const Tensor k = rows.select(1, 0).clone().requires_grad_(), loc = zeros({}, {.dtype = f64});
  const Tensors inputs{k};
  const auto derivative = [&](const Tensor& of) {
    const Tensors outputs{sum(of)};
    return autograd::grad(outputs, inputs, {}, {.create_graph = true})[0];
  };
  const auto relative = [](const Tensor& got, const Tensor& wanted) {
    return near(got / wanted, ones_like(wanted), 1e-12);
  };
  const VonMises d(loc, k);
  const Tensor value = -d.log_prob(loc) - std::log(2 * std::numbers::pi), first = derivative(value);
  EXPECT_TRUE(near(value, rows.select(1, 1), 1e-14));
  EXPECT_TRUE(relative(first, rows.select(1, 2)));
  EXPECT_TRUE(relative(d.variance(), -rows.select(1, 2)));
  EXPECT_TRUE(relative(derivative(first), rows.select(1, 3)));
  EXPECT_TRUE(relative(derivative(d.variance()), -rows.select(1, 3)));
}

TEST(VonMises, OfOtherDtypes) {
  const VonMises exact(tensor({0.5, -3.0}, {.dtype = f64}), tensor({7.0, 300.0}, {.dtype = f64}));
  const Tensor at = tensor({0.75, 3.25}, {.dtype = f64});
  const VonMises halves(tensor({0.5, -3.0}, {.dtype = f16}), tensor({7.0, 300.0}, {.dtype = f16}));
  EXPECT_TRUE(near(halves.log_prob(at.to(f16)), exact.log_prob(at), 2e-3));
  const VonMises single(tensor({0.5, -3.0}), tensor({7.0, 300.0}));
  EXPECT_TRUE(near(single.log_prob(at.to(f32)), exact.log_prob(at), 1e-6));
  EXPECT_TRUE(near(single.variance(), exact.variance(), 1e-7));
}

TEST(GammaSamples, HaveACdfWithASecondDerivative) {
  const Tensor rows = load("tests/fixtures/distributions/slopes.npz")["slopes"];
  const Tensor a = rows.select(1, 0).clone().requires_grad_(), x = rows.select(1, 1);
  const Tensors inputs{a}, cdf{sum(gamma_cdf(a, x))};
  const Tensors first{
      sum(autograd::grad(cdf, inputs, {}, {.retain_graph = true, .create_graph = true})[0])};
  const Tensor density = exp(Gamma(a, 1).log_prob(x)).detach();
  const Tensor got = -autograd::grad(first, inputs)[0] / density;
  const std::vector<double> wanted = rows.select(1, 3).to_vector<double>();
  for (size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got[static_cast<int64_t>(i)].item<double>() / wanted[i], 1, 1e-8)
        << rows[static_cast<int64_t>(i)].to_vector<double>()[0] << " "
        << rows[static_cast<int64_t>(i)].to_vector<double>()[1];
}

// Two ways of computing them meet where one takes over from the other.
TEST(GammaSamples, OfLargeConcentrationsAreThoseOfAnExpansion) {
  for (const double y : {-3.0, 0.1, 3.0}) {
    const double x = 1e8 + y * 1e4;
    const body::GammaPoint below = body::gamma_point(1e8, x);
    const body::GammaPoint above = body::gamma_point(1e8 + 1e-6, x);
    EXPECT_NEAR(below.cdf, above.cdf, 1e-9) << y;
    EXPECT_NEAR(below.slope, above.slope, 1e-9) << y;
    EXPECT_NEAR(below.bend / above.bend, 1, 1e-6) << y;
  }
}

// Where no concentration is above 1 the density is largest, without end, in the corner of the
// largest.
TEST(Dirichlets, HaveTheirModeInACornerWhereNoneIsInside) {
  const Dirichlet d(tensor({{0.5, 0.9, 0.2}, {1.5, 0.5, 2.5}}));
  EXPECT_TRUE(near(d.mode(), tensor({{0.0, 1.0, 0.0}, {0.25, 0.0, 0.75}}), 1e-6));
}

TEST(Kumaraswamys, HaveTheirModeWhereTheDensityIsLargest) {
  const Tensor a = tensor({2.0, 3.0, 0.5, 1.0}, {.dtype = f64});
  const Tensor b = tensor({3.0, 2.0, 2.0, 1.0}, {.dtype = f64});
  const Kumaraswamy d(a, b);
  EXPECT_TRUE(near(
      d.mode(), tensor({std::sqrt(0.2), std::cbrt(0.4), double(NAN), double(NAN)}, {.dtype = f64}),
      1e-14));
  const Tensor at = d.mode().narrow(0, 0, 2);
  const Kumaraswamy two(a.narrow(0, 0, 2), b.narrow(0, 0, 2));
  for (const double off : {-1e-3, 1e-3})
    EXPECT_TRUE(all(gt(two.log_prob(at), two.log_prob(at + off))).item<bool>());
}

TEST(Distributions, LogitsAndProbsAreOfEachOther) {
  const Tensor x = tensor({-3.0, 0.0, 2.0}, {.dtype = f64});
  EXPECT_TRUE(near(Bernoulli({.logits = x}).probs(), sigmoid(x), 1e-15));
  EXPECT_TRUE(near(Bernoulli({.probs = sigmoid(x)}).logits(), x, 1e-14));
  const Categorical c({.probs = tensor({1.0, 3.0}, {.dtype = f64})});
  EXPECT_TRUE(near(c.probs(), tensor({0.25, 0.75}, {.dtype = f64}), 1e-15));
  EXPECT_TRUE(near(c.logits(), log(c.probs()), 1e-15));
  // To the dtype's machine epsilon, so that no logarithm is infinite.
  const Tensor ends = Bernoulli({.probs = tensor({0.0, 1.0})}).logits();
  EXPECT_TRUE(all(isfinite(ends)).item<bool>());
}

TEST(Distributions, PerplexityIsThatOfAsManyEqualClasses) {
  EXPECT_NEAR(Categorical({.logits = zeros({8})}).perplexity().item<double>(), 8, 1e-5);
}

}  // namespace
}  // namespace aorta::distributions
