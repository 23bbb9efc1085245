// The backward pass of scaled dot-product attention. Scores are computed anew, in two kernels, so
// that each sum is one block's and nothing is added in an order of chance: one goes through the
// queries for some keys, the other through the keys for some queries. A block makes as many columns
// of a gradient as a tile has. See attention_tile.cuh.
#include <aorta/cuda/attention_kernels.h>
#include <aorta/cuda/attention_tile.cuh>

namespace aorta::cuda {
namespace {

/// A row's product of the output and its gradient; a thread a row.
template <class T>
__global__ void __launch_bounds__(kThreads)
    attention_inner_kernel(const __grid_constant__ AttentionBackwardArgs args, void* inner) {
  using C = ComputeType<T>;
  constexpr int vector = kBlock<T>;
  const int64_t rows = args.batch * args.heads * args.queries;
  for (int64_t i = first_item(); i < rows; i += item_step()) {
    const int64_t head = i / args.queries, row = i % args.queries;
    const auto line = [&](const AttentionOperand& x) {
      return static_cast<const T*>(x.data) + head / args.heads * x.batch +
             head % args.heads * x.head + row * x.row;
    };
    const T *const output = line(args.output), *const gradient = line(args.gradient);
    const bool aligned =
        (reinterpret_cast<uintptr_t>(output) | reinterpret_cast<uintptr_t>(gradient)) % 16 == 0;
    C sum = 0;
    for (int64_t j = 0; j < args.value_features; j += vector) {
      const int there = static_cast<int>(min(args.value_features - j, int64_t{vector}));
      C left[vector], right[vector];
      read_block<T, vector>(left, output + j, there, aligned && there == vector);
      read_block<T, vector>(right, gradient + j, there, aligned && there == vector);
#pragma unroll
      for (int k = 0; k < vector; ++k) sum = scalar::fma(left[k], right[k], sum);
    }
    static_cast<C*>(inner)[i] = sum;
  }
}

/// A head as the two kernels see it.
template <class Tile, bool plain>
struct BackwardHead {
  using T = typename Tile::T;
  using C = typename Tile::C;
  const AttentionBackwardArgs& args;
  const C* inner;
  int64_t head;
  HeadOf<T> query, key, value, gradient;

  __device__ __forceinline__ BackwardHead(const AttentionBackwardArgs& all, const void* products,
                                          int64_t number)
      : args(all),
        inner(static_cast<const C*>(products) + number * all.queries),
        head(number),
        query(all.query, all, number, all.queries, all.features),
        key(all.key, all, number, all.keys, all.features),
        value(all.value, all, number, all.keys, all.value_features),
        gradient(all.gradient, all, number, all.queries, all.value_features) {}

  /// Copies what whole tiles read of queries, and of keys.
  __device__ __forceinline__ void load_queries(typename Tile::Shared& shared, int64_t first) const {
    if constexpr (Tile::kWhole) {
      load_whole<Tile>(shared.a, query, first);
      load_whole<Tile>(shared.c, gradient, first);
    }
  }
  __device__ __forceinline__ void load_keys(typename Tile::Shared& shared, int64_t block) const {
    if constexpr (Tile::kWhole) {
      load_whole<Tile>(shared.b, key, block);
      load_whole<Tile>(shared.d, value, block);
    }
  }

