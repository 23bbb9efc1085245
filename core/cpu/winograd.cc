#include <aorta/core/cpu/winograd.h>

#include <aorta/core/cpu/gemm.h>
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
      const int64_t begin = source < 0 ? divide_up(-source, step) : 0;
      const int64_t room = dim.source - source;
      const int64_t end = room > 0 ? divide_up(room, step) : 0;
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

// Threads share lines (tiles, or rows of the kernels) and columns (channels): down x across of
// them. What one thread makes of its part comes to another only from that one's cache, or from
// memory where cores share none, so the side is cut whose other operand is the smaller one.
struct Grid {
  int64_t down = 1, across = 1;

  Grid(int64_t lines, int64_t columns, int64_t line_numbers, int64_t column_numbers) {
    const int64_t threads = get_num_threads();
    int64_t least = INT64_MAX;
    for (int64_t d = 1; d <= threads; ++d) {
      if (threads % d != 0) continue;
      const int64_t a = threads / d;
      // Numbers of a thread: products, and operands, of which it fetches what others made.
      const int64_t rows = divide_up(lines, d), width = divide_up(columns, a);
      const int64_t fetched =
          (d > 1 ? width * column_numbers : 0) + (a > 1 ? rows * line_numbers : 0);
      const int64_t cost = rows * width * 64 + fetched;
      if (cost >= least) continue;
      least = cost;
      down = d;
      across = a;
    }
  }
  int64_t count() const { return down * across; }
};

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

}  // namespace

bool takes_winograd(const ConvolutionArgs& args) {
  if (args.dtype != DType::f32 || args.groups != 1 || !winograd_enabled()) return false;
  const ConvDim &d = args.dims[0], &h = args.dims[1], &w = args.dims[2];
  if (d.kernel != 1 || d.input != 1 || d.output != 1) return false;
  if (args.x_channels % kChannels != 0 || args.y_channels % kChannels != 0) return false;
  if (args.x_channels < 2 * kChannels || args.y_channels < 2 * kChannels) return false;
  int64_t tiles = args.batch, covered = 1, size = 1;
  for (const ConvDim* dim : {&h, &w}) {
    if (dim->kernel != 3 || dim->stride != 1 || dim->dilation > 2) return false;
    if (dim->padding > 2 * dim->dilation) return false;
    if (std::min(dim->input, dim->output) < (dim->dilation == 1 ? 8 : 13)) return false;
    int64_t lines = 0;
    for (int64_t phase = 0; phase < dim->dilation; ++phase)
      lines += divide_up(divide_up(dim->output - phase, dim->dilation), kWinogradTile);
    tiles *= lines;
    covered *= lines * kWinogradTile;
    size *= dim->output;
  }
  return h.dilation == w.dilation && tiles >= kLeastTiles && 10 * size >= 6 * covered;
}

