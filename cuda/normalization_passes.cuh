#pragma once

// The pass of a channel norm over its elements: each is mapped as its channel says.

#include <aorta/core/scalar/normalization.h>
#include <aorta/cuda/normalization.cuh>

namespace aorta::cuda {

/// The maps of channels, by (group, channel): three arrays one after another of a forward pass, and
/// three of a backward pass.
template <class C>
struct ChannelMaps {
  C *forward, *backward;
  int64_t count;
  __device__ __forceinline__ C* array(int k) const {
    return k < 3 ? forward + k * count : backward + (k - 3) * count;
  }
};
/// A map in registers: y = (x - mean) scale + shift, and what the gradient takes besides.
template <class C>
struct ElementMap {
  C mean, scale, shift, of_gradient, of_input, constant;
  __device__ __forceinline__ C operator()(C x) const {
    return scalar::normalised(x, mean, scale, shift);
  }
  __device__ __forceinline__ C slope(C g, C x, bool relu) const {
    return relu ? scalar::masked(g, (*this)(x)) : g;
  }
};
/// The maps of V channels side by side; `whole`: their numbers are aligned vectors, and no channel
/// is above `last`.
template <int V, class C>
__device__ __forceinline__ void read_maps(ElementMap<C> (&maps)[V], const ChannelMaps<C>& from,
                                          int64_t at, int64_t last, bool whole, bool backward) {
  C* const places[] = {&maps[0].mean,        &maps[0].scale,    &maps[0].shift,
                       &maps[0].of_gradient, &maps[0].of_input, &maps[0].constant};
  constexpr int step = sizeof(ElementMap<C>) / sizeof(C);
#pragma unroll
  for (int k = 0; k < 6; ++k) {
    if (k >= 3 && !backward) break;
    const C* const numbers = from.array(k);
    if (whole && V % kBlock<C> == 0) {
      constexpr int block = V % kBlock<C> == 0 ? kBlock<C> : 1;
#pragma unroll
      for (int j = 0; j < V; j += block) {
        const auto read = *reinterpret_cast<const Vector<C, block>*>(numbers + at + j);
#pragma unroll
        for (int i = 0; i < block; ++i) places[k][(j + i) * step] = read.element[i];
      }
    } else {
#pragma unroll
      for (int j = 0; j < V; ++j) places[k][j * step] = numbers[min(at + j, last)];
    }
  }
}

/// What becomes of the elements: y; max(y + residual, 0); the gradient where that isn't 0; dx.
enum class Pass { map, sum, masked, backward };

template <class M>
struct PassArgs {
  using C = ComputeType<M>;
  static constexpr int V = kBlock<M>;
  const M *input, *residual, *gradient;
  M* output;
  ChannelMaps<C> maps;
  bool relu;
};

/// Some blocks of V neighbours, all of which are read before the first is written. A place that is
/// behind the end is one that is there, and not written.
template <class M, Pass pass>
struct Batch {
  using C = ComputeType<M>;
  static constexpr int V = kBlock<M>;
  static constexpr bool has_residual = pass == Pass::sum || pass == Pass::masked;
  static constexpr bool has_gradient = pass == Pass::backward || pass == Pass::masked;
  static constexpr int size = has_residual || has_gradient ? 2 : 4;
  C x[size][V], residual[size][V], gradient[size][V];

