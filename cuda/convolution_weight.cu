// The gradient of a convolution's weights in tiles; see convolution.cu.
#include <aorta/core/body/window.h>
#include <aorta/core/integers.h>
#include <aorta/cuda/convolution_kernels.h>
#include <aorta/cuda/convolution_tile.cuh>

namespace aorta::cuda {
namespace {

using kernel::ConvDim;
using kernel::ConvolutionArgs;

struct WeightArgs {
  ConvDim dims[3];
  int64_t batch;
  int groups, taps;
  int rows, channels;      // of a group: channels of y, and of x
  int64_t x_step, y_step;  // all channels of a position
  int tile_taps, tile_channels;
  int row_tiles, tap_tiles, channel_tiles, slices;
  int64_t tiles, size;  // size: numbers of w
  const void *x, *y;
  void* w;
  void* partial;  // sums of each slice; null where there is one
  bool x_runs, y_runs;
};

/// Which tap and channel a tile's column is.
struct ColumnPlace {
  int shift[3];      // where position 0 reads
  int channel;       // -1 for none
  int64_t w_offset;  // in a row of w
};
/// Positions of y along a dimension.
struct Box {
  int first, count;
};
struct WeightShared {
  Box box[3];
  ColumnPlace columns[kConvColumns];
};

/// A position of y in a box, of the images one after another.
struct PositionWalk {
  int64_t left;
  int64_t image;
  int at[3];

  __device__ __forceinline__ void start(int64_t index, int64_t end, const Box* box) {
    left = end - index;
    image = 0;
    at[0] = at[1] = at[2] = 0;
    if (left <= 0) return;
#pragma unroll
    for (int d = 2; d >= 0; --d) {
      at[d] = static_cast<int>(index % box[d].count);
      index /= box[d].count;
    }
    image = index;
  }
  __device__ __forceinline__ void advance(int n, const Box* box) {
    left -= n;
    if (left <= 0) return;
    at[2] += n;
    while (at[2] >= box[2].count) {
      at[2] -= box[2].count;
      if (++at[1] < box[1].count) continue;
      at[1] = 0;
      if (++at[0] < box[0].count) continue;
      at[0] = 0;
      ++image;
    }
  }
};

template <class T>
class WeightLoader {
 public:
  using M = Native<T>;
  using Tile = ConvTile<M, false>;
  using Stage = ConvStage<Tile>;
  using Run = typename Tile::Run;

  __device__ __forceinline__ WeightLoader(const WeightArgs& args, WeightShared& shared,
                                          int64_t tile)
      : args_(args), shared_(shared) {
    row_ = static_cast<int>(tile % args.row_tiles) * kConvRows;
    tile /= args.row_tiles;
    const int channel = static_cast<int>(tile % args.channel_tiles) * args.tile_channels;
    tile /= args.channel_tiles;
    const int tap = static_cast<int>(tile % args.tap_tiles) * args.tile_taps;
    tile /= args.tap_tiles;
    group_ = static_cast<int>(tile % args.groups);
    slice_ = tile / args.groups;
    const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      if (thread == d) shared.box[d] = box(d, tap);
    }
    if (thread < kConvColumns) shared.columns[thread] = column_place(thread, tap, channel);
    __syncthreads();
    const int64_t positions =
        args.batch * shared.box[0].count * shared.box[1].count * shared.box[2].count;
    const int64_t each = round_up(divide_up(positions, args.slices), Tile::kDepth);
    const int64_t begin = min(slice_ * each, positions), end = min(begin + each, positions);
    chunks_ = divide_up(end - begin, Tile::kDepth);
    for (int i = 0; i < 2; ++i) y_[i].start(begin + Stage::a_term(i), end, shared.box);
    x_.start(begin + Stage::b_term(), end, shared.box);
  }

  __device__ __forceinline__ int64_t chunks() const { return chunks_; }

