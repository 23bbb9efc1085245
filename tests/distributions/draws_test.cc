// Random numbers of core's ops, and distributions of whole numbers, against what they must come
// from.
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/random.h>
#include <aorta/tests/distributions/cases.h>
#include <aorta/tests/distributions/chi_square.h>

#include <ostream>

namespace aorta::distributions {

static void PrintTo(const Drawn& one, std::ostream* out) { *out << one.name; }

// Each value that is drawn ten times in the mean, and what is beyond as one more.
bool may_be_counts_of(const Distribution& d, const Tensor& samples) {
  for (int column = 0; column < 2; ++column) {
    std::vector<double> wanted;
    for (double k = 0, rest = 1; rest * kSamples > 10; ++k) {
      const Tensor p = exp(d.log_prob(full({2}, k, {.dtype = f64})));
      wanted.push_back(p[column].item<double>());
      rest -= wanted.back();
    }
    while (wanted.back() * kSamples < 10) wanted.pop_back();
    const std::vector<double> values = samples.select(1, column).to_vector<double>();
    if (chi_square(values, wanted) >= far_of(static_cast<int>(wanted.size()))) return false;
  }
  return true;
}

static Tensor two(double a, double b) { return tensor({a, b}, {.dtype = f64}); }

std::vector<Drawn> drawn() {
  static constexpr TensorOptions kDouble{.dtype = f64};
  // An op that fills, with the parameters of either column.
  const auto filled = [](auto fill, std::pair<double, double> first,
                         std::pair<double, double> second) {
    return [=](Generator* g) {
      return stack({fill(empty({kSamples}, kDouble), first.first, first.second, g),
                    fill(empty({kSamples}, kDouble), second.first, second.second, g)},
                   1);
    };
  };
  const auto filled_by_one = [](auto fill, double first, double second) {
    return [=](Generator* g) {
      return stack(
          {fill(empty({kSamples}, kDouble), first, g), fill(empty({kSamples}, kDouble), second, g)},
          1);
    };
  };
  const auto repeated = [](double a, double b) {
    return two(a, b).expand({kSamples, 2}).contiguous();
  };
  const auto sampled = [](auto make) {
    return [=](Generator* g) { return make()->sample({kSamples}, g).to(f64); };
  };
  const auto of_distribution = [&](const char* name, auto make) {
    return Drawn{name, make, sampled(make), true};
  };
  const Shape pairs{kSamples, 2};
  return {
      {"rand", [] { return Uniform(two(0, 0), two(1, 1)).clone(); },
       [=](Generator* g) { return rand(pairs, kDouble, g); }},
      {"randn", [] { return Normal(two(0, 0), two(1, 1)).clone(); },
       [=](Generator* g) { return randn(pairs, kDouble, g); }},
      {"uniform_", [] { return Uniform(two(-1, 2), two(0.5, 7)).clone(); },
       filled(uniform_, {-1, 0.5}, {2, 7})},
      {"normal_", [] { return Normal(two(-1, 3), two(0.5, 2)).clone(); },
       filled(normal_, {-1, 0.5}, {3, 2})},
      {"normal", [] { return Normal(two(-1, 3), two(0.5, 2)).clone(); },
       [=](Generator* g) { return normal(repeated(-1, 3), repeated(0.5, 2), g); }},
      {"cauchy_", [] { return Cauchy(two(-1, 3), two(0.5, 2)).clone(); },
       filled(cauchy_, {-1, 0.5}, {3, 2})},
      {"log_normal_", [] { return LogNormal(two(-1, 0.5), two(0.5, 1)).clone(); },
       filled(log_normal_, {-1, 0.5}, {0.5, 1})},
      {"exponential_", [] { return Exponential(two(0.3, 4)).clone(); },
       filled_by_one(exponential_, 0.3, 4)},
      {"bernoulli_", [] { return Bernoulli({.probs = two(0.1, 0.7)}).clone(); },
       filled_by_one([](const Tensor& x, double p, Generator* g) { return bernoulli_(x, p, g); },
                     0.1, 0.7),
       true},
      {"bernoulli", [] { return Bernoulli({.probs = two(0.1, 0.7)}).clone(); },
       [=](Generator* g) { return bernoulli(repeated(0.1, 0.7), g); }, true},
      {"geometric_", [] { return Geometric({.probs = two(0.3, 0.8)}).clone(); },
       [=](Generator* g) { return filled_by_one(geometric_, 0.3, 0.8)(g) - 1; }, true},
      {"poisson", [] { return Poisson(two(0.8, 11)).clone(); },
       [=](Generator* g) { return poisson(repeated(0.8, 11), g); }, true},
      {"multinomial",
       [] {
         return Categorical({.probs = tensor({{0.1, 0.9}, {0.6, 1.0}}, {.dtype = f64})}).clone();
       },
       [=](Generator* g) {
         const Tensor weights = tensor({{0.1, 0.9}, {0.6, 1.0}}, {.dtype = f64});
         return multinomial(weights, kSamples, true, g).t().to(f64);
       },
       true},
      {"randint",
       [] {
         return Categorical({.probs = ones({2, 7}, {.dtype = f64})}).clone();
       },
       [=](Generator* g) { return randint(0, 7, pairs, {.dtype = i64}, g).to(f64); }, true},
      of_distribution("Bernoulli", [] { return Bernoulli({.probs = two(0.1, 0.7)}).clone(); }),
      of_distribution("Geometric", [] { return Geometric({.probs = two(0.3, 0.8)}).clone(); }),
      of_distribution("Poisson", [] { return Poisson(two(0.8, 11)).clone(); }),
      of_distribution("Binomial", [] { return Binomial(9, {.probs = two(0.2, 0.6)}).clone(); }),
      of_distribution("NegativeBinomial",
                      [] { return NegativeBinomial(2.5, {.probs = two(0.2, 0.4)}).clone(); }),
      of_distribution("Categorical",
                      [] {
                        return Categorical({.probs = tensor({{0.1, 0.2, 0.7}, {0.4, 0.5, 0.1}},
                                                            {.dtype = f64})})
                            .clone();
                      }),
  };
}

namespace {

class Draws : public testing::TestWithParam<Drawn> {};

TEST_P(Draws, AreOfTheirDistribution) {
  const WithoutChecks guard;
  Generator generator(31);
  const Tensor x = GetParam().draw(&generator);
  EXPECT_TRUE(GetParam().counts ? may_be_counts_of(*GetParam().make(), x)
                                : may_be_of(*GetParam().make(), x));
}

INSTANTIATE_TEST_SUITE_P(All, Draws, testing::ValuesIn(drawn()), [](const auto& test) {
  return (test.param.name[0] < 'a' ? "Class" : "Op") + test.param.name;
});

}  // namespace
}  // namespace aorta::distributions