  __device__ __forceinline__ void read(const PassArgs<M>& args, int i, int64_t element, int there,
                                       bool whole) {
    read_block<M>(x[i], args.input + element, there, whole);
    if constexpr (has_residual) read_block<M>(residual[i], args.residual + element, there, whole);
    if constexpr (has_gradient) read_block<M>(gradient[i], args.gradient + element, there, whole);
  }
  /// Element j of block i becomes what the pass makes of it.
  __device__ __forceinline__ void map(int i, int j, const ElementMap<C>& m, bool relu) {
    C& value = x[i][j];
    if constexpr (pass == Pass::map) {
      value = relu ? scalar::rectified(m(value)) : m(value);
    } else if constexpr (pass == Pass::sum) {
      value = scalar::rectified(m(value) + residual[i][j]);
    } else if constexpr (pass == Pass::masked) {
      value = scalar::masked(gradient[i][j], m(value) + residual[i][j]);
    } else {
      value = scalar::norm_gradient(m.slope(gradient[i][j], value, relu), value - m.mean,
                                    m.of_gradient, m.of_input, m.constant);
    }
  }
};

/// Planes (sample, channel) of positions, in the order of memory.
template <class M, Pass pass>
__global__ void __launch_bounds__(kThreads)
    map_planes_kernel(const __grid_constant__ PassArgs<M> args,
                      const __grid_constant__ RowBlocks<M> blocks, Divisor channels,
                      Divisor samples, int64_t channel_count, int64_t count) {
  using Blocks = Batch<M, pass>;
  constexpr int V = Blocks::V, size = Blocks::size;
  const int64_t step = item_step();
  for (int64_t first = first_item(); first < count; first += size * step) {
    Blocks batch;
    ElementMap<ComputeType<M>> maps[size][1];
    typename RowBlocks<M>::Block at[size];
#pragma unroll
    for (int i = 0; i < size; ++i) {
      at[i] = blocks.block(min(first + i * step, count - 1));
      int64_t group = at[i].row;
      const int64_t channel = channels.split(group);
      samples.split(group);
      const int64_t place = group * channel_count + channel;
      read_maps(maps[i], args.maps, place, place, false, pass == Pass::backward);
      batch.read(args, i, at[i].row * blocks.size + at[i].column, at[i].there, at[i].whole);
    }
#pragma unroll
    for (int i = 0; i < size; ++i) {
#pragma unroll
      for (int j = 0; j < V; ++j) batch.map(i, j, maps[i][0], args.relu);
      M* const output = args.output + at[i].row * blocks.size + at[i].column;
      if (first + i * step < count) write_block<M>(output, batch.x[i], at[i].there, at[i].whole);
    }
  }
}

/// The rows of a tile's chunk, of which a thread has a block of columns: V of them and aligned
/// where they are `whole`.
template <bool whole, Pass pass, class M>
__device__ __forceinline__ void map_rows(const PassArgs<M>& args, const ColumnShape<M>& shape,
                                         const typename ColumnShape<M>::Tile& tile) {
  using Blocks = Batch<M, pass>;
  constexpr int V = Blocks::V, size = Blocks::size;
  const int64_t columns = shape.blocks.size, start = tile.group * shape.rows;
  const int there = whole ? V : tile.there;
  ElementMap<ComputeType<M>> maps[V];
  read_maps(maps, args.maps, tile.group * columns + tile.column, (tile.group + 1) * columns - 1,
            whole, pass == Pass::backward);
  const int64_t end = shape.end_row(tile.part), step = blockDim.y;
  for (int64_t first = shape.first_row(tile.part); first < end; first += size * step) {
    Blocks batch;
#pragma unroll
    for (int i = 0; i < size; ++i) {
      const int64_t row = start + min(first + i * step, end - 1);
      batch.read(args, i, row * columns + tile.column, there, whole);
    }
#pragma unroll
    for (int i = 0; i < size; ++i) {
#pragma unroll
      for (int j = 0; j < V; ++j) batch.map(i, j, maps[j], args.relu);
      M* const output = args.output + (start + first + i * step) * columns + tile.column;
      if (first + i * step < end) write_block<M>(output, batch.x[i], there, whole);
    }
  }
}
/// Rows of channels: a thread keeps its columns' maps.
template <class M, Pass pass>
__global__ void __launch_bounds__(kThreads)
    map_columns_kernel(const __grid_constant__ PassArgs<M> args,
                       const __grid_constant__ ColumnShape<M> shape) {
  for (int64_t item = blockIdx.x; item < shape.items(); item += gridDim.x) {
    const auto tile = shape.tile(item);
    if (tile.there <= 0) continue;
    if (tile.whole) {
      map_rows<true, pass>(args, shape, tile);
    } else {
      map_rows<false, pass>(args, shape, tile);
    }
  }
}

}  // namespace aorta::cuda
