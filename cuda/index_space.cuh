#pragma once

#include <aorta/core/integers.h>
#include <aorta/core/shape.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/limits.h>
#include <aorta/cuda/launch.cuh>

namespace aorta::cuda {

/// Some dimensions of a tensor, innermost first: from the number of an element to its offset.
struct IndexSpace {
  int64_t count = 1;
  int ndim = 0;
  bool narrow = true;  // few elements (`Limits`): the fast division will do
  int64_t shape[kMaxDims], strides[kMaxDims];
  FastDivisor sizes[kMaxDims];

  IndexSpace() = default;
  IndexSpace(int64_t elements, int dims, const int64_t* sizes_of, const int64_t* strides_of)
      : count(elements), ndim(dims), narrow(elements < limits().elements) {
    for (int d = 0; d < dims; ++d) {
      shape[d] = sizes_of[d];
      strides[d] = strides_of[d];
      if (narrow) sizes[d] = FastDivisor(static_cast<uint32_t>(sizes_of[d] > 0 ? sizes_of[d] : 1));
    }
  }

  __device__ __forceinline__ int64_t offset(int64_t i) const {
    if (ndim <= 1) return ndim == 0 ? 0 : i * strides[0];
    int64_t result = 0;
    if (narrow) {
      uint32_t rest = static_cast<uint32_t>(i);
      for (int d = 0; d < ndim; ++d) result += int64_t{sizes[d].split(rest)} * strides[d];
    } else {
#pragma unroll 1
      for (int d = 0; d < ndim; ++d) {
        result += i % shape[d] * strides[d];
        i /= shape[d];
      }
    }
    return result;
  }
};

/// A space where neighbours along dimension 0 lie one after another, cut into blocks of them.
struct BlockedSpace {
  int64_t size = 0;   // elements along dimension 0
  int64_t count = 0;  // blocks
  int64_t even = 0;   // so many blocks, from the first on, `find_even` finds
  Divisor across;     // blocks along dimension 0
  FastDivisor even_across;
  IndexSpace outer;  // the other dimensions

  BlockedSpace() = default;
  BlockedSpace(int64_t elements, int dims, const int64_t* sizes_of, const int64_t* strides_of,
               int block, bool aligned)
      : size(dims > 0 ? sizes_of[0] : 1),
        outer(size > 0 ? elements / size : 0, dims > 0 ? dims - 1 : 0, sizes_of + 1,
              strides_of + 1) {
    const int64_t of_row = divide_up(size, block);
    count = of_row * outer.count;
    across = Divisor(of_row > 0 ? of_row : 1, count);
    if (!aligned || outer.ndim > 1 || count >= limits().elements) return;
    even_across = FastDivisor(static_cast<uint32_t>(of_row > 0 ? of_row : 1));
    even = outer.ndim == 0 ? size / block : size % block == 0 ? count : 0;
  }

  struct Block {
    int64_t offset, element;  // offset in bytes
    int there;
  };
  /// Block i, of up to V elements of `item` bytes.
  template <int V>
  __device__ __forceinline__ Block find(int64_t i, int64_t item) const {
    int64_t row = 0, block = i;
    if (outer.ndim > 0) {
      row = i;
      block = across.split(row);
    }
    const int64_t first = block * V, rest = size - first;
    return {outer.offset(row) + first * item, row * size + first,
            static_cast<int>(rest < V ? rest : V)};
  }
  /// Does the same for blocks that are whole and aligned, in rows whose distances are one.
  template <int V>
  __device__ __forceinline__ Block find_even(int64_t i, int64_t item) const {
    uint32_t row = static_cast<uint32_t>(i);
    const int64_t first = int64_t{even_across.split(row)} * V;
    return {(outer.ndim > 0 ? row * outer.strides[0] : 0) + first * item, row * size + first, V};
  }
};

}  // namespace aorta::cuda
