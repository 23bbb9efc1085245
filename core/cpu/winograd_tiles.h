#pragma once

#include <aorta/core/cpu/gemm.h>
#include <aorta/core/cpu/grid.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/winograd.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <vector>

namespace aorta::cpu {

// What the convolution and the gradient of its kernels share: how maps become tiles, and how
// threads and caches share these.

/// Channels come in whole registers and blocks.
inline constexpr int64_t kWinogradChannels = 16;
/// Kernels of more numbers are read by threads together: for few tiles at a time they cost more
/// than what stays near gains.
inline constexpr int64_t kFewKernelNumbers = kWinogradPoints * 256 * 128;
/// Steps of the runs of a product's sum that are summed by themselves: the way back from the points
/// makes errors 4.8 times as large, and those of long sums lead.
inline constexpr int64_t kRunSteps = 32;

/// A convolution of stride 1 as the result sees it: x from y is one with the kernel turned around.
struct WinogradDim {
  int64_t source, target, padding, dilation;
};
struct WinogradSizes {
  WinogradSizes(const ConvolutionArgs& args, bool transposed);
  WinogradDim frames, dims[2];
  int64_t batch, taps;  // `taps`: frames of the kernel
  int64_t source_channels, target_channels;
};

/// The tiles of all frames of the result, with the windows that frame `tap` of the kernel reads:
/// empty ones where it lies beside the source.
std::vector<WinogradTile> tiles_of(const WinogradSizes& sizes, int64_t tap);

/// From a number of a window, and of a tile's result, to that of the next row and column.
struct WinogradSteps {
  explicit WinogradSteps(const WinogradSizes& sizes);
  int64_t source[2], target[2];
};

/// Tiles that all threads transform at a time, in whole panels of `rows`.
int64_t block_tiles(int64_t tiles, int64_t numbers_a_tile, int rows);

/// Threads share lines (tiles, or rows of the kernels) and columns (channels). What one thread
/// makes of its part comes to another only from that one's cache, or from memory where cores share
/// none, so the side is cut whose other operand is the smaller one.
Grid winograd_grid(int64_t lines, int64_t columns, int64_t line_numbers, int64_t column_numbers);

/// The runs of a sum of so many steps.
std::vector<GemmRun> runs_of(int64_t steps);

/// Numbers from one point's plane to the next: not a multiple of a page, whose numbers would all
/// want the same lines of the first-level cache.
inline int64_t plane(int64_t numbers) { return round_up(numbers, 1024) + 16; }

/// The i-th part of `count`, in whole units but for the end.
inline Range units_of(int64_t count, int64_t unit, int64_t parts, int64_t i) {
  const Range part = part_of(divide_up(count, unit), parts, i);
  return {part.begin * unit, std::min(part.end * unit, count)};
}

/// Runs body(i, j) for every part of the grid, each on the same thread every time.
template <class Body>
void on_grid(const Grid& grid, const Body& body) {
  parallel_for(0, grid.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / grid.across, i % grid.across);
  });
}

}  // namespace aorta::cpu
