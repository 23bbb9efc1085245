#include <aorta/core/cpu/winograd.h>

#include <aorta/core/body/window.h>
#include <aorta/core/cpu/gemm.h>
#include <aorta/core/cpu/grid.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <vector>

namespace aorta::cpu {
namespace {

// Channels come in whole registers and blocks.
constexpr int64_t kChannels = 16;
// Tiles that are transformed at a time, and the numbers that bound them further.
constexpr int64_t kBlockTiles = 384;
constexpr int64_t kBlockNumbers = 6 << 20;
// Steps of a strip of the products' sums, and of the runs of it that are summed by themselves: the
// way back from the points makes errors 4.8 times as large, and those of long sums lead.
constexpr int64_t kStripDepth = 256, kRunSteps = 32;
// Fewer tiles aren't worth transforming the kernels.
constexpr int64_t kLeastTiles = 48;

// A convolution of stride 1 as the result sees it: x from y is one with the kernel turned around.
struct Dim {
  int64_t source, target, padding, dilation;
};

Dim dim_of(const ConvDim& d, bool transposed) {
  if (!transposed) return {d.input, d.output, d.padding, d.dilation};
  return {d.output, d.input, 2 * d.dilation - d.padding, d.dilation};
}

// Tiles along one dimension; with dilation 2 even and odd positions are images of their own.
struct Line {
  int64_t source, target;  // where the window and the result begin
  int8_t first, end, count;
};

std::vector<Line> lines_of(const Dim& dim) {
  std::vector<Line> lines;
  const int64_t step = dim.dilation;
  for (int64_t phase = 0; phase < std::min(step, dim.target); ++phase) {
    const int64_t targets = divide_up(dim.target - phase, step);
    for (int64_t first = 0; first < targets; first += kWinogradTile) {
      const int64_t target = phase + first * step, source = target - dim.padding;
      Line line{source, target, 0, 0, 0};
      line.count = static_cast<int8_t>(std::min<int64_t>(kWinogradTile, targets - first));
      const int64_t begin = body::steps_below(source, step, 0);
      const int64_t end = body::steps_below(source, step, dim.source);
      line.end = static_cast<int8_t>(std::min<int64_t>(kWinogradWindow, end));
      line.first = static_cast<int8_t>(std::min<int64_t>(line.end, begin));
      lines.push_back(line);
    }
  }
  return lines;
}

struct Sizes {
  Dim dims[2];
  int64_t source_channels, target_channels;
};

Sizes sizes_of(const ConvolutionArgs& args, bool transposed) {
  return {{dim_of(args.dims[1], transposed), dim_of(args.dims[2], transposed)},
          transposed ? args.y_channels : args.x_channels,
          transposed ? args.x_channels : args.y_channels};
}

std::vector<WinogradTile> tiles_of(const Sizes& sizes, int64_t batch) {
  const std::vector<Line> down = lines_of(sizes.dims[0]), across = lines_of(sizes.dims[1]);
  const Dim &h = sizes.dims[0], &w = sizes.dims[1];
  std::vector<WinogradTile> tiles;
  tiles.reserve(static_cast<size_t>(batch) * down.size() * across.size());
  for (int64_t n = 0; n < batch; ++n) {
    for (const Line& i : down) {
      for (const Line& j : across) {
        const int64_t source = (n * h.source + i.source) * w.source + j.source;
        const int64_t target = (n * h.target + i.target) * w.target + j.target;
        tiles.push_back({source * sizes.source_channels,
                         target * sizes.target_channels,
                         {i.first, j.first},
                         {i.end, j.end},
                         {i.count, j.count}});
      }
    }
  }
  return tiles;
}

struct Steps {
  int64_t source[2], target[2];
};
Steps steps_of(const Sizes& s) {
  const int64_t step = s.dims[0].dilation, across = s.dims[1].dilation;
  return {{step * s.dims[1].source * s.source_channels, across * s.source_channels},
          {step * s.dims[1].target * s.target_channels, across * s.target_channels}};
}

// Numbers from one point's plane to the next: not a multiple of a page, whose numbers would all
// want the same lines of the first-level cache.
int64_t plane(int64_t numbers) { return round_up(numbers, 1024) + 16; }

// Threads share lines (tiles, or rows of the kernels) and columns (channels). What one thread makes
// of its part comes to another only from that one's cache, or from memory where cores share none,
// so the side is cut whose other operand is the smaller one.
Grid grid_of(int64_t lines, int64_t columns, int64_t line_numbers, int64_t column_numbers) {
  return best_grid(get_num_threads(), [&](const Grid& grid) {
    // Numbers of a thread: products, and operands, of which it fetches what others made.
    const int64_t rows = divide_up(lines, grid.down), width = divide_up(columns, grid.across);
    const int64_t fetched =
        (grid.down > 1 ? width * column_numbers : 0) + (grid.across > 1 ? rows * line_numbers : 0);
    return rows * width * 64 + fetched;
  });
}

// Runs body(i, j) for every part of the grid, each on the same thread every time.
template <class Body>
void on_grid(const Grid& grid, const Body& body) {
  parallel_for(0, grid.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(i / grid.across, i % grid.across);
  });
}

// The i-th part of `count`, in whole units but for the end.
Range units_of(int64_t count, int64_t unit, int64_t parts, int64_t i) {
  const Range part = part_of(divide_up(count, unit), parts, i);
  return {part.begin * unit, std::min(part.end * unit, count)};
}

std::vector<GemmRun> runs_of(int64_t steps) {
  std::vector<GemmRun> runs;
  for (int64_t first = 0; first < steps; first += kRunSteps)
    runs.push_back({first, std::min(kRunSteps, steps - first)});
  return runs;
}

int64_t block_tiles(int64_t tiles, int64_t numbers_a_tile, int rows) {
  const int64_t most = std::clamp<int64_t>(kBlockNumbers / numbers_a_tile, 16 * rows, kBlockTiles);
  const int64_t blocks = divide_up(tiles, most);
  return round_up(divide_up(tiles, blocks), rows);
}

// ---- y from x, or x from y: tiles by channels.

class WinogradConvolution {
 public:
  WinogradConvolution(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        transposed_(transposed),
        tile_(loops_.tile(GemmKind::f32)),
        sizes_(sizes_of(args, transposed)),
        steps_(steps_of(sizes_)),
        depth_(sizes_.source_channels),
        columns_(sizes_.target_channels),
        tiles_(tiles_of(sizes_, args.batch)),
        count_(static_cast<int64_t>(tiles_.size())),
        block_(block_tiles(count_, kWinogradPoints * (depth_ + columns_), tile_.rows)),
        grid_(grid_of(std::min(block_, count_), columns_, depth_, depth_)),
        strip_(round_up(divide_up(depth_, divide_up(depth_, kStripDepth)), kRunSteps)),
        runs_(runs_of(depth_)),
        kernel_plane_(plane(depth_ * columns_)),
        window_plane_(plane(block_ * depth_)),
        product_plane_(plane(block_ * columns_)),
        widened_(args.dtype == DType::f32 ? 0 : 9 * depth_ * columns_ + columns_),
        memory_((kWinogradPoints * (kernel_plane_ + window_plane_ + product_plane_) + widened_) *
                4),
        kernels_(reinterpret_cast<float*>(memory_.data())),
        windows_(kernels_ + kWinogradPoints * kernel_plane_),
        products_(windows_ + kWinogradPoints * window_plane_),
        w_(in_floats(args.w, 9 * depth_ * columns_, 0)),
        bias_(in_floats(args.bias, columns_, 9 * depth_ * columns_)) {}

  void run() const {
    transform_kernels();
    for (int64_t first = 0; first < count_; first += block_) {
      const int64_t rows = std::min(block_, count_ - first);
      transform_windows(tiles_.data() + first, rows);
      const WinogradOutput output = output_of(tiles_.data() + first);
      on_grid(grid_, [&](int64_t i, int64_t j) {
        const Range mine = units_of(rows, tile_.rows, grid_.down, i);
        const Range part = units_of(columns_, tile_.columns, grid_.across, j);
        if (mine.size() == 0 || part.size() == 0) return;
        for (int64_t point = 0; point < kWinogradPoints; ++point) multiply(point, rows, mine, part);
        winograd_loops().output(output, {mine.begin, mine.end, part.begin, part.end});
      });
    }
  }

 private:
  // Numbers of the kernels or the bias; of half types widened, `place` numbers behind the products.
  const float* in_floats(const void* numbers, int64_t count, int64_t place) const {
    if (args_.dtype == DType::f32 || !numbers) return static_cast<const float*>(numbers);
    float* const floats = products_ + kWinogradPoints * product_plane_ + place;
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
      const Range deep = units_of(depth_, kChannels, grid_.down, i);
      for (int64_t column = part.begin; column < part.end; column += tile_.columns) {
        WinogradWeights panel = weights;
        panel.w = w_ + column * panel.column_stride + deep.begin * panel.step_stride;
        panel.columns = panel.padded = std::min<int64_t>(tile_.columns, columns_ - column);
        panel.depth = deep.size();
        panel.output = kernels_ + column * depth_ + deep.begin * panel.padded;
        winograd_loops().weights(panel);
      }
    });
  }

