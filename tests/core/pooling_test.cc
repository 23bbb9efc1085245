#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace {

using namespace aorta;

Tensor ramp(const Shape& shape) { return arange(shape.numel(), {.dtype = f32}).reshape(shape); }

TEST(Pooling, KeepsChannelsLast) {
  const Tensor x = ramp({2, 5, 6, 7}), last = x.contiguous(MemoryFormat::channels_last);
  const ValuesIndices r = max_pool2d_with_indices(last, {3}, {2}, {1});
  const ValuesIndices plain = max_pool2d_with_indices(x, {3}, {2}, {1});
  EXPECT_TRUE(r.values.is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(r.indices.is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(plain.values.is_contiguous());
  EXPECT_EQ(r.indices.to_vector<int64_t>(), plain.indices.to_vector<int64_t>());
  EXPECT_TRUE(avg_pool2d(last, {2}).is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(adaptive_avg_pool2d(last, {3}).is_contiguous(MemoryFormat::channels_last));
  const Tensor volume = ramp({2, 3, 4, 5, 6}).contiguous(MemoryFormat::channels_last);
  EXPECT_TRUE(max_pool3d(volume, {2}).is_contiguous(MemoryFormat::channels_last));
}

TEST(Pooling, NumbersByNameAreThoseByPosition) {
  const Tensor x = ramp({2, 3, 8, 9});
  EXPECT_TRUE(equal(max_pool2d(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true}),
                    max_pool2d(x, {3, 3}, {2, 2}, {1, 1}, {1, 1}, true)));
  EXPECT_TRUE(equal(max_pool2d_with_indices(x, 2, {.dilation = 2}).indices,
                    max_pool2d_with_indices(x, 2, {}, 0, 2).indices));
  EXPECT_TRUE(equal(avg_pool2d(x, 3, {.stride = {1, 2}, .padding = 1, .count_include_pad = false}),
                    avg_pool2d(x, 3, {1, 2}, 1, false, false)));
  EXPECT_TRUE(
      equal(avg_pool2d(x, 2, {.divisor_override = 3}), avg_pool2d(x, 2, {}, 0, false, true, 3)));
  EXPECT_EQ(error_of([&] { avg_pool1d(x[0], 2, {.divisor_override = 3}); }),
            "avg_pool1d: divisor_override must not be given, got 3");
}

// In a ramp the mean of a window is that of its corners, and the largest element is the last.
TEST(Pooling, OfARamp) {
  const Tensor x = ramp({1, 64, 96});
  const Tensor mean = avg_pool2d(x, {4, 6}), largest = max_pool2d(x, {4, 6});
  for (int64_t i = 0; i < 16; ++i) {
    for (int64_t j = 0; j < 16; ++j) {
      const double first = static_cast<double>(4 * i * 96 + 6 * j), last = first + 3 * 96 + 5;
      EXPECT_EQ(mean.at<float>({0, i, j}), (first + last) / 2);
      EXPECT_EQ(largest.at<float>({0, i, j}), last);
    }
  }
}

// Rows of more outputs than are reduced at a time, and windows far larger than the input.
TEST(Pooling, LongRowsAndWideWindows) {
  const Tensor x = ramp({1, 5000});
  const Tensor pooled = max_pool1d(x, {3}, {1}, {1});
  for (int64_t i = 0; i < 5000; ++i)
    ASSERT_EQ(pooled.at<float>({0, i}), static_cast<float>(std::min<int64_t>(i + 1, 4999)));
  const int64_t wide = 2147483647;
  EXPECT_EQ(max_pool1d(x, {wide}, {wide}, {wide / 2}).to_vector<float>(), std::vector<float>{4999});
  EXPECT_EQ(avg_pool1d(x, {wide}, {wide}, {wide / 2}, false, false).to_vector<float>(),
            std::vector<float>{2499.5});
}

TEST(Pooling, AdaptiveOfNothing) {
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 0, 4, 4}), {3}).shape(), Shape({2, 0, 3, 3}));
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 3, 4, 4}), {0}).shape(), Shape({2, 3, 0, 0}));
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 3, 4, 5}), {-1, 2}).shape(), Shape({2, 3, 4, 2}));
}

}  // namespace
