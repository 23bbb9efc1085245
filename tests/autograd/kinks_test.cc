// Gradients where a function has a kink, a bound that is reached, or a NaN, and those that a half
// type can hold: PyTorch's.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <utility>

namespace {

using namespace aorta;

std::vector<double> gradient(const Tensor& y, const Tensor& x) {
  return autograd::grad({sum(y)}, {x}, {}, {.retain_graph = true})[0].to(f64).to_vector<double>();
}

TEST(Kinks, OfNaN) {
  struct Row {
    const char* name;
    std::function<Tensor(const Tensor& x)> f;
    double gradient;
  };
  const Row rows[] = {
      {"relu", [](const Tensor& x) { return relu(x); }, 1},
      {"relu6", [](const Tensor& x) { return relu6(x); }, 1},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x); }, 1},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x); }, 0.01},
      {"elu", [](const Tensor& x) { return elu(x); }, 1},
      {"selu", [](const Tensor& x) { return selu(x); }, 1.0507009873554804934},
      {"celu", [](const Tensor& x) { return celu(x); }, 1},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }, 0},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }, 1},
      {"softshrink", [](const Tensor& x) { return softshrink(x); }, 1},
      {"hardshrink", [](const Tensor& x) { return hardshrink(x); }, 1},
      {"threshold", [](const Tensor& x) { return threshold(x, 0.1, 0.2); }, 1},
      {"angle", [](const Tensor& x) { return angle(x); }, 0},
      {"softplus", [](const Tensor& x) { return softplus(x); }, kNaN},
      {"silu", [](const Tensor& x) { return silu(x); }, kNaN},
      {"mish", [](const Tensor& x) { return mish(x); }, kNaN},
      {"gelu", [](const Tensor& x) { return gelu(x); }, kNaN},
      {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }, kNaN},
      {"softsign", [](const Tensor& x) { return softsign(x); }, kNaN},
  };
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Tensor x = full({37}, kNaN, {.dtype = dtype}).requires_grad_();
    for (const Row& row : rows) {
      const Tensor y = row.f(x);
      EXPECT_TRUE(std::isnan(y[0].to(f64).item<double>())) << row.name;
      for (const double found : gradient(y, x)) {
        if (std::isnan(row.gradient)) {
          EXPECT_TRUE(std::isnan(found)) << row.name << " " << found;
          continue;
        }
        EXPECT_NEAR(found, row.gradient, 0.004) << row.name << " in " << dtype;
      }
    }
  }
}

// The slope's slope is 0 at 0, and alpha on the left of it.
TEST(Kinks, SlopesOfExponentialUnits) {
  const Tensor x = tensor({0.0, -0.0, 1e-30, -1e-30}, {.dtype = f64}).requires_grad_();
  const auto expect = [&](const Tensor& y, double left, double right, double second) {
    const Tensor slope = autograd::grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
    EXPECT_EQ(slope.detach().to_vector<double>(), (std::vector{left, left, right, left}));
    EXPECT_EQ(gradient(slope, x), (std::vector{0.0, 0.0, 0.0, second}));
  };
  expect(elu(x, 2), 2, 1, 2);
  expect(selu(x), 1.6732632423543772848 * 1.0507009873554804934, 1.0507009873554804934,
         1.6732632423543772848 * 1.0507009873554804934);
  expect(celu(x, 2), 1, 1, 0.5);
}

