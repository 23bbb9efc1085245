#include <aorta/core/ops/gamma_point.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/tests/catalog/rows.h>
#include <aorta/tests/kolmogorov_smirnov.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

// What any fixture would miss: ranges, moments, the same numbers for the same seed. The generator
// itself meets its published vectors in tests/core.
namespace aorta::catalog {
namespace {

using Make = Tensor (*)(const TensorOptions& options, Generator* generator);

// Same seed, same numbers, on the device asked for and in the dtype asked for; another seed,
// others.
void expect_reproducible(Device device, const std::vector<DType>& dtypes, Make make) {
  for (DType dtype : dtypes) {
    SCOPED_TRACE(name(dtype));
    Generator first(7), again(7), other(8);
    const TensorOptions options{.dtype = dtype, .device = device};
    const Tensor x = make(options, &first), y = make(options, &again), z = make(options, &other);
    EXPECT_EQ(x.dtype(), dtype);
    EXPECT_TRUE(x.device() == device);
    EXPECT_EQ(x.to_vector<double>(), y.to_vector<double>());
    EXPECT_NE(x.to_vector<double>(), z.to_vector<double>());
    EXPECT_NE(make(options, &first).to_vector<double>(), x.to_vector<double>());
  }
}

struct Moments {
  double mean, variance, smallest, largest;
};
Moments moments(const Tensor& x) {
  const std::vector<double> values = x.to_vector<double>();
  Moments m{0, 0, values[0], values[0]};
  for (double v : values) {
    m.mean += v / static_cast<double>(values.size());
    m.smallest = std::min(m.smallest, v);
    m.largest = std::max(m.largest, v);
  }
  for (double v : values)
    m.variance += (v - m.mean) * (v - m.mean) / static_cast<double>(values.size());
  return m;
}

constexpr int64_t kCount = 40000;  // a mean is within 5 standard errors: 0.025 of sigma
const std::vector<DType> kFloating = {f32, f64, f16, bf16};

void check_uniform(Device device) {
  expect_reproducible(device, kFloating,
                      [](const TensorOptions& o, Generator* g) { return rand({64}, o, g); });
  for (DType dtype : kFloating) {
    Generator generator(1);
    const Moments m = moments(rand({kCount}, {.dtype = dtype, .device = device}, &generator));
    EXPECT_GE(m.smallest, 0);
    EXPECT_LT(m.largest, 1) << name(dtype);
    EXPECT_NEAR(m.mean, 0.5, 0.01);
    EXPECT_NEAR(m.variance, 1.0 / 12, 0.005);
    const Moments wide =
        moments(uniform_(zeros({kCount}, {.dtype = dtype, .device = device}), -2, 3, &generator));
    EXPECT_GE(wide.smallest, -2);
    EXPECT_LE(wide.largest, 3);
    EXPECT_NEAR(wide.mean, 0.5, 0.05);
  }
}

void check_normal(Device device) {
  expect_reproducible(device, kFloating,
                      [](const TensorOptions& o, Generator* g) { return randn({64}, o, g); });
  Generator generator(2);
  for (DType dtype : kFloating) {
    const Moments m = moments(randn({kCount}, {.dtype = dtype, .device = device}, &generator));
    EXPECT_NEAR(m.mean, 0, 0.03);
    EXPECT_NEAR(m.variance, 1, 0.05);
    const Moments other =
        moments(normal_(zeros({kCount}, {.dtype = dtype, .device = device}), 3, 2, &generator));
    EXPECT_NEAR(other.mean, 3, 0.06);
    EXPECT_NEAR(other.variance, 4, 0.2);
  }
}

void check_integers(Device device) {
  expect_reproducible(
      device, {i64, i32, u8, f32, f64, f16, bf16},
      [](const TensorOptions& o, Generator* g) { return randint(0, 100, {64}, o, g); });
  Generator generator(3);
  const Moments m = moments(randint(-3, 5, {kCount}, {.device = device}, &generator));
  EXPECT_EQ(m.smallest, -3);
  EXPECT_EQ(m.largest, 4);
  EXPECT_NEAR(m.mean, 0.5, 0.06);
}

// Without bounds, below one, and between two: of one seed randint's numbers.
void check_random_integers(Device device) {
  const std::pair<DType, double> last[] = {{f32, 0x1p24},  {f64, 0x1p53},     {f16, 0x1p11},
                                           {bf16, 0x1p8},  {i64, 0x1p63 - 1}, {i32, 0x1p31 - 1},
                                           {u8, 0x1p8 - 1}};
  for (const auto& [dtype, largest] : last) {
    SCOPED_TRACE(name(dtype));
    const TensorOptions options{.dtype = dtype, .device = device};
    Generator one(6), other(6);
    EXPECT_TRUE(
        equal(random_(empty({99}, options), 3, 100, &one), randint(3, 100, {99}, options, &other)));
    // Up to what the dtype has without a gap, whose share below is the number's cdf.
    std::vector<double> shares = random_(empty({kCount}, options), 0, {}, &one).to_vector<double>();
    for (double& share : shares) {
      EXPECT_TRUE(share >= 0 && share <= largest && share == std::floor(share)) << share;
      share = (share + 0.5) / (largest + 1);
    }
    EXPECT_LT(kolmogorov_distance(shares), kFar);
  }
  Generator generator(6);
  const Moments bools =
      moments(random_(empty({kCount}, {.dtype = boolean, .device = device}), 0, {}, &generator));
  EXPECT_NEAR(bools.mean, 0.5, 0.012);
  // From a bound on: u8 250 to 255.
  const Moments high =
      moments(random_(empty({kCount}, {.dtype = u8, .device = device}), 250, {}, &generator));
  EXPECT_EQ(high.smallest, 250);
  EXPECT_EQ(high.largest, 255);
  EXPECT_EQ(moments(random_(empty({kCount}, {.device = device}), 3)).largest, 2);
  EXPECT_GT(moments(random_(empty({kCount}, {.device = device}))).largest, 1e6);
  // Negative ones too, where all of i64 is asked for.
  const Tensor all =
      random_(empty({kCount}, {.dtype = i64, .device = device}), INT64_MIN, {}, &generator);
  EXPECT_NEAR(moments(lt(all, 0)).mean, 0.5, 0.012);
}

// Against the cdf in f32 and f64; half types have f32's numbers, rounded.
void expect_distributed(Device device, Tensor (*fill)(const Tensor&, Generator*),
                        double (*cdf)(double)) {
  for (DType dtype : {f32, f64}) {
    Generator generator(9);
    const Tensor x = fill(empty({kCount}, {.dtype = dtype, .device = device}), &generator);
    std::vector<double> at = x.to_vector<double>();
    for (double& value : at) {
      EXPECT_TRUE(std::isfinite(value));
      value = cdf(value);
    }
    EXPECT_LT(kolmogorov_distance(at), kFar) << name(dtype);
  }
  for (DType dtype : {f16, bf16}) {
    Generator one(10), other(10);
    const Tensor rounded = fill(empty({999}, {.dtype = dtype, .device = device}), &one);
    const Tensor wide = fill(empty({999}, {.device = device}), &other);
    EXPECT_TRUE(equal(rounded, wide.to(dtype))) << name(dtype);
  }
}

void check_exponential(Device device) {
  expect_reproducible(device, kFloating, [](const TensorOptions& o, Generator* g) {
    return exponential_(empty({64}, o), 1, g);
  });
  expect_distributed(
      device, [](const Tensor& x, Generator* g) { return exponential_(x, 2.5, g); },
      [](double x) { return -std::expm1(-2.5 * x); });
  // Never 0, whose logarithm programs take, and beyond what 24 bits give.
  Generator generator(11);
  const Moments m = moments(exponential_(empty({1 << 20}, {.device = device}), 1, &generator));
  EXPECT_GT(m.smallest, 0);
  EXPECT_LT(m.smallest, 0x1p-17);
  EXPECT_GT(m.largest, 11);
}

void check_cauchy(Device device) {
  expect_reproducible(device, kFloating, [](const TensorOptions& o, Generator* g) {
    return cauchy_(empty({64}, o), 0, 1, g);
  });
  expect_distributed(
      device, [](const Tensor& x, Generator* g) { return cauchy_(x, -1, 0.5, g); },
      [](double x) { return 0.5 + std::atan((x + 1) / 0.5) / M_PI; });
}

void check_log_normal(Device device) {
  expect_reproducible(device, kFloating, [](const TensorOptions& o, Generator* g) {
    return log_normal_(empty({64}, o), 0, 1, g);
  });
  expect_distributed(
      device, [](const Tensor& x, Generator* g) { return log_normal_(x, 0.25, 0.5, g); },
      [](double x) { return std::erfc((0.25 - std::log(x)) / (0.5 * M_SQRT2)) / 2; });
  Generator generator(12);
  const Tensor standard = empty({9}, {.dtype = f64, .device = device});
  EXPECT_LT(moments(log(log_normal_(standard, 1, 1e-9, &generator)) - 1).largest, 1e-7);
}

void check_geometric(Device device) {
  expect_reproducible(
      device, {f32, f64, f16, bf16, i64, i32, u8},
      [](const TensorOptions& o, Generator* g) { return geometric_(empty({64}, o), 0.1, g); });
  const auto drawn = [&](DType dtype, double p, int64_t count) {
    Generator generator(13);
    return geometric_(empty({count}, {.dtype = dtype, .device = device}), p, &generator);
  };
  const std::vector<int64_t> trials = drawn(i64, 0.3, kCount).to_vector<int64_t>();
  // Chi-square of 10 classes and the rest stays below 29.6 but once in a thousand.
  double sum = 0, rest = 1;
  for (int k = 1; k <= 11; ++k) {
    const double share = k <= 10 ? 0.3 * std::pow(0.7, k - 1) : rest;
    const auto counted = static_cast<double>(std::count_if(
        trials.begin(), trials.end(), [&](int64_t t) { return k <= 10 ? t == k : t > 10; }));
    const double expected = share * static_cast<double>(kCount);
    sum += (counted - expected) * (counted - expected) / expected;
    rest -= share;
  }
  EXPECT_LT(sum, 29.6);
  for (DType dtype : {f32, f64, f16, bf16, i32, u8})
    EXPECT_TRUE(equal(drawn(dtype, 0.3, 999), drawn(i64, 0.3, 999).to(dtype))) << name(dtype);
  // Beyond what the dtype holds it is the largest.
  EXPECT_EQ(moments(drawn(u8, 1e-9, 99)).smallest, 255);
  EXPECT_EQ(moments(drawn(f16, 1e-9, 99)).smallest, 65504);
  EXPECT_GT(moments(drawn(i64, 1e-300, 99)).smallest, 9e18);
}

void check_permutation(Device device) {
  expect_reproducible(device, {i64, i32, f32, f64},
                      [](const TensorOptions& o, Generator* g) { return randperm(64, o, g); });
  std::vector<int64_t> order = randperm(1000, {.device = device}).to_vector<int64_t>();
  std::sort(order.begin(), order.end());
  EXPECT_EQ(order, arange(1000).to_vector<int64_t>());
  EXPECT_EQ(randperm(0, {.device = device}).numel(), 0);
}

void check_bernoulli(Device device) {
  expect_reproducible(
      device, {f32, f64, f16, bf16, i64, i32, u8, boolean},
      [](const TensorOptions& o, Generator* g) { return bernoulli_(zeros({64}, o), 0.5, g); });
  Generator generator(4);
  const Moments m = moments(bernoulli_(zeros({kCount}, {.device = device}), 0.3, &generator));
  EXPECT_NEAR(m.mean, 0.3, 0.012);
  const Tensor p = tensor({0.0, 1.0, 0.0, 1.0}, {.device = device});
  EXPECT_EQ(bernoulli(p, &generator).to_vector<double>(), p.to_vector<double>());
}

void check_multinomial(Device device) {
  Generator generator(5);
  const Tensor weights = tensor({0.0, 1.0, 3.0, 0.0}, {.device = device});
  const std::vector<int64_t> drawn =
      multinomial(weights, kCount, true, &generator).to_vector<int64_t>();
  const auto count = [&](int64_t k) { return std::count(drawn.begin(), drawn.end(), k); };
  EXPECT_EQ(count(0) + count(3), 0);
  EXPECT_NEAR(static_cast<double>(count(2)) / static_cast<double>(kCount), 0.75, 0.012);
  std::vector<int64_t> both = multinomial(weights, 2, false, &generator).to_vector<int64_t>();
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (std::vector<int64_t>{1, 2}));
}

// Each number has the mean and the deviation of its place, and none where that is 0.
void check_normal_of_tensors(Device device) {
  const Tensor mean = tensor({-3.0, 5.0}, {.device = device}).requires_grad_();
  const Tensor std = tensor({{0.0}, {2.0}}, {.dtype = f64, .device = device});
  expect_reproducible(device, {f64}, [](const TensorOptions& o, Generator* g) {
    return normal(zeros({8}, o), full({8}, 3, o), g);
  });
  Generator generator(12);
  const Tensor x = normal(mean, std, &generator);
  EXPECT_EQ(x.shape(), (Shape{2, 2}));
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_EQ(x[0].to_vector<double>(), mean.detach().to_vector<double>());
  const Tensor many = normal(mean.detach().unsqueeze(1).expand({2, kCount}), 2, &generator);
  for (int64_t row : {0, 1}) {
    const Moments m = moments(many[row]);
    EXPECT_NEAR(m.mean, row == 0 ? -3 : 5, 0.06);
    EXPECT_NEAR(m.variance, 4, 0.2);
  }
  const Moments m =
      moments(normal(1, full({kCount}, 0.5, {.dtype = f16, .device = device}), &generator));
  EXPECT_NEAR(m.mean, 1, 0.015);
  EXPECT_NEAR(m.variance, 0.25, 0.0125);
  Generator one(13), other(13);
  const TensorOptions options{.device = device};
  EXPECT_TRUE(equal(normal(3, 2, {9}, options, &one), normal_(empty({9}, options), 3, 2, &other)));
}

// Means and variances are the rate, below the change of method and above.
void check_poisson(Device device) {
  expect_reproducible(device, kFloating, [](const TensorOptions& o, Generator* g) {
    return poisson(full({64}, 5.5, o), g);
  });
  Generator generator(14);
  for (const double rate : {0.5, 9.5, 40.0}) {
    const Tensor x = poisson(full({kCount}, rate, {.dtype = f64, .device = device}), &generator);
    EXPECT_TRUE(equal(x, floor(x)));
    const Moments m = moments(x);
    EXPECT_GE(m.smallest, 0);
    EXPECT_NEAR(m.mean, rate, 0.025 * std::sqrt(rate)) << rate;
    EXPECT_NEAR(m.variance, rate, 0.06 * rate) << rate;
  }
  EXPECT_EQ(poisson(zeros({3}, {.device = device})).to_vector<float>(), std::vector<float>(3));
}

// Each part of a point, below the concentration, above it and far.
void check_gamma_point(Device device) {
  const Tensor a = tensor({0.5, 3.0, 3.0, 2e8}, {.dtype = f64}), x = a * 1.25 - 0.75;
  const auto parts_of = [&](kernel::GammaPart part) {
    return kernel::gamma_point(part, a.to(device), x.to(device)).to_vector<double>();
  };
  const auto cdf = parts_of(kernel::GammaPart::cdf), slope = parts_of(kernel::GammaPart::slope);
  const auto bend = parts_of(kernel::GammaPart::bend);
  for (int64_t i = 0; i < a.numel(); ++i) {
    const auto wanted = body::gamma_point(a.at<double>({i}), x.at<double>({i}));
    const auto at = static_cast<size_t>(i);
    EXPECT_NEAR(cdf[at], wanted.cdf, 1e-12);
    EXPECT_NEAR(slope[at], wanted.slope, 1e-12 * std::fabs(wanted.slope));
    EXPECT_NEAR(bend[at], wanted.bend, 1e-10 * std::fabs(wanted.bend));
  }
}

// Fresh memory: only its shape, dtype and device are said.
void check_empty(Device device) {
  const Tensor x = empty({2, 3}, {.dtype = f16, .device = device});
  EXPECT_EQ(x.shape(), (Shape{2, 3}));
  EXPECT_EQ(x.dtype(), f16);
  EXPECT_TRUE(x.device() == device);
  EXPECT_TRUE(empty_like(x, {.dtype = i64}).device() == device);
  EXPECT_EQ(empty_strided({2, 3}, {1, 2}, {.device = device}).strides(), (Strides{1, 2}));
}

}  // namespace

