// Matrix products without packing: for few rows, and where both operands are contiguous along k.

#include <aorta/core/cpu/isa/gemm_halves.h>
#include <aorta/core/cpu/isa/gemm_tile.h>
#include <aorta/core/integers.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

// ---- b has contiguous rows: the register tile reads it in place.

template <class K, int rows, int vectors, bool partial>
void direct_tile(int64_t k, const typename K::Element* a, int64_t a_row, int64_t a_column,
                 const typename K::Element* b, int64_t b_row, typename K::Number* c, int64_t ldc,
                 int last, typename K::Number alpha, bool accumulate) {
  const GemmRun run{0, k};
  multiply_tile<K, rows, vectors, partial, true, false>(&run, 1, a, a_row, a_column, b, b_row, c,
                                                        ldc, last, alpha, accumulate);
}

template <class K>
using TileFunction = decltype(&direct_tile<K, 1, 1, false>);

inline constexpr int kMaxVectors = 4;

template <class K>
struct TileTable {
  TileFunction<K> tiles[kTileRows][kMaxVectors][2] = {};  // [rows - 1][vectors - 1][partial]
};

template <class K, int rows = 1, int vectors = 1>
constexpr void fill_tiles(TileTable<K>& table) {
  table.tiles[rows - 1][vectors - 1][0] = direct_tile<K, rows, vectors, kFastParts>;
  table.tiles[rows - 1][vectors - 1][1] = direct_tile<K, rows, vectors, true>;
  if constexpr (vectors < kMaxVectors && rows * (vectors + 1) <= kSums) {
    fill_tiles<K, rows, vectors + 1>(table);
  } else if constexpr (rows < kTileRows) {
    fill_tiles<K, rows + 1, 1>(table);
  }
}

template <class K>
constexpr TileTable<K> make_tiles() {
  TileTable<K> table;
  fill_tiles<K>(table);
  return table;
}

template <class K>
constexpr TileTable<K> kTiles = make_tiles<K>();

template <class K>
void multiply_direct(const Gemm& g) {
  using Element = typename K::Element;
  using Number = typename K::Number;
  constexpr int64_t lanes = K::kLanes;
  const Element* const a = static_cast<const Element*>(g.a);
  const Element* const b = static_cast<const Element*>(g.b);
  Number* const c = static_cast<Number*>(g.c);
  // Rows are shared out evenly; few rows leave registers for more columns.
  const int64_t panels = divide_up(g.m, kTileRows);
  const int64_t tile_rows = divide_up(g.m, panels);
  const int64_t tile_vectors = least(kSums / tile_rows, kMaxVectors);
  for (int64_t j = 0; j < g.n;) {
    const int64_t vectors = least(tile_vectors, divide_up(g.n - j, lanes));
    const int64_t columns = least(vectors * lanes, g.n - j);
    const bool partial = columns < vectors * lanes;
    for (int64_t i = 0; i < g.m; i += tile_rows) {
      const int64_t rows = least(tile_rows, g.m - i);
      kTiles<K>.tiles[rows - 1][vectors - 1][partial](
          g.k, a + i * g.a_row, g.a_row, g.a_column, b + j, g.b_row, c + i * g.ldc + j, g.ldc,
          static_cast<int>(columns - (vectors - 1) * lanes), static_cast<Number>(g.alpha),
          g.accumulate);
    }
    j += columns;
  }
}

// ---- Rows of a and columns of b are contiguous: dot products, a tile of them at a time.

inline constexpr int kDotRows = kRegisters == 32 ? 4 : 3;
inline constexpr int kDotColumns = kRegisters == 32 ? 6 : 4;

template <class K, int rows, int columns>
void dot_tile(int64_t k, const typename K::Element* a, int64_t a_row, const typename K::Element* b,
              int64_t b_column, typename K::Number* c, int64_t ldc, typename K::Number alpha,
              bool accumulate) {
  using Vector = typename K::Vector;
  constexpr int lanes = K::kLanes;
  // A tile of few sums takes several steps of k at once, each with sums of its own.
  constexpr int steps = rows * columns >= 8 ? 1 : rows * columns >= 4 ? 2 : 4;
  Vector sums[rows][columns][steps];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
#pragma GCC unroll 4
      for (int s = 0; s < steps; ++s) sums[r][j][s] = K::zero();
    }
  }
  int64_t p = 0;
