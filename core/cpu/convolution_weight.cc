#include <aorta/core/body/window.h>
#include <aorta/core/cpu/convolution.h>
#include <aorta/core/cpu/convolution_plan.h>
#include <aorta/core/cpu/grid.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace aorta::cpu {
namespace {

// Bytes of a packed line. A block's rows take half of the second-level cache that CPUs with AVX-512
// have, 1 MB; other CPUs have less.
constexpr int64_t kLineBytes = 2048;
constexpr int64_t kBlockRows = 192, kWideBlockRows = 264;
// Panels of columns that are packed together, and the positions that are packed at a time.
constexpr int64_t kPanels = 2;
constexpr int64_t kPiece = 64;
constexpr int64_t kCacheLine = 64;

// The gradient of some taps that are neighbours in w: a sum over the positions of y where they meet
// the image. Rows are y's channels, columns the taps' x channels.
struct TapProduct {
  int64_t column, columns;                           // in a row of w
  int64_t counts[3];                                 // positions along each dimension
  int64_t x_first, y_first, x_steps[3], y_steps[3];  // in positions
};

// Products into the same columns, one after another.
struct TapSet {
  int64_t column = 0, columns = 0;
  std::vector<TapProduct> products = {};
  int64_t work = 0;  // multiply-adds, of all groups
};

// The positions of y whose `tap` lies in x.
Range range_of(const ConvDim& dim, int64_t tap) {
  const body::WindowRange range = body::positions_reading(dim, tap);
  return {range.first, std::max(range.first, range.end)};
}

class PackedWeightGradient {
 public:
  explicit PackedWeightGradient(const ConvolutionArgs& args)
      : args_(args),
        kind_(gemm_kind(args.dtype)),
        tile_(gemm_loops().tile(kind_)),
        pack_(gemm_loops().pack),
        block_(gemm_loops().block),
        item_(item_size(args.dtype)),
        sum_(sum_size(args.dtype)),
        rows_(args.y_channels / args.groups),
        channels_(args.x_channels / args.groups),
        taps_(args.dims[0].kernel * args.dims[1].kernel * args.dims[2].kernel),
        row_(taps_ * channels_),
        depth_(kLineBytes / tile_.bytes * (kind_ == GemmKind::bf16 ? 2 : 1)),
        block_rows_(for_isa(kBlockRows, kBlockRows, kWideBlockRows)) {
    plan();
  }

  void run() {
    const int64_t size = args_.y_channels * row_;
    if (!is_half(args_.dtype)) {
      sums_ = static_cast<char*>(args_.w);
      return multiply();
    }
    const Scratch sums(size * sum_);
    sums_ = sums.data();
    multiply();
    const ConvertFunction convert = converter(args_.dtype, f32);
    parallel_for(0, size, kThreadGrain, [&](int64_t begin, int64_t end) {
      convert(static_cast<char*>(args_.w) + begin * item_, sums_ + begin * sum_, end - begin);
    });
  }

 private:
  void plan() {
    const ConvDim* const d = args_.dims;
    // Few channels would leave most of a tile's columns empty: neighbours along the width join.
    const bool join = channels_ < tile_.columns && args_.groups == 1 && d[2].dilation == 1;
    for (int64_t i = 0; i < d[0].kernel; ++i) {
      for (int64_t j = 0; j < d[1].kernel; ++j) {
        const int64_t row = (i * d[1].kernel + j) * d[2].kernel * channels_;
        if (join) {
          TapSet set{row, d[2].kernel * channels_};
          for (const ConvSegment& segment : conv_segments(d[2], false)) {
            add_product(set, i, j, segment.taps[0].tap, static_cast<int64_t>(segment.taps.size()),
                        {segment.first, segment.first + segment.count});
          }
          sets_.push_back(std::move(set));
          continue;
        }
        for (int64_t k = 0; k < d[2].kernel; ++k) {
          TapSet set{row + k * channels_, channels_};
          add_product(set, i, j, k, 1, range_of(d[2], k));
          sets_.push_back(std::move(set));
        }
      }
    }
    std::stable_sort(sets_.begin(), sets_.end(),
                     [](const TapSet& a, const TapSet& b) { return a.work > b.work; });
  }

