#pragma once

#include <aorta/core/host_device.h>
#include <aorta/core/scalar/convert.h>

#include <cstdint>
#include <type_traits>

namespace aorta::body {

/// body(i) finds the place of value i in its row by halving what is left of it. As comparisons with
/// NaN are false, NaN comes after all.
template <class T>
struct SearchsortedBody {
  using Compute = std::conditional_t<scalar::is_half_type<T>, float, T>;
  const T* sequence;
  const T* values;
  int64_t* output;
  int64_t length, per_row;
  bool right;

  AORTA_INLINE void operator()(int64_t i) const {
    const T* const row = sequence + i / per_row * length;
    const Compute value = scalar::convert_value<Compute>(values[i]);
    int64_t first = 0, last = length;
    while (first < last) {
      const int64_t middle = first + (last - first) / 2;
      const Compute at = scalar::convert_value<Compute>(row[middle]);
      const bool before = right ? !(at > value) : !(at >= value);
      first = before ? middle + 1 : first;
      last = before ? last : middle;
    }
    output[i] = first;
  }
};

}  // namespace aorta::body
