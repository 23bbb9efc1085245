// Convolutions as products of matrices that are never written down (convolution_tile.cuh): a block
// computes a tile of the result, and its loader gathers the operands through the window rule.
//
//                 rows                       columns             terms of a sum
//   y from x, w   positions of y             channels of y       taps x channels of x
//   x from y, w   positions of x, by phase   channels of x       taps x channels of y
//   w from x, y   channels of y              taps x channels     positions of y, in slices
//
// Taps that lie in the padding for all of a tile's positions aren't among its terms, and a tile of
// one tap's weights sums over the positions alone that it meets the image at. Positions of x that
// lie a stride apart (a phase) are read by the same taps. No atomics: slices of a weight gradient
// are added up in their order by a second kernel.
#include <aorta/core/body/window.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/integers.h>
#include <aorta/cuda/convolution_kernels.h>
#include <aorta/cuda/convolution_tile.cuh>

#include <numeric>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

constexpr int kOutside = -(1 << 30);  // no tap leads from there into an image

/// Writes sums as neighbours in memory, 16 bytes at a time.
template <class T, int n, class Sum>
__device__ __forceinline__ void store_run(T* to, const Sum (&values)[n]) {
  constexpr int kVector = 16 / static_cast<int>(sizeof(T));
#pragma unroll
  for (int c = 0; c < n; c += kVector) {
    Vector<Native<T>, kVector> run;
#pragma unroll
    for (int i = 0; i < kVector; ++i)
      run.element[i] = __builtin_bit_cast(Native<T>, convert<T>(values[c + i]));
    *reinterpret_cast<Vector<Native<T>, kVector>*>(to + c) = run;
  }
}

/// A dimension of the source (what is read) and of the target.
struct SideDim {
  int source, target;
  int kernel, stride, padding, dilation;
  int phases;    // 1, or of x those that there are: positions phase, phase + phases, ...
  int count;     // positions of a phase, the last one perhaps outside
  int tap_step;  // from one tap that reads in a phase to the next
};

struct SideArgs {
  SideDim dims[3];
  int groups, taps;
  int channels, columns;             // of a group: of the source, and of the target
  int padded_columns;                // of the weights
  int64_t source_step, target_step;  // all channels of a position
  int64_t rows, row_tiles;           // of a phase
  int column_tiles;
  int64_t tiles;
  const void *source, *weights, *bias;  // weights (groups, taps, channels, padded columns)
  void* target;
  bool transposed, loads_runs, stores_runs;
};

/// The taps of a dimension that some positions of a tile read inside the image: place q of a phase
/// reads q * step + shift + i * shift_step with the i-th, tap + i * tap_step.
struct Axis {
  int shift, shift_step, taps, tap, tap_step;
};

/// PhasePlace `first` to `last` of a phase of y.
__device__ __forceinline__ Axis axis_of_y(const SideDim& d, int first, int last) {
  const ConvDim dim{d.source, d.target, d.kernel, d.stride, d.padding, d.dilation};
  const body::WindowRange taps = body::taps_reading(dim, first, last);
  const int tap = static_cast<int>(taps.first);
  return {tap * d.dilation - d.padding, d.dilation,
          taps.first < taps.end ? static_cast<int>(taps.end) - tap : 0, tap, 1};
}
/// The axis of x, which tap j reads where x + padding - j * dilation is a multiple of the stride.
__device__ __forceinline__ Axis axis_of_x(const SideDim& d, int phase, int first, int last) {
  int tap = 0;
  while (tap < d.kernel && (phase + d.padding - tap * d.dilation) % d.stride != 0) {
    if (++tap == d.tap_step) return {};  // as before from here on
  }
  if (tap >= d.kernel) return {};
  const int shift = (phase + d.padding - tap * d.dilation) / d.stride;
  const int step = static_cast<int>(int64_t{d.tap_step} * d.dilation / d.stride);
  const int all = (d.kernel - 1 - tap) / d.tap_step + 1;
  // Counted from the other end the taps go forward.
  const int64_t begin = body::steps_below(d.source - 1 - first - shift, step, 0);
  const int64_t end = body::steps_below(d.source - 1 - last - shift, step, d.source);
  const int skipped = static_cast<int>(begin < all ? begin : all);
  const int kept = static_cast<int>(end < all ? end : all) - skipped;
  return {shift - skipped * step, -step, kept > 0 ? kept : 0, tap + skipped * d.tap_step,
          d.tap_step};
}

