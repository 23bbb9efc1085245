#include <aorta/core/cpu/winograd_tiles.h>

#include <aorta/core/body/window.h>

namespace aorta::cpu {
namespace {

// What a thread transforms at a time by itself, in numbers: half of a second-level cache of 1 MB.
// Where there are fewer tiles a thread it isn't worth reading all kernels.
constexpr int64_t kOwnNumbers = 128 << 10, kLeastOwnTiles = 48;
// Steps of a strip of the products' sums.
constexpr int64_t kStripDepth = 256;
// Fewer tiles aren't worth transforming the kernels.
constexpr int64_t kLeastTiles = 48;

// Tiles of a block of a thread by itself, and as many of them for every thread.
int64_t own_block_tiles(int64_t tiles, int64_t numbers_a_tile, int rows) {
  const int64_t most = std::max<int64_t>(kOwnNumbers / numbers_a_tile, 4 * rows);
  const int64_t blocks = round_up(divide_up(tiles, most), get_num_threads());
  return round_up(divide_up(tiles, blocks), rows);
}

// y from x, or x from y: tiles by channels.
class WinogradConvolution {
 public:
  WinogradConvolution(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        transposed_(transposed),
        tile_(loops_.tile(GemmKind::f32)),
        sizes_(args, transposed),
        steps_(sizes_),
        depth_(sizes_.source_channels),
        columns_(sizes_.target_channels),
        tiles_(tiles_by_tap()),
        count_(static_cast<int64_t>(tiles_[0].size())),
        alone_(kWinogradPoints * sizes_.taps * depth_ * columns_ <= kFewKernelNumbers &&
               count_ >= kLeastOwnTiles * get_num_threads()),
        block_((alone_ ? own_block_tiles : block_tiles)(
            count_, kWinogradPoints * (depth_ + columns_), tile_.rows)),
        grid_(winograd_grid(std::min(block_, count_), columns_, depth_, depth_)),
        strip_(round_up(divide_up(depth_, divide_up(depth_, kStripDepth)), kRunSteps)),
        runs_(runs_of(depth_)),
        kernel_plane_(plane(depth_ * columns_)),
        window_plane_(plane(block_ * depth_)),
        product_plane_(plane(block_ * columns_)),
        numbers_(9 * sizes_.taps * depth_ * columns_),
        memory_((kWinogradPoints * sizes_.taps * kernel_plane_ +
                 (args.dtype == DType::f32 ? 0 : numbers_ + columns_)) *
                4),
        kernels_(reinterpret_cast<float*>(memory_.data())),
        w_(in_floats(args.w, numbers_, 0)),
        bias_(in_floats(args.bias, columns_, numbers_)) {}

  void run() const {
    transform_kernels();
    alone_ ? convolve_alone() : convolve_together();
  }

 private:
  // Some tiles on their way: [point][strip][panel of tiles], and [point][tile][column].
  struct Block : Scratch {
    explicit Block(const WinogradConvolution& convolution)
        : Scratch(kWinogradPoints * (convolution.window_plane_ + convolution.product_plane_) * 4),
          windows(reinterpret_cast<float*>(data())),
          products(windows + kWinogradPoints * convolution.window_plane_) {}
    float *windows, *products;
  };

  // Each thread takes tiles all the way.
  void convolve_alone() const {
    parallel_for(0, divide_up(count_, block_), 1, [&](int64_t begin, int64_t end) {
      const Block block(*this);
      for (int64_t first = begin * block_; first < std::min(end * block_, count_);
           first += block_) {
        const int64_t rows = std::min(block_, count_ - first);
        for (int64_t tap = 0; tap < sizes_.taps; ++tap) {
          winograd_loops().input(input_of(block, tap, first, rows), {0, rows, 0, depth_});
          multiply(block, tap, rows, {0, rows}, {0, columns_});
        }
        winograd_loops().output(output_of(block, first), {0, rows, 0, columns_});
      }
    });
  }

  // All threads take the same tiles, and a part of the kernels each where that is the larger part.
  void convolve_together() const {
    const Block block(*this);
    for (int64_t first = 0; first < count_; first += block_) {
      const int64_t rows = std::min(block_, count_ - first);
      for (int64_t tap = 0; tap < sizes_.taps; ++tap) {
        const WinogradInput input = input_of(block, tap, first, rows);
        on_grid(grid_, [&](int64_t i, int64_t j) {
          const Range mine = units_of(rows, tile_.rows, grid_.down, i);
          const Range channels = units_of(depth_, kWinogradChannels, grid_.across, j);
          winograd_loops().input(input, {mine.begin, mine.end, channels.begin, channels.end});
        });
        on_grid(grid_, [&](int64_t i, int64_t j) {
          const Range mine = units_of(rows, tile_.rows, grid_.down, i);
          const Range part = units_of(columns_, tile_.columns, grid_.across, j);
          if (mine.size() == 0 || part.size() == 0) return;
          multiply(block, tap, rows, mine, part);
          if (tap + 1 == sizes_.taps)
            winograd_loops().output(output_of(block, first),
                                    {mine.begin, mine.end, part.begin, part.end});
        });
      }
    }
  }

  // Numbers of the kernels or the bias; of half types widened, `place` numbers behind the kernels.
  const float* in_floats(const void* numbers, int64_t count, int64_t place) const {
    if (args_.dtype == DType::f32 || !numbers) return static_cast<const float*>(numbers);
    float* const floats = kernels_ + kWinogradPoints * sizes_.taps * kernel_plane_ + place;
    const auto* const bytes = static_cast<const char*>(numbers);
    parallel_for(0, count, 1 << 15, [&](int64_t begin, int64_t end) {
      winograd_loops().widen(args_.dtype, bytes + begin * item_size(args_.dtype), end - begin,
                             floats + begin);
    });
    return floats;
  }

  void transform_kernels() const {
    WinogradWeights weights;
    weights.column_stride = transposed_ ? args_.w_x : args_.w_y;
    weights.step_stride = transposed_ ? args_.w_y : args_.w_x;
    weights.tap_strides[0] = args_.w_dims[1];
    weights.tap_strides[1] = args_.w_dims[2];
    weights.flipped = transposed_;
    weights.point_stride = kernel_plane_;
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range part = units_of(columns_, tile_.columns, grid_.across, j);
      const Range deep = units_of(depth_, kWinogradChannels, grid_.down, i);
      for (int64_t column = part.begin; column < part.end; column += tile_.columns) {
        WinogradWeights panel = weights;
        panel.columns = panel.padded = std::min<int64_t>(tile_.columns, columns_ - column);
        panel.depth = deep.size();
        for (int64_t tap = 0; tap < sizes_.taps; ++tap) {
          const int64_t frame = transposed_ ? sizes_.taps - 1 - tap : tap;
          panel.w = w_ + frame * args_.w_dims[0] + column * panel.column_stride +
                    deep.begin * panel.step_stride;
          panel.output = kernels_of(tap, 0) + column * depth_ + deep.begin * panel.padded;
          winograd_loops().weights(panel);
        }
      }
    });
  }

