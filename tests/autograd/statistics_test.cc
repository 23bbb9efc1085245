#include <aorta/autograd/backward.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/view.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(StatisticsGradients, EqualsShareTheMedian) {
  const Tensor x = tensor({1.0, 2.0, 2.0, 3.0, 2.0, 4.0, 0.0, 2.0}, {.requires_grad = true});
  x.median().backward();
  EXPECT_EQ(x.grad().to_vector<double>(),
            (std::vector<double>{0, 0.25, 0.25, 0, 0.25, 0, 0, 0.25}));
}

TEST(StatisticsGradients, ARankBetweenTwoIsShared) {
  const Tensor x = tensor({5.0, 1.0, 3.0, 2.0}, {.requires_grad = true});
  x.quantile(0.75).backward();  // rank 2.25 of 1, 2, 3, 5
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{0.25, 0, 0.75, 0}));
}

// An element of memory that stands in several rows gets what each row gives.
TEST(StatisticsGradients, WindowsOfAnExpandedTensor) {
  const Tensor x = tensor({1.0, 2.0, 3.0}, {.requires_grad = true});
  x.expand(2, 3).unfold(1, 2, 1).sum().backward();
  EXPECT_EQ(x.grad().to_vector<double>(), (std::vector<double>{2, 4, 2}));
}

}  // namespace
}  // namespace aorta