  __device__ __forceinline__ void load(Stage& stage) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      stage.a[i] = y_run(y_[i], row_ + Stage::a_row(i));
      y_[i].advance(Tile::kDepth, shared_.box);
    }
    stage.b = args_.x_runs ? x_run() : x_elements();
    x_.advance(Tile::kDepth, shared_.box);
  }

  template <int n, class Sum>
  __device__ __forceinline__ void write(int row, int column, const Sum (&sums)[n]) const {
    if (row_ + row >= args_.rows) return;
    const int64_t begin = (int64_t{group_} * args_.rows + row_ + row) * args_.taps * args_.channels;
#pragma unroll
    for (int i = 0; i < n; ++i) {
      const ColumnPlace& place = shared_.columns[column + i];
      if (place.channel < 0) continue;
      const int64_t at = begin + place.w_offset;
      if (args_.partial) {
        static_cast<Sum*>(args_.partial)[slice_ * args_.size + at] = sums[i];
      } else {
        store<T>(static_cast<T*>(args_.w) + at, sums[i]);
      }
    }
  }

 private:
  __device__ __forceinline__ int tap_of(int d, int tap) const {
#pragma unroll
    for (int e = 2; e > d; --e) tap /= static_cast<int>(args_.dims[e].kernel);
    return tap % static_cast<int>(args_.dims[d].kernel);
  }

  // The positions that a tap of the tile reads inside at: the last tap reads first.
  __device__ __forceinline__ Box box(int d, int tap) const {
    const int end = min(tap + args_.tile_taps, args_.taps) - 1;
    bool same = true;
#pragma unroll
    for (int e = 0; e < d; ++e) same &= tap_of(e, tap) == tap_of(e, end);
    const ConvDim& dim = args_.dims[d];
    const int64_t low = same ? tap_of(d, tap) : 0, high = same ? tap_of(d, end) : dim.kernel - 1;
    const int64_t first = body::positions_reading(dim, high).first;
    const int64_t until = body::positions_reading(dim, low).end;
    return {static_cast<int>(first), first < until ? static_cast<int>(until - first) : 0};
  }

  __device__ __forceinline__ ColumnPlace column_place(int column, int tap, int channel) const {
    const int place = tap + column / args_.tile_channels;
    channel += column % args_.tile_channels;
    ColumnPlace result{{}, -1, 0};
    if (column >= args_.tile_taps * args_.tile_channels || place >= args_.taps ||
        channel >= args_.channels) {
      return result;
    }
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const ConvDim& dim = args_.dims[d];
      result.shift[d] = static_cast<int>(tap_of(d, place) * dim.dilation - dim.padding);
    }
    result.channel = channel;
    result.w_offset = int64_t{place} * args_.channels + channel;
    return result;
  }

  __device__ __forceinline__ Run y_run(const PositionWalk& walk, int row) const {
    Run run{};
    if (walk.left <= 0 || row >= args_.rows) return run;
    int64_t position = walk.image;
#pragma unroll
    for (int d = 0; d < 3; ++d)
      position = position * args_.dims[d].output + shared_.box[d].first + walk.at[d];
    const M* const y = static_cast<const M*>(args_.y) + position * args_.y_step +
                       int64_t{group_} * args_.rows + row;
    if (args_.y_runs) return Tile::run_at(y);
    for (int i = 0; i < Tile::kVector; ++i) {
      if (row + i < args_.rows) run.element[i] = y[i];
    }
    return run;
  }

  // Where this thread's position reads in a column, -1 in the padding.
  __device__ __forceinline__ int64_t x_offset(const ColumnPlace& column) const {
    if (x_.left <= 0 || column.channel < 0) return -1;
    int64_t position = x_.image;
    bool inside = true;
#pragma unroll
    for (int d = 0; d < 3; ++d) {
      const ConvDim& dim = args_.dims[d];
      const int64_t at = (shared_.box[d].first + x_.at[d]) * dim.stride + column.shift[d];
      inside &= static_cast<uint64_t>(at) < static_cast<uint64_t>(dim.input);
      position = position * dim.input + at;
    }
    return inside ? position * args_.x_step + int64_t{group_} * args_.channels + column.channel
                  : -1;
  }
  __device__ __forceinline__ Run x_run() const {
    const int64_t at = x_offset(shared_.columns[Stage::b_column()]);
    return at < 0 ? Run{} : Tile::run_at(static_cast<const M*>(args_.x) + at);
  }
  __device__ __forceinline__ Run x_elements() const {
    Run run{};
    for (int i = 0; i < Tile::kVector; ++i) {
      const int64_t at = x_offset(shared_.columns[Stage::b_column() + i]);
      if (at >= 0) run.element[i] = static_cast<const M*>(args_.x)[at];
    }
    return run;
  }

  const WeightArgs& args_;
  WeightShared& shared_;
  int row_, group_;
  int64_t slice_, chunks_;
  PositionWalk y_[2], x_;
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    convolution_weight_kernel(const __grid_constant__ WeightArgs args) {
  using Loader = WeightLoader<T>;
  using Tile = typename Loader::Tile;
  struct Shared {
    Tile tile;
    WeightShared weight;
    typename ConvProduct<Tile>::Scratch scratch;
  };
  AORTA_SHARED(Shared, shared, [1]);
  for (int64_t tile = blockIdx.x; tile < args.tiles; tile += gridDim.x) {
    Loader loader(args, shared[0].weight, tile);
    ConvProduct<Tile> product;
    multiply_chunks(shared[0].tile, loader, product);
    product.finish(shared[0].scratch,
                   [&](int row, int column, const auto& sums) { loader.write(row, column, sums); });
    __syncthreads();
  }
}

}  // namespace

