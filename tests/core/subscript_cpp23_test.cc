#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <gtest/gtest.h>

// Several indices in brackets, which C++23 has: x[i, j] is PyTorch's.
namespace aorta {
namespace {

TEST(Subscript, TakesSeveralIndices) {
  const Tensor x = arange(24, {.dtype = f32}).view({2, 3, 4});
  EXPECT_EQ((x[1, 2, 3].item<float>()), 23);
  EXPECT_EQ((x[-1, 0, -1].item<float>()), 15);
  EXPECT_TRUE(equal(x[0, 1], tensor({4.0, 5.0, 6.0, 7.0})));
  EXPECT_EQ((x[Slice{0, 1}, None, 2].shape()), (Shape{1, 1, 4}));
  EXPECT_TRUE(equal(x[Ellipsis, Slice{1, 3}], x.slice(2, 1, 3)));
  EXPECT_TRUE(equal(x[tensor({1, 0}), tensor({2, 1})], tensor({{20, 21, 22, 23}, {4, 5, 6, 7}})));
  EXPECT_TRUE(equal(x[x.gt(21)], tensor({22.0, 23.0})));
}

TEST(Subscript, WritesThroughTheView) {
  const Tensor x = zeros({2, 3});
  x[1, 2].fill_(5);
  x[0, Slice{0, 2}].copy_(tensor({1.0, 2.0}));
  EXPECT_TRUE(equal(x, tensor({{1.0, 2.0, 0.0}, {0.0, 0.0, 5.0}})));
}

}  // namespace
}  // namespace aorta
