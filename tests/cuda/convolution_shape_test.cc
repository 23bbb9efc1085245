#include <aorta/core/integers.h>
#include <aorta/cuda/convolution_shape.h>

#include <gtest/gtest.h>

using namespace aorta;
using namespace aorta::cuda;
using kernel::ConvolutionArgs;

namespace {

// 3x3 on maps of 14x14, of so many channels.
ConvolutionArgs args_of(int64_t x_channels, int64_t y_channels, int64_t groups) {
  ConvolutionArgs args;
  args.batch = 20;
  args.groups = groups;
  args.x_channels = x_channels;
  args.y_channels = y_channels;
  for (int d = 1; d < 3; ++d) args.dims[d] = {14, 14, 3, 1, 1, 1};
  return args;
}

}  // namespace

// What cuDNN isn't asked for.
TEST(ConvolutionShape, CudnnIsAskedForWhatSuitsIt) {
  const auto suits_cudnn = [](const ConvolutionArgs& args) {
    return cuda::suits_cudnn(args, ConvResult::y);
  };
  EXPECT_TRUE(suits_cudnn(args_of(64, 128, 1)));
  EXPECT_TRUE(suits_cudnn(args_of(64, 128, 4)));
  EXPECT_TRUE(suits_cudnn(args_of(1, 8, 1)));
  EXPECT_FALSE(suits_cudnn(args_of(64, 64, 64))) << "depthwise";
  EXPECT_FALSE(suits_cudnn(args_of(64, 128, 64))) << "depthwise, with a multiplier";
  ConvolutionArgs wide = args_of(64, 64, 1);
  wide.dtype = DType::f64;
  EXPECT_FALSE(suits_cudnn(wide));
  // 20 * 64 * 14 * 14 numbers an image and 2^31 in all.
  ConvolutionArgs many = args_of(64, 64, 1);
  many.batch = (int64_t{1} << 31) / (64 * 14 * 14);
  EXPECT_TRUE(suits_cudnn(many));
  ++many.batch;
  EXPECT_FALSE(suits_cudnn(many));
  ConvolutionArgs huge = args_of(1, 1, 1);
  huge.dims[2].padding = huge.dims[2].dilation = (int64_t{1} << 31) - 1;
  EXPECT_FALSE(suits_cudnn(huge));
  ConvolutionArgs biased = args_of(64, 64, 1);
  biased.bias = &biased;
  EXPECT_TRUE(cuda::suits_cudnn(biased, ConvResult::y));
  EXPECT_FALSE(cuda::suits_cudnn(biased, ConvResult::x));
}

TEST(ConvolutionShape, PaddingBehindMakesTheOutput) {
  EXPECT_EQ(padding_behind({14, 14, 3, 1, 1, 1}), 1);
  EXPECT_EQ(padding_behind({14, 7, 3, 2, 1, 1}), 1) << "though the last zero is never read";
  EXPECT_EQ(padding_behind({14, 14, 4, 1, 1, 1}), 2) << "same, of an even kernel";
  // An output of a transposed convolution with output padding 2: 2 1 + 2 2 + 1 + 2 numbers.
  EXPECT_EQ(padding_behind({9, 3, 3, 1, 0, 2}), -2);
}

// For a 3x3 kernel on 14x14 dilation 12 leaves (14 + 2 + 2) / 42 of each dimension's pairs inside,
// 18 % of both; dilation 14 leaves the middle tap, 11 %.
TEST(ConvolutionShape, CudnnIsNotAskedToMultiplyPadding) {
  for (const int64_t apart : {1, 2, 6, 12, 13, 14, 24}) {
    ConvolutionArgs args = args_of(64, 64, 1);
    for (int d = 1; d < 3; ++d) args.dims[d] = {14, 14, 3, 1, apart, apart};
    EXPECT_EQ(suits_cudnn(args, ConvResult::y), apart < 14) << apart;
  }
}

