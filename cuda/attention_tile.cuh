#pragma once

// What the kernels of attention share: a block of 256 threads computes a tile of kSide queries by
// kSide keys, and multiplies it with other operands. 16 x 16 threads have kRun x kRun numbers each,
// in rows of their own and columns 16 apart.
//
//   scores      a (queries) and b (keys) come in chunks of kDepth features:  sums = a b^T
//   results     the tile lies in shared memory as `weights`, and b comes in chunks of kDepth rows:
//               sums += weights b, or weights^T b
//
// f32 and f64 by fused multiply-adds; halves on tensor cores, summed in f32, whose results come
// through shared memory, for only there elements have places.

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

/// Sizes of tiles of T, chosen so that what a block shares fits its 48 KB.
template <class T>
struct AttentionTile {
  using M = Native<T>;
  using C = ComputeType<T>;
  static constexpr bool kHalf = scalar::is_half_type<T>;
  static constexpr int kSide = sizeof(T) == 8 ? 32 : 64;
  static constexpr int kRun = kSide / 16;
  static constexpr int kDepth = sizeof(T) == 8 ? 16 : 32;
  static constexpr int kVector = 16 / static_cast<int>(sizeof(T));  // loaded at once
  // From row to row, padded: threads that read down a column take different banks.
  static constexpr int kChunkStep = kDepth + kVector;
  static constexpr int kTileStep = kSide + kVector;
  static constexpr int kSumStep = kSide + 4;
  using Run = Vector<M, kVector>;
  using Sums = C[kRun][kRun];

  struct alignas(32) Shared {
    alignas(32) M a[kSide * kChunkStep];
    alignas(32) M b[kSide * kChunkStep > kDepth* kTileStep ? kSide* kChunkStep : kDepth* kTileStep];
    alignas(32) M weights[kSide * kTileStep];              // (queries, keys)
    alignas(32) float sums[kHalf ? kSide * kSumStep : 1];  // of tensor cores
  };

  static __device__ __forceinline__ int thread() { return static_cast<int>(threadIdx.x); }
  /// This thread's rows and columns of a tile.
  static __device__ __forceinline__ int row(int r) { return thread() / 16 * kRun + r; }
  static __device__ __forceinline__ int column(int c) { return thread() % 16 + c * 16; }
};

/// Rows and columns of one head of an operand.
template <class T>
struct HeadOf {
  using M = Native<T>;
  const M* data;
  int64_t row_step, column_step;
  int64_t rows, columns;
  bool runs;  // 16 bytes may be loaded at once

  __device__ __forceinline__ HeadOf(const AttentionOperand& x, const AttentionKernelArgs& args,
                                    int64_t head, int64_t row_count, int64_t column_count)
      : data(static_cast<const M*>(x.data) + head / args.heads * x.batch +
             head % args.heads * x.head),
        row_step(x.row),
        column_step(x.column),
        rows(row_count),
        columns(column_count) {
    constexpr int vector = AttentionTile<T>::kVector;
    runs =
        column_step == 1 && row_step % vector == 0 && reinterpret_cast<uintptr_t>(data) % 16 == 0;
  }
};

/// Copies `height` rows and `width` columns from (row, column) on; zeros beyond the operand.
template <class T, int height, int width>
__device__ __forceinline__ void load_chunk(Native<T>* to, int step, const HeadOf<T>& from,
                                           int64_t row, int64_t column) {
  using Tile = AttentionTile<T>;
  using Run = typename Tile::Run;
  constexpr int vector = Tile::kVector, across = width / vector;
  for (int i = Tile::thread(); i < height * across; i += kThreads) {
    const int r = i / across, c = i % across * vector;
    Run run{};
    if (row + r < from.rows) {
      const Native<T>* const place =
          from.data + (row + r) * from.row_step + (column + c) * from.column_step;
      if (from.runs && column + c + vector <= from.columns) {
        run = *reinterpret_cast<const Run*>(place);
      } else {
        for (int j = 0; j < vector; ++j) {
          if (column + c + j < from.columns) run.element[j] = place[j * from.column_step];
        }
      }
    }
    *reinterpret_cast<Run*>(to + r * step + c) = run;
  }
}

/// The steps of a chunk that are worth multiplying when so many are left: the rest are zeros.
template <class T>
__device__ __forceinline__ int steps_of(int64_t left) {
  using Tile = AttentionTile<T>;
  constexpr int unit = Tile::kHalf ? 16 : Tile::kVector;
  return static_cast<int>(min(int64_t{Tile::kDepth}, (left + unit - 1) / unit * unit));
}

