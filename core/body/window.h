#pragma once

#include <aorta/core/integers.h>

#include <cstdint>

namespace aorta::body {

// Which taps of a window lie in the padding. A `Dim` is a spatial dimension of a convolution or a
// pooling: position o of the output reads o * stride - padding + j * dilation of the input with tap
// j < kernel, where that lies inside.

/// From `first` to before `end`; empty where first >= end.
struct WindowRange {
  int64_t first, end;
};

/// How many of start, start + step, ... lie below `bound`; step > 0.
AORTA_INLINE int64_t steps_below(int64_t start, int64_t step, int64_t bound) {
  return bound > start ? divide_up(bound - start, step) : 0;
}

/// The positions that read inside with `tap`.
template <class Dim>
AORTA_INLINE WindowRange positions_reading(const Dim& dim, int64_t tap) {
  const int64_t start = tap * dim.dilation - dim.padding;
  const int64_t end = steps_below(start, dim.stride, dim.input);
  return {steps_below(start, dim.stride, 0), end < dim.output ? end : dim.output};
}

/// The taps with which one of the positions `first` to `last` reads inside.
template <class Dim>
AORTA_INLINE WindowRange taps_reading(const Dim& dim, int64_t first, int64_t last) {
  const int64_t begin = steps_below(last * dim.stride - dim.padding, dim.dilation, 0);
  const int64_t end = steps_below(first * dim.stride - dim.padding, dim.dilation, dim.input);
  return {begin, end < dim.kernel ? end : dim.kernel};
}

}  // namespace aorta::body
