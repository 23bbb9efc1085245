#pragma once

// What the kernels of attention share: a block computes a tile of kSide queries by kSide keys, and
// multiplies it with other operands.
//
//   scores      a (queries) and b (keys) come in chunks of kDepth features:  sums = a b^T
//   results     the tile lies in shared memory as `weights`, and b comes in chunks of kLines rows:
//               sums += weights b, or weights^T b
//
// f32 and f64 by fused multiply-adds of 256 threads; halves on tensor cores, summed in f32, by 128.
// Each thread has its own rows and columns of the tile in registers from the first product to the
// last.

#include <aorta/core/ops/attention.h>
#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/philox.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>
#include <aorta/cuda/launch.cuh>
#include <aorta/cuda/tensor_core.cuh>

#include <cstring>

namespace aorta::cuda {

using kernel::AttentionBackwardArgs;
using kernel::AttentionKernelArgs;
using kernel::AttentionOperand;

/// Sizes of tiles of Element whose results have `width` columns, chosen so that what a block shares
/// fits its 48 KB, and which numbers of a tile a thread has. `whole`, of halves alone: no operand
/// has more columns than that, so that all rows of a tile lie in shared memory together, and are
/// loaded once.
template <class Element, int width, bool whole = false>
struct AttentionTile {
  using T = Element;
  using M = Native<T>;
  using C = ComputeType<T>;
  static constexpr bool kHalf = scalar::is_half_type<T>, kWhole = whole;
  static constexpr int kBlock = kHalf ? kThreads / 2 : kThreads;  // threads
  static constexpr int kSide = sizeof(T) == 8 ? 32 : 64;
  static constexpr int kWidth = width;
  static constexpr int kDepth = kHalf ? width : sizeof(T) == 8 ? 16 : 32;
  static constexpr int kLines = kSide * kDepth / width;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(T));  // loaded at once
  // From row to row, padded: threads that read down a column take different banks.
  static constexpr int kChunkStep = kDepth + kVector;
  static constexpr int kLineStep = width + kVector;
  static constexpr int kTileStep = kSide + kVector;
  // A thread's rows of the tile, its columns, and its columns of a result.
  static constexpr int kRows = kHalf ? 2 : kSide / 16;
  static constexpr int kColumns = kHalf ? kSide / 4 : kSide / 16;
  static constexpr int kResults = kHalf ? width / 4 : width / 16;
  static constexpr int kLanes = kHalf ? 4 : 16;  // neighbours that have the same rows
  using Run = Vector<M, kVector>;
  using Sums = C[kRows][kColumns];
  using Results = C[kRows][kResults];

  struct alignas(32) Shared {
    static constexpr int kChunk = kSide * kChunkStep, kOther = kLines * kLineStep;
    alignas(32) M a[kChunk];
    alignas(32) M b[kChunk > kOther ? kChunk : kOther];
    alignas(32) M c[whole ? kChunk : 1];
    alignas(32) M d[whole ? kChunk : 1];
    alignas(32) M weights[kSide * kTileStep];  // (queries, keys)
  };

  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  static __device__ __forceinline__ int lane() { return thread() % 32; }
  /// The first of the 16 rows that this thread's warp has on tensor cores.
  static __device__ __forceinline__ int warp_row() { return thread() / 32 * 16; }
  static __device__ __forceinline__ int row(int r) {
    return kHalf ? warp_row() + lane() / 4 + r * 8 : thread() / 16 * kRows + r;
  }
  static __device__ __forceinline__ int column(int c) {
    return kHalf ? place(c) : thread() % 16 + c * 16;
  }
  /// Columns of a result come in pairs of neighbours, the first of which is even.
  static __device__ __forceinline__ int place(int c) {
    return c / 2 * (kLanes * 2) + thread() % kLanes * 2 + c % 2;
  }
};

/// Calls visit(AttentionTile, true_type where a call has neither a mask nor dropout) for sizes of
/// operands: the kernels of calls without are a fraction as long.
template <class T, class Visit>
void visit_tiles(const AttentionKernelArgs& args, const Visit& visit) {
  const auto with_width = [&](auto tile) {
    if (args.mask.data || args.dropout.threshold > 0) {
      visit(tile, std::false_type{});
    } else {
      visit(tile, std::true_type{});
    }
  };
  constexpr bool half = scalar::is_half_type<T>;
  const int64_t most = std::max(args.features, args.value_features);
  if constexpr (half) {
    if (most > 64) return with_width(AttentionTile<T, 64>{});
  }
  if constexpr (sizeof(T) < 8) {
    if (most > 32) return with_width(AttentionTile<T, 64, half>{});
  }
  with_width(AttentionTile<T, 32, half>{});
}

