#include <aorta/core/cpu/convolution.h>

#include <aorta/core/cpu/convolution_plan.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/cpu/winograd.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace aorta::cpu {
namespace {

// Rows of a block: with a strip's depth, less than half of a second-level cache of 1 MB. Fewer
// where their sums would take more than three quarters of it.
constexpr int64_t kBlockRows = 192, kFewBlockRows = 48;
constexpr int64_t kSumBytes = 768 << 10;

// ---- y from x, or x from y: rows are positions, columns the channels of the result.

class PackedConvolution {
 public:
  PackedConvolution(const ConvolutionArgs& args, bool transposed)
      : args_(args),
        kind_(gemm_kind(args.dtype)),
        tile_(gemm_loops().tile(kind_)),
        pack_(gemm_loops().pack),
        block_(gemm_loops().block),
        store_(for_isa(v2::store_sums, v3::store_sums, v4::store_sums)),
        plan_(args, transposed, kind_),
        item_(item_size(args.dtype)),
        source_(static_cast<char*>(transposed ? args.y : args.x)),
        target_(static_cast<char*>(transposed ? args.x : args.y)),
        source_channels_((transposed ? args.y_channels : args.x_channels) / args.groups),
        columns_((transposed ? args.x_channels : args.y_channels) / args.groups),
        stride_(columns_ * args.groups),
        w_source_(transposed ? args.w_y : args.w_x),
        w_column_(transposed ? args.w_x : args.w_y),
        w_group_(args.w_y * (args.y_channels / args.groups)),
        panel_bytes_(plan_.depth() * tile_.columns * tile_.bytes),
        block_panels_(
            std::clamp(kSumBytes / (columns_ * sum_size(args.dtype)), kFewBlockRows, kBlockRows) /
            tile_.rows) {}

