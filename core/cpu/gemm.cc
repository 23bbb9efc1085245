#include <aorta/core/cpu/gemm.h>
#include <aorta/core/cpu/grid.h>
#include <aorta/core/cpu/scratch.h>
#include <aorta/core/cpu/tiles.h>
#include <aorta/core/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace aorta::cpu {
namespace {

// Steps of k in a packed strip: a panel of a takes three quarters of the first-level cache at most.
constexpr int64_t kStripDepth = 512;
// Rows and columns of a packed strip, which bound its memory.
constexpr int64_t kStripLines = 6144;
// Columns of a block: with a strip's depth, half of a second-level cache. Rows of a block, whose
// sums are in the cache from their first number to their last.
constexpr int64_t kBlockColumns = 256, kBlockRows = 96;
// Steps of k that one running sum takes at most, which bounds its rounding error: one sum a number
// of c, and one a lane.
constexpr int64_t kDirectDepth = 512;
constexpr int64_t kDotsDepth = 8192;
// Few rows: packing b costs more than it brings. Panels of pairs of bf16 are multiplied twice as
// fast as numbers, and pairs of contiguous lines without panels nearly so.
constexpr int64_t kFewRows = 32, kFewPairRows = 8, kFewPairLines = 16;
// A long sum into a small c is cut into parts of this length.
constexpr int64_t kPartDepth = 1 << 14;
constexpr int64_t kSmallOutput = 4096;

const void* at(const void* data, int64_t offset, DType dtype) {
  return static_cast<const char*>(data) + offset * item_size(dtype);
}
int64_t output_size(const Gemm& g) { return g.rounded ? item_size(g.dtype) : sum_size(g.dtype); }
void* output_at(const Gemm& g, int64_t row, int64_t column) {
  return static_cast<char*>(g.c) + (row * g.ldc + column) * output_size(g);
}

// The part of `g` with `rows` rows from `row` and `columns` columns from `column`.
Gemm part_of(const Gemm& g, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  Gemm part = g;
  part.m = rows;
  part.n = columns;
  part.a = at(g.a, row * g.a_row, g.dtype);
  part.b = at(g.b, column * g.b_column, g.dtype);
  part.c = output_at(g, row, column);
  if (g.input) part.input = at(g.input, row * g.input_row + column * g.input_column, g.dtype);
  return part;
}

template <class Sum>
void scale(Sum* sums, int64_t count, double factor) {
  for (int64_t i = 0; i < count; ++i) sums[i] *= static_cast<Sum>(factor);
}

// Sums (m, n) = beta * input, or 0 where there is none.
void begin_sums(const Gemm& g, char* sums, int64_t ld) {
  const int64_t item = item_size(g.dtype), size = sum_size(g.dtype);
  const ConvertFunction convert = converter(compute_dtype(g.dtype), g.dtype);
  for (int64_t i = 0; i < g.m; ++i) {
    char* const to = sums + i * ld * size;
    if (!g.input) {
      std::memset(to, 0, static_cast<size_t>(g.n * size));
      continue;
    }
    const char* const from = static_cast<const char*>(g.input) + i * g.input_row * item;
    if (g.input_column == 1) {
      convert(to, from, g.n);
    } else {
      constexpr int64_t kPiece = 64;
      char piece[kPiece * sizeof(double)];
      for (int64_t j = 0; j < g.n; j += kPiece) {
        const int64_t count = std::min(kPiece, g.n - j);
        for (int64_t l = 0; l < count; ++l) {
          std::memcpy(piece + l * item, from + (j + l) * g.input_column * item,
                      static_cast<size_t>(item));
        }
        convert(to + j * size, piece, count);
      }
    }
    if (g.beta == 1) continue;
    if (g.dtype == DType::f64)
      scale(reinterpret_cast<double*>(to), g.n, g.beta);
    else
      scale(reinterpret_cast<float*>(to), g.n, g.beta);
  }
}

// The rounded c (m, n) of sums.
void round_sums(const Gemm& g, const char* sums, int64_t ld) {
  const ConvertFunction convert = converter(g.dtype, compute_dtype(g.dtype));
  for (int64_t i = 0; i < g.m; ++i) {
    convert(static_cast<char*>(output_at(g, i, 0)), sums + i * ld * sum_size(g.dtype), g.n);
  }
}

// Rows of c that are worth a thread of their own for what isn't a product.
int64_t row_grain(const Gemm& g) { return divide_up(kThreadGrain, g.n); }

// `g` by a function that adds to c.
void gemm_by_sums(const Gemm& g, void (*multiply)(const Gemm&)) {
  const Scratch memory(g.rounded ? g.m * g.n * sum_size(g.dtype) : 0);
  Gemm sums = g;
  sums.rounded = false;
  if (g.rounded) {
    sums.c = memory.data();
    sums.ldc = g.n;
  }
  const auto rows = [&](const Gemm& whole, int64_t begin, int64_t end) {
    return part_of(whole, begin, end - begin, 0, g.n);
  };
  if (g.input || g.k == 0) {
    parallel_for(0, g.m, row_grain(g), [&](int64_t begin, int64_t end) {
      const Gemm part = rows(sums, begin, end);
      begin_sums(part, static_cast<char*>(part.c), sums.ldc);
    });
    sums.accumulate = true;
  }
  sums.input = nullptr;
  if (g.k > 0) multiply(sums);
  if (!g.rounded) return;
  parallel_for(0, g.m, row_grain(g), [&](int64_t begin, int64_t end) {
    round_sums(rows(g, begin, end), static_cast<char*>(output_at(sums, begin, 0)), sums.ldc);
  });
}

// ---- Without packing: c is cut along its longer side.

void multiply_in_steps(const Gemm& g, void (*kernel)(const Gemm&), int64_t depth) {
  Gemm step = g;
  for (int64_t p = 0; p < g.k; p += depth) {
    step.k = std::min(depth, g.k - p);
    step.a = at(g.a, p * g.a_column, g.dtype);
    step.b = at(g.b, p * g.b_row, g.dtype);
    step.accumulate = g.accumulate || p > 0;
    kernel(step);
  }
}

void gemm_unpacked(const Gemm& g, void (*kernel)(const Gemm&), int64_t most_depth) {
  const bool by_rows = g.m > g.n;
  const int64_t lines = by_rows ? g.m : g.n;
  const int64_t line_work = (by_rows ? g.n : g.m) * g.k;
  const int64_t grain = round_up(divide_up(kTaskWork, line_work), by_rows ? 12 : 64);
  const int64_t depth = divide_up(g.k, divide_up(g.k, most_depth));
  parallel_for(0, lines, grain, [&](int64_t begin, int64_t end) {
    const Gemm part =
        by_rows ? part_of(g, begin, end - begin, 0, g.n) : part_of(g, 0, g.m, begin, end - begin);
    multiply_in_steps(part, kernel, depth);
  });
}

// ---- Packed: strips of a and b of some depth are laid out in panels, which are then multiplied.

class PackedGemm {
 public:
  explicit PackedGemm(const Gemm& g)
      : g_(g),
        kind_(gemm_kind(g.dtype)),
        tile_(gemm_loops().tile(kind_)),
        pack_(gemm_loops().pack),
        block_(gemm_loops().block),
        per_element_(kind_ == GemmKind::bf16 ? 2 : 1),
        depth_(strip_depth()),
        rows_(std::min(g.m, kStripLines / tile_.rows * tile_.rows)),
        columns_(std::min(g.n, kStripLines)),
        a_bytes_(round_up(packed_depth(depth_) * rows_ * tile_.bytes, 64)),
        b_bytes_(
            round_up(packed_depth(depth_) * round_up(columns_, tile_.columns) * tile_.bytes, 64)),
        block_rows_(kBlockRows / tile_.rows * tile_.rows),
        sum_columns_(depth_ < g.k ? columns_ : std::min(columns_, kBlockColumns)),
        sum_rows_(depth_ < g.k ? rows_ : std::min(rows_, block_rows_)) {}

