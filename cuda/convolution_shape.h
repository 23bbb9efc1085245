#pragma once

#include <aorta/core/ops/convolution.h>

namespace aorta::cuda {

/// The tile of a product that a block computes: rows by columns.
inline constexpr int kConvRows = 128, kConvColumns = 64;

/// What a convolution kernel computes from the other two: y from x and w, or x, or w.
enum class ConvResult { y, x, w };

/// Zeros behind the input: as many as before it, but for padding "same" of an odd number in all,
/// and for outputs of transposed convolutions, of which a part may be read by no tap: negative
/// then.
int64_t padding_behind(const kernel::ConvDim& dim);

/// Whether cuDNN is asked for it before our own kernels are. It isn't for
///
/// - f64,
/// - a tensor of 2^31 elements or more (`Limits`), or sizes past 30 bits,
/// - depthwise convolutions: tiles of its engines would be nearly empty,
/// - x with a bias: cuDNN 9.19 has no engine that adds one there,
/// - negative padding behind the input,
/// - kernels of which seven eighths of the taps or more lie in the padding, on average: ours leave
///   those out, and cuDNN multiplies them by zeros, but so much faster that fewer don't matter.
///
/// Whether cuDNN is there, and has an engine that does nothing it may not, is seen when it is
/// asked.
bool suits_cudnn(const kernel::ConvolutionArgs& args, ConvResult result);

/// A convolution without the taps at the ends of a dimension that read nothing but padding.
struct LiveTaps {
  kernel::ConvolutionArgs args;  // w is its first tap that is left
  int64_t first[3] = {};         // of each dimension
  bool fewer = false;            // taps than there were
};
/// A dilation past the image's size leaves the middle tap alone, which makes a product of it.
LiveTaps live_taps(const kernel::ConvolutionArgs& args);

/// Whether tiles compute it: where they would be nearly empty, because a group has few channels or
/// neighbours read by other taps, or where sizes don't fit 30 bits, a thread computes a result.
bool takes_tiles(const kernel::ConvolutionArgs& args, ConvResult result);

/// The columns of a weight gradient's tile are whole taps, or a part of one tap's channels.
struct WeightColumns {
  int taps, channels;  // of a tile, at most

  explicit WeightColumns(int64_t channels_of_group);
};

/// Parts that the sum over all positions of a weight gradient is cut into, each of which is summed
/// by blocks of its own; `tiles` of w are computed beside each other. By the shape alone, so that
/// the bits are the same on every GPU.
int64_t tile_slices(int64_t tiles, int64_t positions);
/// Does the same where a thread sums a number of w.
int64_t thread_slices(int64_t numbers, int64_t positions);

}  // namespace aorta::cuda