/// Rows and columns of one head of an operand.
template <class T>
struct HeadOf {
  using M = Native<T>;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(T));
  const M* data;
  int64_t row_step, column_step;
  int64_t rows, columns;
  bool runs;  // rows are made of 16 bytes that may be loaded at once

  __device__ __forceinline__ HeadOf(const AttentionOperand& x, const AttentionKernelArgs& args,
                                    int64_t head, int64_t row_count, int64_t column_count)
      : data(static_cast<const M*>(x.data) + head / args.heads * x.batch +
             head % args.heads * x.head),
        row_step(x.row),
        column_step(x.column),
        rows(row_count),
        columns(column_count) {
    runs = column_step == 1 && row_step % kVector == 0 && columns % kVector == 0 &&
           reinterpret_cast<uintptr_t>(data) % 16 == 0;
  }
};

/// Copies `height` rows and `width` columns from (row, column) on, of any strides; zeros beyond the
/// operand.
template <class Tile, int height, int width>
__device__ __forceinline__ void load_elements(typename Tile::M* to, int step,
                                              const HeadOf<typename Tile::T>& from, int64_t row,
                                              int64_t column) {
  const int c = Tile::thread() % width;
  const bool inside = column + c < from.columns;
#pragma unroll 1
  for (int r = Tile::thread() / width; r < height; r += Tile::kBlock / width) {
    typename Tile::M value{};
    if (inside && row + r < from.rows)
      value = from.data[(row + r) * from.row_step + (column + c) * from.column_step];
    to[r * step + c] = value;
  }
}

/// Does the same, 16 bytes at a time where they may be; all of them are on their way before the
/// first is waited for.
template <class Tile, int height, int width>
__device__ __forceinline__ void load_chunk(typename Tile::M* to, int step,
                                           const HeadOf<typename Tile::T>& from, int64_t row,
                                           int64_t column) {
  using Run = typename Tile::Run;
  constexpr int across = width / Tile::kVector, down = Tile::kBlock / across;
  static_assert(height % down == 0);
  if (!from.runs) return load_elements<Tile, height, width>(to, step, from, row, column);
  const int r = Tile::thread() / across, c = Tile::thread() % across * Tile::kVector;
  const auto* source = from.data + (row + r) * from.row_step + column + c;
  const int64_t rows = column + c < from.columns ? from.rows - row - r : 0;
  Run runs[height / down];
#pragma unroll
  for (int i = 0; i < height / down; ++i, source += down * from.row_step) {
    runs[i] = Run{};
    if (i * down < rows) runs[i] = *reinterpret_cast<const Run*>(source);
  }
#pragma unroll
  for (int i = 0; i < height / down; ++i)
    *reinterpret_cast<Run*>(to + (r + i * down) * step + c) = runs[i];
}

/// The rows of a tile of an operand that is whole in a chunk.
template <class Tile>
__device__ __forceinline__ void load_whole(typename Tile::M* to,
                                           const HeadOf<typename Tile::T>& from, int64_t row) {
  load_chunk<Tile, Tile::kSide, Tile::kDepth>(to, Tile::kChunkStep, from, row, 0);
}

/// The steps of a chunk of `most` that are worth multiplying when so many are left: the rest are
/// zeros.
template <class Tile>
__device__ __forceinline__ int steps_of(int64_t left, int most) {
  constexpr int unit = Tile::kHalf ? 16 : Tile::kVector;
  return static_cast<int>(min(int64_t{most}, (left + unit - 1) / unit * unit));
}

/// Adds the products of 16 terms to a warp's 16 rows and the 16 columns from `c` (of this thread's)
/// on: `a` holds the rows, `b` the columns.
template <class Tile, int count>
__device__ __forceinline__ void add_products(float (&sums)[Tile::kRows][count], int c,
                                             const uint32_t (&a)[4], const uint32_t (&b)[4]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int at = c + 2 * i;
    multiply_blocks<typename Tile::M>(sums[0][at], sums[0][at + 1], sums[1][at], sums[1][at + 1], a,
                                      b[2 * i], b[2 * i + 1]);
  }
}