std::vector<Row> random_rows() {
  std::vector<Row> rows;
  rows.push_back({.op = "random_",
                  .bad = {{[] { rand({2}, {.dtype = i64}); },
                           "rand: dtype must be floating or complex, got i64"},
                          {[] { random_(ones({2}), 5, 5); },
                           "random_: from must be less than to, got 5 and 5"},
                          {[] { random_(ones({2}, {.dtype = u8}), 300); },
                           "random_: bounds must fit the dtype, got 0 and 300 for u8"},
                          {[] { random_(ones({2}, {.dtype = u8}), -1, std::nullopt); },
                           "random_: bounds must fit the dtype, got -1 and 256 for u8"},
                          {[] { random_(ones({2}, {.dtype = u8}), 256, std::nullopt); },
                           "random_: from must be at most the dtype's largest, got 256 for u8"}},
                  .functions = {"rand", "rand_like", "uniform_"},
                  .property = [](Device device) {
                    check_uniform(device);
                    check_random_integers(device);
                  }});
  rows.push_back({.op = "randn",
                  .bad = {{[] { randn({2}, {.dtype = i64}); },
                           "randn: dtype must be floating or complex, got i64"}},
                  .also = {"random_"},
                  .functions = {"randn_like", "normal_"},
                  .property = check_normal});
  rows.push_back(
      {.op = "randint",
       .bad = {{[] { randint(3, 3, {2}); }, "randint: low must be less than high, got 3 and 3"}},
       .also = {"random_"},
       .functions = {"randint_like"},
       .property = check_integers});
  rows.push_back(
      {.op = "exponential_",
       .bad = {{[] { exponential_(ones({2}), 0); }, "exponential_: lambd must be positive, got 0"},
               {[] { exponential_(ones({2}, {.dtype = i64})); },
                "exponential_: dtype must be floating, got i64"}},
       .also = {"random_"},
       .property = check_exponential});
  rows.push_back(
      {.op = "cauchy_",
       .bad = {{[] { cauchy_(ones({2}), 0, 0); }, "cauchy_: sigma must be positive, got 0"},
               {[] { cauchy_(ones({2}, {.dtype = u8})); },
                "cauchy_: dtype must be floating, got u8"}},
       .also = {"random_"},
       .property = check_cauchy});
  rows.push_back(
      {.op = "log_normal_",
       .bad = {{[] { log_normal_(ones({2}), 0, 0); }, "log_normal_: std must be positive, got 0"},
               {[] { log_normal_(ones({2}, {.dtype = f16}), 1e6); },
                "log_normal_: the value must fit the dtype, got 1e+06 for f16"}},
       .also = {"random_"},
       .property = check_log_normal});
  rows.push_back(
      {.op = "geometric_",
       .bad = {{[] { geometric_(ones({2}), 1); }, "geometric_: p must lie in (0, 1), got 1"},
               {[] { geometric_(ones({2}, {.dtype = boolean}), 0.5); },
                "geometric_: dtype must be a number, not bool, got bool"}},
       .also = {"random_"},
       .property = check_geometric});
  rows.push_back(
      {.op = "normal",
       .bad = {{[] {
                  normal(ones({2}), tensor({1.0, -1.0}));
                },
                "normal: std can't be negative, got -1"},
               {[] { normal(ones({2}), -2); }, "normal: std can't be negative, got -2"},
               {[] { normal(tensor({1}), 1); }, "normal: dtype must be floating, got i64"},
               {[] { normal(0, 1, {2}, {.dtype = i64}); },
                "normal: dtype must be floating or complex, got i64"}},
       .also = {"add", "mul", "random_"},
       .property = check_normal_of_tensors});
  rows.push_back(
      {.op = "poisson",
       .bad = {{[] {
                  poisson(tensor({1.0, -0.5}));
                },
                "poisson: rates can't be negative, got -0.5"},
               {[] { poisson(tensor({1})); }, "poisson: dtype must be floating, got i64"}},
       .also = {"random_"},
       .functions = {"draw_each"},
       .property = check_poisson});
  rows.push_back({.op = "randperm",
                  .bad = {{[] { randperm(-1); }, "randperm: n can't be negative, got -1"}},
                  .also = {"random_", "sort"},
                  .property = check_permutation});
  rows.push_back({.op = "bernoulli",
                  .bad = {{[] { bernoulli(tensor({1.5})); },
                           "bernoulli: probabilities must lie in [0, 1], got 1.5"}},
                  .also = {"random_"},
                  .property = check_bernoulli});
  rows.push_back({.op = "multinomial",
                  .bad = {{[] {
                             multinomial(tensor({1.0, 0.0}), 2);
                           },
                           "multinomial: without replacement there must be as many weights above 0 "
                           "as samples, got 1 for 2"}},
                  .also = {"cumsum", "random_", "searchsorted", "topk"},
                  .property = check_multinomial});
  rows.push_back({.op = "gamma_point", .property = check_gamma_point});
  rows.push_back({.op = "empty",
                  .bad = {{[] { empty({-1}); }, "empty: sizes can't be negative, got [-1]"}},
                  .functions = {"empty_like", "empty_strided"},
                  .property = check_empty});
  return rows;
}

}  // namespace aorta::catalog
