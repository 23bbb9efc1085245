#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/core/elements.h>

#include <gtest/gtest.h>

#include <cmath>

// What PyTorch 2.15 gives where an op's rule isn't plain arithmetic; the catalogue has the rest.
namespace {

using namespace aorta;
using namespace aorta::testing;

TEST(Pointwise, IntegersToNegativePowers) {
  for (const DType dtype : {i64, i32}) {
    const Tensor base = tensor({2, 1, -1, -1, 0, -2, 5}).to(dtype);
    const Tensor power = tensor({-1, -3, -1, -2, 0, -3, 2}).to(dtype);
    const Tensor result = pow(base, power);
    EXPECT_EQ(result.dtype(), dtype);
    expect_values(result, {7}, {0, 1, -1, 1, 1, 0, 25});
    expect_values(pow(base, tensor(-1).to(dtype)), {7}, {0, 1, -1, -1, 0, 0, 0});
  }
  expect_values(pow(2, tensor({-1, 2})), {2}, {0, 4});
  expect_values(pow(0, tensor({-1, 2})), {2}, {0, 0});
  const Tensor mixed = pow(tensor({2, 1, 3}).to(u8), tensor({-1, -1, 2}).to(i32));
  EXPECT_EQ(mixed.dtype(), i32);
  expect_values(mixed, {3}, {0, 1, 9});
  expect_error([] { pow(tensor({2}), -1); }, "pow: an integer can't have a negative power, got -1");
  const Tensor self = tensor({2});
  expect_error([&] { pow_(self, -1); }, "pow_: an integer can't have a negative power, got -1");
  EXPECT_EQ(self.version(), 0u);
}

TEST(Pointwise, MaskedFillKeepsTheDtype) {
  const Tensor mask = tensor({true, false}), x = tensor({1, 2});
  const Tensor cut = masked_fill(x, mask, 2.5);
  EXPECT_EQ(cut.dtype(), i64);
  expect_values(cut, {2}, {2, 2});
  expect_values(masked_fill(x, mask, tensor(2.5)), {2}, {2, 2});
  expect_values(masked_fill(x, mask, true), {2}, {1, 2});
  expect_values(masked_fill(x.to(u8), mask, -1), {2}, {255, 2});
  const Tensor truth = masked_fill(tensor({false, false}), mask, 2.5);
  EXPECT_EQ(truth.dtype(), boolean);
  expect_values(truth, {2}, {1, 0});
  EXPECT_EQ(masked_fill(x.to(f16), mask, tensor(2.5, {.dtype = f64})).dtype(), f16);
  const Tensor self = x.clone();
  masked_fill_(self, mask, 2.5);
  expect_values(self, {2}, {2, 2});
  EXPECT_EQ(self.version(), 1u);
  expect_error([&] { masked_fill(x.to(u8), mask, 300); },
               "masked_fill: the value must fit the dtype, got 300 for u8");
  expect_error([&] { masked_fill(x, mask, NAN); },
               "masked_fill: the value must fit the dtype, got nan for i64");
  expect_error([&] { masked_fill(x.to(f16), mask, tensor(1e6)); },
               "masked_fill: the value must fit the dtype, got 1e+06 for f16");
}

TEST(Pointwise, DividingNoIntegersByZero) {
  const Tensor none = empty({2, 0, 3}, {.dtype = i64}), zeros_too = tensor({1, 0, 2});
  for (const auto& op : {floor_divide, fmod, remainder}) {
    EXPECT_EQ(to_string(op(none, zeros_too).shape()), "[2,0,3]");
  }
  expect_error([&] { remainder(zeros_too, zeros_too); },
               "remainder: an integer can't be divided by zero, got a 0 among the divisors");
}

TEST(Pointwise, HardtanhRefusesCrossedBounds) {
  expect_error([] { hardtanh(ones({2}), 2, -2); },
               "hardtanh: min can't be greater than max, got 2 and -2");
}

// The result in a half type is that in float, rounded once, whatever path the operands take.
void expect_rounded(const Tensor& got, const Tensor& in_float) {
  EXPECT_EQ(got.shape(), in_float.shape());
  const Tensor expected = in_float.to(got.dtype()).to(f32), values = got.to(f32);
  EXPECT_FALSE(any((values != expected) & ~(isnan(values) & isnan(expected))).item<bool>());
}

void expect_halves_rounded(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(f32), y = b.to(f32);
  expect_rounded(a + b, x + y);
  expect_rounded(a * 0.1, x * 0.1);
  expect_rounded(2.7 - b, 2.7 - y);
  expect_rounded(exp(a), exp(x));
  expect_rounded(minimum(a, b), minimum(x, y));
  expect_rounded(a < b, x < y);
  expect_rounded(a >= 0.3, x >= 0.3);
  expect_rounded(isinf(a / b), isinf((x / y).to(a.dtype())));
  const Tensor in_place = a.clone();
  mul_(in_place, b);
  expect_rounded(in_place, x * y);
}

TEST(Pointwise, HalvesAreRoundedOnce) {
  for (const DType dtype : {f16, bf16}) {
    for (const int64_t n : {1, 31, 32, 33, 1000, 70000}) {
      const Tensor a = (randn({2 * n}) * 3).to(dtype), b = randn({2 * n}).to(dtype);
      expect_halves_rounded(a.slice(0, 0, n), b.slice(0, n));
      expect_halves_rounded(a.slice(0, 0, 2 * n, 2), b.slice(0, 0, n));
    }
    const Tensor matrix = randn({70, 90}).to(dtype);
    expect_halves_rounded(matrix, randn({90, 70}).to(dtype).t());
    expect_halves_rounded(matrix, randn({90}).to(dtype).expand({70, 90}));
    expect_halves_rounded(matrix, randn({70, 1}).to(dtype).expand({70, 90}));
    expect_halves_rounded(matrix, tensor(1.5).to(dtype));
    const Tensor large = randn({17 << 20}).to(dtype);  // past the cache
    expect_rounded(large + flip(large, {0}), large.to(f32) + flip(large, {0}).to(f32));
    expect_halves_rounded(randn({70, 3}).to(dtype), randn({3}).to(dtype).expand({70, 3}));
  }
}

// PyTorch 2.15's answers.
TEST(Clamp, PassesNanAndTakesItFromTheBounds) {
  const double nan = std::nan("");
  const Tensor x = tensor({nan, -2.0, -0.0, 0.5, 3.0}).expand({40, 5}).contiguous();  // vectors too
  for (DType dtype : {f32, f64, bf16}) {
    const Tensor bounded = clamp(x.to(dtype), 0.0, 1.0).to(f64);
    for (int64_t row : {0, 39}) {
      EXPECT_TRUE(std::isnan(bounded.at<double>({row, 0})));
      EXPECT_EQ(bounded.at<double>({row, 1}), 0.0);
      EXPECT_EQ(bounded.at<double>({row, 2}), 0.0);
      EXPECT_EQ(bounded.at<double>({row, 3}), 0.5);
      EXPECT_EQ(bounded.at<double>({row, 4}), 1.0);
    }
    EXPECT_TRUE(all(isnan(clamp(x.to(dtype), nan, 1.0))).item<bool>());
    EXPECT_TRUE(all(isnan(clamp(x.to(dtype), 0.0, nan))).item<bool>());
    EXPECT_TRUE(all(clamp(x.to(dtype).slice(1, 1), 2.0, 1.0) == 1.0).item<bool>());
  }
}

TEST(Clamp, ByTensorsOfWhichOneMayBeLeftOut) {
  using Floats = std::vector<float>;
  const Tensor x = tensor({-2.0, 0.0, 3.0}), low = tensor({-1.0, 1.0, 1.0}), high = tensor(2.0);
  EXPECT_EQ(clamp(x, low).to_vector<float>(), (Floats{-1, 1, 3}));
  EXPECT_EQ(clamp(x, {}, high).to_vector<float>(), (Floats{-2, 0, 2}));
  EXPECT_EQ(clamp(x, low, high).to_vector<float>(), (Floats{-1, 1, 2}));
  EXPECT_EQ(clamp_min(x, low).to_vector<float>(), (Floats{-1, 1, 3}));
  EXPECT_EQ(clamp_max(x, high).to_vector<float>(), (Floats{-2, 0, 2}));
  Tensor y = x.clone();
  EXPECT_TRUE(clamp_(y, low).is_same(y));
  EXPECT_EQ(y.to_vector<float>(), (Floats{-1, 1, 3}));
  clamp_(y, {}, high);
  EXPECT_EQ(y.to_vector<float>(), (Floats{-1, 1, 2}));
  y = x.clone();
  clamp_min_(clamp_max_(y, high), low);
  EXPECT_EQ(y.to_vector<float>(), (Floats{-1, 1, 2}));
}

}  // namespace