/// sums += a b^T of chunks of two operands, halves.
template <class Tile>
__device__ __forceinline__ void multiply_half_rows(const typename Tile::M* a,
                                                   const typename Tile::M* b, int steps,
                                                   typename Tile::Sums& sums) {
  constexpr int step = Tile::kChunkStep;
  const int lane = Tile::lane();
  const auto* const left = a + (Tile::warp_row() + lane % 16) * step + lane / 16 * 8;
  const auto* const right = b + (lane % 8 + lane / 16 * 8) * step + lane / 8 % 2 * 8;
#pragma unroll
  for (int k = 0; k < Tile::kDepth; k += 16) {
    if (k >= steps) break;
    uint32_t rows[4], columns[4];
    load_blocks<false>(rows, left + k);
#pragma unroll
    for (int n = 0; n < Tile::kSide / 16; ++n) {
      load_blocks<false>(columns, right + n * 16 * step + k);
      add_products<Tile>(sums, n * 4, rows, columns);
    }
  }
}

/// Does the same for f32 and f64.
template <class Tile>
__device__ __forceinline__ void multiply_full_rows(const typename Tile::M* a,
                                                   const typename Tile::M* b, int steps,
                                                   typename Tile::Sums& sums) {
  using Run = typename Tile::Run;
  constexpr int step = Tile::kChunkStep;
#pragma unroll 1
  for (int k = 0; k < steps; k += Tile::kVector) {
    Run right[Tile::kColumns];
#pragma unroll
    for (int c = 0; c < Tile::kColumns; ++c)
      right[c] = *reinterpret_cast<const Run*>(b + Tile::column(c) * step + k);
#pragma unroll
    for (int r = 0; r < Tile::kRows; ++r) {
      const Run left = *reinterpret_cast<const Run*>(a + Tile::row(r) * step + k);
#pragma unroll
      for (int i = 0; i < Tile::kVector; ++i) {
#pragma unroll
        for (int c = 0; c < Tile::kColumns; ++c)
          sums[r][c] = scalar::fma(left.element[i], right[c].element[i], sums[r][c]);
      }
    }
  }
}

/// sums += a b^T of chunks of two operands. This thread may have none of the `rows` of a tile.
template <class Tile>
__device__ __forceinline__ void add_rows(const typename Tile::M* a, const typename Tile::M* b,
                                         int64_t columns, int64_t rows, typename Tile::Sums& sums) {
  if ((Tile::kHalf ? Tile::warp_row() : Tile::row(0)) >= rows) return;
  const int steps = steps_of<Tile>(columns, Tile::kDepth);
  if constexpr (Tile::kHalf) {
    multiply_half_rows<Tile>(a, b, steps, sums);
  } else {
    multiply_full_rows<Tile>(a, b, steps, sums);
  }
}

/// sums = a b^T of rows of two operands, chunk by chunk. Those of whole tiles lie in `a_chunk` and
/// `b_chunk`.
template <class Tile>
__device__ __forceinline__ void multiply_rows(typename Tile::Shared& shared,
                                              const HeadOf<typename Tile::T>& a, int64_t a_row,
                                              const typename Tile::M* a_chunk,
                                              const HeadOf<typename Tile::T>& b, int64_t b_row,
                                              const typename Tile::M* b_chunk,
                                              typename Tile::Sums& sums) {
#pragma unroll
  for (int r = 0; r < Tile::kRows; ++r) {
#pragma unroll
    for (int c = 0; c < Tile::kColumns; ++c) sums[r][c] = 0;
  }
  if constexpr (Tile::kWhole) {
    add_rows<Tile>(a_chunk, b_chunk, a.columns, a.rows - a_row, sums);
  } else {
    constexpr int side = Tile::kSide, depth = Tile::kDepth, step = Tile::kChunkStep;
#pragma unroll 1
    for (int64_t k = 0; k < a.columns; k += depth) {
      load_chunk<Tile, side, depth>(shared.a, step, a, a_row, k);
      load_chunk<Tile, side, depth>(shared.b, step, b, b_row, k);
      __syncthreads();
      add_rows<Tile>(shared.a, shared.b, a.columns - k, a.rows - a_row, sums);
      __syncthreads();
    }
  }
}