  void transform_windows(const WinogradTile* tiles, int64_t rows) const {
    WinogradInput input;
    input.source = transposed_ ? args_.y : args_.x;
    input.dtype = args_.dtype;
    std::copy_n(steps_.source, 2, input.steps);
    input.channels = depth_;
    input.tiles = tiles;
    input.rows = rows;
    input.strip = strip_;
    input.panel = tile_.rows;
    input.output = windows_;
    input.point_stride = window_plane_;
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range mine = units_of(rows, tile_.rows, grid_.down, i);
      const Range channels = units_of(depth_, kChannels, grid_.across, j);
      winograd_loops().input(input, {mine.begin, mine.end, channels.begin, channels.end});
    });
  }

  WinogradOutput output_of(const WinogradTile* tiles) const {
    WinogradOutput output;
    output.products = products_;
    output.point_stride = product_plane_;
    output.channels = columns_;
    output.bias = bias_;
    output.tiles = tiles;
    output.target = transposed_ ? args_.x : args_.y;
    output.dtype = args_.dtype;
    std::copy_n(steps_.target, 2, output.steps);
    return output;
  }

  // The products of a point: tiles `mine` of so many `rows`, the channels `part`.
  void multiply(int64_t point, int64_t rows, Range mine, Range part) const {
    for (int64_t first = 0; first < depth_; first += strip_) {
      GemmBlock block;
      block.m = mine.size();
      block.k = std::min(strip_, depth_ - first);
      block.b_depth = depth_;
      block.a = windows_ + point * window_plane_ + first * rows + mine.begin * block.k;
      block.runs = runs_.data() + first / kRunSteps;
      block.run_count = divide_up(block.k, kRunSteps);
      block.separate_runs = true;
      block.ldc = columns_;
      block.accumulate = first > 0;
      block.blocked = true;
      for (int64_t column = part.begin; column < part.end; column += tile_.columns) {
        block.n = std::min<int64_t>(tile_.columns, part.end - column);
        block.b = kernels_ + point * kernel_plane_ + column * depth_;
        block.c = products_ + point * product_plane_ + mine.begin * columns_ + column;
        loops_.block(block);
      }
    }
  }

  const ConvolutionArgs& args_;
  const bool transposed_;
  const GemmLoops& loops_ = gemm_loops();
  const GemmTile tile_;
  const Sizes sizes_;
  const Steps steps_;
  const int64_t depth_, columns_;  // channels that are read and made
  const std::vector<WinogradTile> tiles_;
  const int64_t count_, block_;  // tiles, and those that are transformed at a time
  const Grid grid_;
  const int64_t strip_;  // steps of a product's sum at a time
  const std::vector<GemmRun> runs_;
  const int64_t kernel_plane_, window_plane_, product_plane_;
  const int64_t widened_;  // numbers of half types that are read as they are
  const Scratch memory_;
  float* const kernels_;   // [point][panel of columns][depth][column]
  float* const windows_;   // [point][strip][panel of tiles]
  float* const products_;  // [point][tile][column]
  const float *const w_, *const bias_;
};