void winograd_map(const ConvolutionArgs& args, bool transposed) {
  const GemmTile tile = for_isa(v2::gemm_tile, v3::gemm_tile, v4::gemm_tile)(GemmKind::f32);
  const auto multiply = for_isa(v2::gemm_block, v3::gemm_block, v4::gemm_block);
  const Sizes sizes = sizes_of(args, transposed);
  const int64_t depth = sizes.source_channels, columns = sizes.target_channels;
  const std::vector<WinogradTile> tiles = tiles_of(sizes, args.batch);
  const Steps steps = steps_of(sizes);
  const int64_t count = static_cast<int64_t>(tiles.size());
  const int64_t most = block_tiles(count, kWinogradPoints * (depth + columns), tile.rows);
  const Grid grid(std::min(most, count), columns, depth, depth);

  const int64_t kernel_plane = plane(depth * columns), window_plane = plane(most * depth);
  const int64_t product_plane = plane(most * columns);
  const Scratch memory(kWinogradPoints * (kernel_plane + window_plane + product_plane) * 4);
  float* const kernels = reinterpret_cast<float*>(memory.data());
  float* const windows = kernels + kWinogradPoints * kernel_plane;
  float* const products = windows + kWinogradPoints * window_plane;

  WinogradWeights weights;
  weights.column_stride = transposed ? args.w_x : args.w_y;
  weights.step_stride = transposed ? args.w_y : args.w_x;
  weights.tap_strides[0] = args.w_dims[1];
  weights.tap_strides[1] = args.w_dims[2];
  weights.flipped = transposed;
  weights.point_stride = kernel_plane;
  on_grid(grid, [&](int64_t i, int64_t j) {
    const Range part = units_of(columns, tile.columns, grid.across, j);
    const Range deep = units_of(depth, kChannels, grid.down, i);
    for (int64_t column = part.begin; column < part.end; column += tile.columns) {
      WinogradWeights panel = weights;
      panel.w = static_cast<const float*>(args.w) + column * panel.column_stride +
                deep.begin * panel.step_stride;
      panel.columns = panel.padded = std::min<int64_t>(tile.columns, columns - column);
      panel.depth = deep.size();
      panel.output = kernels + column * depth + deep.begin * panel.padded;
      for_isa(v2::winograd_weights, v3::winograd_weights, v4::winograd_weights)(panel);
    }
  });

  const int64_t strip = round_up(divide_up(depth, divide_up(depth, kStripDepth)), kRunSteps);
  const std::vector<GemmRun> runs = runs_of(depth);
  WinogradInput input;
  input.source = static_cast<const float*>(transposed ? args.y : args.x);
  input.steps[0] = steps.source[0];
  input.steps[1] = steps.source[1];
  input.channels = depth;
  input.strip = strip;
  input.panel = tile.rows;
  input.output = windows;
  input.point_stride = window_plane;
  WinogradOutput output;
  output.products = products;
  output.point_stride = product_plane;
  output.channels = columns;
  output.bias = static_cast<const float*>(args.bias);
  output.target = static_cast<float*>(transposed ? args.x : args.y);
  output.steps[0] = steps.target[0];
  output.steps[1] = steps.target[1];
  for (int64_t at = 0; at < count; at += most) {
    const int64_t rows = std::min(most, count - at);
    input.tiles = output.tiles = tiles.data() + at;
    input.rows = rows;
    on_grid(grid, [&](int64_t i, int64_t j) {
      const Range mine = units_of(rows, tile.rows, grid.down, i);
      const Range channels = units_of(depth, kChannels, grid.across, j);
      for_isa(v2::winograd_input, v3::winograd_input, v4::winograd_input)(
          input, {mine.begin, mine.end, channels.begin, channels.end});
    });
    on_grid(grid, [&](int64_t i, int64_t j) {
      const Range mine = units_of(rows, tile.rows, grid.down, i);
      const Range part = units_of(columns, tile.columns, grid.across, j);
      if (mine.size() == 0 || part.size() == 0) return;
      for (int64_t point = 0; point < kWinogradPoints; ++point) {
        for (int64_t first = 0; first < depth; first += strip) {
          GemmBlock block;
          block.m = mine.size();
          block.k = std::min(strip, depth - first);
          block.b_depth = depth;
          block.a = windows + point * window_plane + first * rows + mine.begin * block.k;
          block.runs = runs.data() + first / kRunSteps;
          block.run_count = divide_up(block.k, kRunSteps);
          block.separate_runs = true;
          block.ldc = columns;
          block.accumulate = first > 0;
          block.blocked = true;
          for (int64_t column = part.begin; column < part.end; column += tile.columns) {
            block.n = std::min<int64_t>(tile.columns, part.end - column);
            block.b = kernels + point * kernel_plane + column * depth;
            block.c = products + point * product_plane + mine.begin * columns + column;
            multiply(block);
          }
        }
      }
      for_isa(v2::winograd_output, v3::winograd_output, v4::winograd_output)(
          output, {mine.begin, mine.end, part.begin, part.end});
    });
  }
}