/// What a tile's row reads from and where it goes.
struct RowPlace {
  int64_t image, target;  // of the source, in positions; the first column, -1 for none
  int at[3];              // where its first tap reads
};

struct SideShared {
  Axis axes[3];
  RowPlace rows[kConvRows];
};

/// A term of a sum: a channel at a tap, from 0 on in every dimension of taps.
struct TermWalk {
  int64_t left;  // terms from this one on
  int channel, tap[3];

  __device__ __forceinline__ void advance(int n, const Axis* axes, int channels) {
    left -= n;
    channel += n;
    while (channel >= channels) {
      channel -= channels;
      if (++tap[2] < axes[2].taps) continue;
      tap[2] = 0;
      if (++tap[1] < axes[1].taps) continue;
      tap[1] = 0;
      ++tap[0];
    }
  }
};

template <class T>
class SideLoader {
 public:
  using M = Native<T>;
  using Tile = ConvTile<M, true>;
  using Stage = ConvStage<Tile>;
  using Run = typename Tile::Run;

  __device__ __forceinline__ SideLoader(const SideArgs& args, SideShared& shared, int64_t tile)
      : args_(args), shared_(shared) {
    column_ = static_cast<int>(tile % args.column_tiles) * kConvColumns;
    tile /= args.column_tiles;
    const int64_t row = tile % args.row_tiles * kConvRows;
    tile /= args.row_tiles;
    group_ = static_cast<int>(tile % args.groups);
    const int phase = static_cast<int>(tile / args.groups);
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      if (thread == d) shared.axes[d] = axis(d, phase, row);
    }
    __syncthreads();
    if (thread < kConvRows) shared.rows[thread] = row_place(row + thread, phase);
    __syncthreads();
    for (int i = 0; i < 2; ++i) places_[i] = shared.rows[Stage::a_row(i)];
    terms_ =
        int64_t{shared.axes[0].taps} * shared.axes[1].taps * shared.axes[2].taps * args.channels;
    a_ = b_ = {terms_, 0, {}};
    a_.advance(Stage::a_term(0), shared.axes, args.channels);
    b_.advance(Stage::b_term(), shared.axes, args.channels);
  }

  __device__ __forceinline__ int64_t chunks() const { return divide_up(terms_, Tile::kDepth); }

  __device__ __forceinline__ void load(Stage& stage) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      stage.a[i] = args_.loads_runs ? run_of(places_[i]) : elements_of(places_[i]);
    }
    stage.b = weights();
    a_.advance(Tile::kDepth, shared_.axes, args_.channels);
    b_.advance(Tile::kDepth, shared_.axes, args_.channels);
  }

  template <int n, class Sum>
  __device__ __forceinline__ void write(int row, int column, const Sum (&sums)[n]) const {
    const int64_t target = shared_.rows[row].target;
    const int left = args_.columns - column_ - column;
    if (target < 0 || left <= 0) return;
    Sum values[n];
    const int channel = group_ * args_.columns + column_ + column;
    const T* const bias = static_cast<const T*>(args_.bias) + channel;
#pragma unroll
    for (int i = 0; i < n; ++i)
      values[i] = args_.bias && i < left ? sums[i] + cuda::load<Sum, T>(bias + i) : sums[i];
    T* const to = static_cast<T*>(args_.target) + target + channel;
    if (args_.stores_runs && left >= n) return store_run(to, values);
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if (i < left) store<T>(to + i, values[i]);
    }
  }

 private:
  // A place of a phase: an image and a position.
  struct PhasePlace {
    int64_t image;
    int at[3];
  };
  __device__ __forceinline__ PhasePlace place_of(int64_t row) const {
    PhasePlace place;
#pragma unroll
    for (int d = 2; d >= 0; --d) {
      place.at[d] = static_cast<int>(row % args_.dims[d].count);
      row /= args_.dims[d].count;
    }
    place.image = row;
    return place;
  }
  __device__ __forceinline__ int phase_of(int d, int phase) const {
#pragma unroll
    for (int e = 2; e > d; --e) phase /= args_.dims[e].phases;
    return phase % args_.dims[d].phases;
  }

  // Neighbours in the order of rows wrap around at a dimension's end: then all of its places count.
  __device__ __forceinline__ Axis axis(int d, int phase, int64_t row) const {
    const int64_t end = min(row + kConvRows, args_.rows);
    const PhasePlace first = place_of(row), last = place_of(end - 1);
    bool same = first.image == last.image;
#pragma unroll
    for (int e = 0; e < d; ++e) same &= first.at[e] == last.at[e];
    const SideDim& dim = args_.dims[d];
    const int begin = same ? first.at[d] : 0, until = same ? last.at[d] : dim.count - 1;
    return args_.transposed ? axis_of_x(dim, phase_of(d, phase), begin, until)
                            : axis_of_y(dim, begin, until);
  }

  __device__ __forceinline__ RowPlace row_place(int64_t row, int phase) const {
    RowPlace result{0, -1, {kOutside, kOutside, kOutside}};
    if (row >= args_.rows) return result;
    const PhasePlace place = place_of(row);
    int64_t source = place.image, target = place.image;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const SideDim& dim = args_.dims[d];
      const int position = place.at[d] * dim.phases + phase_of(d, phase);
      if (position >= dim.target) return {0, -1, {kOutside, kOutside, kOutside}};
      result.at[d] = place.at[d] * (args_.transposed ? 1 : dim.stride) + shared_.axes[d].shift;
      source *= dim.source;
      target = target * dim.target + position;
    }
    result.image = source;
    result.target = target * args_.target_step;
    return result;
  }

  // Where the term lies in the source, for a position; -1 in the padding and past the last term.
  __device__ __forceinline__ int64_t offset(const RowPlace& place, const TermWalk& term) const {
    if (term.left <= 0) return -1;
    int64_t position = 0;
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const int at = place.at[d] + term.tap[d] * shared_.axes[d].shift_step;
      inside &= static_cast<unsigned>(at) < static_cast<unsigned>(args_.dims[d].source);
      position = position * args_.dims[d].source + at;
    }
    if (!inside) return -1;
    return (place.image + position) * args_.source_step + int64_t{group_} * args_.channels +
           term.channel;
  }
  // A run's terms are channels of one tap.
  __device__ __forceinline__ Run run_of(const RowPlace& place) const {
    const int64_t at = offset(place, a_);
    return at < 0 ? Run{} : Tile::run_at(static_cast<const M*>(args_.source) + at);
  }
  __device__ __forceinline__ Run elements_of(const RowPlace& place) const {
    Run run{};
    TermWalk term = a_;
    for (int i = 0; i < Tile::kVector; ++i) {
      const int64_t at = offset(place, term);
      if (at >= 0) run.element[i] = static_cast<const M*>(args_.source)[at];
      term.advance(1, shared_.axes, args_.channels);
    }
    return run;
  }

  __device__ __forceinline__ Run weights() const {
    const int column = column_ + Stage::b_column();
    if (b_.left <= 0 || column >= args_.padded_columns) return Run{};
    int tap = 0;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const Axis& axis = shared_.axes[d];
      tap = tap * args_.dims[d].kernel + axis.tap + b_.tap[d] * axis.tap_step;
    }
    const int64_t row = (int64_t{group_} * args_.taps + tap) * args_.channels + b_.channel;
    return Tile::run_at(static_cast<const M*>(args_.weights) + row * args_.padded_columns + column);
  }

  const SideArgs& args_;
  SideShared& shared_;
  int column_, group_;
  int64_t terms_;
  RowPlace places_[2];  // of this thread's rows of a
  TermWalk a_, b_;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    convolution_side_kernel(const __grid_constant__ SideArgs args) {
  using Loader = SideLoader<T>;
  using Tile = typename Loader::Tile;
  struct Shared {
    Tile tile;
    SideShared side;
    typename ConvProduct<Tile>::Scratch scratch;
  };
  AORTA_SHARED(Shared, shared, [1]);
  for (int64_t tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    Loader loader(args, shared[0].side, tile);
    ConvProduct<Tile> product;
    multiply_chunks(shared[0].tile, loader, product);
    product.finish(shared[0].scratch,
                   [&](int row, int column, const auto& sums) { loader.write(row, column, sums); });
    __syncthreads();
  }
}