  void run() {
    widen_bias();
    if (plan_.leaves_gaps()) fill_with_bias();
    if (plan_.regions().empty()) return;
    const int64_t panels = divide_up(columns_, tile_.columns);
    const Scratch weights(args_.groups * panels * panel_bytes_);
    weights_ = weights.data();
    const int64_t panel_work = plan_.depth() * tile_.columns;
    parallel_for(0, args_.groups * panels, divide_up(kThreadGrain, panel_work),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) pack_panel(i / panels, i % panels);
                 });
    count_rows();
    plan_block();
    const int64_t threads = std::min<int64_t>(get_num_threads(), divide_up(work_, kTaskWork));
    const int64_t parts = args_.groups % threads == 0 ? 1 : threads;
    const int64_t down = std::min(parts, divide_up(row_panels_, 4));
    const int64_t across = std::min(parts / down, panels);
    const int64_t tasks = args_.groups * down * across;
    parallel_for(0, tasks, divide_up(tasks, threads * 8), [&](int64_t begin, int64_t end) {
      const Scratch memory(block_bytes_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t part = i % (down * across);
        const Range columns = part_of(panels, across, part % across);
        multiply_part(
            i / (down * across), part_of(work_, down, part / across),
            {columns.begin * tile_.columns, std::min(columns.end * tile_.columns, columns_)},
            memory.data());
      }
    });
  }

 private:
  // Converts the bias to the type of the sums.
  void widen_bias() {
    if (!args_.bias || !is_half(args_.dtype)) return;
    bias_.resize(static_cast<size_t>(stride_));
    converter(f32, args_.dtype)(reinterpret_cast<char*>(bias_.data()),
                                static_cast<const char*>(args_.bias), stride_);
  }
  const char* bias_of(int64_t group, int64_t column) const {
    if (!args_.bias) return nullptr;
    const char* const all = bias_.empty() ? static_cast<const char*>(args_.bias)
                                          : reinterpret_cast<const char*>(bias_.data());
    return all + (group * columns_ + column) * sum_size(args_.dtype);
  }

  // Gives positions that read nothing the bias alone.
  void fill_with_bias() const {
    int64_t positions = args_.batch;
    for (const ConvDim& dim : args_.dims) positions *= target_ == args_.y ? dim.output : dim.input;
    const int64_t row = stride_ * item_;
    parallel_for(0, positions, divide_up(kThreadGrain, stride_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (args_.bias)
          std::memcpy(target_ + i * row, args_.bias, static_cast<size_t>(row));
        else
          std::memset(target_ + i * row, 0, static_cast<size_t>(row));
      }
    });
  }

  void pack_panel(int64_t group, int64_t panel) const {
    const int64_t first = panel * tile_.columns;
    GemmPack pack;
    pack.kind = kind_;
    pack.dtype = args_.dtype;
    pack.line_stride = w_column_ * item_;
    pack.k_stride = w_source_ * item_;
    pack.lines = std::min<int64_t>(columns_ - first, tile_.columns);
    pack.padded = round_up(pack.lines, tile_.columns / 2);
    pack.k = source_channels_;
    char* const to = panel_of(group, panel);
    for (size_t tap = 0; tap < plan_.taps().size(); ++tap) {
      pack.source = static_cast<const char*>(args_.w) +
                    (plan_.taps()[tap] + group * w_group_ + first * w_column_) * item_;
      pack.packed = to + static_cast<int64_t>(tap) * plan_.tap_words() * pack.padded * tile_.bytes;
      pack_(pack);
    }
  }
  char* panel_of(int64_t group, int64_t panel) const {
    return weights_ + (group * divide_up(columns_, tile_.columns) + panel) * panel_bytes_;
  }

  // Work is counted in panels of rows, each as often as its sum is deep.
  void count_rows() {
    for (const ConvRegion& region : plan_.regions()) {
      const int64_t panels = divide_up(region.rows, tile_.rows);
      row_panels_ += panels;
      work_ += panels * tile_.rows * region.depth * columns_;
    }
  }

  // A block's memory holds a packed strip of rows, and then their sums.
  void plan_block() {
    const int64_t rows = block_panels_ * tile_.rows;
    int64_t depth = 0;
    for (const ConvRegion& region : plan_.regions()) {
      for (const ConvStrip& strip : region.strips) depth = std::max(depth, strip.depth);
    }
    sums_at_ = round_up(depth, kGemmSteps) * rows * tile_.bytes;
    block_bytes_ = sums_at_ + rows * columns_ * sum_size(args_.dtype);
  }

  // Multiplies the rows whose share of the work begins in [work.begin, work.end).
  void multiply_part(int64_t group, Range work, Range columns, char* memory) const {
    int64_t done = 0;
    for (const ConvRegion& region : plan_.regions()) {
      const int64_t panels = divide_up(region.rows, tile_.rows);
      const int64_t each = tile_.rows * region.depth * columns_;
      const auto panel_at = [&](int64_t at) {
        return std::clamp<int64_t>(divide_up(std::max<int64_t>(at - done, 0), each), 0, panels);
      };
      const Range mine{panel_at(work.begin), panel_at(work.end)};
      done += panels * each;
      const int64_t blocks = divide_up(mine.end - mine.begin, block_panels_);
      for (int64_t i = 0; i < blocks; ++i) {
        const Range block = part_of(mine.end - mine.begin, blocks, i);
        const int64_t first = (mine.begin + block.begin) * tile_.rows;
        const int64_t end = std::min((mine.begin + block.end) * tile_.rows, region.rows);
        multiply_rows(group, region, {first, end}, columns, memory);
      }
    }
  }

  void multiply_rows(int64_t group, const ConvRegion& region, Range rows, Range columns,
                     char* memory) const {
    const int64_t count = rows.end - rows.begin, width = columns.end - columns.begin;
    ConvRow places[kBlockRows];
    plan_.rows(region, rows.begin, count, places);
    int64_t sources[kBlockRows], targets[kBlockRows];
    for (int64_t i = 0; i < count; ++i) {
      sources[i] = (places[i].source + group * source_channels_) * item_;
      targets[i] = places[i].target + group * columns_ + columns.begin;
    }
    // Sums go straight to their places where these are evenly spaced.
    const int64_t spacing = count > 1 ? targets[1] - targets[0] : stride_;
    bool straight = !is_half(args_.dtype) && !args_.bias;
    for (int64_t i = 1; straight && i < count; ++i)
      straight = targets[i] - targets[i - 1] == spacing;
    char* const sums = straight ? target_ + targets[0] * item_ : memory + sums_at_;
    const int64_t sum_stride = straight ? spacing : width;
    for (const ConvStrip& strip : region.strips) {
      pack_rows(strip, sources, count, memory);
      GemmBlock block;
      block.kind = kind_;
      block.m = count;
      block.k = strip.depth;
      block.b_depth = plan_.depth();
      block.a = memory;
      block.runs = strip.runs.data();
      block.run_count = static_cast<int64_t>(strip.runs.size());
      block.ldc = sum_stride;
      block.accumulate = &strip != region.strips.data();
      block.blocked = true;
      for (int64_t column = columns.begin; column < columns.end; column += tile_.columns) {
        block.n = std::min<int64_t>(columns.end - column, tile_.columns);
        block.b = panel_of(group, column / tile_.columns);
        block.c = sums + (column - columns.begin) * sum_size(args_.dtype);
        block_(block);
      }
    }
    if (straight) return;
    SumRows result;
    result.dtype = args_.dtype;
    result.rows = count;
    result.columns = width;
    result.sums = sums;
    result.sum_stride = width;
    result.bias = bias_of(group, columns.begin);
    result.output = target_;
    result.offsets = targets;
    store_(result);
  }

  void pack_rows(const ConvStrip& strip, const int64_t* sources, int64_t count, char* to) const {
    GemmPack pack;
    pack.kind = kind_;
    pack.dtype = args_.dtype;
    pack.k_stride = item_;
    pack.blocked = true;
    for (int64_t row = 0; row < count; row += tile_.rows) {
      pack.lines = std::min<int64_t>(tile_.rows, count - row);
      pack.line_offsets = sources + row;
      pack.packed = to + row * round_up(strip.depth, kGemmSteps) * tile_.bytes;
      pack.first = 0;
      for (const ConvPiece& piece : strip.pieces) {
        pack.source = source_ + piece.source * item_;
        pack.k = piece.size;
        pack_(pack);
        pack.first += kind_ == GemmKind::bf16 ? divide_up(piece.size, 2) : piece.size;
      }
    }
  }

  const ConvolutionArgs& args_;
  const GemmKind kind_;
  const GemmTile tile_;
  void (*const pack_)(const GemmPack&);
  void (*const block_)(const GemmBlock&);
  void (*const store_)(const SumRows&);
  const ConvRegions plan_;
  const int64_t item_;
  char* const source_;
  char* const target_;
  const int64_t source_channels_, columns_;  // in a group
  const int64_t stride_;                     // of a row of the result
  const int64_t w_source_, w_column_, w_group_;
  const int64_t panel_bytes_;
  const int64_t block_panels_;  // of rows, at most
  char* weights_ = nullptr;     // packed, by group and panel
  std::vector<float> bias_;
  int64_t row_panels_ = 0, work_ = 0;
  int64_t sums_at_ = 0, block_bytes_ = 0;
};

