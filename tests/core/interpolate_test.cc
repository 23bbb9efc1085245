#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/rearrange.h>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace aorta;
using enum InterpolateMode;

TEST(Interpolate, KeepsChannelsLast) {
  const Tensor x = arange(2 * 5 * 3 * 4, {.dtype = f32}).view({2, 5, 3, 4});
  const Tensor last = x.contiguous(MemoryFormat::channels_last);
  for (InterpolateMode mode : {nearest, bilinear, bicubic}) {
    const Tensor y = interpolate(last, {.size = {7}, .mode = mode});
    EXPECT_TRUE(y.is_contiguous(MemoryFormat::channels_last));
    EXPECT_TRUE(interpolate(x, {.size = {7}, .mode = mode}).is_contiguous());
  }
}

// A whole factor repeats elements.
TEST(Interpolate, NearestRepeats) {
  const Tensor x = arange(12, {.dtype = f16}).view({1, 1, 3, 4});
  const Tensor wanted = repeat_interleave(repeat_interleave(x, 3, 2), 3, 3);
  for (InterpolateMode mode : {nearest, nearest_exact}) {
    const Tensor y = interpolate(x, {.scale_factor = {3}, .mode = mode});
    EXPECT_EQ(y.to_vector<float>(), wanted.to_vector<float>());
  }
}

// Maps of as many or twice as many pixels as before don't look at the factor, as PyTorch's on the
// CPU.
TEST(Interpolate, NearestOfAsManyPixels) {
  const Tensor row = arange(10).to(f32).view({1, 1, 1, 10});
  const Tensor same = interpolate(row.expand({1, 1, 10, 10}), {.scale_factor = {1.05}});
  EXPECT_EQ(same.select(2, 0).to_vector<float>(), row.to_vector<float>());
  const Tensor twice = interpolate(arange(16).to(f32).view({1, 1, 4, 4}), {.scale_factor = {2.1}});
  EXPECT_EQ(twice.select(2, 7).to_vector<float>(),
            (std::vector<float>{12, 12, 13, 13, 14, 14, 15, 15}));
  const Tensor line = interpolate(row.view({1, 1, 10}), {.scale_factor = {1.05}});
  EXPECT_EQ(line.to_vector<float>(), (std::vector<float>{0, 0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

// Linear functions stay what they are, but near the border without align_corners.
TEST(Interpolate, ReproducesLines) {
  const Tensor x = arange(40, {.dtype = f64}).view({1, 1, 40});
  const Tensor corners = interpolate(x, {.size = {118}, .mode = linear, .align_corners = true});
  for (int64_t i = 0; i < 118; ++i)
    EXPECT_NEAR(corners.at<double>({0, 0, i}), static_cast<double>(i) / 3, 1e-13);
  const Tensor cubic = interpolate(x.view({1, 1, 1, 40}), {.size = {1, 160}, .mode = bicubic});
  for (int64_t i = 8; i < 152; ++i) {
    // Keys' kernel reproduces a line with a = -0.5 alone; with others it is off by
    // -(2 a + 1) t (1 - t) (1 - 2 t).
    const double at = (static_cast<double>(i) + 0.5) / 4 - 0.5, t = at - std::floor(at);
    EXPECT_NEAR(cubic.at<double>({0, 0, 0, i}), at + 0.5 * t * (1 - t) * (1 - 2 * t), 1e-13);
  }
}

// F.interpolate(x, scale_factor=(2, 1.1), mode="bilinear", antialias=True) of
// [[1, 2, 4, 8], [3, 5, 7, 9]]: a line of as many pixels stays as it is.
TEST(Interpolate, SmoothsNothingOfAsManyPixels) {
  const Tensor x = tensor({1, 2, 4, 8, 3, 5, 7, 9}, {.dtype = f64}).view({1, 1, 2, 4});
  const Tensor y = interpolate(x, {.scale_factor = {2, 1.1}, .mode = bilinear, .antialias = true});
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 2, 4, 8, 1.5, 2.75, 4.75, 8.25, 2.5,
                                                        4.25, 6.25, 8.75, 3, 5, 7, 9}));
}

}  // namespace
