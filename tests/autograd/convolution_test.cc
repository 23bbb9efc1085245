#include <aorta/autograd/backward.h>
#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(ConvolutionGradient, IsLaidOutAsWhatItBelongsTo) {
  const Tensor x = randn({2, 4, 7, 6}), w = randn({5, 4, 3, 3});
  for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
    Tensor weight = w.clone(format), input = x.clone(format);
    weight.requires_grad_();
    input.requires_grad_();
    sum(conv2d(input, weight)).backward();
    EXPECT_TRUE(weight.grad().is_contiguous(format));
    EXPECT_TRUE(input.grad().is_contiguous(format));
  }
}

// A 3x3 kernel of dilation 24 on 14x14 is a 1x1 one.
TEST(ConvolutionGradient, TapsThatMeetPaddingAloneGetExactlyZero) {
  Tensor w = randn({4, 3, 3, 3});
  w.requires_grad_();
  const Tensor x = randn({2, 3, 14, 14});
  const Tensor y = conv2d(x, w, {}, {1}, {24}, {24});
  const Tensor one = conv2d(x, w.detach().slice(2, 1, 2).slice(3, 1, 2));
  EXPECT_EQ(y.detach().to_vector<float>(), one.to_vector<float>());
  sum(y).backward();
  const std::vector<float> gradient = w.grad().to_vector<float>();
  for (size_t i = 0; i < gradient.size(); ++i) EXPECT_EQ(gradient[i] != 0, i % 9 == 4) << i;
}

}  // namespace
}  // namespace aorta
