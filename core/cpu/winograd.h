#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/convolution.h>

namespace aorta::cpu {

// Winograd's F(4x4, 3x3): a 4x4 tile of the result of a 3x3 convolution takes 36 multiplications a
// channel instead of 144. Tiles of 6x6 inputs and the kernels are transformed, multiplied point by
// point (36 matrix products over the channels), and transformed back. Half types are widened as
// they are read, computed in f32, and rounded once, where the result is stored.

/// The tiles' size in the result, in the source, and points of a transformed tile.
inline constexpr int kWinogradTile = 4, kWinogradWindow = 6, kWinogradPoints = 36;

/// A tile: where its window begins in the source and its result in the target (in elements, perhaps
/// outside), which rows and columns of the window lie inside, and how many of the result do.
struct WinogradTile {
  int64_t source, target;
  int8_t first[2], end[2];
  int8_t count[2];
};

/// Some tiles and channels of a transform.
struct WinogradPart {
  int64_t first_tile, end_tile, first_channel, end_channel;
};

/// Windows to the points of panels of a blocked `a` (gemm.h) of `panel` rows (tiles), in strips of
/// `strip` channels that lie one after another; or, `as_columns`, to those of panels of `b`, of
/// `panel` columns (channels) and `tiles` steps.
struct WinogradInput {
  const void* source = nullptr;
  DType dtype = DType::f32;
  int64_t steps[2] = {};  // of a window: to the next row and column, in elements
  int64_t channels = 0;
  const WinogradTile* tiles = nullptr;
  int64_t rows = 0;  // tiles in all
  int64_t strip = 0;
  int panel = 0;
  bool as_columns = false;
  float* output = nullptr;
  int64_t point_stride = 0;
};

/// The gradient of tiles' results, 4x4 numbers, to [point][tile][channel].
struct WinogradGradient {
  const void* source = nullptr;
  DType dtype = DType::f32;
  int64_t steps[2] = {};
  int64_t channels = 0;
  const WinogradTile* tiles = nullptr;
  float* output = nullptr;
  int64_t point_stride = 0;
};

/// Kernels to columns of a panel of `b` of `padded` columns: `depth` steps of it.
struct WinogradWeights {
  const float* w = nullptr;  // of the panel's first column and of step 0
  int64_t column_stride = 0, step_stride = 0, tap_strides[2] = {};
  bool flipped = false;
  int64_t columns = 0, padded = 0, depth = 0;
  float* output = nullptr;
  int64_t point_stride = 0;
};

/// Products [point][tile][channel] back to numbers of the result, plus bias.
struct WinogradOutput {
  const float* products = nullptr;
  int64_t point_stride = 0, channels = 0;
  const float* bias = nullptr;
  const WinogradTile* tiles = nullptr;
  void* target = nullptr;
  DType dtype = DType::f32;
  int64_t steps[2] = {};
};

/// Sums of products, a row of [point][row][channel], back to 3x3 kernels: [tap][channel].
struct WinogradKernelSums {
  const float* sums = nullptr;
  int64_t point_stride = 0, channels = 0;
  void* output = nullptr;
  DType dtype = DType::f32;
};

/// An instruction set's loops.
struct WinogradLoops {
  void (*input)(const WinogradInput& input, const WinogradPart& part);
  void (*gradient)(const WinogradGradient& gradient, const WinogradPart& part);
  void (*weights)(const WinogradWeights& weights);
  void (*output)(const WinogradOutput& output, const WinogradPart& part);
  void (*kernel_sums)(const WinogradKernelSums& kernels);
  void (*widen)(DType dtype, const void* numbers, int64_t count, float* output);
};
AORTA_ISA_TABLE(WinogradLoops, winograd_loops)

/// Whether the rule on the shape takes it.
bool takes_winograd(const ConvolutionArgs& args);
void winograd_convolution(const ConvolutionArgs& args, bool transposed);
/// The gradient of the kernels, which rows are faster for where both sides have the fewest
/// channels.
bool takes_winograd_gradient(const ConvolutionArgs& args);
void winograd_weight_gradient(const ConvolutionArgs& args);

}  // namespace aorta::cpu