  /// The weights of a tile, with what is dropped out, and the gradient of its scores.
  __device__ __forceinline__ void make(typename Tile::Shared& shared, int64_t first, int64_t block,
                                       typename Tile::Sums& weights,
                                       typename Tile::Sums& slopes) const {
    multiply_rows<Tile>(shared, query, first, shared.a, key, block, shared.b, weights);
    multiply_rows<Tile>(shared, gradient, first, shared.c, value, block, shared.d, slopes);
    const AttentionBits bits = bits_of<Tile, plain>(args, head, first, block);
    const C scale = static_cast<C>(args.scale);
#pragma unroll
    for (int r = 0; r < Tile::kRows; ++r) {
      const int64_t row = first + Tile::row(r);
      const bool inside = row < args.queries;
      const C log_sum =
          inside ? static_cast<const C*>(args.log_sum)[head * args.queries + row] : C(0);
      const C product = inside ? inner[row] : C(0);
      make_scores<Tile, plain>(args, head, row, block, r, bits, weights[r]);
#pragma unroll
      for (int c = 0; c < Tile::kColumns; ++c) {
        const C weight = weight_of(weights[r][c], log_sum);
        const C kept = kept_of<Tile, plain>(args, bits, r, c);
        slopes[r][c] = weight * (slopes[r][c] * kept - product) * scale;
        weights[r][c] = weight * kept;
      }
    }
  }
};

template <class Tile>
__device__ __forceinline__ void put(typename Tile::Shared& shared,
                                    const typename Tile::Sums& values) {
#pragma unroll
  for (int r = 0; r < Tile::kRows; ++r) put_row<Tile>(shared, r, values[r]);
}

/// Writes a tile of a gradient (rows, columns).
template <class Tile>
__device__ __forceinline__ void write(const AttentionOperand& to, const AttentionKernelArgs& args,
                                      int64_t head, int64_t first, int64_t rows, int64_t column,
                                      int64_t columns, const typename Tile::Results& sums) {
#pragma unroll
  for (int r = 0; r < Tile::kRows; ++r) {
    const int64_t row = first + Tile::row(r);
    if (row >= rows) continue;
    write_row<Tile>(static_cast<typename Tile::T*>(to.data) + head / args.heads * to.batch +
                        head % args.heads * to.head + row * to.row,
                    column, columns, sums[r]);
  }
}

/// As many blocks a multiprocessor as have the registers. `plain`, here and below: without a mask
/// and without dropout.
template <class Tile, bool plain>
inline constexpr int backward_blocks = Tile::kHalf ? (plain&& Tile::kWidth == 32 ? 3 : 2)
                                                   : (plain ? 2 : 1);

template <class Tile, bool plain>
__global__ void __launch_bounds__(Tile::kBlock, backward_blocks<Tile, plain>)
    attention_keys_kernel(const __grid_constant__ AttentionBackwardArgs args, const void* inner,
                          int64_t row_tiles, int64_t column_tiles) {
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t block = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kWidth;
    const BackwardHead<Tile, plain> head(args, inner, tile / row_tiles / column_tiles);
    typename Tile::Results keys = {}, values = {};
    head.load_keys(shared, block);
#pragma unroll 1
    for (int64_t first = args.is_causal ? block : 0; first < args.queries; first += Tile::kSide) {
      typename Tile::Sums weights, slopes;
      head.load_queries(shared, first);
      if constexpr (Tile::kWhole) __syncthreads();
      head.make(shared, first, block, weights, slopes);
      if (column < args.value_features) {
        put<Tile>(shared, weights);
        multiply_weights<Tile, true>(shared, head.gradient, first, shared.c, column,
                                     args.keys - block, values);
      }
      if (column < args.features) {
        put<Tile>(shared, slopes);
        multiply_weights<Tile, true>(shared, head.query, first, shared.a, column, args.keys - block,
                                     keys);
      }
    }
    write<Tile>(args.key_gradient, args, head.head, block, args.keys, column, args.features, keys);
    write<Tile>(args.value_gradient, args, head.head, block, args.keys, column, args.value_features,
                values);
  }
}

template <class Tile, bool plain>
__global__ void __launch_bounds__(Tile::kBlock, backward_blocks<Tile, plain>)
    attention_queries_kernel(const __grid_constant__ AttentionBackwardArgs args, const void* inner,
                             int64_t row_tiles, int64_t column_tiles) {
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kWidth;
    const BackwardHead<Tile, plain> head(args, inner, tile / row_tiles / column_tiles);
    const int64_t end = args.is_causal ? min(args.keys, first + Tile::kSide) : args.keys;
    typename Tile::Results queries = {};
    head.load_queries(shared, first);
#pragma unroll 1
    for (int64_t block = 0; block < end; block += Tile::kSide) {
      typename Tile::Sums weights, slopes;
      head.load_keys(shared, block);
      if constexpr (Tile::kWhole) __syncthreads();
      head.make(shared, first, block, weights, slopes);
      put<Tile>(shared, slopes);
      multiply_weights<Tile, false>(shared, head.key, block, shared.b, column, args.queries - first,
                                    queries);
    }
    write<Tile>(args.query_gradient, args, head.head, first, args.queries, column, args.features,
                queries);
  }
}

template <class T>
void run_as(const AttentionBackwardArgs& args) {
  const char* const op = "scaled_dot_product_attention_backward";
  const int64_t heads = args.batch * args.heads;
  const bool query_side = heads * args.queries > 0;
  if (!query_side && heads * args.keys * (args.features + args.value_features) == 0) return;
  const LaunchSite site(query_side          ? args.log_sum
                        : args.features > 0 ? args.key_gradient.data
                                            : args.value_gradient.data);
  if (args.dropout.threshold > 0 && !args.dropout.live) refuse_capture(op, site.stream());
  const Workspace inner(
      std::max<int64_t>(heads * args.queries, 1) * static_cast<int64_t>(sizeof(ComputeType<T>)),
      site.device());
  if (heads * args.queries > 0) {
    launch(op, attention_inner_kernel<T>, site.blocks(heads * args.queries), kThreads,
           site.stream(), args, inner.data());
  }
  visit_tiles<T>(args, [&](auto sizes, auto plain) {
    using Tile = decltype(sizes);
    const int64_t features = attention_tiles(args.features, Tile::kWidth);
    const int64_t columns = std::max(features, attention_tiles(args.value_features, Tile::kWidth));
    const int64_t keys = attention_tiles(args.keys, Tile::kSide),
                  queries = attention_tiles(args.queries, Tile::kSide);
    if (heads * keys * columns > 0) {
      launch(op, attention_keys_kernel<Tile, plain.value>, grid_blocks(heads * keys * columns),
             Tile::kBlock, site.stream(), args, inner.data(), keys, columns);
    }
    if (heads * queries * features > 0) {
      launch(op, attention_queries_kernel<Tile, plain.value>,
             grid_blocks(heads * queries * features), Tile::kBlock, site.stream(), args,
             inner.data(), queries, features);
    }
  });
}

}  // namespace

void attention_backward_by_kernels(const AttentionBackwardArgs& args) {
  visit_floating(args.dtype, [&](auto type) { run_as<decltype(type)>(args); });
}

}  // namespace aorta::cuda