#pragma GCC unroll 1
  for (; p + steps * lanes <= k; p += steps * lanes) {
#pragma GCC unroll 4
    for (int s = 0; s < steps; ++s) {
      Vector x[rows];
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) x[r] = K::load(a + r * a_row + p + s * lanes);
#pragma GCC unroll 8
      for (int j = 0; j < columns; ++j) {
        const Vector y = K::load(b + j * b_column + p + s * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < rows; ++r) sums[r][j][s] = K::multiply_add(x[r], y, sums[r][j][s]);
      }
    }
  }
  for (; p < k; p += lanes) {
    const int n = static_cast<int>(k - p < lanes ? k - p : lanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vector x = K::load(a + r * a_row + p, n);
#pragma GCC unroll 8
      for (int j = 0; j < columns; ++j) {
        sums[r][j][0] = K::multiply_add(x, K::load(b + j * b_column + p, n), sums[r][j][0]);
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < columns; ++j) {
      typename K::Number sum = K::sum(sums[r][j][0]);
#pragma GCC unroll 4
      for (int s = 1; s < steps; ++s) sum += K::sum(sums[r][j][s]);
      typename K::Number& to = c[r * ldc + j];
      to = accumulate ? to + alpha * sum : alpha * sum;
    }
  }
}

template <class K>
using DotFunction = decltype(&dot_tile<K, 1, 1>);

template <class K>
struct DotTable {
  DotFunction<K> tiles[kDotRows][kDotColumns];  // [rows - 1][columns - 1]
};

template <class K, int rows = 1, int columns = 1>
constexpr void fill_dots(DotTable<K>& table) {
  table.tiles[rows - 1][columns - 1] = dot_tile<K, rows, columns>;
  if constexpr (columns < kDotColumns) {
    fill_dots<K, rows, columns + 1>(table);
  } else if constexpr (rows < kDotRows) {
    fill_dots<K, rows + 1, 1>(table);
  }
}

template <class K>
constexpr DotTable<K> make_dots() {
  DotTable<K> table{};
  fill_dots<K>(table);
  return table;
}

template <class K>
constexpr DotTable<K> kDots = make_dots<K>();

template <class K>
void multiply_dots(const Gemm& g) {
  using Element = typename K::Element;
  using Number = typename K::Number;
  const Element* const a = static_cast<const Element*>(g.a);
  const Element* const b = static_cast<const Element*>(g.b);
  Number* const c = static_cast<Number*>(g.c);
  for (int64_t i = 0; i < g.m; i += kDotRows) {
    const int64_t rows = least(kDotRows, g.m - i);
    for (int64_t j = 0; j < g.n; j += kDotColumns) {
      const int64_t columns = least(kDotColumns, g.n - j);
      kDots<K>.tiles[rows - 1][columns - 1](g.k, a + i * g.a_row, g.a_row, b + j * g.b_column,
                                            g.b_column, c + i * g.ldc + j, g.ldc,
                                            static_cast<Number>(g.alpha), g.accumulate);
    }
  }
}

}  // namespace

void gemm_direct(const Gemm& gemm) {
  switch (gemm.dtype) {
    case DType::f64:
      return multiply_direct<F64>(gemm);
    case DType::f16:
      return multiply_direct<Widened<Half>>(gemm);
    case DType::bf16:
      return multiply_direct<Widened<BFloat16>>(gemm);
    default:
      return multiply_direct<F32>(gemm);
  }
}

void gemm_dots(const Gemm& gemm) {
  switch (gemm.dtype) {
    case DType::f64:
      return multiply_dots<F64>(gemm);
    case DType::f16:
      return multiply_dots<Widened<Half>>(gemm);
    case DType::bf16:
      return multiply_dots<Widened<BFloat16>>(gemm);
    default:
      return multiply_dots<F32>(gemm);
  }
}

#ifdef __AVX512F__
void gemm_pair_dots(const Gemm& gemm) { multiply_dots<Bf16Line>(gemm); }
#endif

}  // namespace aorta::cpu::AORTA_ISA
