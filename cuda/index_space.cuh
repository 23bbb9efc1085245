#pragma once

#include <aorta/core/shape.h>
#include <aorta/cuda/fast_division.h>
#include <aorta/cuda/limits.h>

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

  AORTA_INLINE int64_t offset(int64_t i) const {
    if (ndim <= 1) return ndim == 0 ? 0 : i * strides[0];
    int64_t result = 0;
    if (narrow) {
      uint32_t rest = static_cast<uint32_t>(i);
      for (int d = 0; d < ndim; ++d) result += int64_t{sizes[d].split(rest)} * strides[d];
    } else {
      for (int d = 0; d < ndim; ++d) {
        result += i % shape[d] * strides[d];
        i /= shape[d];
      }
    }
    return result;
  }
};

}  // namespace aorta::cuda
