#include <aorta/core/check.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(Closeness, AllMustBeClose) {
  const Tensor x = tensor({1.0, 1e-9, -100.0}), y = tensor({1.000009, 0.0, -100.0009});
  EXPECT_TRUE(allclose(x, y));
  EXPECT_FALSE(allclose(x, y, 1e-6));
  EXPECT_FALSE(allclose(x, y, 1e-5, 0));
  EXPECT_TRUE(allclose(ones({3, 4}), ones({4})));
  EXPECT_TRUE(allclose(zeros({0, 2}), ones({2})));
  EXPECT_FALSE(allclose(tensor({kNaN}), tensor({kNaN})));
  EXPECT_TRUE(allclose(tensor({kNaN}), tensor({kNaN}), 0, 0, true));
  EXPECT_FALSE(allclose(tensor({1.0}), tensor({kNaN}), 1, 1, true));
  EXPECT_THROW(allclose(x, y, 0, kNaN), Error);
}

// In u8 2 - 3 is 255, and no i64 difference of these is exact in f32.
TEST(Closeness, IntegersDoNotWrapOrRound) {
  EXPECT_TRUE(allclose(tensor({2}).to(u8), tensor({3}).to(u8), 0, 1));
  const Tensor large = full({1}, int64_t{1} << 40);
  EXPECT_FALSE(allclose(large, large + 2, 0, 1));
  EXPECT_TRUE(allclose(large, large + 2, 0, 2));
}

TEST(Closeness, EqualMeansShapeAndValues) {
  const Tensor x = arange(6).view({2, 3});
  EXPECT_TRUE(equal(x, x.clone()));
  EXPECT_TRUE(equal(x, x.to(f32)));
  EXPECT_TRUE(equal(x.transpose(0, 1), x.transpose(0, 1).contiguous()));
  EXPECT_FALSE(equal(x, x.view({3, 2})));
  EXPECT_FALSE(equal(ones({1}), ones({3})));
  EXPECT_FALSE(equal(x, x + 1));
  EXPECT_TRUE(equal(zeros({0, 2}), zeros({0, 2})));
  EXPECT_FALSE(equal(tensor({kNaN}), tensor({kNaN})));
}

TEST(Closeness, TolerancesByName) {
  const Tensor x = tensor({1.0, 100.0, kNaN}), y = tensor({1.25, 101.0, kNaN});
  EXPECT_TRUE(equal(isclose(x, y, {.rtol = 0.01}), tensor({false, true, false})));
  EXPECT_TRUE(equal(isclose(x, y, {.atol = 0.5}), tensor({true, false, false})));
  EXPECT_TRUE(equal(isclose(x, y, {.equal_nan = true}), tensor({false, false, true})));
  EXPECT_TRUE(allclose(x, y, {.rtol = 0.01, .atol = 0.5, .equal_nan = true}));
  EXPECT_FALSE(allclose(x, y, {.atol = 2}));
}

TEST(Closeness, IsOutsideTheGraph) {
  const Tensor x = ones({2}, {.requires_grad = true});
  EXPECT_FALSE(isclose(x, x).requires_grad());
  EXPECT_TRUE(equal(x, ones({2})));
}

}  // namespace
}  // namespace aorta
