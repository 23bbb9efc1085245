#include <aorta/core/cpu/winograd_tiles.h>

namespace aorta::cpu {
namespace {

// Where kernels are few: tiles whose products are summed at a time, and threads, at most, that
// transform by themselves what others transform too.
constexpr int64_t kOwnSteps = 64, kMostAlone = 4;
// Where they are fewest each thread sums parts of the tiles: the most parts, the least tiles of
// one, and the numbers of all their sums.
constexpr int64_t kMostParts = 64, kPartTiles = 256, kPartNumbers = 5 << 19;

// A frame of w from x and y: y's channels by x's.
class WinogradWeightGradient {
 public:
  WinogradWeightGradient(const ConvolutionArgs& args, int64_t tap)
      : args_(args),
        tap_(tap),
        tile_(loops_.tile(GemmKind::f32)),
        sizes_(args, false),
        steps_(sizes_),
        columns_(args.x_channels),
        lines_(args.y_channels),
        tiles_(tiles_inside()),
        count_(static_cast<int64_t>(tiles_.size())),
        few_sums_(kWinogradPoints * lines_ * columns_ <= kFewKernelNumbers),
        alone_(few_sums_ && get_num_threads() <= kMostAlone),
        part_tiles_(tiles_of_a_part()),
        block_(tiles_of_a_block()),
        slice_(few_sums_ ? kOwnSteps : block_),
        grid_(winograd_grid(lines_, columns_, std::min(block_, count_), std::min(block_, count_))),
        sum_plane_(plane(lines_ * columns_)),
        memory_(parts() * kWinogradPoints * sum_plane_ * 4),
        sums_(reinterpret_cast<float*>(memory_.data())) {}

  void run() const {
    if (parts() > 1)
      add_parts();
    else
      alone_ ? add_alone() : add_together();
    gather();
  }

 private:
  // Windows and gradients of some tiles: [point][panel of columns][tile][column] of `across`, and
  // [point][tile][line] of `down`.
  struct Block : Scratch {
    Block(int64_t tiles, Range lines, Range columns)
        : Scratch(kWinogradPoints * (plane(tiles * columns.size()) + plane(tiles * lines.size())) *
                  4),
          down(lines),
          across(columns),
          window_plane(plane(tiles * columns.size())),
          gradient_plane(plane(tiles * lines.size())),
          windows(reinterpret_cast<float*>(data())),
          gradients(windows + kWinogradPoints * window_plane) {}
    const Range down, across;
    const int64_t window_plane, gradient_plane;
    float *const windows, *const gradients;
  };

  std::vector<WinogradTile> tiles_inside() const {
    std::vector<WinogradTile> tiles = tiles_of(sizes_, tap_);
    std::erase_if(tiles, [](const WinogradTile& tile) { return tile.end[0] == 0; });
    return tiles;
  }

  // Whole slices, for the sums to be of the same tiles for any number of threads.
  int64_t tiles_of_a_block() const {
    const int64_t tiles =
        block_tiles(count_, kWinogradPoints * (columns_ + lines_), alone_ ? 1 : tile_.rows);
    if (!few_sums_) return tiles;
    return alone_ ? kOwnSteps : std::max(tiles / kOwnSteps, int64_t{1}) * kOwnSteps;
  }

  // Whole slices, too.
  int64_t tiles_of_a_part() const {
    const int64_t parts = std::min(
        {kMostParts, count_ / kPartTiles, kPartNumbers / (kWinogradPoints * lines_ * columns_)});
    return parts < 4 ? count_ : round_up(divide_up(count_, parts), kOwnSteps);
  }
  int64_t parts() const { return divide_up(count_, part_tiles_); }
  float* sums_of(int64_t part) const { return sums_ + part * kWinogradPoints * sum_plane_; }