TEST(Kinks, OfTensorsAsBounds) {
  using Row = std::vector<double>;
  const auto expect = [](double low, double high, const Row& of_x, const Row& of_min,
                         const Row& of_max) {
    for (const bool in_place : {false, true}) {
      const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_();
      const Tensor min = full({3}, low).requires_grad_(), max = full({3}, high).requires_grad_();
      const Tensor copy = x * 1;
      const Tensor y = in_place ? clamp_(copy, min, max) : clamp(x, min, max);
      EXPECT_EQ(gradient(y, x), of_x) << in_place;
      EXPECT_EQ(gradient(y, min), of_min) << in_place;
      EXPECT_EQ(gradient(y, max), of_max) << in_place;
    }
  };
  expect(2, 2, {0, 1, 0}, {1, 0, 0}, {0, 0, 1});
  expect(3, 2, {0, 0, 0}, {0, 0, 0}, {1, 1, 1});
  expect(1, 3, {0.5, 1, 0.5}, {0.5, 0, 0}, {0, 0, 0.5});
  const Tensor x = tensor({1.0, 2.0, 3.0}).requires_grad_(),
               bound = full({3}, 2.0).requires_grad_();
  EXPECT_EQ(gradient(clamp_min(x, bound), x), (Row{0, 0.5, 1}));
  EXPECT_EQ(gradient(clamp_min(x, bound), bound), (Row{1, 0.5, 0}));
  EXPECT_EQ(gradient(clamp_max(x, bound), x), (Row{1, 0.5, 0}));
  EXPECT_EQ(gradient(clamp_max(x, bound), bound), (Row{0, 0.5, 1}));
  const Tensor unknown = full({3}, kNaN);
  EXPECT_TRUE(std::isnan(clamp(x, unknown, bound)[0].item<double>()));
  EXPECT_TRUE(std::isnan(clamp(x * kNaN, bound, bound)[0].item<double>()));
}

TEST(Kinks, OfDivisorsInHalfTypes) {
  const auto slope = [](double x, double y, double g) {
    const Tensor divisor = tensor({y}, {.dtype = f16}).requires_grad_();
    const Tensor quotient = div(tensor({x}, {.dtype = f16}), divisor);
    return autograd::grad({quotient}, {divisor}, {tensor({g}, {.dtype = f16})})[0]
        .to(f64)
        .item<double>();
  };
  EXPECT_NEAR(slope(60000, 3000, 1e-4), -6.556510925292969e-07, 1e-12);
  const Tensor x = tensor({1000.0, 2047.0, 100.0}, {.dtype = f16});
  const Tensor y = tensor({0.3, 3.0, 0.1}, {.dtype = f16}).requires_grad_();
  EXPECT_EQ(gradient(fmod(x, y), y), (std::vector{-3332.0, -682.0, -1000.0}));
}

// What stands between has no place in a half type, or is rounded away in it.
TEST(Kinks, OfNumbersBesideHalfTypes) {
  for (const auto& [dtype, weight] : {std::pair{DType::bf16, 0.999}, {DType::f16, 0.9999}}) {
    const Tensor start = ones({3}, {.dtype = dtype}).requires_grad_(),
                 end = full({3}, 2, {.dtype = dtype});
    for (const double found : gradient(lerp(start, end, weight), start))
      EXPECT_NEAR(found, 1 - weight, (1 - weight) / 200);
  }
  const Tensor base = tensor({3.0, 10.0}, {.dtype = bf16}), power = tensor({2.0f, 3.0f});
  const Tensor wide = power.detach().requires_grad_();
  const std::vector<double> found = gradient(pow(base, wide), wide);
  EXPECT_NEAR(found[0], 9 * std::log(3.0), 1e-5);
  EXPECT_NEAR(found[1], 1000 * std::log(10.0), 1e-3);
  const Tensor exponent = tensor({2.0}, {.dtype = f64}).requires_grad_();
  EXPECT_NEAR(gradient(pow(tensor({int64_t{3}}), exponent), exponent)[0], 9 * std::log(3.0), 1e-14);
}

// A pass that records itself computes as the kernel does.
TEST(Kinks, ComposedInHalfTypes) {
  const Tensor x = tensor({-300.0, -6.0, 0.1, 3.0, 6.0, 12.0, 300.0}, {.dtype = f16});
  const Tensor leaf = x.detach().requires_grad_(), g = full({7}, 30000, {.dtype = f16});
  const auto expect = [&](const char* name, const Tensor& y) {
    const Tensor plain = autograd::grad({y}, {leaf}, {g}, {.retain_graph = true})[0];
    const Tensor composed = autograd::grad({y}, {leaf}, {g}, {.create_graph = true})[0];
    const std::vector<double> a = plain.to(f64).to_vector<double>(),
                              b = composed.detach().to(f64).to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isinf(a[i])) continue;
      EXPECT_NEAR(b[i], a[i], std::fabs(a[i]) / 512 + 1e-7) << name << " at " << i;
    }
  };
  expect("mish", mish(leaf));
  expect("gelu_tanh", gelu(leaf, GeluApproximation::tanh));
  expect("square", square(leaf));
  expect("softsign", softsign(leaf));
}