// ---- w from x and y: y's channels by x's.

class WinogradWeightGradient {
 public:
  explicit WinogradWeightGradient(const ConvolutionArgs& args)
      : args_(args),
        tile_(loops_.tile(GemmKind::f32)),
        sizes_(sizes_of(args, false)),
        steps_(steps_of(sizes_)),
        columns_(args.x_channels),
        lines_(args.y_channels),
        tiles_(tiles_of(sizes_, args.batch)),
        count_(static_cast<int64_t>(tiles_.size())),
        block_(block_tiles(count_, kWinogradPoints * (columns_ + lines_), tile_.rows)),
        grid_(grid_of(lines_, columns_, std::min(block_, count_), std::min(block_, count_))),
        sum_plane_(plane(lines_ * columns_)),
        window_plane_(plane(block_ * columns_)),
        gradient_plane_(plane(block_ * lines_)),
        memory_(kWinogradPoints * (sum_plane_ + window_plane_ + gradient_plane_) * 4),
        sums_(reinterpret_cast<float*>(memory_.data())),
        windows_(sums_ + kWinogradPoints * sum_plane_),
        gradients_(windows_ + kWinogradPoints * window_plane_) {}

  void run() const {
    for (int64_t first = 0; first < count_; first += block_) {
      const int64_t rows = std::min(block_, count_ - first);
      transform(tiles_.data() + first, rows);
      multiply(rows, first > 0);
    }
    gather();
  }