/// sums += weights b, or weights^T b, for a chunk of b that is the rows from `first` on, halves.
template <class Tile, bool transposed>
__device__ __forceinline__ void multiply_half_weights(const typename Tile::M* weights,
                                                      const typename Tile::M* b, int first,
                                                      int steps, typename Tile::Results& sums) {
  constexpr int step = Tile::kTileStep;
  const int lane = Tile::lane(), row = Tile::warp_row();
  const auto* const left =
      weights + (transposed ? (first + lane % 8 + lane / 16 * 8) * step + row + lane / 8 % 2 * 8
                            : (row + lane % 16) * step + first + lane / 16 * 8);
  const auto* const right = b + lane % 16 * Tile::kLineStep + lane / 16 * 8;
#pragma unroll
  for (int k = 0; k < Tile::kLines; k += 16) {
    if (k >= steps) break;
    uint32_t rows[4], columns[4];
    load_blocks<transposed>(rows, left + k * (transposed ? step : 1));
#pragma unroll
    for (int n = 0; n < Tile::kWidth / 16; ++n) {
      load_blocks<true>(columns, right + k * Tile::kLineStep + n * 16);
      add_products<Tile>(sums, n * 4, rows, columns);
    }
  }
}

/// Does so for f32 and f64: some rows of b at a time, for which the weights are loaded at once.
template <class Tile, bool transposed>
__device__ __forceinline__ void multiply_full_weights(const typename Tile::M* weights,
                                                      const typename Tile::M* b, int first,
                                                      int steps, typename Tile::Results& sums) {
  using M = typename Tile::M;
  constexpr int step = Tile::kTileStep, rows = Tile::kRows, unit = Tile::kVector;
  static_assert(rows == unit);
#pragma unroll 1
  for (int k = 0; k < steps; k += unit) {
    typename Tile::Run left[unit];
#pragma unroll
    for (int i = 0; i < unit; ++i) {
      const int at =
          transposed ? (first + k + i) * step + Tile::row(0) : Tile::row(i) * step + first + k;
      left[i] = *reinterpret_cast<const typename Tile::Run*>(weights + at);
    }
#pragma unroll
    for (int i = 0; i < unit; ++i) {
#pragma unroll
      for (int c = 0; c < Tile::kResults; c += 2) {
        const auto right =
            *reinterpret_cast<const Vector<M, 2>*>(b + (k + i) * Tile::kLineStep + Tile::place(c));
#pragma unroll
        for (int r = 0; r < rows; ++r) {
          const M weight = transposed ? left[i].element[r] : left[r].element[i];
          sums[r][c] = scalar::fma(weight, right.element[0], sums[r][c]);
          sums[r][c + 1] = scalar::fma(weight, right.element[1], sums[r][c + 1]);
        }
      }
    }
  }
}

/// Does the same for either kind of dtype.
template <class Tile, bool transposed>
__device__ __forceinline__ void add_weighted(const typename Tile::M* weights,
                                             const typename Tile::M* b, int first, int64_t left,
                                             int64_t rows, typename Tile::Results& sums) {
  if ((Tile::kHalf ? Tile::warp_row() : Tile::row(0)) >= rows) return;
  const int steps = steps_of<Tile>(left, Tile::kLines);
  if constexpr (Tile::kHalf) {
    multiply_half_weights<Tile, transposed>(weights, b, first, steps, sums);
  } else {
    multiply_full_weights<Tile, transposed>(weights, b, first, steps, sums);
  }
}

/// sums += weights b, or weights^T b, for the columns of b from `column` on and its rows from
/// `b_row` on, which are the tile's keys or, transposed, queries. The result has `rows` rows. Those
/// of whole tiles lie in `b_chunk`.
template <class Tile, bool transposed>
__device__ __forceinline__ void multiply_weights(typename Tile::Shared& shared,
                                                 const HeadOf<typename Tile::T>& b, int64_t b_row,
                                                 const typename Tile::M* b_chunk, int64_t column,
                                                 int64_t rows, typename Tile::Results& sums) {
  if constexpr (Tile::kWhole) {
    // A warp that isn't to transpose them has put all the weights that it reads.
    transposed ? __syncthreads() : __syncwarp();
    add_weighted<Tile, transposed>(shared.weights, b_chunk, 0, b.rows - b_row, rows, sums);
    __syncthreads();
  } else {
#pragma unroll 1
    for (int first = 0; first < Tile::kSide && b_row + first < b.rows; first += Tile::kLines) {
      load_chunk<Tile, Tile::kLines, Tile::kWidth>(shared.b, Tile::kLineStep, b, b_row + first,
                                                   column);
      __syncthreads();
      add_weighted<Tile, transposed>(shared.weights, shared.b, first, b.rows - b_row - first, rows,
                                     sums);
      __syncthreads();
    }
  }
}

