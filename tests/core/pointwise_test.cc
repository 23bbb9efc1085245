#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/core/elements.h>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

// What PyTorch 2.15 gives where an op's rule isn't plain arithmetic; the catalogue has the rest.
namespace {

using namespace aorta;
using namespace aorta::elements;

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

// Expects the bits of the C library, NaN aside, for whole blocks of small quotients, for blocks
// with a large one or with what is no number, and for operands that are one for all.
template <class T, class Bits>
void expect_c_remainders() {
  std::mt19937_64 random(1);
  const DType dtype = dtype_of<T>;
  const auto any_bits = [&] { return std::bit_cast<T>(static_cast<Bits>(random())); };
  const auto moderate = [&] {
    const double size = std::ldexp(1 + static_cast<double>(random() >> 11) * 0x1p-53,
                                   static_cast<int>(random() % 24) - 12);
    return static_cast<T>(random() % 2 ? size : -size);
  };
  const T edges[] = {0,
                     -T(0),
                     1,
                     3,
                     std::numeric_limits<T>::denorm_min(),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max(),
                     std::numeric_limits<T>::infinity(),
                     std::numeric_limits<T>::quiet_NaN(),
                     T(0x1p23),
                     T(0x1p24) - 1,
                     T(0x1p52)};
  std::vector<T> a, b;
  for (int i = 0; i < 100000; ++i) {
    const bool is_wide = i / 64 % 4 == 0;
    a.push_back(is_wide ? any_bits() : moderate());
    b.push_back(is_wide ? any_bits() : moderate());
    if (i % 1000 == 0) a.back() *= T(0x1p80);
    if (i % 777 == 0) a.back() = b.back() * static_cast<T>(random() % 4096);  // nothing is left
  }
  for (const T x : edges)
    for (const T y : edges)
      for (const T sign : {T(1), T(-1)}) a.push_back(x * sign), b.push_back(y);
  const auto expect_bits = [&](const Tensor& got, auto&& wanted) {
    const std::vector<T> values = got.to_vector<T>();
    for (size_t i = 0; i < values.size(); ++i) {
      const T w = wanted(i);
      ASSERT_TRUE(std::bit_cast<Bits>(values[i]) == std::bit_cast<Bits>(w) ||
                  (std::isnan(values[i]) && std::isnan(w)))
          << values[i] << " for " << w << ", of " << a[i] << " and " << b[i];
    }
  };
  const auto of_sign = [](T x, T y) {
    const T r = std::fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
  };
  const Tensor x = tensor(a, {.dtype = dtype}), y = tensor(b, {.dtype = dtype});
  expect_bits(fmod(x, y), [&](size_t i) { return std::fmod(a[i], b[i]); });
  expect_bits(remainder(x, y), [&](size_t i) { return of_sign(a[i], b[i]); });
  expect_bits(fmod(x, 0.7), [&](size_t i) { return std::fmod(a[i], T(0.7)); });
  expect_bits(remainder(5e5, y), [&](size_t i) { return of_sign(T(5e5), b[i]); });
  const Tensor written = x.clone();
  fmod_(written, y);
  expect_bits(written, [&](size_t i) { return std::fmod(a[i], b[i]); });
}

TEST(Pointwise, RemaindersAreThoseOfTheCLibrary) {
  expect_c_remainders<float, uint32_t>();
  expect_c_remainders<double, uint64_t>();
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

// F.prelu(x, torch.tensor([0.5, 2, -1])) of (2, 3, 3): a weight is its channel's, also where it
// would broadcast along the last dimension.
TEST(Pointwise, PreluOfChannels) {
  const Tensor x = arange(18, {.dtype = f64}).view({2, 3, 3}) - 9;
  const Tensor weight = tensor({0.5, 2.0, -1.0}, {.dtype = f64});
  const std::vector<double> wanted = {-4.5, -4, -3.5, -12, -10, -8, 3, 2, 1,
                                      0,    1,  2,    3,   4,   5,  6, 7, 8};
  expect_values(prelu(x, weight), {2, 3, 3}, wanted);
  expect_values(prelu_(x.clone(), weight), {2, 3, 3}, wanted);
  expect_values(prelu(x.narrow(2, 0, 1), weight), {2, 3, 1}, {-4.5, -12, 3, 0, 3, 6});
  EXPECT_EQ(prelu(ones({}), ones({1})).shape(), Shape());
  EXPECT_EQ(error_of([&] {
              prelu(ones({2, 4, 3}), ones({3}));
            }),
            "prelu: weight must have a number for each channel, got [3] for [2,4,3]");
}

}  // namespace