 private:
  void transform(const WinogradTile* tiles, int64_t rows) const {
    WinogradInput input;
    input.source = args_.x;
    input.dtype = args_.dtype;
    std::copy_n(steps_.source, 2, input.steps);
    input.channels = columns_;
    input.tiles = tiles;
    input.rows = rows;
    input.panel = tile_.columns;
    input.output = windows_;
    input.point_stride = window_plane_;
    input.as_columns = true;
    WinogradGradient gradient;
    gradient.source = args_.y;
    gradient.dtype = args_.dtype;
    std::copy_n(steps_.target, 2, gradient.steps);
    gradient.channels = lines_;
    gradient.tiles = tiles;
    gradient.output = gradients_;
    gradient.point_stride = gradient_plane_;
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range across = units_of(columns_, tile_.columns, grid_.across, j);
      const Range down = units_of(lines_, kChannels, grid_.down, i);
      const Range some = part_of(rows, grid_.down, i), others = part_of(rows, grid_.across, j);
      winograd_loops().input(input, {some.begin, some.end, across.begin, across.end});
      winograd_loops().gradient(gradient, {others.begin, others.end, down.begin, down.end});
    });
  }

  void multiply(int64_t rows, bool accumulate) const {
    const std::vector<GemmRun> runs = runs_of(rows);
    const int64_t unit = tile_.rows * kChannels;  // lines of whole panels and blocks
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range across = units_of(columns_, tile_.columns, grid_.across, j);
      const Range down = units_of(lines_, kChannels, grid_.down, i);
      const Scratch packed(std::min(unit, round_up(down.size(), tile_.rows)) * rows * 4);
      for (int64_t point = 0; point < kWinogradPoints; ++point) {
        for (int64_t first = down.begin; first < down.end; first += unit) {
          const Range lines{first, std::min(first + unit, down.end)};
          pack(point, rows, lines, packed.data());
          GemmBlock block;
          block.m = lines.size();
          block.k = block.b_depth = rows;
          block.a = packed.data();
          block.runs = runs.data();
          block.run_count = static_cast<int64_t>(runs.size());
          block.separate_runs = true;
          block.ldc = columns_;
          block.accumulate = accumulate;
          for (int64_t column = across.begin; column < across.end; column += tile_.columns) {
            block.n = std::min<int64_t>(tile_.columns, across.end - column);
            block.b = windows_ + point * window_plane_ + column * rows;
            block.c = sums_ + point * sum_plane_ + first * columns_ + column;
            loops_.block(block);
          }
        }
      }
    });
  }

  void pack(int64_t point, int64_t rows, Range lines, char* to) const {
    for (int64_t line = lines.begin; line < lines.end; line += tile_.rows) {
      GemmPack panel;
      panel.source = reinterpret_cast<const char*>(gradients_ + point * gradient_plane_ + line);
      panel.line_stride = 4;
      panel.k_stride = lines_ * 4;
      panel.lines = panel.padded = std::min<int64_t>(tile_.rows, lines.end - line);
      panel.k = rows;
      panel.packed = to + (line - lines.begin) * rows * 4;
      loops_.pack(panel);
    }
  }

  // Rows of the kernels whose sums this thread made, where it made whole rows.
  void gather() const {
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range down = units_of(lines_, kChannels, grid_.down, i);
      const Range mine = part_of(down.size(), grid_.across, j);
      for (int64_t line = down.begin + mine.begin; line < down.begin + mine.end; ++line) {
        WinogradKernelSums row;
        row.point_stride = sum_plane_;
        row.channels = columns_;
        row.sums = sums_ + line * columns_;
        row.output = static_cast<char*>(args_.w) + line * 9 * columns_ * item_size(args_.dtype);
        row.dtype = args_.dtype;
        winograd_loops().kernel_sums(row);
      }
    });
  }

  const ConvolutionArgs& args_;
  const GemmLoops& loops_ = gemm_loops();
  const GemmTile tile_;
  const Sizes sizes_;
  const Steps steps_;
  const int64_t columns_, lines_;  // channels of x and y
  const std::vector<WinogradTile> tiles_;
  const int64_t count_, block_;  // tiles, and those that are transformed at a time
  const Grid grid_;
  const int64_t sum_plane_, window_plane_, gradient_plane_;
  const Scratch memory_;
  float* const sums_;       // [point][line][column]
  float* const windows_;    // [point][panel of columns][tile][column]
  float* const gradients_;  // [point][tile][line]
};

}  // namespace

