// Gradients at the ends of domains and dtypes, where finite differences say nothing. What is wanted
// is PyTorch's result for the same call, or the limit in closed form where that has none.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/autograd/leaves.h>
#include <aorta/tests/is_near.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>
#include <cmath>

namespace aorta {
namespace {

// NaN is written as such.
void expect_gradient(const Tensor& leaf, const Doubles& wanted, double tolerance = 1e-12) {
  ASSERT_TRUE(leaf.grad().defined());
  const Doubles got = leaf.grad().to_vector<double>();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(is_near(got[i], wanted[i], tolerance * std::abs(wanted[i])))
        << got[i] << " for " << wanted[i] << " at " << i;
  }
}

TEST(GradientLimits, FlatOpsGiveZeros) {
  const std::pair<const char*, Tensor (*)(const Tensor&)> ops[] = {
      {"sign", sign},
      {"floor", floor},
      {"ceil", ceil},
      {"round", round},
      {"trunc", trunc},
      {"pow", [](const Tensor& x) { return pow(x, 0); }},
      {"floor_divide", [](const Tensor& x) { return floor_divide(x, 2); }},
      {"floor_divide of a number", [](const Tensor& x) { return floor_divide(7, x); }},
  };
  for (const auto& [name, op] : ops) {
    SCOPED_TRACE(name);
    const Tensor x = leaf({0, -1.5, 2.5, kInf});
    sum(op(x * 1)).backward();
    expect_gradient(x, {0, 0, 0, 0});
  }
}

TEST(GradientLimits, Atan2) {
  const Tensor y = leaf({0, 0, -0.0, 1e-200, 1e200}), x = leaf({0, 1, -1, 1e-200, 1e200});
  sum(atan2(y, x)).backward();
  expect_gradient(y, {0, 1, -1, 5e199, 5e-201});
  expect_gradient(x, {0, -0.0, 0, -5e199, -5e-201});
}

TEST(GradientLimits, CosineSimilarityOfAnyLength) {
  for (const double length : {1e30, 1.0, 1e-30}) {
    SCOPED_TRACE(length);
    const Tensor a = leaf({length, length}, DType::f32),
                 b = leaf({length, -length / 2}, DType::f32);
    const Tensor cosine = cosine_similarity(a, b, 0, 0);
    EXPECT_NEAR(cosine.item<double>(), 1 / std::sqrt(10), 1e-7);
    cosine.backward();
    const double root = std::sqrt(10) * length;  // d/da_0 = 1.5 / root, and so on
    expect_gradient(a, {1.5 / root, -1.5 / root}, 1e-6);
    expect_gradient(b, {1.2 / root, 2.4 / root}, 1e-6);
  }
}

TEST(GradientLimits, CosineEmbeddingLossOfAnyLength) {
  for (const double length : {1e30, 1.0}) {
    const Tensor a = leaf({length, length}, DType::f32),
                 b = leaf({length, -length / 2}, DType::f32);
    const Tensor loss = cosine_embedding_loss(a, b, tensor({1}).select(0, 0));
    EXPECT_NEAR(loss.item<double>(), 1 - 1 / std::sqrt(10), 1e-6);
  }
}

TEST(GradientLimits, Logsumexp) {
  const Tensor x = leaf({kInf, 1}), y = leaf({-kInf, 1});
  logsumexp(x, 0).backward();
  logsumexp(y, 0).backward();
  expect_gradient(x, {NAN, 0});
  expect_gradient(y, {0, 1});
}

// A slope of at most 1, or of a quotient, comes before what is multiplied with it, which a loss's
// scale makes large.
TEST(Limits, SlopesDontOverflowBeforeTheirGradientDoes) {
  const Tensor x = leaf({6e-3, 8e-3}, f16);
  norm(x).backward(tensor(1024).to(f16));
  expect_gradient(x, {614.5, 819.5}, 2e-3);
  const Tensor a = leaf({6e-3}, f16), b = leaf({8e-3}, f16);
  hypot(a, b).backward(tensor({1024}).to(f16));
  expect_gradient(a, {614.5}, 2e-3);
  expect_gradient(b, {819.5}, 2e-3);
  const Tensor factors = leaf({1e20, 1e15}, f32);
  prod(factors).backward(tensor(1e10).to(f32));
  expect_gradient(factors, {1e25, 1e30}, 1e-6);
}

// 1 is nine times 0.1 and a rest, for 0.1 is a little more than a tenth, though 1 / 0.1 rounds
// to 10.
TEST(Limits, TurnsOfARemainderAreThoseOfItsValue) {
  const Tensor y = leaf({0.1});
  sum(remainder(tensor({1.}, {.dtype = f64}), y)).backward();
  expect_gradient(y, {-9});
}

}  // namespace
}  // namespace aorta
