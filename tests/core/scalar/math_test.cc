#include <aorta/core/scalar/math.h>
#include <aorta/tests/core/scalar/evaluate.h>
#include <aorta/tests/core/scalar/ulp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

// The float functions against the C library's double ones, whose error is below 2^-28 of a float's
// ULP. A row's bound is the one in the function's comment. A sample of all bit patterns is tested,
// or every one (hours) where the environment has AORTA_EXHAUSTIVE=1; docs/accuracy.md has the
// figures of such a run.
namespace aorta::scalar_test {
namespace {

double sigmoid(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double gelu(double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }
double gelu_tanh(double x) {
  return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
}
double sinc(double x) {
  const double off = std::remainder(x, 2), far = off - std::copysign(1, off);
  const double sine = std::abs(off) <= 0.5 ? std::sin(M_PI * off) : -std::sin(M_PI * far);
  return x == 0 ? 1 : sine / (M_PI * x) + 0.0;
}
double elu(double x) { return x > 0 ? x : std::expm1(x); }

struct Row {
  const char* name;
  std::function<double(double)> reference;
  double bound;  // ULP
  /// What may be added to the bound at x, an absolute error; nothing for most.
  std::function<double(double)> slack = nullptr;
};

/// A factor x beside a function that is denormal keeps the absolute error of the denormal, times x.
double times_denormal(double x) { return std::abs(x) * 0x1p-149; }

const Row kRows[] = {
    {"exp", [](double x) { return std::exp(x); }, 1.2},
    {"exp2", [](double x) { return std::exp2(x); }, 1.2},
    {"expm1", [](double x) { return std::expm1(x); }, 1.4},
    {"log", [](double x) { return std::log(x); }, 0.95},
    {"log1p", [](double x) { return std::log1p(x); }, 1.1},
    {"log2", [](double x) { return std::log2(x); }, 1.6},
    {"log10", [](double x) { return std::log10(x); }, 1.2},
    {"sin", [](double x) { return std::sin(x); }, 0.95},
    {"cos", [](double x) { return std::cos(x); }, 0.95},
    {"tan", [](double x) { return std::tan(x); }, 1.6},
    {"asin", [](double x) { return std::asin(x); }, 1.2},
    {"acos", [](double x) { return std::acos(x); }, 1.2},
    {"atan", [](double x) { return std::atan(x); }, 1.4},
    {"sinh", [](double x) { return std::sinh(x); }, 1.8},
    {"cosh", [](double x) { return std::cosh(x); }, 1.7},
    {"tanh", [](double x) { return std::tanh(x); }, 1.9},
    {"asinh", [](double x) { return std::asinh(x); }, 1.2},
    {"acosh", [](double x) { return std::acosh(x); }, 1.1},
    {"atanh", [](double x) { return std::atanh(x); }, 1.2},
    {"erf", [](double x) { return std::erf(x); }, 1.7},
    {"erfc", [](double x) { return std::erfc(x); }, 0.6},
    // By our own double function, which functor_test.cc holds to mpmath's.
    {"erfinv", [](double x) { return scalar::erfinv(x); }, 0.8},
    {"erfcx", [](double x) { return scalar::erfcx(x); }, 0.6},
    {"log_ndtr", [](double x) { return scalar::log_ndtr(x); }, 0.6},
    {"i0", [](double x) { return scalar::i0(x); }, 0.6},
    {"i0e", [](double x) { return scalar::i0e(x); }, 0.6},
    {"i1", [](double x) { return scalar::i1(x); }, 0.6},
    {"i1e", [](double x) { return scalar::i1e(x); }, 0.6},
    {"lgamma", [](double x) { return std::lgamma(x); }, 1.2},
    {"polygamma", [](double x) { return scalar::polygamma(1, x); }, 1.0},
    // One unit but beside the zeros.
    {"digamma", [](double x) { return scalar::digamma(x); }, 10},
    {"sinc", sinc, 4.0},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0.501},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"reciprocal", [](double x) { return 1 / x; }, 0.501},
    {"sigmoid", sigmoid, 2.0},
    {"logit",
     [](double x) { return x < 0.25 ? std::log(x / (1 - x)) : std::log1p((2 * x - 1) / (1 - x)); },
     3.2},
    {"logsigmoid", [](double x) { return 0.0 - softplus(-x); }, 2.0},
    {"softplus", [](double x) { return x > 20 ? x : softplus(x); }, 2.0},
    {"gelu", gelu, 7.5},
    {"gelu_tanh", gelu_tanh,
     4.0,  // the argument of the sigmoid, y, is rounded: relative error |y| 2^-22
     [](double x) {
       return std::abs(gelu_tanh(x)) * std::min(150.0, std::abs(x * x * x)) * 0x1p-22 +
              times_denormal(x);
     }},
    {"silu", [](double x) { return x * sigmoid(x); }, 2.7, times_denormal},
    {"mish", [](double x) { return x > 40 ? x : x * std::tanh(softplus(x)); }, 4.0, times_denormal},
    {"elu", elu, 1.8},
    {"celu", elu, 1.8},
    {"selu",
     [](double x) {
       return 1.0507009873554804934 * (x > 0 ? x : 1.6732632423543772848 * std::expm1(x));
     },
     2.9},
    {"softsign", [](double x) { return x / (1 + std::abs(x)); }, 1.5},
    {"tanhshrink", [](double x) { return x - std::tanh(x); }, 1.0,
     [](double x) { return std::min(std::abs(x), 1.0) * 0x1p-22; }},
};

using Evaluate = bool (*)(const char*, const float* const*, float*, int64_t);
struct Variant {
  const char* name;
  Evaluate evaluate;
};

/// The variants that this CPU runs.
std::vector<Variant> variants() {
  std::vector<Variant> result = {{"v2", cpu::v2::evaluate}};
  if (cpu::isa() >= cpu::Isa::v3) result.push_back({"v3", cpu::v3::evaluate});
  if (cpu::isa() >= cpu::Isa::v4) result.push_back({"v4", cpu::v4::evaluate});
  return result;
}

struct Worst {
  double error = -1;  // in bounds: above 1 fails
  double ulp = 0;
  float argument = 0, value = 0;
  std::string variant;
};

/// Tests the bit patterns first, first + stride, first + 2*stride, ... below 2^32.
Worst search(const Row& row, uint64_t first, uint64_t stride) {
  constexpr int64_t size = 4096;
  std::vector<float> x(size), y(size);
  std::vector<double> want(size);
  Worst worst;
  for (uint64_t bits = first; bits < uint64_t{1} << 32;) {
    int64_t n = 0;
    for (; n < size && bits < uint64_t{1} << 32; ++n, bits += stride)
      x[n] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    for (int64_t i = 0; i < n; ++i) want[i] = row.reference(x[i]);
    const float* inputs[] = {x.data()};
    for (const Variant& variant : variants()) {
      if (!variant.evaluate(row.name, inputs, y.data(), n)) throw std::invalid_argument(row.name);
      for (int64_t i = 0; i < n; ++i) {
        // An ULP is above 2^-24 |want|: most errors need no closer look.
        const double bound = worst.error * row.bound;
        if (std::abs(y[i] - want[i]) * 0x1p24 < bound * std::abs(want[i])) continue;
        const double ulp = ulp_error(y[i], want[i]);
        if (ulp <= bound) continue;
        double error = ulp / row.bound;
        if (error > 1 && row.slack && std::abs(y[i] - want[i]) <= row.slack(x[i])) error = 1;
        if (error > worst.error) worst = {error, ulp, x[i], y[i], variant.name};
      }
    }
  }
  return worst;
}

class Math : public ::testing::TestWithParam<Row> {};

TEST_P(Math, StaysInItsBoundOverEveryFloat) {
  const Row& row = GetParam();
  const bool exhaustive = std::getenv("AORTA_EXHAUSTIVE") != nullptr;
  const uint64_t stride = exhaustive ? 1 : 509;
  Worst halves[2];
  std::thread other([&] { halves[1] = search(row, stride, 2 * stride); });
  halves[0] = search(row, 0, 2 * stride);
  other.join();
  const Worst& worst = halves[0].error > halves[1].error ? halves[0] : halves[1];
  if (exhaustive)
    std::printf("%s: %.3f ULP at %.9g (%s)\n", row.name, worst.ulp, worst.argument,
                worst.variant.c_str());
  EXPECT_LE(worst.error, 1) << row.name << "(" << worst.argument << ") = " << worst.value << " on "
                            << worst.variant << ", " << worst.ulp << " ULP from "
                            << row.reference(worst.argument);
}
INSTANTIATE_TEST_SUITE_P(Functions, Math, ::testing::ValuesIn(kRows),
                         [](const auto& row) { return row.param.name; });

struct BinaryRow {
  const char* name;
  std::function<double(double, double)> reference;
  double bound;
};

const BinaryRow kBinaryRows[] = {
    {"pow", [](double x, double y) { return std::pow(x, y); }, 0.6},
    {"atan2", [](double y, double x) { return std::atan2(y, x); }, 1.8},
    {"hypot", [](double x, double y) { return std::hypot(x, y); }, 0.51},
    {"fmod", [](double x, double y) { return std::fmod(x, y); }, 0},
};

/// Pairs of edge cases, random bit patterns, and random pairs of moderate size.
std::vector<std::pair<float, float>> pairs() {
  std::vector<std::pair<float, float>> result;
  std::vector<float> edges = {0,
                              0.5f,
                              1,
                              1.5f,
                              2,
                              3,
                              4,
                              1e-45f,
                              1e-40f,
                              0x1p-126f,
                              0x1.fffffep127f,
                              1e10f,
                              0x1p24f,
                              0x1p23f,
                              16777215,
                              0.99999994f,
                              1.0000001f,
                              127.5f,
                              1e-10f,
                              HUGE_VALF,
                              NAN,
                              1e30f};
  for (size_t i = edges.size(); i-- > 0;) edges.push_back(-edges[i]);
  for (const float x : edges)
    for (const float y : edges) result.emplace_back(x, y);
  std::mt19937_64 random(1);
  const int count = std::getenv("AORTA_EXHAUSTIVE") != nullptr ? 300'000'000 : 2'000'000;
  const auto any = [&] { return std::bit_cast<float>(static_cast<uint32_t>(random())); };
  const auto moderate = [&](int range) {
    const float size = std::ldexp(1 + static_cast<float>(random() >> 40) * 0x1p-24f,
                                  static_cast<int>(random() % (2 * range)) - range);
    return random() % 2 != 0 ? size : -size;
  };
  for (int i = 0; i < count; ++i) {
    switch (i % 3) {
      case 0:
        result.emplace_back(any(), any());
        break;
      case 1:
        result.emplace_back(moderate(8), moderate(8));
        break;
      default:
        result.emplace_back(std::abs(moderate(2)), moderate(7));
        break;
    }
  }
  return result;
}

class BinaryMath : public ::testing::TestWithParam<BinaryRow> {};

TEST_P(BinaryMath, StaysInItsBound) {
  const BinaryRow& row = GetParam();
  std::vector<float> a, b;
  for (const auto& [x, y] : pairs()) a.push_back(x), b.push_back(y);
  std::vector<float> out(a.size());
  const float* inputs[] = {a.data(), b.data()};
  for (const Variant& variant : variants()) {
    ASSERT_TRUE(variant.evaluate(row.name, inputs, out.data(), static_cast<int64_t>(a.size())));
    double worst = -1;
    size_t at = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      const double error = ulp_error(out[i], row.reference(a[i], b[i]));
      if (error > worst) worst = error, at = i;
    }
    EXPECT_LE(worst, row.bound) << variant.name << ": " << row.name << "(" << a[at] << ", " << b[at]
                                << ") = " << out[at];
  }
}
INSTANTIATE_TEST_SUITE_P(Functions, BinaryMath, ::testing::ValuesIn(kBinaryRows),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace aorta::scalar_test
