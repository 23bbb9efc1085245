#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/core/ops/random.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

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

// As PyTorch looks for it: of equal elements the first, of NaNs the last.
std::pair<double, int64_t> largest_of(const std::vector<double>& row, int64_t first, int64_t end) {
  double best = -std::numeric_limits<double>::infinity();
  int64_t place = first;
  for (int64_t i = first; i < end; ++i) {
    const double value = row[static_cast<size_t>(i)];
    if (!(value > best || std::isnan(value))) continue;
    best = value;
    place = i;
  }
  return {best, place};
}

// Short windows, long ones that are looked at in blocks, and more of them than are kept in a table;
// with equal elements, infinities and NaNs. Gradients of half types are summed in f32.
TEST(Pooling, AdaptiveMaximaOneByOne) {
  constexpr int64_t kRows = 3;
  for (const DType dtype : {f32, bf16, f64})
    for (const auto& [length, windows] : {std::pair<int64_t, int64_t>{7, 3},
                                          {7, 5},
                                          {3001, 3},
                                          {3001, 700},
                                          {640, 2},
                                          {90'000, 1}}) {
      Generator random(static_cast<uint64_t>(length + windows));
      Tensor x = floor(randn({kRows, length}, {}, &random) * 8);
      x = where(rand({kRows, length}, {}, &random) < 2.0 / static_cast<double>(length),
                full({}, std::nan("")), x);
      x[2].copy_(where(x[2] < 100, arange(length, {.dtype = f32}), x[2]));  // each is larger
      if (length > 7) x[1].fill_(-std::numeric_limits<double>::infinity());
      x = x.to(dtype);
      const ValuesIndices found = adaptive_max_pool1d_with_indices(x, {windows});
      const Tensor gradient =
          (arange(kRows * windows, {.dtype = f32}) + 1.0).view({kRows, windows}).to(dtype);
      const Tensor back = kernel::max_pool_backward(gradient, found.indices, x.shape(), 1);
      for (int64_t r = 0; r < kRows; ++r) {
        const std::vector<double> row = x[r].to_vector<double>();
        std::vector<double> sums(row.size());
        for (int64_t o = 0; o < windows; ++o) {
          const auto [value, place] =
              largest_of(row, o * length / windows, ((o + 1) * length + windows - 1) / windows);
          EXPECT_EQ(found.indices.at<int64_t>({r, o}), place) << length << " " << windows;
          const double got = found.values[r][o].item<double>();
          EXPECT_TRUE(got == value || (std::isnan(got) && std::isnan(value))) << got << value;
          sums[static_cast<size_t>(place)] += gradient[r][o].item<double>();
        }
        const Tensor wanted = tensor(sums).to(dtype == f64 ? f64 : f32).to(dtype);
        EXPECT_TRUE(equal(back[r], wanted)) << length << " " << windows << " " << to_string(dtype);
      }
    }
}

TEST(Pooling, AdaptiveOfNothing) {
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 0, 4, 4}), {3}).shape(), Shape({2, 0, 3, 3}));
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 3, 4, 4}), {0}).shape(), Shape({2, 3, 0, 0}));
  EXPECT_EQ(adaptive_avg_pool2d(ones({2, 3, 4, 5}), {-1, 2}).shape(), Shape({2, 3, 4, 2}));
}

}  // namespace