/// Puts a row of this thread's numbers where multiply_weights reads them.
template <class Tile>
__device__ __forceinline__ void put_row(typename Tile::Shared& shared, int r,
                                        const typename Tile::C (&values)[Tile::kColumns]) {
  using T = typename Tile::T;
  constexpr int together = Tile::kHalf ? 2 : 1;
#pragma unroll
  for (int c = 0; c < Tile::kColumns; c += together) {
    T converted[together];
#pragma unroll
    for (int i = 0; i < together; ++i) converted[i] = convert<T>(values[c + i]);
    Vector<typename Tile::M, together> pair;
    memcpy(&pair, converted, sizeof pair);
    *reinterpret_cast<Vector<typename Tile::M, together>*>(
        shared.weights + Tile::row(r) * Tile::kTileStep + Tile::column(c)) = pair;
  }
}

/// Writes this thread's numbers of a row of a result from `line` + `column` on, which is contiguous
/// and has `columns` in all.
template <class Tile>
__device__ __forceinline__ void write_row(typename Tile::T* line, int64_t column, int64_t columns,
                                          const typename Tile::C (&values)[Tile::kResults]) {
  using T = typename Tile::T;
  const bool pairs = reinterpret_cast<uintptr_t>(line) % (2 * sizeof(T)) == 0;
  const auto write = [&](auto whole) {
    T* const to = line + column + Tile::place(0);
#pragma unroll
    for (int c = 0; c < Tile::kResults; c += 2) {
      const int place = Tile::place(c) - Tile::place(0);
      const typename Tile::C pair[2] = {values[c], values[c + 1]};
      const int64_t there = whole ? 2 : min(columns - column - Tile::place(c), int64_t{2});
      write_block<T, 2>(to + place, pair, static_cast<int>(there), whole);
    }
  };
  if (pairs && column + Tile::kWidth <= columns) {
    write(std::true_type{});
  } else {
    write(std::false_type{});
  }
}

/// What mask and dropout say of a thread's numbers, a bit each: row by row.
struct AttentionBits {
  uint32_t seen = 0xffffffffu;  // by a boolean mask
  uint32_t kept = 0xffffffffu;
};

/// Where the mask's element is.
template <class T>
__device__ __forceinline__ const T* mask_place(const AttentionKernelArgs& args, int64_t head,
                                               int64_t query, int64_t key) {
  const AttentionOperand& mask = args.mask;
  return static_cast<const T*>(mask.data) + head / args.heads * mask.batch +
         head % args.heads * mask.head + query * mask.row + key * mask.column;
}

/// Whether dropout keeps a weight.
__device__ __forceinline__ bool is_kept(const AttentionKernelArgs& args, int64_t head,
                                        int64_t query, int64_t key) {
  const int64_t number = (head * args.queries + query) * args.keys + key;
  const GeneratorState& random = args.dropout.live ? *args.dropout.live : args.dropout.random;
  const scalar::PhiloxWords words = scalar::philox(
      random.seed, random.stream, random.position + static_cast<uint64_t>(number / 4));
  uint32_t word = words.word[0];
#pragma unroll
  for (int i = 1; i < 4; ++i) word = number % 4 == i ? words.word[i] : word;
  return word >= args.dropout.threshold;
}