/// This thread's part of what the block's warps have summed on tensor cores; a warp has 16 rows and
/// half of the columns.
template <class T, class Warp>
__device__ __forceinline__ void hand_over(typename AttentionTile<T>::Shared& shared,
                                          const Warp& warp, typename AttentionTile<T>::Sums& sums,
                                          bool add) {
  using Tile = AttentionTile<T>;
  const int id = Tile::thread() / 32;
#pragma unroll
  for (int c = 0; c < 2; ++c) {
    warp.store(0, c, shared.sums + id / 2 * 16 * Tile::kSumStep + id % 2 * 32 + c * 16,
               Tile::kSumStep);
  }
  __syncthreads();
#pragma unroll
  for (int r = 0; r < Tile::kRun; ++r) {
#pragma unroll
    for (int c = 0; c < Tile::kRun; ++c) {
      const float sum = shared.sums[Tile::row(r) * Tile::kSumStep + Tile::column(c)];
      sums[r][c] = add ? sums[r][c] + sum : sum;
    }
  }
  __syncthreads();
}

/// sums = a b^T of rows of two operands.
template <class T>
__device__ __forceinline__ void multiply_rows(typename AttentionTile<T>::Shared& shared,
                                              const HeadOf<T>& a, int64_t a_row, const HeadOf<T>& b,
                                              int64_t b_row,
                                              typename AttentionTile<T>::Sums& sums) {
  using Tile = AttentionTile<T>;
  constexpr int step = Tile::kChunkStep;
#pragma unroll
  for (int r = 0; r < Tile::kRun; ++r) {
#pragma unroll
    for (int c = 0; c < Tile::kRun; ++c) sums[r][c] = 0;
  }
  const auto chunks = [&](const auto& multiply) {
#pragma unroll 1
    for (int64_t k = 0; k < a.columns; k += Tile::kDepth) {
      load_chunk<T, Tile::kSide, Tile::kDepth>(shared.a, step, a, a_row, k);
      load_chunk<T, Tile::kSide, Tile::kDepth>(shared.b, step, b, b_row, k);
      __syncthreads();
      multiply(steps_of<T>(a.columns - k));
      __syncthreads();
    }
  };
  if constexpr (Tile::kHalf) {
    WarpSums<Native<T>, true, 1, 2, false> warp;
    const int id = Tile::thread() / 32;
    const bool idle = a_row + id / 2 * 16 >= a.rows;
    chunks([&](int steps) {
      for (int k = 0; k < steps && !idle; k += 16) {
        warp.add(shared.a + id / 2 * 16 * step + k, step, shared.b + id % 2 * 32 * step + k, step);
      }
    });
    hand_over<T>(shared, warp, sums, false);
  } else {
    const bool idle = a_row + Tile::row(0) >= a.rows;
    chunks([&](int steps) {
#pragma unroll 1
      for (int k = 0; k < steps && !idle; k += Tile::kVector) {
        typename Tile::Run right[Tile::kRun];
#pragma unroll
        for (int c = 0; c < Tile::kRun; ++c) {
          right[c] =
              *reinterpret_cast<const typename Tile::Run*>(shared.b + Tile::column(c) * step + k);
        }
#pragma unroll
        for (int r = 0; r < Tile::kRun; ++r) {
          const auto left =
              *reinterpret_cast<const typename Tile::Run*>(shared.a + Tile::row(r) * step + k);
#pragma unroll
          for (int i = 0; i < Tile::kVector; ++i) {
#pragma unroll
            for (int c = 0; c < Tile::kRun; ++c)
              sums[r][c] = scalar::fma(left.element[i], right[c].element[i], sums[r][c]);
          }
        }
      }
    });
  }
}