  // A frame's kernels at a point.
  float* kernels_of(int64_t tap, int64_t point) const {
    return kernels_ + (tap * kWinogradPoints + point) * kernel_plane_;
  }

  std::vector<std::vector<WinogradTile>> tiles_by_tap() const {
    std::vector<std::vector<WinogradTile>> tiles;
    for (int64_t tap = 0; tap < sizes_.taps; ++tap) tiles.push_back(tiles_of(sizes_, tap));
    return tiles;
  }

  WinogradInput input_of(const Block& block, int64_t tap, int64_t first, int64_t rows) const {
    WinogradInput input;
    input.source = transposed_ ? args_.y : args_.x;
    input.dtype = args_.dtype;
    std::copy_n(steps_.source, 2, input.steps);
    input.channels = depth_;
    input.tiles = tiles_[static_cast<size_t>(tap)].data() + first;
    input.rows = rows;
    input.strip = strip_;
    input.panel = tile_.rows;
    input.output = block.windows;
    input.point_stride = window_plane_;
    return input;
  }

  WinogradOutput output_of(const Block& block, int64_t first) const {
    WinogradOutput output;
    output.products = block.products;
    output.point_stride = product_plane_;
    output.channels = columns_;
    output.bias = bias_;
    output.tiles = tiles_[0].data() + first;
    output.target = transposed_ ? args_.x : args_.y;
    output.dtype = args_.dtype;
    std::copy_n(steps_.target, 2, output.steps);
    return output;
  }

  // Adds products with a frame's kernels to the channels `part` of the tiles `mine`, which are some
  // of the block's `rows`.
  void multiply(const Block& maps, int64_t tap, int64_t rows, Range mine, Range part) const {
    GemmBlock block;
    block.m = mine.size();
    block.b_depth = depth_;
    block.separate_runs = true;
    block.ldc = columns_;
    block.blocked = true;
    for (int64_t point = 0; point < kWinogradPoints; ++point) {
      for (int64_t first = 0; first < depth_; first += strip_) {
        block.k = std::min(strip_, depth_ - first);
        block.a = maps.windows + point * window_plane_ + first * rows + mine.begin * block.k;
        block.runs = runs_.data() + first / kRunSteps;
        block.run_count = divide_up(block.k, kRunSteps);
        block.accumulate = tap + first > 0;
        for (int64_t column = part.begin; column < part.end; column += tile_.columns) {
          block.n = std::min<int64_t>(tile_.columns, part.end - column);
          block.b = kernels_of(tap, point) + column * depth_;
          block.c = maps.products + point * product_plane_ + mine.begin * columns_ + column;
          loops_.block(block);
        }
      }
    }
  }