// The branch of a formula that isn't chosen leaves no NaN behind.
TEST(Kinks, SecondSlopesOfSinc) {
  for (const auto& [dtype, at] : {std::pair{DType::f16, 20.25},
                                  {DType::bf16, 100.5},
                                  {DType::f32, 2000.25},
                                  {DType::f64, 0.1}}) {
    const Tensor x = tensor({at}, {.dtype = dtype}).requires_grad_();
    const Tensor slope = autograd::grad({sinc(x)}, {x}, {}, {.create_graph = true})[0];
    const double t = M_PI * x.to(f64).item<double>(), s = std::sin(t), c = std::cos(t);
    const double wanted = M_PI * M_PI * (-s / t - 2 * c / (t * t) + 2 * s / (t * t * t));
    EXPECT_NEAR(gradient(slope, x)[0], wanted, std::fabs(wanted) / 50) << dtype;
  }
}

// The mean of no classes is NaN, its gradient 0, and so is that one's.
TEST(Kinks, OfIgnoredClasses) {
  const Tensor x = tensor({{1.0, 2.0}}).requires_grad_();
  const Tensor target = tensor({int64_t{-100}});
  for (const Tensor& loss : {cross_entropy(x, target), nll_loss(x, target)}) {
    EXPECT_TRUE(std::isnan(loss.item<double>()));
    EXPECT_EQ(gradient(loss, x), (std::vector{0.0, 0.0}));
    const Tensor slope = autograd::grad({loss}, {x}, {}, {.create_graph = true})[0];
    EXPECT_EQ(slope.detach().to(f64).to_vector<double>(), (std::vector{0.0, 0.0}));
    if (slope.requires_grad()) {
      EXPECT_EQ(gradient(slope, x), (std::vector{0.0, 0.0}));
    }
  }
  const Tensor rows = tensor({{1.0, 2.0}, {kNaN, 1.0}}).requires_grad_();
  const Tensor loss = cross_entropy(rows, tensor({int64_t{0}, int64_t{-100}}));
  const Tensor plain = autograd::grad({loss}, {rows}, {}, {.retain_graph = true})[0];
  const Tensor composed = autograd::grad({loss}, {rows}, {}, {.create_graph = true})[0];
  const auto a = plain.to_vector<float>(), b = composed.detach().to_vector<float>();
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(a[i], b[i], 1e-6) << i;
  for (const double found : gradient(composed * composed, rows)) EXPECT_FALSE(std::isnan(found));
}

// As where what comes after has an infinite slope: PyTorch's g (y + 1).
TEST(Kinks, InfiniteGradientsOfExpm1) {
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Tensor x = zeros({37}, {.dtype = dtype}).requires_grad_();
    const Tensor infinite = full({37}, INFINITY, {.dtype = dtype});
    const Tensor found = autograd::grad({expm1(x)}, {x}, {infinite})[0];
    EXPECT_EQ(found.to(f64).to_vector<double>(), std::vector<double>(37, INFINITY));
  }
}

TEST(Kinks, OfNextafterAtItsTarget) {
  const Tensor x = tensor({0.5, 1.0, 2.0, -0.0, kNaN}).to(f64).requires_grad_();
  const Tensor target = tensor({1.0, 1.0, 1.0, 0.0, 1.0}).to(f64);
  EXPECT_EQ(gradient(nextafter(x, target), x), (std::vector<double>{1, 0, 1, 0, 1}));
}

}  // namespace
