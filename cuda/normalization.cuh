#pragma once

// What the kernels of normalisation have in common: rows cut into blocks of neighbours, and
// reductions of a channel's elements where these are columns of rows, or runs. A body says what is
// taken of the elements:
//   V, Running, State                         elements at a time; of a thread; of several
//   begin(running, at)                        a thread begins with output `at`
//   take_columns(running[V], element, there, whole, row), take_run(running, element, there, whole)
//   finish(running), join(a, b)
// How work is divided depends on shapes alone, and so do the bits of the results.

#include <aorta/core/integers.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/element.cuh>
#include <aorta/cuda/group.cuh>

#include <bit>
#include <initializer_list>

namespace aorta::cuda {

/// Blocks that a large GPU is kept busy with; and of columns, whose blocks have many rows on the
/// way at a time, and each a partial result of every column.
inline constexpr int64_t kBlocksWanted = 1024, kColumnBlocks = 256;

/// The least power of two that is not below n, within [1, limit].
inline unsigned lanes_for(int64_t n, int64_t limit) {
  const int64_t clamped = std::clamp<int64_t>(n, 1, limit);
  return static_cast<unsigned>(std::bit_ceil(static_cast<uint64_t>(clamped)));
}

/// Rows of `size` elements one after another, cut into blocks of up to V neighbours of M.
template <class M>
struct RowBlocks {
  static constexpr int V = kBlock<M>;
  int64_t rows, size, across;  // across: blocks of a row
  bool aligned;
  Divisor divisor;  // by `across`

  RowBlocks(int64_t row_count, int64_t row_size, std::initializer_list<const void*> arrays)
      : rows(row_count),
        size(row_size),
        across(divide_up(row_size, V)),
        aligned(row_size % V == 0),
        divisor(across, row_count * across) {
    for (const void* array : arrays) aligned = aligned && is_vector_aligned<M, V>(array);
  }

  struct Block {
    int64_t row, column;
    int there;
    bool whole;
  };
  __device__ __forceinline__ Block in_row(int64_t row, int64_t i) const {
    const int64_t column = i * V;
    const int there = static_cast<int>(min(static_cast<int64_t>(V), size - column));
    return {row, column, there, aligned && there == V};
  }
  /// Block i of all.
  __device__ __forceinline__ Block block(int64_t i) const {
    const int64_t place = divisor.split(i);
    return in_row(i, place);
  }
  int64_t count() const { return rows * across; }
};

/// Passes over the columns of groups of rows: `block` is threads over blocks of columns times
/// threads over rows. A chunk of rows has a partial result, where there are results, at
/// (group * chunks + chunk) * columns + column.
template <class M>
struct ColumnShape {
  RowBlocks<M> blocks;
  dim3 block;
  int64_t groups, rows, tiles, chunk, chunks;  // rows: of a group
  Divisor by_tiles, by_chunks;

  ColumnShape(int64_t group_count, const RowBlocks<M>& all, int64_t wanted = kColumnBlocks)
      : blocks(all), groups(group_count), rows(all.rows / group_count) {
    constexpr int64_t rows_of_a_thread = 4;
    block.x = lanes_for(blocks.across, 32);
    block.y = lanes_for(divide_up(rows, 2), kThreads / block.x);
    tiles = divide_up(blocks.across, block.x);
    const int64_t most = divide_up(rows, block.y * rows_of_a_thread);
    const int64_t parts = std::clamp<int64_t>(wanted / (groups * tiles), 1, most);
    chunk = round_up(divide_up(rows, parts), block.y);
    chunks = divide_up(rows, chunk);
    by_tiles = Divisor(tiles, items());
    by_chunks = Divisor(chunks, items());
  }
  AORTA_HOST_DEVICE int64_t items() const { return groups * chunks * tiles; }
  int64_t partials() const { return groups * chunks * blocks.size; }