SideDim side_dim(const ConvDim& dim, bool transposed) {
  SideDim side{};
  side.source = static_cast<int>(transposed ? dim.output : dim.input);
  side.target = static_cast<int>(transposed ? dim.input : dim.output);
  side.kernel = static_cast<int>(dim.kernel);
  side.stride = static_cast<int>(dim.stride);
  side.padding = static_cast<int>(dim.padding);
  side.dilation = static_cast<int>(dim.dilation);
  side.phases = transposed ? std::min(side.stride, side.target) : 1;
  side.count = static_cast<int>(divide_up(side.target, side.phases));
  side.tap_step = side.stride / std::gcd(side.stride, side.dilation);
  return side;
}

void run_side(const char* op, const ConvolutionArgs& args, bool transposed) {
  SideArgs side{};
  int64_t phases = 1;
  side.rows = args.batch;
  side.taps = 1;
  for (int d = 0; d < 3; ++d) {
    side.dims[d] = side_dim(args.dims[d], transposed);
    side.rows *= side.dims[d].count;
    side.taps *= side.dims[d].kernel;
    phases *= side.dims[d].phases;
  }
  side.transposed = transposed;
  side.groups = static_cast<int>(args.groups);
  side.source_step = transposed ? args.y_channels : args.x_channels;
  side.target_step = transposed ? args.x_channels : args.y_channels;
  side.channels = static_cast<int>(side.source_step / args.groups);
  side.columns = static_cast<int>(side.target_step / args.groups);
  side.padded_columns = static_cast<int>(round_up(side.columns, 8));
  side.row_tiles = divide_up(side.rows, kConvRows);
  side.column_tiles = static_cast<int>(divide_up(side.columns, kConvColumns));
  side.tiles = side.row_tiles * side.column_tiles * side.groups * phases;
  side.source = transposed ? args.y : args.x;
  side.target = transposed ? args.x : args.y;
  side.bias = args.bias;
  side.loads_runs = is_run_aligned(side.source, side.channels, args.dtype);
  side.stores_runs = is_run_aligned(side.target, side.columns, args.dtype);
  const LaunchSite site(side.target);
  const Workspace weights(
      args.groups * side.taps * side.channels * side.padded_columns * item_size(args.dtype),
      site.device());
  pack_weights(op, args, transposed, side.padded_columns, weights.data());
  side.weights = weights.data();
  visit_floating(args.dtype, [&](auto type) {
    launch(op, convolution_side_kernel<decltype(type)>, tile_blocks(side.tiles, site.device()),
           kThreads, site.stream(), side);
  });
}

}  // namespace

void convolution_by_kernels(const char* op, const ConvolutionArgs& args, ConvResult result) {
  const bool tiles = takes_tiles(args, result);
  const ProfilerRange range(tiles ? "tiles" : "a thread a result");
  if (result == ConvResult::w)
    return tiles ? convolution_weight_tiles(args) : convolution_weight_simple(args);
  const bool transposed = result == ConvResult::x;
  tiles ? run_side(op, args, transposed) : convolution_side_simple(op, args, transposed);
}

}  // namespace aorta::cuda