  const ConvolutionArgs& args_;
  const bool transposed_;
  const GemmLoops& loops_ = gemm_loops();
  const GemmTile tile_;
  const WinogradSizes sizes_;
  const WinogradSteps steps_;
  const int64_t depth_, columns_;                       // channels that are read and made
  const std::vector<std::vector<WinogradTile>> tiles_;  // by the kernel's frame
  const int64_t count_;                                 // tiles
  const bool alone_;                                    // each thread by itself
  const int64_t block_;                                 // tiles that are transformed at a time
  const Grid grid_;
  const int64_t strip_;  // steps of a product's sum at a time
  const std::vector<GemmRun> runs_;
  const int64_t kernel_plane_, window_plane_, product_plane_;
  const int64_t numbers_;  // of the kernels
  const Scratch memory_;
  float* const kernels_;  // [frame][point][panel of columns][depth][column]
  const float *const w_, *const bias_;
};

// Positions that read inside with one tap, and with all of them.
int64_t positions(const ConvDim& dim, int64_t tap) {
  const body::WindowRange outputs = body::positions_reading(dim, tap);
  return std::max<int64_t>(0, outputs.end - outputs.first);
}
int64_t products(const ConvDim& dim) {
  int64_t count = 0;
  for (int64_t tap = 0; tap < dim.kernel; ++tap) count += positions(dim, tap);
  return count;
}

// Whether the kernels lie in one piece, in whatever order.
bool is_dense(const ConvolutionArgs& args) {
  const int64_t taps = args.dims[0].kernel, count = 9 * taps * args.x_channels * args.y_channels;
  return 1 + (args.y_channels - 1) * args.w_y + (args.x_channels - 1) * args.w_x +
             (taps - 1) * args.w_dims[0] + 2 * (args.w_dims[1] + args.w_dims[2]) ==
         count;
}

// Whether every frame of the kernel meets one of the source.
bool takes_frames(const ConvDim& frames) {
  if (frames.stride != 1 || frames.padding > (frames.kernel - 1) * frames.dilation) return false;
  for (int64_t tap = 0; tap < frames.kernel; ++tap)
    if (positions(frames, tap) == 0) return false;
  return true;
}

// The share of the direct way's multiplications from which on transforms take what they gain, as
// measured on a Zen 5: more where an instruction multiplies pairs of bf16, and there, unless
// channels are few, the transformed kernels come from afar.
double most_products(const ConvolutionArgs& args) {
  if (args.dtype != DType::bf16 || !has_bf16()) return 0.6;
  return args.x_channels * args.y_channels <= 128 * 128 ? 0.42 : 0.32;
}

}  // namespace

bool takes_winograd(const ConvolutionArgs& args) {
  if (args.dtype == DType::f64 || args.groups != 1 || !winograd_enabled()) return false;
  const ConvDim &frames = args.dims[0], &h = args.dims[1], &w = args.dims[2];
  if (args.x_channels % kWinogradChannels != 0 || args.y_channels % kWinogradChannels != 0)
    return false;
  if (!takes_frames(frames)) return false;
  // What tiles multiply for an image and a pair of channels, and what the direct way does, which
  // leaves padding out.
  int64_t tiles = frames.output, direct = products(frames);
  for (const ConvDim* dim : {&h, &w}) {
    if (dim->kernel != 3 || dim->stride != 1 || dim->dilation > 2) return false;
    if (dim->padding > 2 * dim->dilation) return false;
    int64_t lines = 0;
    for (int64_t phase = 0; phase < dim->dilation; ++phase)
      lines += divide_up(divide_up(dim->output - phase, dim->dilation), kWinogradTile);
    tiles *= lines;
    direct *= products(*dim);
  }
  if (h.dilation != w.dilation || args.batch * tiles < kLeastTiles) return false;
  if (args.dtype != DType::f32 && !is_dense(args)) return false;
  return static_cast<double>(kWinogradPoints * frames.kernel * tiles) <=
         most_products(args) * static_cast<double>(direct);
}

void winograd_convolution(const ConvolutionArgs& args, bool transposed) {
  WinogradConvolution(args, transposed).run();
}

}  // namespace aorta::cpu
