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
  const int64_t rows = args.batch * args.heads * args.queries;
  for (int64_t i = first_item(); i < rows; i += item_step()) {
    const int64_t head = i / args.queries, row = i % args.queries;
    const auto line = [&](const AttentionOperand& x) {
      return static_cast<const T*>(x.data) + head / args.heads * x.batch +
             head % args.heads * x.head + row * x.row;
    };
    const T *const output = line(args.output), *const gradient = line(args.gradient);
    C sum = 0;
    for (int64_t j = 0; j < args.value_features; ++j)
      sum = scalar::fma(load<C, T>(output + j), load<C, T>(gradient + j), sum);
    static_cast<C*>(inner)[i] = sum;
  }
}

/// A head as the two kernels see it.
template <class T>
struct BackwardHead {
  using Tile = AttentionTile<T>;
  using C = ComputeType<T>;
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

  /// The weights of a tile, with what is dropped out, and the gradient of its scores.
  __device__ __forceinline__ void make(typename Tile::Shared& shared, int64_t first, int64_t block,
                                       typename Tile::Sums& weights,
                                       typename Tile::Sums& slopes) const {
    multiply_rows<T>(shared, query, first, key, block, weights);
    multiply_rows<T>(shared, gradient, first, value, block, slopes);
#pragma unroll
    for (int r = 0; r < Tile::kRun; ++r) {
      const int64_t row = first + Tile::row(r);
      const bool inside = row < args.queries;
      const C log_sum =
          inside ? static_cast<const C*>(args.log_sum)[head * args.queries + row] : C(0);
      const C product = inside ? inner[row] : C(0);
#pragma unroll
      for (int c = 0; c < Tile::kRun; ++c) {
        const int64_t place = block + Tile::column(c);
        const C weight = weight_of(score_of(args, head, row, place, weights[r][c]), log_sum);
        const C kept = kept_of<C>(args, head, row, place);
        slopes[r][c] = weight * (slopes[r][c] * kept - product) * static_cast<C>(args.scale);
        weights[r][c] = weight * kept;
      }
    }
  }
};

template <class T>
__device__ __forceinline__ void put(typename AttentionTile<T>::Shared& shared,
                                    const typename AttentionTile<T>::Sums& values) {
  using Tile = AttentionTile<T>;
#pragma unroll
  for (int r = 0; r < Tile::kRun; ++r) {
#pragma unroll
    for (int c = 0; c < Tile::kRun; ++c) put_weight<T>(shared, r, c, values[r][c]);
  }
}

/// Writes a tile of a gradient (rows, columns).
template <class T>
__device__ __forceinline__ void write(const AttentionOperand& to, const AttentionKernelArgs& args,
                                      int64_t head, int64_t first, int64_t rows, int64_t column,
                                      int64_t columns,
                                      const typename AttentionTile<T>::Sums& sums) {
  using Tile = AttentionTile<T>;
#pragma unroll
  for (int r = 0; r < Tile::kRun; ++r) {
    const int64_t row = first + Tile::row(r);
    if (row >= rows) continue;
    T* const line = static_cast<T*>(to.data) + head / args.heads * to.batch +
                    head % args.heads * to.head + row * to.row;
#pragma unroll
    for (int c = 0; c < Tile::kRun; ++c) {
      const int64_t place = column + Tile::column(c);
      if (place < columns) store<T>(line + place, sums[r][c]);
    }
  }
}

// One block a multiprocessor at least, here and below: two would have too few registers.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    attention_keys_kernel(const __grid_constant__ AttentionBackwardArgs args, const void* inner,
                          int64_t row_tiles, int64_t column_tiles) {
  using Tile = AttentionTile<T>;
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t block = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kSide;
    const BackwardHead<T> head(args, inner, tile / row_tiles / column_tiles);
    typename Tile::Sums keys = {}, values = {};
#pragma unroll 1
    for (int64_t first = args.is_causal ? block : 0; first < args.queries; first += Tile::kSide) {
      typename Tile::Sums weights, slopes;
      head.make(shared, first, block, weights, slopes);
      if (column < args.value_features) {
        put<T>(shared, weights);
        multiply_weights<T, true>(shared, head.gradient, first, column, args.keys - block, values);
      }
      if (column < args.features) {
        put<T>(shared, slopes);
        multiply_weights<T, true>(shared, head.query, first, column, args.keys - block, keys);
      }
    }
    write<T>(args.key_gradient, args, head.head, block, args.keys, column, args.features, keys);
    write<T>(args.value_gradient, args, head.head, block, args.keys, column, args.value_features,
             values);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    attention_queries_kernel(const __grid_constant__ AttentionBackwardArgs args, const void* inner,
                             int64_t row_tiles, int64_t column_tiles) {
  using Tile = AttentionTile<T>;
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kSide;
    const BackwardHead<T> head(args, inner, tile / row_tiles / column_tiles);
    const int64_t end = args.is_causal ? min(args.keys, first + Tile::kSide) : args.keys;
    typename Tile::Sums queries = {};
#pragma unroll 1
    for (int64_t block = 0; block < end; block += Tile::kSide) {
      typename Tile::Sums weights, slopes;
      head.make(shared, first, block, weights, slopes);
      put<T>(shared, slopes);
      multiply_weights<T, false>(shared, head.key, block, column, args.queries - first, queries);
    }
    write<T>(args.query_gradient, args, head.head, first, args.queries, column, args.features,
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
  if (args.dropout.threshold > 0) refuse_capture(op, site.stream());
  const Workspace inner(
      std::max<int64_t>(heads * args.queries, 1) * static_cast<int64_t>(sizeof(ComputeType<T>)),
      site.device());
  if (heads * args.queries > 0) {
    launch(op, attention_inner_kernel<T>, site.blocks(heads * args.queries), kThreads,
           site.stream(), args, inner.data());
  }
  const int64_t features = attention_tiles<T>(args.features);
  const int64_t columns = std::max(features, attention_tiles<T>(args.value_features));
  const int64_t keys = attention_tiles<T>(args.keys), queries = attention_tiles<T>(args.queries);
  if (heads * keys * columns > 0) {
    launch(op, attention_keys_kernel<T>, grid_blocks(heads * keys * columns), kThreads,
           site.stream(), args, inner.data(), keys, columns);
  }
  if (heads * queries * features > 0) {
    launch(op, attention_queries_kernel<T>, grid_blocks(heads * queries * features), kThreads,
           site.stream(), args, inner.data(), queries, features);
  }
}

}  // namespace

void run_attention_backward(const AttentionBackwardArgs& args) {
  visit_floating(args.dtype, [&](auto type) { run_as<decltype(type)>(args); });
}

}  // namespace aorta::cuda