TEST(ConvolutionShape, TapsThatReadNothingButPaddingAreLeftOut) {
  alignas(16) float w[64 * 64 * 9];
  ConvolutionArgs args = args_of(64, 64, 1);
  args.w = w;
  args.w_dims[1] = 3 * 64;
  args.w_dims[2] = 64;
  EXPECT_FALSE(live_taps(args).fewer);
  // Along the height the middle tap is left, along the width all three.
  args.dims[1] = {14, 14, 3, 1, 14, 14};
  args.dims[2] = {14, 14, 3, 1, 13, 13};
  LiveTaps live = live_taps(args);
  EXPECT_TRUE(live.fewer);
  EXPECT_EQ(live.first[1], 1);
  EXPECT_EQ(live.first[2], 0);
  EXPECT_EQ(live.args.dims[1].kernel, 1);
  EXPECT_EQ(live.args.dims[1].padding, 0);
  EXPECT_EQ(live.args.dims[2].kernel, 3);
  EXPECT_EQ(live.args.w, w + 3 * 64);
  // Five taps, of which the second and the fourth read one row of three, and the middle one all.
  args.dims[1] = {3, 3, 5, 1, 4, 2};
  live = live_taps(args);
  EXPECT_EQ(live.first[1], 1);
  EXPECT_EQ(live.args.dims[1].kernel, 3);
  EXPECT_EQ(live.args.dims[1].padding, 2);
  // The tap that is left reads past the image's start with its first position: less padding than
  // none.
  args.dims[1] = {14, 4, 3, 1, 10, 20};
  EXPECT_FALSE(live_taps(args).fewer);
}

// Groups of few channels, and sizes past 30 bits, are for a thread a result.
TEST(ConvolutionShape, TilesAreForWhatFillsThem) {
  const ConvResult all[] = {ConvResult::y, ConvResult::x, ConvResult::w};
  for (const ConvResult result : all) {
    EXPECT_TRUE(takes_tiles(args_of(64, 128, 1), result));
    EXPECT_FALSE(takes_tiles(args_of(64, 64, 64), result));
    ConvolutionArgs huge = args_of(64, 64, 1);
    huge.dims[2].input = huge.dims[2].output = int64_t{1} << 31;
    EXPECT_FALSE(takes_tiles(huge, result));
    huge = args_of(64, 64, 1);
    huge.dims[2].padding = huge.dims[2].dilation = (int64_t{1} << 31) - 1;
    EXPECT_FALSE(takes_tiles(huge, result));
  }
  // A picture's channels are few, and their taps aren't.
  EXPECT_TRUE(takes_tiles(args_of(3, 64, 1), ConvResult::y));
  EXPECT_FALSE(takes_tiles(args_of(3, 64, 1), ConvResult::x));
  EXPECT_TRUE(takes_tiles(args_of(3, 64, 1), ConvResult::w));
  // At a stride as large as the image each position is a phase of its own, with a tile of its own.
  ConvolutionArgs apart = args_of(64, 64, 1);
  apart.batch = 1;
  apart.dims[1] = apart.dims[2] = {64, 1, 3, 64, 0, 1};
  EXPECT_FALSE(takes_tiles(apart, ConvResult::x));
  EXPECT_TRUE(takes_tiles(apart, ConvResult::y));
}

TEST(ConvolutionShape, ColumnsAreWholeTapsOrPartsOfOne) {
  for (int channels = 1; channels < 200; ++channels) {
    const WeightColumns columns(channels);
    EXPECT_GE(columns.taps, 1);
    EXPECT_LE(columns.taps * columns.channels, kConvColumns);
    EXPECT_TRUE(columns.taps == 1 || columns.channels == channels) << channels;
  }
}

TEST(ConvolutionShape, SlicesFillTheDeviceAndAreWorthIt) {
  EXPECT_EQ(tile_slices(1, 100), 1);
  EXPECT_EQ(tile_slices(1, 1024), 2);
  EXPECT_EQ(tile_slices(1, int64_t{1} << 40), 512);
  EXPECT_EQ(tile_slices(600, int64_t{1} << 40), 1);
  EXPECT_EQ(thread_slices(1, 100), 1);
  EXPECT_EQ(thread_slices(9, 1280), 10);
  EXPECT_EQ(thread_slices(1 << 20, 1 << 20), 1);
}