void convolution_weight_tiles(const ConvolutionArgs& args) {
  const char* const op = "convolution_weight";
  WeightArgs weight{};
  int64_t positions = args.batch;
  weight.taps = 1;
  for (int d = 0; d < 3; ++d) {
    weight.dims[d] = args.dims[d];
    weight.taps *= static_cast<int>(args.dims[d].kernel);
    positions *= args.dims[d].output;
  }
  weight.batch = args.batch;
  weight.groups = static_cast<int>(args.groups);
  weight.rows = static_cast<int>(args.y_channels / args.groups);
  weight.channels = static_cast<int>(args.x_channels / args.groups);
  weight.x_step = args.x_channels;
  weight.y_step = args.y_channels;
  const WeightColumns columns(weight.channels);
  weight.tile_taps = columns.taps;
  weight.tile_channels = columns.channels;
  weight.row_tiles = static_cast<int>(divide_up(weight.rows, kConvRows));
  weight.tap_tiles = static_cast<int>(divide_up(weight.taps, columns.taps));
  weight.channel_tiles = static_cast<int>(divide_up(weight.channels, columns.channels));
  const int64_t tiles =
      int64_t{weight.row_tiles} * weight.tap_tiles * weight.channel_tiles * args.groups;
  weight.slices = static_cast<int>(tile_slices(tiles, positions));
  weight.tiles = tiles * weight.slices;
  weight.size = args.y_channels * weight.taps * weight.channels;
  weight.x = args.x;
  weight.y = args.y;
  weight.w = args.w;
  weight.x_runs = is_run_aligned(args.x, weight.channels, args.dtype);
  weight.y_runs = is_run_aligned(args.y, weight.rows, args.dtype);
  const LaunchSite site(args.w);
  const SliceSums sums(weight.slices, weight.size, args.dtype, site.device());
  weight.partial = sums.data();
  visit_floating(args.dtype, [&](auto type) {
    launch(op, convolution_weight_kernel<decltype(type)>, tile_blocks(weight.tiles, site.device()),
           kThreads, site.stream(), weight);
  });
  sums.join(args.w);
}

}  // namespace aorta::cuda
