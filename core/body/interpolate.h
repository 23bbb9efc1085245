#pragma once

#include <aorta/core/dtype.h>

#include <cstdint>

namespace aorta::body {

/// How a dimension is resampled: output o is the sum over k in [first[o], first[o + 1]) of
/// weight[k] * input[index[k]].
struct InterpolateMap {
  int64_t input = 1, output = 1;  // sizes
  const int32_t* first = nullptr;
  const int32_t* index = nullptr;
  const double* weight = nullptr;
  int taps = 0;         // the number of terms where it is the same for every output, else 0
  bool copies = false;  // one term of weight 1 each
};

/// What the kernel of interpolate gets: (outer, depth, height, width, inner) contiguous, where a
/// tensor (N, C, D, H, W) has outer = N * C and inner = 1, and a channels_last one outer = N and
/// inner = C. Nothing is of size 0.
struct InterpolateArgs {
  int64_t outer = 1, inner = 1;
  InterpolateMap dims[3];  // depth, height, width
  const void* input = nullptr;
  void* output = nullptr;
  DType dtype = DType::f32;  // floating
};

}  // namespace aorta::body