  // Each thread takes tiles all the way to sums of their own, which are added in the tiles' order.
  // Where threads are more than parts, they share a part's lines.
  void add_parts() const {
    const int64_t shares =
        std::clamp<int64_t>(get_num_threads() / parts(), 1, divide_up(lines_, kWinogradChannels));
    parallel_for(0, parts() * shares, 1, [&](int64_t i, int64_t) {
      const Range down = units_of(lines_, kWinogradChannels, shares, i % shares);
      const int64_t part = i / shares, first = part * part_tiles_;
      add({first, std::min(first + part_tiles_, count_)}, down, {0, columns_}, sums_of(part));
    });
    parallel_for(0, kWinogradPoints, 1, [&](int64_t point, int64_t) {
      float* const sums = sums_ + point * sum_plane_;
      for (int64_t part = 1; part < parts(); ++part) {
        const float* const others = sums_of(part) + point * sum_plane_;
        for (int64_t i = 0; i < lines_ * columns_; ++i) sums[i] += others[i];
      }
    });
  }

  // Each thread transforms all that its part of the kernels is made of.
  void add_alone() const {
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range down = units_of(lines_, kWinogradChannels, grid_.down, i);
      const Range across = units_of(columns_, tile_.columns, grid_.across, j);
      if (down.size() == 0 || across.size() == 0) return;
      add({0, count_}, down, across, sums_);
    });
  }

  // Sums of some tiles' products, of the lines `down` by the columns `across`.
  void add(Range tiles, Range down, Range across, float* sums) const {
    const Block block(kOwnSteps, down, across);
    for (int64_t first = tiles.begin; first < tiles.end; first += kOwnSteps) {
      const int64_t rows = std::min(kOwnSteps, tiles.end - first);
      transform_windows(block, first, rows, {0, rows, 0, across.size()});
      transform_gradients(block, first, {0, rows, 0, down.size()});
      multiply(block, rows, down, across, sums, first > tiles.begin);
    }
  }

  void add_together() const {
    const Block block(block_, {0, lines_}, {0, columns_});
    for (int64_t first = 0; first < count_; first += block_) {
      const int64_t rows = std::min(block_, count_ - first);
      on_grid(grid_, [&](int64_t i, int64_t j) {
        const Range across = units_of(columns_, tile_.columns, grid_.across, j);
        const Range down = units_of(lines_, kWinogradChannels, grid_.down, i);
        const Range some = part_of(rows, grid_.down, i), others = part_of(rows, grid_.across, j);
        transform_windows(block, first, rows, {some.begin, some.end, across.begin, across.end});
        transform_gradients(block, first, {others.begin, others.end, down.begin, down.end});
      });
      on_grid(grid_, [&](int64_t i, int64_t j) {
        multiply(block, rows, units_of(lines_, kWinogradChannels, grid_.down, i),
                 units_of(columns_, tile_.columns, grid_.across, j), sums_, first > 0);
      });
    }
  }

  const void* numbers_from(const void* numbers, int64_t first) const {
    return static_cast<const char*>(numbers) + first * item_size(args_.dtype);
  }

  void transform_windows(const Block& block, int64_t first, int64_t rows,
                         const WinogradPart& part) const {
    WinogradInput input;
    input.source = numbers_from(args_.x, block.across.begin);
    input.dtype = args_.dtype;
    std::copy_n(steps_.source, 2, input.steps);
    input.channels = block.across.size();
    input.tiles = tiles_.data() + first;
    input.rows = rows;
    input.panel = tile_.columns;
    input.output = block.windows;
    input.point_stride = block.window_plane;
    input.as_columns = true;
    winograd_loops().input(input, part);
  }

  void transform_gradients(const Block& block, int64_t first, const WinogradPart& part) const {
    WinogradGradient gradient;
    gradient.source = numbers_from(args_.y, block.down.begin);
    gradient.dtype = args_.dtype;
    std::copy_n(steps_.target, 2, gradient.steps);
    gradient.channels = block.down.size();
    gradient.tiles = tiles_.data() + first;
    gradient.output = block.gradients;
    gradient.point_stride = block.gradient_plane;
    winograd_loops().gradient(gradient, part);
  }

