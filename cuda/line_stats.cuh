#pragma once

// What softmax and the losses of classes know of a line of elements after one reading.

#include <aorta/core/body/softmax.h>
#include <aorta/core/scalar/math.h>
#include <aorta/cuda/group.cuh>

namespace aorta::cuda {

/// The largest of some elements, and the sum of exp(x - largest); 0 where all are -inf.
template <class C>
struct LineStats {
  C largest;
  double sum;
};
template <class C>
__device__ __forceinline__ LineStats<C> no_stats() {
  return {-scalar::kInfinity<C>, 0};
}

/// The sum given another largest element.
template <class C>
__device__ __forceinline__ double rescaled(const LineStats<C>& stats, C largest) {
  if (stats.largest == largest) return stats.sum;
  return stats.sum * static_cast<double>(body::softmax_power(stats.largest, largest));
}
template <class C>
__device__ __forceinline__ LineStats<C> add_stats(const LineStats<C>& a, const LineStats<C>& b) {
  const C largest = scalar::maximum(a.largest, b.largest);
  return {largest, rescaled(a, largest) + rescaled(b, largest)};
}

/// Elements that are added at once, so that their loads are on their way together; -inf stands for
/// one that isn't there.
inline constexpr int kStatsTogether = 4;
template <class C>
__device__ __forceinline__ void add_elements(LineStats<C>& stats, const C (&x)[kStatsTogether]) {
  const C largest = scalar::maximum(
      stats.largest, scalar::maximum(scalar::maximum(x[0], x[1]), scalar::maximum(x[2], x[3])));
  if (largest == -scalar::kInfinity<C>) return;
  const C first = body::softmax_power(x[0], largest) + body::softmax_power(x[1], largest);
  const C second = body::softmax_power(x[2], largest) + body::softmax_power(x[3], largest);
  stats = {largest, rescaled(stats, largest) + static_cast<double>(first + second)};
}

}  // namespace aorta::cuda