  // Taps (i, j, k) to (i, j, k + count - 1), at the positions `across` along the width.
  void add_product(TapSet& set, int64_t i, int64_t j, int64_t k, int64_t count, Range across) {
    const ConvDim* const d = args_.dims;
    const Range ranges[] = {range_of(d[0], i), range_of(d[1], j), across};
    const int64_t taps[] = {i, j, k};
    TapProduct product{};
    product.column = ((i * d[1].kernel + j) * d[2].kernel + k) * channels_;
    product.columns = count * channels_;
    int64_t x_step = 1, y_step = 1, positions = args_.batch;
    for (int e = 2; e >= 0; --e) {
      const int64_t x = ranges[e].begin * d[e].stride - d[e].padding + taps[e] * d[e].dilation;
      product.counts[e] = ranges[e].size();
      product.x_first += x * x_step;
      product.y_first += ranges[e].begin * y_step;
      product.x_steps[e] = d[e].stride * x_step;
      product.y_steps[e] = y_step;
      x_step *= d[e].input;
      y_step *= d[e].output;
      positions *= product.counts[e];
    }
    if (positions == 0) return;
    set.products.push_back(product);
    set.work += positions * product.columns * rows_ * args_.groups;
  }

  // Tasks are sets of a group, and parts of the rows and columns of the largest: of those that are
  // one too many for a round of all threads, and that would keep one thread when the others end.
  void multiply() {
    const int64_t units = args_.groups * static_cast<int64_t>(sets_.size());
    const auto work_of = [&](int64_t unit) {
      return sets_[static_cast<size_t>(unit / args_.groups)].work / args_.groups;
    };
    int64_t rest = 0;
    for (int64_t i = 0; i < units; ++i) rest += work_of(i);
    const int64_t threads = std::clamp<int64_t>(divide_up(rest, kTaskWork), 1, get_num_threads());
    int64_t cut = 0;
    while (cut < units && (cut < units % threads || work_of(cut) * threads > rest))
      rest -= work_of(cut++);
    const int64_t row_panels = divide_up(rows_, tile_.rows);
    const Grid grid = grid_of(threads);
    const int64_t tasks = cut * threads + units - cut;
    parallel_for(0, tasks, threads > 1 ? 1 : tasks, [&](int64_t begin, int64_t end) {
      const Scratch memory((block_rows_ + kPanels * tile_.columns) * kLineBytes + 16 * depth_);
      for (int64_t i = begin; i < end; ++i) {
        const bool is_part = i < cut * threads;
        const int64_t part = is_part ? i % threads : 0;
        const int64_t unit = is_part ? i / threads : i - cut * (threads - 1);
        const TapSet& set = sets_[static_cast<size_t>(unit / args_.groups)];
        const Range rows = part_of(row_panels, is_part ? grid.down : 1, part / grid.across);
        multiply_set(set, unit % args_.groups,
                     {rows.begin * tile_.rows, std::min(rows.end * tile_.rows, rows_)},
                     part % grid.across, is_part ? grid.across : 1, memory.data());
      }
    });
  }

  // Parts of the rows and columns of a set, where they take the least time.
  Grid grid_of(int64_t parts) const {
    return best_grid(parts, [&](const Grid& grid) {
      const int64_t rows = round_up(divide_up(rows_, grid.down), tile_.rows);
      const int64_t columns = round_up(divide_up(sets_[0].columns, grid.across), tile_.columns);
      const int64_t packed = rows + columns * divide_up(rows, block_rows_);
      return rows * columns + kPackWork * packed;
    });
  }

  char* sum_at(int64_t group, int64_t row, int64_t column) const {
    return sums_ + ((group * rows_ + row) * row_ + column) * sum_;
  }

  void multiply_set(const TapSet& set, int64_t group, Range rows, int64_t part, int64_t parts,
                    char* memory) const {
    const bool alone = set.products.size() == 1 && set.products[0].columns == set.columns;
    if (!alone) {
      const Range columns = columns_of(set.columns, part, parts);
      for (int64_t row = rows.begin; row < rows.end; ++row) {
        std::memset(sum_at(group, row, set.column + columns.begin), 0,
                    static_cast<size_t>(columns.size() * sum_));
      }
    }
    const int64_t blocks = divide_up(rows.size(), block_rows_ / tile_.rows * tile_.rows);
    const int64_t panels = divide_up(rows.size(), tile_.rows);
    for (const TapProduct& product : set.products) {
      // A product of some of the set's columns takes those of this part.
      const Range all = columns_of(set.columns, part, parts);
      const int64_t shift = product.column - set.column;
      const Range columns{std::max<int64_t>(all.begin - shift, 0),
                          std::min(all.end - shift, product.columns)};
      if (columns.size() <= 0) continue;
      for (int64_t i = 0; i < blocks; ++i) {
        const Range block = part_of(panels, blocks, i);
        const Range mine{rows.begin + block.begin * tile_.rows,
                         std::min(rows.begin + block.end * tile_.rows, rows.end)};
        multiply_product(product, group, mine, columns, !alone, memory);
      }
    }
  }
  Range columns_of(int64_t columns, int64_t part, int64_t parts) const {
    const Range panels = part_of(divide_up(columns, tile_.columns), parts, part);
    return {panels.begin * tile_.columns, std::min(panels.end * tile_.columns, columns)};
  }