  /// A chunk of rows, and the columns of it that a thread has: `there` of them, none below 1.
  struct Tile {
    int64_t group, part, index, column;
    int there;
    bool whole;
  };
  __device__ __forceinline__ Tile tile(int64_t item) const {
    const int64_t index = by_tiles.split(item), part = by_chunks.split(item);
    const auto at = blocks.in_row(0, index * blockDim.x + threadIdx.x);
    return {item, part, index, at.column, at.there, at.whole};
  }
  __device__ __forceinline__ int64_t first_row(int64_t part) const {
    return part * chunk + threadIdx.y;
  }
  __device__ __forceinline__ int64_t end_row(int64_t part) const {
    return min((part + 1) * chunk, rows);
  }
};

/// A thread's columns of a tile's rows; V of them and aligned where they are `whole`.
template <bool whole, class Body, class M>
__device__ __forceinline__ void take_rows(const Body& body, const ColumnShape<M>& shape,
                                          const typename ColumnShape<M>::Tile& tile,
                                          typename Body::Running (&running)[RowBlocks<M>::V]) {
  const int there = whole ? RowBlocks<M>::V : tile.there;
  const int64_t start = tile.group * shape.rows, end = start + shape.end_row(tile.part);
#pragma unroll 4
  for (int64_t row = start + shape.first_row(tile.part); row < end; row += blockDim.y)
    body.take_columns(running, row * shape.blocks.size + tile.column, there, whole, row);
}

template <class Body, class M>
__global__ void __launch_bounds__(kThreads)
    columns_kernel(const __grid_constant__ Body body, const __grid_constant__ ColumnShape<M> shape,
                   typename Body::State* partial) {
  using State = typename Body::State;
  constexpr int V = RowBlocks<M>::V;
  AORTA_SHARED(State, shared, [kThreads * V]);
  const int64_t columns = shape.blocks.size;
  const unsigned wide = blockDim.x * V;  // columns of a tile
  for (int64_t item = blockIdx.x; item < shape.items(); item += gridDim.x) {
    const auto tile = shape.tile(item);
    typename Body::Running running[V];
#pragma unroll
    for (int j = 0; j < V; ++j)
      body.begin(running[j], tile.group * columns + min(tile.column + j, columns - 1));
    if (tile.whole) {
      take_rows<true>(body, shape, tile, running);
    } else if (tile.there > 0) {
      take_rows<false>(body, shape, tile, running);
    }
#pragma unroll
    for (int j = 0; j < V; ++j)
      shared[threadIdx.y * wide + j * blockDim.x + threadIdx.x] = body.finish(running[j]);
    __syncthreads();
    // Column c / blockDim.x of the block of columns c % blockDim.x, of all rows of threads.
    for (unsigned c = threadIdx.y * blockDim.x + threadIdx.x; c < wide;
         c += blockDim.x * blockDim.y) {
      State total = shared[c];
      for (unsigned y = 1; y < blockDim.y; ++y) total = body.join(total, shared[y * wide + c]);
      const int64_t block = tile.index * blockDim.x + c % blockDim.x;
      const int64_t column = block * V + c / blockDim.x;
      if (column < columns)
        partial[(tile.group * shape.chunks + tile.part) * columns + column] = total;
    }
    __syncthreads();
  }
}

/// Reductions of units, each of which is `runs` runs of neighbours that begin `step` elements
/// apart; unit u of a group begins at group * group_step + u * unit_step. A piece of a unit has a
/// partial result, at (group * pieces + piece) * units + u.
template <class M>
struct RunShape {
  RowBlocks<M> blocks;  // of a unit
  int64_t groups, units, group_step, unit_step, step;
  unsigned threads;
  int64_t piece, pieces;  // piece: in blocks

  RunShape(int64_t group_count, int64_t units_of_group, int64_t steps_of_group,
           int64_t steps_of_unit, int64_t steps_of_run, const RowBlocks<M>& unit)
      : blocks(unit),
        groups(group_count),
        units(units_of_group),
        group_step(steps_of_group),
        unit_step(steps_of_unit),
        step(steps_of_run) {
    constexpr int64_t blocks_of_a_thread = 4;
    blocks.aligned = blocks.aligned && step % RowBlocks<M>::V == 0 &&
                     unit_step % RowBlocks<M>::V == 0 && group_step % RowBlocks<M>::V == 0;
    threads = std::max(lanes_for(divide_up(blocks.count(), blocks_of_a_thread), kThreads), 32u);
    const int64_t most = divide_up(blocks.count(), threads * blocks_of_a_thread);
    const int64_t parts = std::clamp<int64_t>(kBlocksWanted / (groups * units), 1, most);
    piece = divide_up(blocks.count(), parts);
    pieces = divide_up(blocks.count(), piece);
  }
  int64_t items() const { return groups * units * pieces; }
  int64_t partials() const { return items(); }
};

template <class Body, class M>
__global__ void __launch_bounds__(kThreads)
    runs_kernel(const __grid_constant__ Body body, const __grid_constant__ RunShape<M> shape,
                typename Body::State* partial) {
  using State = typename Body::State;
  AORTA_SHARED(State, shared, [kThreads / 32]);
  for (int64_t item = blockIdx.x; item < shape.groups * shape.units * shape.pieces;
       item += gridDim.x) {
    const int64_t part = item % shape.pieces, unit = item / shape.pieces;
    const int64_t group = unit / shape.units, u = unit % shape.units;
    const int64_t start = group * shape.group_step + u * shape.unit_step;
    const int64_t end = min((part + 1) * shape.piece, shape.blocks.rows * shape.blocks.across);
    typename Body::Running running;
    body.begin(running, unit);
    for (int64_t i = part * shape.piece + threadIdx.x; i < end; i += blockDim.x) {
      const auto at = shape.blocks.block(i);
      body.take_run(running, start + at.row * shape.step + at.column, at.there, at.whole);
    }
    const State state = join_group(body.finish(running), shared,
                                   [&](const State& a, const State& b) { return body.join(a, b); });
    if (threadIdx.x == 0) partial[(group * shape.pieces + part) * shape.units + u] = state;
  }
}

template <class Body, class M>
void reduce_columns(const char* op, const Body& body, const ColumnShape<M>& shape,
                    typename Body::State* partial, cudaStream_t stream) {
  launch(op, columns_kernel<Body, M>, grid_of(shape.items()), shape.block, stream, body, shape,
         partial);
}
template <class Body, class M>
void reduce_runs(const char* op, const Body& body, const RunShape<M>& shape,
                 typename Body::State* partial, cudaStream_t stream) {
  launch(op, runs_kernel<Body, M>, grid_of(shape.items()), shape.threads, stream, body, shape,
         partial);
}

/// Two sums.
struct SumPair {
  double first, second;
};
__device__ __forceinline__ SumPair add_pairs(const SumPair& a, const SumPair& b) {
  return {a.first + b.first, a.second + b.second};
}

}  // namespace aorta::cuda
