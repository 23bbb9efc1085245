#pragma once

// Many tensors as the argument of one launch, which sees their elements as one range.

#include <aorta/cuda/element.cuh>

namespace aorta::cuda {

/// What a launch takes at most, from CUDA 12.1 on and compute capability 7.0. Source: CUDA C++
/// Programming Guide, "__global__ Function Argument Processing".
inline constexpr size_t kArgumentBytes = 32764;
/// Tensors of a launch. Of the networks of models/ whose parameters are most, those on a
/// ResNet-101, each has fewer. A launch takes longer by what its arguments have more.
inline constexpr int kTensorsOfALaunch = 384;

/// Tensors that lie one behind the other in one range of elements.
template <class Place>
struct TensorList {
  Place places[kTensorsOfALaunch];
  int64_t firsts[kTensorsOfALaunch + 1];  // of each tensor, and the end of the last
  int size = 0;

  bool is_full() const { return size == kTensorsOfALaunch; }
  void add(const Place& place, int64_t first, int64_t count) {
    places[size] = place;
    firsts[size] = first;
    firsts[++size] = first + count;
  }
  int64_t elements() const { return size == 0 ? 0 : end() - begin(); }

  __host__ __device__ __forceinline__ int64_t begin() const { return firsts[0]; }
  __host__ __device__ __forceinline__ int64_t end() const { return firsts[size]; }
  /// The tensor of element i, which one of them has.
  __device__ __forceinline__ int find(int64_t i) const {
    int low = 0, high = size - 1;  // the last one that begins at i or before
    while (low < high) {
      const int middle = (low + high + 1) / 2;
      if (firsts[middle] <= i) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
  /// Finds it from `tensor` on, for an element that is among that one's or behind them: the next
  /// ones are near.
  __device__ __forceinline__ int find_from(int tensor, int64_t i) const {
    while (i >= firsts[tensor + 1]) ++tensor;
    return tensor;
  }
};

}  // namespace aorta::cuda