  void multiply_product(const TapProduct& product, int64_t group, Range rows, Range columns,
                        bool accumulate, char* memory) const {
    int64_t* const offsets =
        reinterpret_cast<int64_t*>(memory + (block_rows_ + kPanels * tile_.columns) * kLineBytes);
    char* const right = memory + block_rows_ * kLineBytes;
    const int64_t positions =
        args_.batch * product.counts[0] * product.counts[1] * product.counts[2];
    const int64_t strips = divide_up(positions, depth_);
    const int64_t depth = round_up(divide_up(positions, strips), 2);
    for (int64_t first = 0; first < positions; first += depth) {
      const int64_t count = std::min(depth, positions - first);
      offsets_of(product, true, first, count, offsets);
      const int64_t y_first = (product.y_first * args_.groups + group) * rows_ + rows.begin;
      const Range mine{y_first, y_first + rows.size()};
      pack(args_.y, mine, {tile_.rows, 1}, count, offsets, memory);
      offsets_of(product, false, first, count, offsets);
      GemmBlock block;
      const GemmRun run{0, words(count)};
      block.kind = kind_;
      block.m = rows.size();
      block.k = block.b_depth = run.k;
      block.a = memory;
      block.b = right;
      block.runs = &run;
      block.run_count = 1;
      block.ldc = row_;
      block.accumulate = accumulate || first > 0;
      const int64_t x_first = (product.x_first * args_.groups + group) * channels_;
      const int64_t most = kPanels * tile_.columns;
      for (int64_t column = columns.begin; column < columns.end; column += most) {
        block.n = std::min(most, columns.end - column);
        const Range lines{x_first + column, x_first + column + block.n};
        pack(args_.x, lines, {tile_.columns, tile_.columns / 2}, count, offsets, right);
        block.c = sum_at(group, rows.begin, product.column + column);
        block_(block);
      }
    }
  }
  int64_t words(int64_t count) const {
    return kind_ == GemmKind::bf16 ? divide_up(count, 2) : count;
  }

  // Lines of a panel; the last panel is padded to a multiple.
  struct Panel {
    int64_t lines, padding;
  };

  // Lines in panels; positions piece by piece, so that all panels take what lies side by side, and
  // the next piece is fetched meanwhile.
  void pack(const void* data, Range lines, Panel panel, int64_t count, const int64_t* offsets,
            char* to) const {
    const char* const source = static_cast<const char*>(data) + lines.begin * item_;
    const int64_t bytes = lines.size() * item_;
    for (int64_t at = 0; at < count; at += kPiece) {
      for (int64_t i = at + kPiece; i < std::min(at + 2 * kPiece, count); ++i) {
        for (int64_t b = 0; b < bytes; b += kCacheLine)
          __builtin_prefetch(source + offsets[i] + b, 0, 2);
      }
      for (int64_t line = 0; line < lines.size(); line += panel.lines) {
        GemmPack pack;
        pack.kind = kind_;
        pack.dtype = args_.dtype;
        pack.source = source + line * item_;
        pack.line_stride = item_;
        pack.k_offsets = offsets + at;
        pack.lines = std::min(panel.lines, lines.size() - line);
        pack.padded = round_up(pack.lines, panel.padding);
        pack.k = std::min(kPiece, count - at);
        pack.packed = to + (line * words(count) + pack.padded * words(at)) * tile_.bytes;
        pack_(pack);
      }
    }
  }

  // Where the product's positions [first, first + count) lie in y or x, in bytes from the first.
  void offsets_of(const TapProduct& p, bool y, int64_t first, int64_t count,
                  int64_t* offsets) const {
    const int64_t channels = (y ? args_.y_channels : args_.x_channels) * item_;
    int64_t image = 1;
    for (const ConvDim& dim : args_.dims) image *= y ? dim.output : dim.input;
    const int64_t* const steps = y ? p.y_steps : p.x_steps;
    ConvPosition at(p.counts, first);
    for (int64_t i = 0; i < count; ++i, at.advance(p.counts)) {
      const int64_t place = at.n * image + at.i * steps[0] + at.j * steps[1] + at.k * steps[2];
      offsets[i] = place * channels;
    }
  }

  const ConvolutionArgs& args_;
  const GemmKind kind_;
  const GemmTile tile_;
  void (*const pack_)(const GemmPack&);
  void (*const block_)(const GemmBlock&);
  const int64_t item_, sum_;       // bytes of a number, and of a sum
  const int64_t rows_, channels_;  // of y and x, in a group
  const int64_t taps_, row_;       // in all, and numbers of a row of w
  const int64_t depth_;            // positions of a strip at most
  const int64_t block_rows_;
  std::vector<TapSet> sets_;
  char* sums_ = nullptr;
};

}  // namespace

void packed_weight_gradient(const ConvolutionArgs& args) { PackedWeightGradient(args).run(); }

}  // namespace aorta::cpu
