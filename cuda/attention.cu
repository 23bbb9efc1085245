// Scaled dot-product attention: a block takes some queries of a head and some columns of the
// values, and goes through the keys tile by tile. Where there are more columns than a tile has, the
// scores are computed anew for each. See attention_tile.cuh.
#include <aorta/cuda/attention_kernels.h>
#include <aorta/cuda/attention_tile.cuh>

namespace aorta::cuda {
namespace {

// One block a multiprocessor at least: two of f32 would have too few registers.
template <class T>
__global__ void __launch_bounds__(kThreads, 1)
    attention_kernel(const __grid_constant__ AttentionKernelArgs args, int64_t row_tiles,
                     int64_t column_tiles) {
  using Tile = AttentionTile<T>;
  using C = ComputeType<T>;
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kSide;
    const int64_t head = tile / row_tiles / column_tiles;
    const HeadOf<T> query(args.query, args, head, args.queries, args.features);
    const HeadOf<T> key(args.key, args, head, args.keys, args.features);
    const HeadOf<T> value(args.value, args, head, args.keys, args.value_features);
    const int64_t end = args.is_causal ? min(args.keys, first + Tile::kSide) : args.keys;
    typename Tile::Sums output = {};
    C largest[Tile::kRun], total[Tile::kRun];
#pragma unroll
    for (int r = 0; r < Tile::kRun; ++r) {
      largest[r] = -scalar::kInfinity<C>;
      total[r] = 0;
    }
#pragma unroll 1
    for (int64_t block = 0; block < end; block += Tile::kSide) {
      typename Tile::Sums scores;
      multiply_rows<T>(shared, query, first, key, block, scores);
#pragma unroll
      for (int r = 0; r < Tile::kRun; ++r) {
        const int64_t row = first + Tile::row(r);
        C now = largest[r];
#pragma unroll
        for (int c = 0; c < Tile::kRun; ++c) {
          scores[r][c] = score_of(args, head, row, block + Tile::column(c), scores[r][c]);
          now = scores[r][c] > now ? scores[r][c] : now;
        }
        now = join_row(now, [](C a, C b) { return a > b ? a : b; });
        C sum = 0;
#pragma unroll
        for (int c = 0; c < Tile::kRun; ++c) {
          const C weight = weight_of(scores[r][c], now);
          sum += weight;
          put_weight<T>(shared, r, c,
                        weight * kept_of<C>(args, head, row, block + Tile::column(c)));
        }
        sum = join_row(sum, [](C a, C b) { return a + b; });
        const C factor = now == largest[r] ? C(1) : weight_of(largest[r], now);
        total[r] = total[r] * factor + sum;
        largest[r] = now;
#pragma unroll
        for (int c = 0; c < Tile::kRun; ++c) output[r][c] *= factor;
      }
      multiply_weights<T, false>(shared, value, block, column, args.queries - first, output);
    }
#pragma unroll
    for (int r = 0; r < Tile::kRun; ++r) {
      const int64_t row = first + Tile::row(r);
      if (row >= args.queries) continue;
      const bool none = total[r] == C(0);
      if (column == 0 && Tile::column(0) == 0) {
        static_cast<C*>(args.log_sum)[head * args.queries + row] =
            none ? -scalar::kInfinity<C> : largest[r] + scalar::log(total[r]);
      }
      T* const out = static_cast<T*>(args.output.data) + head / args.heads * args.output.batch +
                     head % args.heads * args.output.head + row * args.output.row;
#pragma unroll
      for (int c = 0; c < Tile::kRun; ++c) {
        const int64_t place = column + Tile::column(c);
        if (place < args.value_features)
          store<T>(out + place, none ? C(0) : output[r][c] / total[r]);
      }
    }
  }
}

void run_attention(const AttentionKernelArgs& args) {
  const char* const op = "scaled_dot_product_attention";
  const LaunchSite site(args.log_sum);
  if (args.dropout.threshold > 0) refuse_capture(op, site.stream());
  visit_floating(args.dtype, [&](auto type) {
    using T = decltype(type);
    const int64_t rows = attention_tiles<T>(args.queries);
    // The logarithms are written where there are no values, too.
    const int64_t columns = std::max<int64_t>(attention_tiles<T>(args.value_features), 1);
    const int64_t tiles = args.batch * args.heads * rows * columns;
    if (tiles == 0) return;
    launch(op, attention_kernel<T>, grid_blocks(tiles), kThreads, site.stream(), args, rows,
           columns);
  });
}

}  // namespace

void register_attention() {
  set_kernel<attention_op, run_attention>();
  set_kernel<attention_backward_op, run_attention_backward>();
}

}  // namespace aorta::cuda
