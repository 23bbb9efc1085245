#include <aorta/core/ops/random.h>
#include <aorta/tests/catalog/rows.h>
#include <gtest/gtest.h>

#include <algorithm>

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
  rows.push_back(
      {.op = "random_",
       .bad = {{[] { rand({2}, {.dtype = i64}); }, "rand: dtype must be floating, got i64"}},
       .functions = {"rand", "rand_like", "uniform_"},
       .property = check_uniform});
  rows.push_back(
      {.op = "randn",
       .bad = {{[] { randn({2}, {.dtype = i64}); }, "randn: dtype must be floating, got i64"}},
       .also = {"random_"},
       .functions = {"randn_like", "normal_"},
       .property = check_normal});
  rows.push_back(
      {.op = "randint",
       .bad = {{[] { randint(3, 3, {2}); }, "randint: low must be less than high, got 3 and 3"}},
       .also = {"random_"},
       .functions = {"randint_like"},
       .property = check_integers});
  rows.push_back({.op = "randperm",
                  .bad = {{[] { randperm(-1); }, "randperm: n can't be negative, got -1"}},
                  .property = check_permutation});
  rows.push_back({.op = "bernoulli",
                  .bad = {{[] { bernoulli(tensor({1.5})); },
                           "bernoulli: probabilities must lie in [0, 1], got 1.5"}},
                  .property = check_bernoulli});
  rows.push_back({.op = "multinomial",
                  .bad = {{[] {
                             multinomial(tensor({1.0, 0.0}), 2);
                           },
                           "multinomial: without replacement there must be as many weights above 0 "
                           "as samples, got 1 for 2"}},
                  .property = check_multinomial});
  rows.push_back({.op = "empty",
                  .bad = {{[] { empty({-1}); }, "empty: sizes can't be negative, got [-1]"}},
                  .functions = {"empty_like", "empty_strided"},
                  .property = check_empty});
  return rows;
}

}  // namespace aorta::catalog