namespace {

// Whether the kernels lie in one piece, in whatever order.
bool is_dense(const ConvolutionArgs& args) {
  const int64_t count = 9 * args.x_channels * args.y_channels;
  return 1 + (args.y_channels - 1) * args.w_y + (args.x_channels - 1) * args.w_x +
             2 * (args.w_dims[1] + args.w_dims[2]) ==
         count;
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
  const ConvDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
  if (d.kernel != 1 || d.input != 1 || d.output != 1) return false;
  if (args.x_channels % kChannels != 0 || args.y_channels % kChannels != 0) return false;
  if (args.x_channels < 2 * kChannels || args.y_channels < 2 * kChannels) return false;
  // What tiles multiply for an image and a pair of channels, and what the direct way does, which
  // leaves padding out.
  int64_t tiles = 1, direct = 1;
  for (const ConvDim* dim : {&h, &w}) {
    if (dim->kernel != 3 || dim->stride != 1 || dim->dilation > 2) return false;
    if (dim->padding > 2 * dim->dilation) return false;
    int64_t lines = 0, products = 0;
    for (int64_t phase = 0; phase < dim->dilation; ++phase)
      lines += divide_up(divide_up(dim->output - phase, dim->dilation), kWinogradTile);
    for (int64_t tap = 0; tap < dim->kernel; ++tap) {
      const body::WindowRange outputs = body::positions_reading(*dim, tap);
      products += std::max<int64_t>(0, outputs.end - outputs.first);
    }
    tiles *= lines;
    direct *= products;
  }
  if (h.dilation != w.dilation || args.batch * tiles < kLeastTiles) return false;
  if (args.dtype != DType::f32 && !is_dense(args)) return false;
  return static_cast<double>(kWinogradPoints * tiles) <= most_products(args) * direct;
}

void winograd_convolution(const ConvolutionArgs& args, bool transposed) {
  WinogradConvolution(args, transposed).run();
}

void winograd_weight_gradient(const ConvolutionArgs& args) { WinogradWeightGradient(args).run(); }

}  // namespace aorta::cpu