  // Sums, or adds, the products of the block's tiles, the lines `down` by the columns `across`.
  // Sums are of slices, whatever threads there are.
  void multiply(const Block& block, int64_t rows, Range down, Range across, float* sums,
                bool accumulate) const {
    const std::vector<GemmRun> runs = runs_of(rows);
    const int64_t unit = tile_.rows * kWinogradChannels;  // lines of whole panels and blocks
    const int64_t steps = std::min(slice_, rows);
    const Scratch packed(std::min(unit, round_up(down.size(), tile_.rows)) * steps * 4);
    GemmBlock product;
    product.a = packed.data();
    product.b_depth = rows;
    product.separate_runs = true;
    product.ldc = columns_;
    for (int64_t point = 0; point < kWinogradPoints; ++point) {
      for (int64_t line = down.begin; line < down.end; line += unit) {
        const Range lines{line, std::min(line + unit, down.end)};
        product.m = lines.size();
        for (int64_t step = 0; step < rows; step += slice_) {
          product.k = std::min(slice_, rows - step);
          product.runs = runs.data() + step / kRunSteps;
          product.run_count = divide_up(product.k, kRunSteps);
          product.accumulate = accumulate || step > 0;
          pack(block, point, {step, step + product.k}, lines, packed.data());
          for (int64_t column = across.begin; column < across.end; column += tile_.columns) {
            product.n = std::min<int64_t>(tile_.columns, across.end - column);
            product.b =
                block.windows + point * block.window_plane + (column - block.across.begin) * rows;
            product.c = sums + point * sum_plane_ + line * columns_ + column;
            loops_.block(product);
          }
        }
      }
    }
  }

  void pack(const Block& block, int64_t point, Range steps, Range lines, char* to) const {
    const int64_t width = block.down.size();
    for (int64_t line = lines.begin; line < lines.end; line += tile_.rows) {
      GemmPack panel;
      panel.source = reinterpret_cast<const char*>(block.gradients + point * block.gradient_plane +
                                                   steps.begin * width + line - block.down.begin);
      panel.line_stride = 4;
      panel.k_stride = width * 4;
      panel.lines = panel.padded = std::min<int64_t>(tile_.rows, lines.end - line);
      panel.k = steps.size();
      panel.packed = to + (line - lines.begin) * steps.size() * 4;
      loops_.pack(panel);
    }
  }

  // Rows of the kernels whose sums this thread made, where it made whole rows.
  void gather() const {
    on_grid(grid_, [&](int64_t i, int64_t j) {
      const Range down = units_of(lines_, kWinogradChannels, grid_.down, i);
      const Range mine = part_of(down.size(), grid_.across, j);
      for (int64_t line = down.begin + mine.begin; line < down.begin + mine.end; ++line) {
        WinogradKernelSums row;
        row.point_stride = sum_plane_;
        row.channels = columns_;
        row.sums = sums_ + line * columns_;
        row.output = static_cast<char*>(args_.w) +
                     (line * sizes_.taps + tap_) * 9 * columns_ * item_size(args_.dtype);
        row.dtype = args_.dtype;
        winograd_loops().kernel_sums(row);
      }
    });
  }

  const ConvolutionArgs& args_;
  const int64_t tap_;
  const GemmLoops& loops_ = gemm_loops();
  const GemmTile tile_;
  const WinogradSizes sizes_;
  const WinogradSteps steps_;
  const int64_t columns_, lines_;  // channels of x and y
  const std::vector<WinogradTile> tiles_;
  const int64_t count_;  // tiles
  const bool few_sums_, alone_;
  const int64_t part_tiles_;     // tiles whose sums are made by themselves
  const int64_t block_, slice_;  // tiles that are transformed, and multiplied, at a time
  const Grid grid_;
  const int64_t sum_plane_;
  const Scratch memory_;
  float* const sums_;  // [point][line][column]
};

}  // namespace

bool takes_winograd_gradient(const ConvolutionArgs& args) {
  return takes_winograd(args) &&
         args.x_channels * args.y_channels > kWinogradChannels * kWinogradChannels;
}

void winograd_weight_gradient(const ConvolutionArgs& args) {
  for (int64_t tap = 0; tap < args.dims[0].kernel; ++tap) WinogradWeightGradient(args, tap).run();
}

}  // namespace aorta::cpu