void convolution_kernel(const ConvolutionArgs& args) {
  if (args.planes) return plane_products(args, false);
  if (takes_product(args)) return convolution_product(args, false);
  if (takes_grouped(args, false)) return grouped_convolution(args, false);
  if (takes_winograd(args)) return winograd_convolution(args, false);
  takes_rows(args) ? convolution_by_rows(args, false) : PackedConvolution(args, false).run();
}
void convolution_transpose_kernel(const ConvolutionArgs& args) {
  if (args.planes) return plane_products(args, true);
  if (takes_product(args)) return convolution_product(args, true);
  if (takes_grouped(args, true)) return grouped_convolution(args, true);
  if (takes_winograd(args)) return winograd_convolution(args, true);
  takes_rows_transposed(args) ? convolution_by_rows(args, true)
                              : PackedConvolution(args, true).run();
}
void convolution_weight_kernel(const ConvolutionArgs& args) {
  if (takes_product(args)) return weight_gradient_product(args);
  if (takes_grouped(args, false)) return grouped_weight_gradient(args);
  if (takes_winograd_gradient(args)) return winograd_weight_gradient(args);
  takes_rows(args) ? weight_gradient_by_rows(args) : packed_weight_gradient(args);
}

}  // namespace

void register_convolution() {
  convolution_weight_op.set_kernel(DeviceType::cpu, convolution_weight_kernel);
  convolution_op.set_kernel(DeviceType::cpu, convolution_kernel);
  convolution_transpose_op.set_kernel(DeviceType::cpu, convolution_transpose_kernel);
}

}  // namespace aorta::cpu