  /// What run() needs to pack into, and for sums that are rounded.
  int64_t bytes() const {
    return a_bytes_ + b_bytes_ + (g_.rounded ? sum_rows_ * sum_columns_ * sum_size(g_.dtype) : 0);
  }

  void run(char* memory) {
    a_ = memory;
    b_ = memory + a_bytes_;
    sums_ = b_ + b_bytes_;
    for (int64_t column = 0; column < g_.n; column += columns_) {
      for (int64_t row = 0; row < g_.m; row += rows_) {
        for (int64_t p = 0; p < g_.k; p += depth_) {
          const Gemm strip = strip_of(row, column, p);
          pack_strip(strip);
          multiply_strip(strip, p == 0, p + depth_ >= g_.k);
        }
      }
    }
  }

 private:
  int64_t packed_depth(int64_t k) const { return divide_up(k, per_element_); }

  // Strips of equal depth, so that the last one is no sliver.
  int64_t strip_depth() const {
    const int64_t most = kStripDepth * per_element_ * 4 / tile_.bytes;
    return round_up(divide_up(g_.k, divide_up(g_.k, most)), 2);
  }

  Gemm strip_of(int64_t row, int64_t column, int64_t p) const {
    Gemm strip =
        part_of(g_, row, std::min(rows_, g_.m - row), column, std::min(columns_, g_.n - column));
    strip.k = std::min(depth_, g_.k - p);
    strip.a = at(strip.a, p * g_.a_column, g_.dtype);
    strip.b = at(strip.b, p * g_.b_row, g_.dtype);
    return strip;
  }