/// The bits of the tile at (first, block). A loop that stays one: 32 copies of the generator would
/// not fit the cache of instructions.
template <class Tile, bool plain>
__device__ __forceinline__ AttentionBits bits_of(const AttentionKernelArgs& args, int64_t head,
                                                 int64_t first, int64_t block) {
  AttentionBits bits;
  if constexpr (!plain) {
    const bool masks = args.mask.data && args.mask_dtype == DType::boolean;
    const bool drops = args.dropout.threshold > 0;
    if (!masks && !drops) return bits;
#pragma unroll 1
    for (int i = 0; i < Tile::kRows * Tile::kColumns; ++i) {
      const int64_t query = first + Tile::row(i / Tile::kColumns);
      const int64_t key = block + Tile::column(i % Tile::kColumns);
      if (query >= args.queries || key >= args.keys) continue;
      if (masks && *mask_place<uint8_t>(args, head, query, key) == 0) bits.seen &= ~(1u << i);
      if (drops && !is_kept(args, head, query, key)) bits.kept &= ~(1u << i);
    }
  }
  return bits;
}

/// The keys of the tile from `block` on that a query sees, if no mask hides them: the first ones.
template <class Tile>
__device__ __forceinline__ int keys_seen(const AttentionKernelArgs& args, int64_t query,
                                         int64_t block) {
  if (query >= args.queries) return 0;
  const int64_t end = args.is_causal ? min(args.keys, query + 1) : args.keys;
  return static_cast<int>(max(int64_t{0}, min(end - block, int64_t{Tile::kSide})));
}

/// Makes a row's sums of products its scores: scale times them, with the mask; -inf for a key that
/// isn't there or isn't seen.
template <class Tile, bool plain>
__device__ __forceinline__ void make_scores(const AttentionKernelArgs& args, int64_t head,
                                            int64_t query, int64_t block, int r,
                                            const AttentionBits& bits,
                                            typename Tile::C (&scores)[Tile::kColumns]) {
  using C = typename Tile::C;
  const int seen = keys_seen<Tile>(args, query, block);
  const C scale = static_cast<C>(args.scale);
#pragma unroll
  for (int c = 0; c < Tile::kColumns; ++c) {
    C score = scores[c] * scale;
    bool visible = Tile::column(c) < seen;
    if constexpr (!plain) {
      visible = visible && (bits.seen >> (r * Tile::kColumns + c) & 1u);
      if (visible && args.mask.data && args.mask_dtype != DType::boolean) {
        using T = typename Tile::T;
        const C added = load<C, T>(mask_place<T>(args, head, query, block + Tile::column(c)));
        visible = added != -scalar::kInfinity<C>;
        score += added;
      }
    }
    scores[c] = visible ? score : -scalar::kInfinity<C>;
  }
}

/// 1, or what dropout makes of a weight's 1.
template <class Tile, bool plain>
__device__ __forceinline__ typename Tile::C kept_of(const AttentionKernelArgs& args,
                                                    const AttentionBits& bits, int r, int c) {
  using C = typename Tile::C;
  if (plain || args.dropout.threshold == 0) return C(1);
  return bits.kept >> (r * Tile::kColumns + c) & 1u ? static_cast<C>(args.dropout.scale) : C(0);
}

/// 2^x by the GPU's own instruction, to two units in the last place; 0 below 2^-126.
__device__ __forceinline__ float power_of_two(float x) {
  float result;
  AORTA_PTX(power_of_two(result, x), "ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// exp(score - shift), where a row without keys has -inf for a shift. In f32 what the product
/// rounds off is no more than what the score did.
template <class C>
__device__ __forceinline__ C weight_of(C score, C shift) {
  const C difference = score - (shift == -scalar::kInfinity<C> ? C(0) : shift);
  if constexpr (std::is_same_v<C, float>) {
    return power_of_two(difference * scalar::kLog2E);
  } else {
    return scalar::exp(difference);
  }
}

/// The larger of two scores; a NaN is left to the sums.
template <class C>
__device__ __forceinline__ C larger_of(C a, C b) {
  if constexpr (std::is_same_v<C, float>) {
    return ::fmaxf(a, b);
  } else {
    return b > a ? b : a;
  }
}

/// Joins a value over the threads that have the same rows; sums and maxima of two are the same bits
/// in either order.
template <class Tile, class Join>
__device__ __forceinline__ typename Tile::C join_row(typename Tile::C value, const Join& join) {
#pragma unroll
  for (int step = Tile::kLanes / 2; step > 0; step /= 2)
    value = join(value, from_lane_xor(value, step));
  return value;
}

/// The number of tiles that cover a dimension.
inline int64_t attention_tiles(int64_t size, int side) { return (size + side - 1) / side; }

}  // namespace aorta::cuda
