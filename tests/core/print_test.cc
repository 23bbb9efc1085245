#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

namespace aorta {
namespace {

// The expected texts are PyTorch 2.15's, but for our names of dtypes and devices.
TEST(Print, WholeNumbersHaveNoDigits) {
  EXPECT_EQ(to_string(ones({2, 2})), "tensor([[1., 1.],\n        [1., 1.]])");
  EXPECT_EQ(to_string(arange(10)), "tensor([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])");
  EXPECT_EQ(to_string(tensor({true, false})), "tensor([ True, False])");
}

TEST(Print, FractionsAlign) {
  EXPECT_EQ(to_string(tensor({{1.5, -2.25}, {10.0, 0.125}})),
            "tensor([[ 1.5000, -2.2500],\n        [10.0000,  0.1250]])");
  EXPECT_EQ(to_string(tensor(3.5)), "tensor(3.5000)");
}

TEST(Print, WideRangesAreScientific) {
  EXPECT_EQ(to_string(tensor({1.5, -2.0, 1e10})),
            "tensor([ 1.5000e+00, -2.0000e+00,  1.0000e+10])");
  EXPECT_EQ(to_string(tensor({1.0, 1000000.0})), "tensor([1.0000e+00, 1.0000e+06])");
  EXPECT_EQ(to_string(tensor({0.00001, 1.0})), "tensor([1.0000e-05, 1.0000e+00])");
}

TEST(Print, SpecialValues) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(to_string(tensor({1.0, nan, 2.0})), "tensor([1., nan, 2.])");
  EXPECT_EQ(to_string(tensor({1.5, -inf})), "tensor([1.5000,   -inf])");
}

TEST(Print, SuffixesNameWhatIsNotUsual) {
  EXPECT_EQ(to_string(ones({2}, {.dtype = f64})), "tensor([1., 1.], dtype=f64)");
  EXPECT_EQ(to_string(ones({1}, {.device = "cpu:1"})), "tensor([1.], device=cpu:1)");
  EXPECT_EQ(to_string(ones({1}, {.requires_grad = true})), "tensor([1.], requires_grad=true)");
  EXPECT_EQ(to_string(zeros({0})), "tensor([])");
  EXPECT_EQ(to_string(zeros({0, 3})), "tensor([], size=(0, 3))");
  EXPECT_EQ(to_string(Tensor()), "tensor(undefined)");
}

TEST(Print, LargeTensorsAreSummarised) {
  EXPECT_EQ(to_string(arange(5000).view({50, 100})),
            "tensor([[   0,    1,    2,  ...,   97,   98,   99],\n"
            "        [ 100,  101,  102,  ...,  197,  198,  199],\n"
            "        [ 200,  201,  202,  ...,  297,  298,  299],\n"
            "        ...,\n"
            "        [4700, 4701, 4702,  ..., 4797, 4798, 4799],\n"
            "        [4800, 4801, 4802,  ..., 4897, 4898, 4899],\n"
            "        [4900, 4901, 4902,  ..., 4997, 4998, 4999]])");
}

TEST(Print, DimensionsAreSetApart) {
  EXPECT_EQ(to_string(arange(8).view({2, 2, 2})),
            "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
}

TEST(Print, LinesWrapAtEightyColumns) {
  const std::string text = to_string(arange(0.0, 100.0));
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,");
}

TEST(Print, StreamsTakeWhatHasAText) {
  std::ostringstream stream;
  const Tensor x = arange(2);
  stream << x << ' ' << x.shape() << ' ' << x.dtype() << ' ' << x.device();
  EXPECT_EQ(stream.str(), "tensor([0, 1]) [2] i64 cpu");
}

}  // namespace
}  // namespace aorta