void winograd_weight_gradient(const ConvolutionArgs& args) {
  const GemmTile tile = for_isa(v2::gemm_tile, v3::gemm_tile, v4::gemm_tile)(GemmKind::f32);
  const auto multiply = for_isa(v2::gemm_block, v3::gemm_block, v4::gemm_block);
  const auto pack = for_isa(v2::gemm_pack, v3::gemm_pack, v4::gemm_pack);
  const Sizes sizes = sizes_of(args, false);
  const int64_t columns = args.x_channels, lines = args.y_channels;
  const std::vector<WinogradTile> tiles = tiles_of(sizes, args.batch);
  const Steps steps = steps_of(sizes);
  const int64_t count = static_cast<int64_t>(tiles.size());
  const int64_t most = block_tiles(count, kWinogradPoints * (columns + lines), tile.rows);
  const Grid grid(lines, columns, std::min(most, count), std::min(most, count));

  const int64_t sum_plane = plane(lines * columns), window_plane = plane(most * columns);
  const int64_t gradient_plane = plane(most * lines);
  const Scratch memory(kWinogradPoints * (sum_plane + window_plane + gradient_plane) * 4);
  float* const sums = reinterpret_cast<float*>(memory.data());
  float* const windows = sums + kWinogradPoints * sum_plane;
  float* const gradients = windows + kWinogradPoints * window_plane;

  WinogradInput input;
  input.source = static_cast<const float*>(args.x);
  input.steps[0] = steps.source[0];
  input.steps[1] = steps.source[1];
  input.channels = columns;
  input.panel = tile.columns;
  input.output = windows;
  input.point_stride = window_plane;
  input.as_columns = true;
  WinogradGradient gradient;
  gradient.source = static_cast<const float*>(args.y);
  gradient.steps[0] = steps.target[0];
  gradient.steps[1] = steps.target[1];
  gradient.channels = lines;
  gradient.output = gradients;
  gradient.point_stride = gradient_plane;
  const int64_t unit = tile.rows * kChannels;  // lines of whole panels and blocks
  for (int64_t at = 0; at < count; at += most) {
    const int64_t rows = std::min(most, count - at);
    const std::vector<GemmRun> runs = runs_of(rows);
    input.tiles = gradient.tiles = tiles.data() + at;
    input.rows = rows;
    on_grid(grid, [&](int64_t i, int64_t j) {
      const Range across = units_of(columns, tile.columns, grid.across, j);
      const Range down = units_of(lines, kChannels, grid.down, i);
      const Range some = part_of(rows, grid.down, i), others = part_of(rows, grid.across, j);
      for_isa(v2::winograd_input, v3::winograd_input, v4::winograd_input)(
          input, {some.begin, some.end, across.begin, across.end});
      for_isa(v2::winograd_gradient, v3::winograd_gradient, v4::winograd_gradient)(
          gradient, {others.begin, others.end, down.begin, down.end});
    });
    on_grid(grid, [&](int64_t i, int64_t j) {
      const Range across = units_of(columns, tile.columns, grid.across, j);
      const Range down = units_of(lines, kChannels, grid.down, i);
      const Scratch packed(std::min(unit, round_up(down.size(), tile.rows)) * rows * 4);
      for (int64_t point = 0; point < kWinogradPoints; ++point) {
        for (int64_t first = down.begin; first < down.end; first += unit) {
          const int64_t last = std::min(first + unit, down.end);
          for (int64_t line = first; line < last; line += tile.rows) {
            GemmPack panel;
            panel.source = reinterpret_cast<const char*>(gradients + point * gradient_plane + line);
            panel.line_stride = 4;
            panel.k_stride = lines * 4;
            panel.lines = panel.padded = std::min<int64_t>(tile.rows, last - line);
            panel.k = rows;
            panel.packed = packed.data() + (line - first) * rows * 4;
            pack(panel);
          }
          GemmBlock block;
          block.m = last - first;
          block.k = block.b_depth = rows;
          block.a = packed.data();
          block.runs = runs.data();
          block.run_count = static_cast<int64_t>(runs.size());
          block.separate_runs = true;
          block.ldc = columns;
          block.accumulate = at > 0;
          for (int64_t column = across.begin; column < across.end; column += tile.columns) {
            block.n = std::min<int64_t>(tile.columns, across.end - column);
            block.b = windows + point * window_plane + column * rows;
            block.c = sums + point * sum_plane + first * columns + column;
            multiply(block);
          }
        }
      }
    });
  }
  // Rows of the kernels whose sums this thread made, where it made whole rows.
  on_grid(grid, [&](int64_t i, int64_t j) {
    const Range down = units_of(lines, kChannels, grid.down, i);
    const Range mine = part_of(down.size(), grid.across, j);
    for (int64_t line = down.begin + mine.begin; line < down.begin + mine.end; ++line) {
      WinogradKernelSums row;
      row.point_stride = sum_plane;
      row.channels = columns;
      row.sums = sums + line * columns;
      row.output = static_cast<float*>(args.w) + line * 9 * columns;
      for_isa(v2::winograd_kernel_sums, v3::winograd_kernel_sums, v4::winograd_kernel_sums)(row);
    }
  });
}

}  // namespace aorta::cpu