  void pack_strip(const Gemm& strip) {
    for (int64_t row = 0; row < strip.m; row += tile_.rows) {
      pack_panel({strip.a, strip.a_row, strip.a_column, strip.k}, row,
                 std::min<int64_t>(tile_.rows, strip.m - row), 1, a_);
    }
    for (int64_t column = 0; column < strip.n; column += tile_.columns) {
      pack_panel({strip.b, strip.b_column, strip.b_row, strip.k}, column,
                 std::min<int64_t>(tile_.columns, strip.n - column), tile_.columns / 2, b_);
    }
  }

  struct Lines {
    const void* data;
    int64_t line_stride, k_stride, k;
  };

  void pack_panel(const Lines& x, int64_t first, int64_t lines, int64_t padding, char* to) {
    const int64_t item = item_size(g_.dtype);
    GemmPack pack;
    pack.kind = kind_;
    pack.dtype = g_.dtype;
    pack.source = static_cast<const char*>(at(x.data, first * x.line_stride, g_.dtype));
    pack.line_stride = x.line_stride * item;
    pack.k_stride = x.k_stride * item;
    pack.lines = lines;
    pack.padded = round_up(lines, padding);
    pack.k = x.k;
    pack.packed = to + first * packed_depth(x.k) * tile_.bytes;
    pack_(pack);
  }

  void multiply_strip(const Gemm& strip, bool first, bool last) {
    for (int64_t column = 0; column < strip.n; column += kBlockColumns) {
      const int64_t columns = std::min(kBlockColumns, strip.n - column);
      for (int64_t row = 0; row < strip.m; row += block_rows_) {
        const int64_t rows = std::min(block_rows_, strip.m - row);
        multiply_part(part_of(strip, row, rows, column, columns), row, column, first, last);
      }
    }
  }

  void multiply_part(const Gemm& part, int64_t row, int64_t column, bool first, bool last) {
    const int64_t depth = packed_depth(part.k);
    const GemmRun run{0, depth};
    const bool is_whole = first && last;
    const int64_t ldc = part.rounded ? sum_columns_ : part.ldc;
    char* const sums = !part.rounded ? static_cast<char*>(part.c)
                       : is_whole    ? sums_
                                     : sums_ + (row * ldc + column) * sum_size(part.dtype);
    if (first && part.input) begin_sums(part, sums, ldc);
    GemmBlock block;
    block.kind = kind_;
    block.m = part.m;
    block.n = part.n;
    block.k = block.b_depth = depth;
    block.runs = &run;
    block.run_count = 1;
    block.a = a_ + row * depth * tile_.bytes;
    block.b = b_ + column * depth * tile_.bytes;
    block.c = sums;
    block.ldc = ldc;
    block.alpha = part.alpha;
    block.accumulate = !first || part.input || part.accumulate;
    block_(block);
    if (last && part.rounded) round_sums(part, sums, ldc);
  }

  const Gemm g_;
  const GemmKind kind_;
  const GemmTile tile_;
  void (*const pack_)(const GemmPack&);
  void (*const block_)(const GemmBlock&);
  const int64_t per_element_;  // steps of k in a packed element
  const int64_t depth_, rows_, columns_;
  const int64_t a_bytes_, b_bytes_;
  const int64_t block_rows_;
  const int64_t sum_columns_, sum_rows_;  // of a block where one strip is all of k
  char* a_ = nullptr;                     // the packed strips
  char* b_ = nullptr;
  char* sums_ = nullptr;
};

// The parts of c for so many threads, of which the largest takes the least time. Parts side by side
// share the rows of c, whose lines hardware then prefetches into the wrong core: counted as packing
// a again.
Grid grid_of(const Gemm& g, const GemmTile& tile, int64_t threads) {
  return best_grid(threads, [&](const Grid& grid) {
    const int64_t rows = round_up(divide_up(g.m, grid.down), tile.rows);
    const int64_t columns = round_up(divide_up(g.n, grid.across), tile.columns);
    const int64_t packed = rows + columns + (grid.across > 1 ? rows : 0);
    return rows * columns + kPackWork * packed;
  });
}

// Each thread packs for itself what its part of c takes: panels that another core packed would come
// from its cache, as slowly as from memory where the cores share none.
void gemm_packed(const Gemm& g) {
  const GemmTile tile = gemm_loops().tile(gemm_kind(g.dtype));
  const int64_t tasks = std::max<int64_t>(g.m * g.n / divide_up(kTaskWork, g.k), 1);
  const Grid grid = grid_of(g, tile, std::min<int64_t>(get_num_threads(), tasks));
  const int64_t rows = round_up(divide_up(g.m, grid.down), tile.rows);
  const int64_t columns = round_up(divide_up(g.n, grid.across), tile.columns);
  const int64_t count = grid.count();
  const auto part = [&](int64_t i) {
    const int64_t row = i / grid.across * rows, column = i % grid.across * columns;
    return part_of(g, row, std::min(rows, g.m - row), column, std::min(columns, g.n - column));
  };
  // Part by part in one piece of memory, so that a core mostly gets back what it had before.
  const int64_t bytes = round_up(PackedGemm(part(0)).bytes(), 4096);
  const Scratch memory(count * bytes);
  parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Gemm task = part(i);
      if (task.m > 0 && task.n > 0) PackedGemm(task).run(memory.data() + i * bytes);
    }
  });
}

