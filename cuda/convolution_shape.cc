#include <aorta/cuda/convolution_shape.h>

#include <aorta/core/integers.h>

#include <algorithm>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

constexpr int64_t kFewColumns = 8;  // fill an eighth of a tile
constexpr int64_t kMostWaste = 16;  // rows of tiles for each that is a position
constexpr int64_t kNarrow = 1 << 30;

// Whether positions, taps and channels can be counted in 32 bits, and so can what lies between
// them.
bool is_narrow(const ConvolutionArgs& args) {
  bool ok = args.batch < kNarrow && args.x_channels < kNarrow && args.y_channels < kNarrow;
  int64_t taps = 1;
  for (const ConvDim& dim : args.dims) {
    ok &= dim.kernel < kNarrow && dim.dilation < kNarrow && dim.stride < kNarrow &&
          dim.input < kNarrow && dim.output < kNarrow;
    if (!ok) return false;
    ok &= (dim.kernel - 1) * dim.dilation + dim.input + 2 * dim.padding + dim.stride < kNarrow;
    taps *= dim.kernel;
    ok &= taps < kNarrow;
  }
  return ok;
}

// Positions of x that lie `stride` apart are read by the same taps, and share tiles.
bool fills_rows(const ConvolutionArgs& args) {
  int64_t phases = 1, rows = args.batch, positions = args.batch;
  for (const ConvDim& dim : args.dims) {
    const int64_t apart = std::min(dim.stride, dim.input);
    phases *= apart;
    rows *= divide_up(dim.input, apart);
    positions *= dim.input;
  }
  return divide_up(rows, kConvRows) * phases <=
         std::max<int64_t>(positions * kMostWaste / kConvRows, 1);
}

// As many slices as fill a large GPU some times over, each of `least` positions or more.
int64_t slices(int64_t wanted, int64_t units, int64_t positions, int64_t least) {
  return std::clamp<int64_t>(wanted / std::max<int64_t>(units, 1), 1,
                             std::max<int64_t>(positions / least, 1));
}

}  // namespace

bool takes_tiles(const ConvolutionArgs& args, ConvResult result) {
  if (!is_narrow(args)) return false;
  const int64_t x = args.x_channels / args.groups, y = args.y_channels / args.groups;
  switch (result) {
    case ConvResult::y:
      return y > kFewColumns;
    case ConvResult::x:
      return x > kFewColumns && fills_rows(args);
    case ConvResult::w:
      break;
  }
  const int64_t taps = args.dims[0].kernel * args.dims[1].kernel * args.dims[2].kernel;
  return y > kFewColumns && x * taps > kFewColumns;
}

WeightColumns::WeightColumns(int64_t channels_of_group)
    : taps(static_cast<int>(std::max<int64_t>(kConvColumns / channels_of_group, 1))),
      channels(static_cast<int>(std::min<int64_t>(channels_of_group, kConvColumns))) {}

int64_t tile_slices(int64_t tiles, int64_t positions) { return slices(512, tiles, positions, 512); }
int64_t thread_slices(int64_t numbers, int64_t positions) {
  return slices(1 << 17, numbers, positions, 128);
}

}  // namespace aorta::cuda
