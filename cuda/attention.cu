// Scaled dot-product attention: a block takes some queries of a head and some columns of the
// values, and goes through the keys tile by tile. Where there are more columns than a tile has, the
// scores are computed anew for each. See attention_tile.cuh.
#include <aorta/cuda/attention_kernels.h>
#include <aorta/cuda/attention_tile.cuh>

namespace aorta::cuda {
namespace {

/// Writes a tile of the output, and the logarithms of its rows' sums.
template <class Tile>
__device__ __forceinline__ void write_output(const AttentionKernelArgs& args, int64_t head,
                                             int64_t first, int64_t column,
                                             const typename Tile::C (&largest)[Tile::kRows],
                                             const typename Tile::C (&total)[Tile::kRows],
                                             typename Tile::Results& output) {
  using C = typename Tile::C;
#pragma unroll
  for (int r = 0; r < Tile::kRows; ++r) {
    const int64_t row = first + Tile::row(r);
    if (row >= args.queries) continue;
    const bool none = total[r] == C(0);
    if (column == 0 && Tile::column(0) == 0) {
      static_cast<C*>(args.log_sum)[head * args.queries + row] =
          none ? -scalar::kInfinity<C> : largest[r] + scalar::log(total[r]);
    }
    const C factor = C(1) / total[r];
#pragma unroll
    for (int c = 0; c < Tile::kResults; ++c) output[r][c] = none ? C(0) : output[r][c] * factor;
    write_row<Tile>(static_cast<typename Tile::T*>(args.output.data) +
                        head / args.heads * args.output.batch +
                        head % args.heads * args.output.head + row * args.output.row,
                    column, args.value_features, output[r]);
  }
}

/// As many blocks a multiprocessor as have the registers. `plain`: without a mask and without
/// dropout.
template <class Tile, bool plain>
inline constexpr int forward_blocks = Tile::kHalf ? (plain ? 4 : 2) : (plain ? 2 : 1);

template <class Tile, bool plain>
__global__ void __launch_bounds__(Tile::kBlock, forward_blocks<Tile, plain>)
    attention_kernel(const __grid_constant__ AttentionKernelArgs args, int64_t row_tiles,
                     int64_t column_tiles) {
  using T = typename Tile::T;
  using C = typename Tile::C;
  AORTA_SHARED(typename Tile::Shared, memory, [1]);
  typename Tile::Shared& shared = memory[0];
  const int64_t tiles = args.batch * args.heads * row_tiles * column_tiles;
  for (int64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const int64_t first = tile % row_tiles * Tile::kSide;
    const int64_t column = tile / row_tiles % column_tiles * Tile::kWidth;
    const int64_t head = tile / row_tiles / column_tiles;
    const HeadOf<T> query(args.query, args, head, args.queries, args.features);
    const HeadOf<T> key(args.key, args, head, args.keys, args.features);
    const HeadOf<T> value(args.value, args, head, args.keys, args.value_features);
    const int64_t end = args.is_causal ? min(args.keys, first + Tile::kSide) : args.keys;
    typename Tile::Results output = {};
    C largest[Tile::kRows], total[Tile::kRows];
#pragma unroll
    for (int r = 0; r < Tile::kRows; ++r) {
      largest[r] = -scalar::kInfinity<C>;
      total[r] = 0;
    }
    if constexpr (Tile::kWhole) load_whole<Tile>(shared.a, query, first);
#pragma unroll 1
    for (int64_t block = 0; block < end; block += Tile::kSide) {
      typename Tile::Sums scores;
      if constexpr (Tile::kWhole) {
        load_whole<Tile>(shared.b, key, block);
        load_whole<Tile>(shared.c, value, block);
        __syncthreads();
      }
      multiply_rows<Tile>(shared, query, first, shared.a, key, block, shared.b, scores);
      const AttentionBits bits = bits_of<Tile, plain>(args, head, first, block);
#pragma unroll
      for (int r = 0; r < Tile::kRows; ++r) {
        make_scores<Tile, plain>(args, head, first + Tile::row(r), block, r, bits, scores[r]);
        C now = largest[r];
#pragma unroll
        for (int c = 0; c < Tile::kColumns; ++c) now = larger_of(now, scores[r][c]);
        now = join_row<Tile>(now, [](C a, C b) { return larger_of(a, b); });
        C sum = 0;
#pragma unroll
        for (int c = 0; c < Tile::kColumns; ++c) {
          const C weight = weight_of(scores[r][c], now);
          sum += weight;
          scores[r][c] = weight * kept_of<Tile, plain>(args, bits, r, c);
        }
        put_row<Tile>(shared, r, scores[r]);
        sum = join_row<Tile>(sum, [](C a, C b) { return a + b; });
        const C factor = now == largest[r] ? C(1) : weight_of(largest[r], now);
        total[r] = total[r] * factor + sum;
        largest[r] = now;
#pragma unroll
        for (int c = 0; c < Tile::kResults; ++c) output[r][c] *= factor;
      }
      multiply_weights<Tile, false>(shared, value, block, shared.c, column, args.queries - first,
                                    output);
    }
    write_output<Tile>(args, head, first, column, largest, total, output);
  }
}

}  // namespace

void attention_by_kernels(const AttentionKernelArgs& args) {
  const char* const op = "scaled_dot_product_attention";
  const LaunchSite site(args.log_sum);
  if (args.dropout.threshold > 0 && !args.dropout.live) refuse_capture(op, site.stream());
  visit_floating(args.dtype, [&](auto type) {
    visit_tiles<decltype(type)>(args, [&](auto sizes, auto plain) {
      using Tile = decltype(sizes);
      const int64_t rows = attention_tiles(args.queries, Tile::kSide);
      // The logarithms are written where there are no values, too.
      const int64_t columns =
          std::max<int64_t>(attention_tiles(args.value_features, Tile::kWidth), 1);
      const int64_t tiles = args.batch * args.heads * rows * columns;
      if (tiles == 0) return;
      launch(op, attention_kernel<Tile, plain.value>, grid_blocks(tiles), Tile::kBlock,
             site.stream(), args, rows, columns);
    });
  });
}

}  // namespace aorta::cuda