void gemm_whole(const Gemm& g) {
  switch (gemm_path(g)) {
    case GemmPath::direct:
      return gemm_by_sums(
          g, [](const Gemm& sums) { gemm_unpacked(sums, gemm_loops().direct, kDirectDepth); });
    case GemmPath::dots:
      return gemm_by_sums(g, [](const Gemm& sums) {
        const bool pairs = gemm_kind(sums.dtype) == GemmKind::bf16;
        gemm_unpacked(sums, pairs ? gemm_loops().pair_dots : gemm_loops().dots, kDotsDepth);
      });
    case GemmPath::packed:
      return gemm_packed(g);
  }
}

// ---- A long sum: parts of k are products of their own, whose results are added pairwise.

template <class T>
void add_parts(const Gemm& g, T* parts, int64_t count) {
  const int64_t size = g.m * g.n;
  for (int64_t step = 1; step < count; step *= 2) {
    for (int64_t i = 0; i + step < count; i += 2 * step) {
      for (int64_t j = 0; j < size; ++j) parts[i * size + j] += parts[(i + step) * size + j];
    }
  }
  const T alpha = static_cast<T>(g.alpha);
  for (int64_t i = 0; i < g.m; ++i) {
    T* const c = static_cast<T*>(output_at(g, i, 0));
    for (int64_t j = 0; j < g.n; ++j) {
      const T value = alpha * parts[i * g.n + j];
      c[j] = g.accumulate ? c[j] + value : value;
    }
  }
}

void gemm_in_parts(const Gemm& g) {
  const int64_t count = divide_up(g.k, kPartDepth), size = g.m * g.n * sum_size(g.dtype);
  const Scratch parts(count * size);
  const int64_t grain = divide_up(kTaskWork, kPartDepth * g.m * g.n);
  parallel_for(0, count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Gemm part = g;
      part.k = std::min(kPartDepth, g.k - i * kPartDepth);
      part.a = at(g.a, i * kPartDepth * g.a_column, g.dtype);
      part.b = at(g.b, i * kPartDepth * g.b_row, g.dtype);
      part.c = parts.data() + i * size;
      part.ldc = g.n;
      part.alpha = 1;
      part.accumulate = false;
      gemm_whole(part);
    }
  });
  if (g.dtype == DType::f64)
    add_parts(g, reinterpret_cast<double*>(parts.data()), count);
  else
    add_parts(g, reinterpret_cast<float*>(parts.data()), count);
}

// A product with one column is one with one row.
Gemm turned(const Gemm& g) {
  Gemm result = g;
  std::swap(result.m, result.n);
  std::swap(result.a, result.b);
  result.a_row = g.b_column, result.a_column = g.b_row;
  result.b_row = g.a_column, result.b_column = g.a_row;
  std::swap(result.input_row, result.input_column);
  result.ldc = g.m;
  return result;
}

}  // namespace

GemmKind gemm_kind(DType dtype) {
  if (dtype == DType::f64) return GemmKind::f64;
  return dtype == DType::bf16 && has_bf16() ? GemmKind::bf16 : GemmKind::f32;
}

GemmPath gemm_path(const Gemm& g) {
  const bool pairs = gemm_kind(g.dtype) == GemmKind::bf16;
  const bool a_lines = g.a_column == 1 || g.k == 1, b_lines = g.b_row == 1 || g.k == 1;
  // A product of depth 1 has lines both ways, and none to sum along.
  if (g.k > 1 && a_lines && b_lines && std::min(g.m, g.n) <= (pairs ? kFewPairLines : kFewRows))
    return GemmPath::dots;
  if ((g.b_column == 1 || g.n == 1) && g.m <= (pairs ? kFewPairRows : kFewRows))
    return GemmPath::direct;
  return GemmPath::packed;
}

void gemm(const Gemm& g) {
  if (g.n == 1 && g.m > 1 && g.ldc == 1) return gemm(turned(g));
  if (g.k == 0) return gemm_by_sums(g, nullptr);
  if (g.k >= 2 * kPartDepth && g.m * g.n <= kSmallOutput) return gemm_by_sums(g, gemm_in_parts);
  gemm_whole(g);
}

}  // namespace aorta::cpu
