#include <aorta/cuda/convolution_shape.h>

#include <aorta/core/body/window.h>
#include <aorta/core/integers.h>
#include <aorta/cuda/limits.h>

#include <algorithm>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

constexpr int64_t kFewColumns = 8;  // fill an eighth of a tile
constexpr double kLeastInside = 0.125;
constexpr int64_t kMostWaste = 16;  // rows of tiles for each that is a position
// Whether positions, taps and channels can be counted in 32 bits, and so can what lies between
// them.
bool is_narrow(const ConvolutionArgs& args) {
  const int64_t narrow = limits().elements / 2;
  bool ok = args.batch < narrow && args.x_channels < narrow && args.y_channels < narrow;
  int64_t taps = 1;
  for (const ConvDim& dim : args.dims) {
    ok &= dim.kernel < narrow && dim.dilation < narrow && dim.stride < narrow &&
          dim.input < narrow && dim.output < narrow;
    if (!ok) return false;
    ok &= (dim.kernel - 1) * dim.dilation + dim.input + 2 * dim.padding + dim.stride < narrow;
    taps *= dim.kernel;
    ok &= taps < narrow;
  }
  return ok;
}

bool counts_in_32_bits(const ConvolutionArgs& args) {
  int64_t x = args.batch * args.x_channels, y = args.batch * args.y_channels;
  int64_t w = args.y_channels * args.x_channels / args.groups;
  const int64_t limit = limits().elements;
  for (const ConvDim& dim : args.dims) {
    if (x >= limit || y >= limit || w >= limit) return false;
    x *= dim.input;
    y *= dim.output;
    w *= dim.kernel;
  }
  return x < limit && y < limit && w < limit;
}

// The share of all pairs of a position of y and a tap that read inside.
double share_inside(const ConvolutionArgs& args) {
  double share = 1;
  for (const ConvDim& dim : args.dims) {
    int64_t inside = 0;
    for (int64_t tap = 0; tap < dim.kernel; ++tap) {
      const body::WindowRange positions = body::positions_reading(dim, tap);
      inside += std::max<int64_t>(positions.end - positions.first, 0);
    }
    share *= static_cast<double>(inside) / static_cast<double>(dim.kernel * dim.output);
  }
  return share;
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

int64_t padding_behind(const ConvDim& dim) {
  const int64_t reach = (dim.kernel - 1) * dim.dilation + 1;
  const int64_t room = dim.input + 2 * dim.padding - reach;
  if (room >= 0 && room / dim.stride + 1 == dim.output) return dim.padding;
  return (dim.output - 1) * dim.stride + reach - dim.input - dim.padding;
}

bool suits_cudnn(const ConvolutionArgs& args, ConvResult result) {
  const bool depthwise = args.groups > 1 && args.groups == args.x_channels;
  const bool fused = result == ConvResult::x && args.bias;
  if (args.dtype == DType::f64 || depthwise || fused || !is_narrow(args)) return false;
  for (const ConvDim& dim : args.dims) {
    if (padding_behind(dim) < 0) return false;
  }
  return counts_in_32_bits(args) && share_inside(args) > kLeastInside;
}

LiveTaps live_taps(const ConvolutionArgs& args) {
  LiveTaps live{args};
  int64_t offset = 0;
  for (int d = 0; d < 3; ++d) {
    const ConvDim& dim = args.dims[d];
    const body::WindowRange taps = body::taps_reading(dim, 0, dim.output - 1);
    ConvDim less = dim;
    less.kernel = taps.end - taps.first;
    less.padding = dim.padding - taps.first * dim.dilation;
    if (less.kernel == dim.kernel || less.kernel < 1 || less.padding < 0 ||
        padding_behind(less) < 0)
      continue;
    live.args.dims[d] = less;
    live.first[d] = taps.first;
    live.fewer = true;
    offset += taps.first * args.w_dims[d];
  }
  live.args.w = static_cast<char*>(args.w) + offset * item_size(args.dtype);
  return live;
}

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