/// sums += weights b, or weights^T b, for the columns of b from `column` on and its rows from
/// `b_row` on, which are the tile's keys or, transposed, queries. The result has `rows` rows.
template <class T, bool transposed>
__device__ __forceinline__ void multiply_weights(typename AttentionTile<T>::Shared& shared,
                                                 const HeadOf<T>& b, int64_t b_row, int64_t column,
                                                 int64_t rows,
                                                 typename AttentionTile<T>::Sums& sums) {
  using Tile = AttentionTile<T>;
  constexpr int step = Tile::kTileStep;
  const auto chunks = [&](const auto& multiply) {
#pragma unroll 1
    for (int first = 0; first < Tile::kSide && b_row + first < b.rows; first += Tile::kDepth) {
      load_chunk<T, Tile::kDepth, Tile::kSide>(shared.b, step, b, b_row + first, column);
      __syncthreads();
      multiply(first, steps_of<T>(b.rows - b_row - first));
      __syncthreads();
    }
  };
  if constexpr (Tile::kHalf) {
    WarpSums<Native<T>, !transposed, 1, 2> warp;
    const int id = Tile::thread() / 32;
    const bool idle = id / 2 * 16 >= rows;
    chunks([&](int first, int steps) {
      for (int k = 0; k < steps && !idle; k += 16) {
        const int a =
            transposed ? (first + k) * step + id / 2 * 16 : id / 2 * 16 * step + first + k;
        warp.add(shared.weights + a, step, shared.b + k * step + id % 2 * 32, step);
      }
    });
    hand_over<T>(shared, warp, sums, true);
  } else {
    const bool idle = Tile::row(0) >= rows;
    chunks([&](int first, int steps) {
#pragma unroll 4
      for (int k = 0; k < steps && !idle; ++k) {
        typename Tile::C right[Tile::kRun];
#pragma unroll
        for (int c = 0; c < Tile::kRun; ++c) right[c] = shared.b[k * step + Tile::column(c)];
#pragma unroll
        for (int r = 0; r < Tile::kRun; ++r) {
          const typename Tile::C left = transposed
                                            ? shared.weights[(first + k) * step + Tile::row(r)]
                                            : shared.weights[Tile::row(r) * step + first + k];
#pragma unroll
          for (int c = 0; c < Tile::kRun; ++c) sums[r][c] = scalar::fma(left, right[c], sums[r][c]);
        }
      }
    });
  }
}

/// Puts a number of the tile where multiply_weights reads it.
template <class T>
__device__ __forceinline__ void put_weight(typename AttentionTile<T>::Shared& shared, int r, int c,
                                           ComputeType<T> value) {
  using Tile = AttentionTile<T>;
  const T converted = convert<T>(value);
  memcpy(shared.weights + Tile::row(r) * Tile::kTileStep + Tile::column(c), &converted,
         sizeof converted);
}

/// scale times a sum of products, with the mask; -inf for a key that isn't there or isn't seen.
template <class C>
__device__ __forceinline__ C score_of(const AttentionKernelArgs& args, int64_t head, int64_t query,
                                      int64_t key, C sum) {
  if (query >= args.queries || key >= args.keys || (args.is_causal && key > query))
    return -scalar::kInfinity<C>;
  const C score = sum * static_cast<C>(args.scale);
  if (!args.mask.data) return score;
  const AttentionOperand& mask = args.mask;
  const char* const place = static_cast<const char*>(mask.data) +
                            (head / args.heads * mask.batch + head % args.heads * mask.head +
                             query * mask.row + key * mask.column) *
                                item_size(args.mask_dtype);
  if (args.mask_dtype == DType::boolean)
    return load<bool, bool>(place) ? score : -scalar::kInfinity<C>;
  const C added = load<C>(place, args.mask_dtype);
  return added == -scalar::kInfinity<C> ? added : score + added;
}

/// 1, or what dropout makes of a weight's 1.
template <class C>
__device__ __forceinline__ C kept_of(const AttentionKernelArgs& args, int64_t head, int64_t query,
                                     int64_t key) {
  if (args.dropout.threshold == 0) return C(1);
  const int64_t number = (head * args.queries + query) * args.keys + key;
  const GeneratorState& random = args.dropout.random;
  const scalar::PhiloxWords words = scalar::philox(
      random.seed, random.stream, random.position + static_cast<uint64_t>(number / 4));
  uint32_t word = words.word[0];
#pragma unroll
  for (int i = 1; i < 4; ++i) word = number % 4 == i ? words.word[i] : word;
  return word >= args.dropout.threshold ? static_cast<C>(args.dropout.scale) : C(0);
}

/// exp(score - shift), where a row without keys has -inf for a shift.
template <class C>
__device__ __forceinline__ C weight_of(C score, C shift) {
  return scalar::exp(score - (shift == -scalar::kInfinity<C> ? C(0) : shift));
}

/// Joins a value over the 16 threads that have the same rows.
template <class C, class Join>
__device__ __forceinline__ C join_row(C value, const Join& join) {
#pragma unroll
  for (int step = 8; step > 0; step /= 2) {
    const C other = from_lane_xor(value, step);
    value = threadIdx.x & static_cast<unsigned>(step) ? join(other, value) : join(value, other);
  }
  return value;
}

/// The number of tiles that cover a dimension.
template <class T>
int64_t attention_tiles(int64_t size) {
  return (size + AttentionTile<T>::kSide - 1) / AttentionTile<T>::kSide;
}

}  // namespace aorta::cuda
