#pragma once

// Groups of threads that have one result in common: a warp, or a block of whole warps.

#include <aorta/cuda/launch.cuh>

#include <cstring>
#include <type_traits>

namespace aorta::cuda {

/// The value that the lane whose number differs in the bit `step` has.
template <class T>
__device__ __forceinline__ T from_lane_xor(T value, int step) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<T>(__shfl_xor_sync(0xffffffffu, value, step));
  } else {
    static_assert(sizeof(T) % sizeof(double) == 0);
    constexpr int words = sizeof(T) / sizeof(double);
    double word[words];
    memcpy(word, &value, sizeof value);
#pragma unroll
    for (int i = 0; i < words; ++i) word[i] = __shfl_xor_sync(0xffffffffu, word[i], step);
    memcpy(&value, word, sizeof value);
    return value;
  }
}

/// Joins the values of a group of blockDim.x threads, a warp or a block of whole warps. Every
/// thread gets the result, and the order is fixed. `shared` has a place for each warp.
template <class T, class Join>
__device__ __forceinline__ T join_group(T value, T* shared, const Join& join) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const T other = from_lane_xor(value, step);
    // In the order of the lanes, so that all of them compute the same bits.
    value = threadIdx.x & static_cast<unsigned>(step) ? join(other, value) : join(value, other);
  }
  if (blockDim.x == 32) return value;
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) shared[warp] = value;
  __syncthreads();
  T result = shared[0];
  for (unsigned i = 1; i < warps; ++i) result = join(result, shared[i]);
  __syncthreads();
  return result;
}

/// Does the same for sums.
template <class T>
__device__ __forceinline__ T add_group(T value, T* shared) {
  return join_group(value, shared, [](T a, T b) { return a + b; });
}

/// The blocks of a launch whose blocks walk over the rest: at least one.
inline unsigned grid_of(int64_t blocks) { return grid_blocks(std::max<int64_t>(blocks, 1)); }

}  // namespace aorta::cuda
