// Samples against their distribution: Kolmogorov and Smirnov's test where there is a cdf, the
// chi-square test where values are counted, both with fixed seeds.
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/distributions/chi_square.h>
#include <aorta/tests/kolmogorov_smirnov.h>

#include <algorithm>
#include <numbers>
#include <ostream>

namespace aorta::distributions {

static double distance(const Tensor& cdf_at_samples) {
  return kolmogorov_distance(cdf_at_samples.to_vector<double>());
}

static void PrintTo(const Continuous& one, std::ostream* out) { *out << one.name; }

static Tensor two(double a, double b, DType dtype) { return tensor({a, b}, {.dtype = dtype}); }

std::vector<Continuous> continuous() {
  return {
      {"normal", [](DType t) { return Normal(two(-1, 3, t), two(0.5, 2, t)).clone(); }},
      {"log_normal", [](DType t) { return LogNormal(two(-1, 0.5, t), two(0.5, 1, t)).clone(); }},
      {"half_normal", [](DType t) { return HalfNormal(two(0.5, 3, t)).clone(); }},
      {"uniform", [](DType t) { return Uniform(two(-1, 2, t), two(0.5, 7, t)).clone(); }},
      {"exponential", [](DType t) { return Exponential(two(0.3, 4, t)).clone(); }},
      {"laplace", [](DType t) { return Laplace(two(-1, 3, t), two(0.5, 2, t)).clone(); }},
      {"gumbel", [](DType t) { return Gumbel(two(-1, 3, t), two(0.5, 2, t)).clone(); }},
      {"cauchy", [](DType t) { return Cauchy(two(-1, 3, t), two(0.5, 2, t)).clone(); }},
      {"gamma", [](DType t) { return Gamma(two(0.3, 7, t), two(2, 0.5, t)).clone(); }},
      {"chi2", [](DType t) { return Chi2(two(1, 5, t)).clone(); }},
      {"half_cauchy", [](DType t) { return HalfCauchy(two(0.5, 3, t)).clone(); }},
      {"pareto", [](DType t) { return Pareto(two(0.5, 3, t), two(3, 5, t)).clone(); }},
      {"generalized_pareto",
       [](DType t) { return GeneralizedPareto(two(-1, 3, t), 2, two(-0.6, 0.4, t)).clone(); }},
      {"weibull", [](DType t) { return Weibull(two(0.5, 3, t), two(0.7, 2, t)).clone(); }},
      {"inverse_gamma", [](DType t) { return InverseGamma(two(3, 7, t), two(2, 0.5, t)).clone(); }},
      {"kumaraswamy", [](DType t) { return Kumaraswamy(two(0.6, 3, t), two(2, 0.8, t)).clone(); }},
      {"continuous_bernoulli",
       [](DType t) { return ContinuousBernoulli({.probs = two(0.5, 0.9, t)}).clone(); }},
      {"falling",
       [](DType t) {
         return TransformedDistribution(Normal(two(0, 1, t), 1),
                                        {AffineTransform(1, two(-2, -0.5, t)), SigmoidTransform()})
             .clone();
       }},
  };
}

bool may_be_of(const Distribution& d, const Tensor& samples) {
  const Tensor at = d.cdf(samples);
  return distance(at.select(1, 0)) < kFar && distance(at.select(1, 1)) < kFar;
}

namespace {

class Samples : public testing::TestWithParam<Continuous> {};

TEST_P(Samples, AreOfTheirDistribution) {
  for (const DType dtype : {f32, f64}) {
    const auto d = GetParam().make(dtype);
    Generator generator(8);
    const Tensor x = d->sample({kSamples}, &generator);
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_TRUE(may_be_of(*d, x)) << to_string(dtype);
  }
}

// Also in the middle, where Laplace's formulas change: PyTorch's have no slope there.
TEST_P(Samples, TheSlopeOfTheCdfIsTheDensity) {
  const auto d = GetParam().make(f64);
  Generator generator(5);
  std::vector<Tensor> at{d->sample({20}, &generator)};
  Tensor half = full({1, 2}, 0.5, {.dtype = f64}).requires_grad_();
  try {
    at.push_back(d->icdf(half));
    sum(at.back()).backward();
    EXPECT_TRUE(near(half.grad(), exp(-d->log_prob(at.back().detach())), 1e-9));
  } catch (const Error&) {  // some have no icdf
  }
  Tensor x = cat(at).detach().requires_grad_();
  sum(d->cdf(x)).backward();
  EXPECT_TRUE(near(x.grad(), exp(d->log_prob(x.detach())), 1e-9));
}

TEST_P(Samples, HaveNoGradientsAndRsampleHasTheSameNumbersWithThem) {
  const auto d = GetParam().make(f64);
  Generator one(3), other(3);
  const Tensor x = d->sample({4}, &one), y = d->rsample({4}, &other);
  EXPECT_TRUE(near(x, y, 0));
  EXPECT_EQ(one.state(), other.state());
  EXPECT_FALSE(near(d->sample({4}, &one), x, 1e-3));
}

INSTANTIATE_TEST_SUITE_P(All, Samples, testing::ValuesIn(continuous()),
                         [](const auto& test) { return test.param.name; });

TEST(Samples, OfMultivariateNormals) {
  const Tensor loc = tensor({1.0, -2.0}, {.dtype = f64});
  const Tensor tril = tensor({{2.0, 0.0}, {0.5, 0.3}}, {.dtype = f64});
  const MultivariateNormal d(loc, {.scale_tril = tril});
  Generator generator(9);
  const Tensor x = d.sample({kSamples}, &generator);
  // Half the squared distance in two dimensions is exponential.
  EXPECT_LT(distance(-expm1(-0.5 * d.squared_distance(x))), kFar);
  const Tensor noise = linalg::solve_triangular(tril, (x - loc).t(), {.upper = false});
  for (int i = 0; i < 2; ++i)
    EXPECT_LT(distance(Normal(zeros({}, {.dtype = f64}), 1).cdf(noise[i])), kFar);
}

TEST(Samples, OfRelaxedOnes) {
  const Tensor logits = tensor({0.3, -1.0}, {.dtype = f64});
  Generator generator(9);
  const Tensor x = RelaxedBernoulli(0.7, {.logits = logits}).sample({kSamples}, &generator);
  const Tensor at = sigmoid(0.7 * logit(x) - logits);
  for (int i = 0; i < 2; ++i) EXPECT_LT(distance(at.select(1, i)), kFar);
  // The first of two classes is a relaxed coin of the logits' difference.
  const Tensor y = RelaxedOneHotCategorical(0.7, {.logits = logits}).sample({kSamples}, &generator);
  EXPECT_LT(distance(sigmoid(0.7 * logit(y.select(1, 0)) - 1.3)), kFar);
}

TEST(Samples, OfCoinsAndClasses) {
  Generator generator(13);
  const Tensor p = tensor({0.1, 0.7}, {.dtype = f64});
  const Tensor coins = Bernoulli({.probs = p}).sample({kSamples}, &generator);
  for (int i = 0; i < 2; ++i) {
    const double hit = p[i].item<double>();
    EXPECT_LT(chi_square(coins.select(1, i).to_vector<double>(), {1 - hit, hit}), far_of(1));
  }
  const Tensor probs = tensor({{0.1, 0.2, 0.0, 0.7}, {0.4, 0.3, 0.2, 0.1}}, {.dtype = f64});
  const Tensor classes = Categorical({.probs = probs}).sample({kSamples}, &generator);
  EXPECT_EQ(classes.dtype(), i64);
  const Tensor vectors = OneHotCategorical({.logits = log(probs)}).sample({kSamples}, &generator);
  const Tensor places = argmax(vectors, -1);
  for (int i = 0; i < 2; ++i) {
    const std::vector<double> wanted = probs[i].to_vector<double>();
    EXPECT_LT(chi_square(classes.select(1, i).to_vector<double>(), wanted), far_of(3));
    EXPECT_LT(chi_square(places.select(1, i).to_vector<double>(), wanted), far_of(3));
    EXPECT_GT(chi_square(classes.select(1, i).to_vector<double>(), {0.3, 0.3, 0.3, 0.1}),
              far_of(3));
  }
}

TEST(Samples, OfPoissons) {
  Generator generator(19);
  const Tensor rate = tensor({0.8, 9.5, 10.5, 60.0}, {.dtype = f64});
  const Tensor x = Poisson(rate).sample({kSamples}, &generator);
  for (int i = 0; i < 4; ++i) {
    const double mean = rate[i].item<double>();
    // Counts of few samples are one class, at both ends.
    const int first = std::max(0, static_cast<int>(mean - 3 * std::sqrt(mean)));
    const int last = static_cast<int>(mean + 3 * std::sqrt(mean));
    std::vector<double> wanted{0}, values = x.select(1, i).to_vector<double>();
    for (int k = 0; k <= last; ++k) {
      const double p = std::exp(k * std::log(mean) - mean - std::lgamma(k + 1.0));
      if (k > first) wanted.push_back(0);
      wanted.back() += p;
    }
    for (double& value : values) value = std::max(0.0, value - first);
    EXPECT_LT(chi_square(values, wanted), far_of(static_cast<int>(wanted.size()))) << mean;
  }
  EXPECT_TRUE(near(Poisson(0).sample({3}), zeros({3}), 0));
}

// Counts 0, 1, ... against the probabilities of a distribution of one count.
void expect_counts(const Distribution& d, const Tensor& counts, int64_t most) {
  const Tensor at = arange(most + 1, {.dtype = f64});
  const std::vector<double> wanted = exp(d.log_prob(at)).to_vector<double>();
  EXPECT_LT(chi_square(counts.to_vector<double>(), wanted), far_of(static_cast<int>(most)));
}

TEST(Samples, OfBinomials) {
  Generator generator(43);
  // By steps, by rejection, and of the other side of the coin.
  for (const double p : {0.02, 0.25, 0.45, 0.8, 0.97}) {
    SCOPED_TRACE(p);
    const Binomial d(tensor(40.0, {.dtype = f64}), {.probs = p});
    const Tensor x = d.sample({kSamples}, &generator);
    EXPECT_EQ(x.dtype(), f64);
    const double mean = 40 * p, spread = std::sqrt(mean * (1 - p));
    const auto first = static_cast<int64_t>(std::max(0.0, mean - 3 * spread));
    const auto last = static_cast<int64_t>(std::min(40.0, mean + 3 * spread));
    std::vector<double> wanted, values = x.to_vector<double>();
    for (int64_t k = 0; k <= last; ++k) {
      const double one = std::exp(d.log_prob(full({}, double(k), {.dtype = f64})).item<double>());
      if (k <= first && k > 0)
        wanted.back() += one;
      else
        wanted.push_back(one);
    }
    for (double& value : values) value = std::max(0.0, value - static_cast<double>(first));
    EXPECT_LT(chi_square(values, wanted), far_of(static_cast<int>(wanted.size())));
  }
  const Binomial ends(tensor({5.0, 5.0, 0.0}), {.probs = tensor({0.0, 1.0, 0.5})});
  EXPECT_TRUE(near(ends.sample({}, &generator), tensor({0.0, 5.0, 0.0}), 0));
}

TEST(Samples, OfNegativeBinomialsAndMultinomials) {
  Generator generator(47);
  const NegativeBinomial d(tensor(2.5, {.dtype = f64}), {.probs = 0.4});
  expect_counts(d, d.sample({kSamples}, &generator), 6);
  const Tensor probs = tensor({0.1, 0.2, 0.0, 0.7}, {.dtype = f64});
  const Tensor x = Multinomial(9, {.probs = probs}).sample({kSamples}, &generator);
  EXPECT_TRUE(near(sum(x, {-1}), full({kSamples}, 9.0, {.dtype = f64}), 0));
  const Tensor nine = tensor(9.0, {.dtype = f64});
  expect_counts(Binomial(nine, {.probs = probs[1]}), x.select(1, 1), 5);
  EXPECT_TRUE(near(sum(x.select(1, 2)), tensor(0.0, {.dtype = f64}), 0));
  // What two classes have together.
  expect_counts(Binomial(nine, {.probs = 0.3}), x.select(1, 0) + x.select(1, 1), 6);
  EXPECT_EQ(Multinomial(0, {.probs = probs}).sample({2}).shape(), (Shape{2, 4}));
}

TEST(Samples, OfMixtures) {
  Generator generator(53);
  const Tensor loc = tensor({-2.0, 0.0, 3.0}, {.dtype = f64});
  const MixtureSameFamily d(Categorical({.probs = tensor({0.2, 0.5, 0.3}, {.dtype = f64})}),
                            Normal(loc, tensor({0.5, 1.0, 0.2}, {.dtype = f64})));
  const Tensor x = d.sample({kSamples}, &generator);
  EXPECT_LT(distance(d.cdf(x)), kFar);
  EXPECT_GT(distance(Normal(d.mean(), d.stddev()).cdf(x)), kFar);
}

TEST(Samples, OfFishersAndLogisticNormalsAndLowRanks) {
  Generator generator(59);
  const FisherSnedecor f(tensor(2.0, {.dtype = f64}), 5);
  const Tensor x = f.sample({kSamples}, &generator);
  EXPECT_LT(distance(1 - pow(1 + 0.4 * x, -2.5)), kFar);
  const Tensor loc = tensor({0.3, -1.0}, {.dtype = f64});
  const Tensor y = LogisticNormal(loc, 0.7).sample({kSamples}, &generator);
  EXPECT_TRUE(near(sum(y, {-1}), ones({kSamples}, {.dtype = f64}), 1e-14));
  const Tensor at = Normal(loc, 0.7).cdf(StickBreakingTransform().inv(y));
  for (int i = 0; i < 2; ++i) EXPECT_LT(distance(at.select(1, i)), kFar);
  const LowRankMultivariateNormal low(loc, tensor({{1.0}, {-0.5}}, {.dtype = f64}),
                                      tensor({0.3, 0.6}, {.dtype = f64}));
  const Tensor z = low.sample({kSamples}, &generator);
  const MultivariateNormal full_rank(loc, {.covariance_matrix = low.covariance_matrix()});
  EXPECT_LT(distance(-expm1(-0.5 * full_rank.squared_distance(z))), kFar);
  const Tensor w = Normal(loc, low.stddev()).cdf(z);
  for (int i = 0; i < 2; ++i) EXPECT_LT(distance(w.select(1, i)), kFar);
}

TEST(Samples, OfDirichletsAndBetas) {
  Generator generator(29);
  const Tensor a = tensor({0.6, 1.0, 3.0}, {.dtype = f64});
  const Tensor x = Dirichlet(a).sample({kSamples}, &generator);
  EXPECT_TRUE(near(sum(x, {-1}), ones({kSamples}, {.dtype = f64}), 1e-14));
  // Each part is a beta variable; with one parameter 1 its cdf is a power.
  EXPECT_LT(distance(1 - pow(1 - x.select(1, 1), 3.6)), kFar);
  const Tensor b = Beta(tensor({2.5, 1.0}, {.dtype = f64}), tensor({1.0, 0.7}, {.dtype = f64}))
                       .sample({kSamples}, &generator);
  EXPECT_LT(distance(pow(b.select(1, 0), 2.5)), kFar);
  EXPECT_LT(distance(1 - pow(1 - b.select(1, 1), 0.7)), kFar);
  EXPECT_TRUE(near(mean(x, {0}), Dirichlet(a).mean(), 0.01));
}

// Small parts have no place in f32, and 1 has an infinite density.
TEST(Samples, OfSmallConcentrationsInSinglePrecision) {
  manual_seed(8);
  const Tensor x = Beta(0.01, 0.01).sample({20000});
  EXPECT_EQ(x.dtype(), f32);
  const Tensor inside = logical_and(gt(x, 0.1), lt(x, 0.9));
  EXPECT_NEAR(mean(inside.to(f64)).item<double>(), 0.0219, 0.004);
  EXPECT_EQ(sum(eq(x, 0.5)).item<int64_t>(), 0);
  for (const double a : {0.1, 0.2, 0.5}) {
    const Beta beta(a, a);
    EXPECT_TRUE(all(isfinite(beta.log_prob(beta.sample({100000})))).item<bool>()) << a;
  }
}

// Each correlation is that of a beta variable, whose cdf these sizes and concentrations have in
// closed form.
TEST(Samples, OfCorrelations) {
  Generator generator(97);
  const auto uniform = [](const Tensor& r) { return 0.5 * (r + 1); };
  const auto half_circle = [](const Tensor& r) {
    return 0.5 + (r * sqrt(1 - square(r)) + asin(r)) / std::numbers::pi;
  };
  const auto cubic = [](const Tensor& r) { return 0.5 + 0.25 * r * (3 - square(r)); };
  struct Row {
    int64_t dim;
    double concentration;
    std::function<Tensor(const Tensor&)> cdf;
  };
  for (const Row& row : {Row{2, 1.0, uniform}, Row{3, 0.5, uniform}, Row{3, 1.0, half_circle},
                         Row{4, 1.0, cubic}, Row{2, 2.0, cubic}}) {
    const LKJCholesky d(row.dim, tensor(row.concentration, {.dtype = f64}));
    const Tensor x = d.sample({kSamples}, &generator), all = matmul(x, x.transpose(-2, -1));
    for (int64_t i = 0; i < row.dim; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        const Tensor r = all.select(-1, i).select(-1, j);
        EXPECT_LT(distance(row.cdf(r)), kFar) << row.dim << " " << i << " " << j;
        EXPECT_GT(distance(row.cdf(clamp(0.9 * r, -1, 1))), kFar) << row.dim << " " << i;
      }
    }
  }
}

// What a vector sees of the matrices is chi-square, and of their inverses.
TEST(Samples, OfWisharts) {
  Generator generator(73);
  const Tensor tril = tensor({{2.0, 0.0, 0.0}, {0.5, 0.3, 0.0}, {-1.0, 0.2, 1.5}}, {.dtype = f64});
  const Tensor c = tensor({{1.0}, {-0.5}, {2.0}}, {.dtype = f64});
  const auto seen = [&](const Tensor& of) { return matmul(c.t(), matmul(of, c)).flatten(); };
  for (const double df : {3.2, 7.0}) {
    const Wishart d(tensor(df, {.dtype = f64}), {.scale_tril = tril});
    const Tensor x = d.sample({kSamples}, &generator);
    const Tensor share = seen(x) / seen(d.covariance_matrix());
    EXPECT_LT(distance(Chi2(full({}, df, {.dtype = f64})).cdf(share)), kFar) << df;
    EXPECT_GT(distance(Chi2(full({}, df + 0.3, {.dtype = f64})).cdf(share)), kFar) << df;
    const Tensor rest = seen(d.precision_matrix()) / seen(linalg::inv(x));
    EXPECT_LT(distance(Chi2(full({}, df - 2, {.dtype = f64})).cdf(rest)), kFar) << df;
  }
}

// The cdf from the density's Fourier series, whose coefficients are Bessel functions.
double von_mises_cdf(double angle, double concentration) {
  double sum = 0;
  for (int j = 1; j < 70; ++j) {
    const double share = std::cyl_bessel_i(j, concentration) / std::cyl_bessel_i(0, concentration);
    sum += share * std::sin(j * angle) / j;
  }
  return 0.5 + (0.5 * angle + sum) / std::numbers::pi;
}

TEST(Samples, OfVonMises) {
  Generator generator(67);
  const auto distances = [&](double concentration, double assumed) {
    const VonMises d(tensor(0.0, {.dtype = f64}), concentration);
    std::vector<double> at = d.sample({kSamples}, &generator).to_vector<double>();
    for (double& angle : at) angle = von_mises_cdf(angle, assumed);
    return kolmogorov_distance(at);
  };
  for (const double k : {1e-9, 0.3, 2.0, 30.0}) {
    EXPECT_LT(distances(k, k), kFar) << k;
    EXPECT_GT(distances(k, 1.25 * k + 0.15), kFar) << k;
  }
  // A narrow one is nearly normal, around its place.
  const VonMises narrow(tensor(-0.5, {.dtype = f64}), 1e10);
  const Tensor z = (narrow.sample({kSamples}, &generator) + 0.5) * 1e5;
  EXPECT_LT(distance(Normal(tensor(0.0, {.dtype = f64}), 1).cdf(z)), kFar);
  // Angles lie around 0, wherever loc is.
  const Tensor far = VonMises(tensor(100.0, {.dtype = f64}), 2).sample({kSamples}, &generator);
  EXPECT_LE(amax(abs(far)).item<double>(), std::numbers::pi);
  EXPECT_NEAR(mean(cos(far - 100)).item<double>(), 0.697774657964008, 0.02);  // I1(2) / I0(2)
}

TEST(Samples, OfStudents) {
  Generator generator(31);
  // With 1 degree of freedom Cauchy's, with 2 a root.
  const Tensor x =
      StudentT(tensor({1.0, 2.0}, {.dtype = f64}), 0.5, 2.0).sample({kSamples}, &generator);
  EXPECT_LT(distance(Cauchy(tensor({0.5}, {.dtype = f64}), 2).cdf(x.select(1, 0))), kFar);
  const Tensor t = (x.select(1, 1) - 0.5) / 2;
  EXPECT_LT(distance(0.5 + t / (2 * sqrt(2 + square(t)))), kFar);
}

TEST(Samples, OfGeometrics) {
  Generator generator(17);
  const Tensor p = tensor({0.2, 0.6}, {.dtype = f64});
  const Tensor x = Geometric({.probs = p}).sample({kSamples}, &generator);
  for (int i = 0; i < 2; ++i) {
    const double hit = p[i].item<double>();
    std::vector<double> wanted;
    for (int k = 0; k < 8; ++k) wanted.push_back(hit * std::pow(1 - hit, k));
    EXPECT_LT(chi_square(x.select(1, i).to_vector<double>(), wanted), far_of(8));
  }
  EXPECT_TRUE(near(Geometric({.probs = 1.0}).sample({3}), zeros({3}), 0));
}

TEST(Samples, TakeTheDefaultGeneratorWhenNoneIsNamed) {
  manual_seed(21);
  const Tensor x = Normal(0, 1).sample({5});
  manual_seed(21);
  EXPECT_TRUE(near(Normal(0, 1).sample({5}), x, 0));
}

// Where numbers end: the rest of a stick behind a part of all but one, and one by the least gamma.
TEST(Samples, AtTheEndsOfNumbersHaveADensity) {
  Generator generator(6);
  const Tensor vectors = LogisticNormal(full({3}, 20.), 1).sample({50}, &generator);
  EXPECT_GT(amin(vectors).item<double>(), 0);
  EXPECT_TRUE(isfinite(LogisticNormal(full({3}, 20.), 1).log_prob(vectors)).all().item<bool>());
  const InverseGamma heavy(0.01, 10.);
  const Tensor values = heavy.sample({1000}, &generator);
  EXPECT_TRUE(isfinite(values).all().item<bool>());
  EXPECT_TRUE(isfinite(heavy.log_prob(values)).all().item<bool>());
}

TEST(Samples, OfHalfTypesAreFinite) {
  Generator generator(23);
  for (const DType dtype : {f16, bf16}) {
    for (const Continuous& one : continuous()) {
      SCOPED_TRACE(one.name + " " + to_string(dtype));
      const auto d = one.make(dtype);
      const Tensor x = d->sample({2000}, &generator);
      EXPECT_EQ(x.dtype(), dtype);
      EXPECT_TRUE(all(isfinite(x)).item<bool>());
      EXPECT_EQ(d->log_prob(x).dtype(), dtype);
    }
    EXPECT_EQ(Bernoulli({.logits = zeros({3}, {.dtype = dtype})}).sample().dtype(), dtype);
  }
}

}  // namespace
}  // namespace aorta::distributions
