#pragma once

#include <aorta/core/body/window.h>
#include <aorta/core/dtype.h>
#include <aorta/core/host_device.h>
#include <aorta/core/integers.h>

#include <cstdint>

namespace aorta::body {

/// One spatial dimension of a pooling. Window o reads input positions o * stride - padding + j *
/// dilation for j < kernel, those inside; an adaptive one reads all of [floor(o * input / output),
/// ceil((o + 1) * input / output)).
struct PoolDim {
  int64_t input = 1, output = 1;  // sizes
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  bool adaptive = false;
};

/// What window `o` reads, steps of `dilation` apart.
AORTA_INLINE WindowRange pool_window(const PoolDim& dim, int64_t o) {
  if (dim.adaptive) return {o * dim.input / dim.output, divide_up((o + 1) * dim.input, dim.output)};
  const int64_t start = o * dim.stride - dim.padding;
  const int64_t end = start + (dim.kernel - 1) * dim.dilation + 1;
  const int64_t first = start + steps_below(start, dim.dilation, 0) * dim.dilation;
  return {first, end < dim.input ? end : dim.input};
}

/// The windows that read input position `i`; dilation is 1.
AORTA_INLINE WindowRange pool_readers(const PoolDim& dim, int64_t i) {
  if (dim.adaptive) return {i * dim.output / dim.input, divide_up((i + 1) * dim.output, dim.input)};
  const int64_t last = i + dim.padding, before = last - dim.kernel;
  const int64_t end = last / dim.stride + 1;
  return {before < 0 ? 0 : before / dim.stride + 1, end < dim.output ? end : dim.output};
}

/// A dimension's factor of what an average is divided by: the positions that window `o` reads, or
/// with `padding` those that it covers, padding on both sides included.
AORTA_INLINE int64_t pool_count(const PoolDim& dim, int64_t o, bool padding) {
  if (padding && !dim.adaptive) {
    const int64_t start = o * dim.stride - dim.padding;
    const int64_t end = start + dim.kernel, last = dim.input + dim.padding;
    return (end < last ? end : last) - start;
  }
  const WindowRange range = pool_window(dim, o);
  return range.end - range.first;
}

/// What a pooling kernel gets: (outer, depth, height, width, inner) contiguous, where a tensor
/// (N, C, D, H, W) has outer = N * C and inner = 1, and a channels_last one outer = N and inner =
/// C. Nothing is of size 0.
struct PoolArgs {
  int64_t outer = 1, inner = 1;
  PoolDim dims[3];  // depth, height, width
  const void* input = nullptr;
  void* output = nullptr;
  int64_t* indices = nullptr;  // of a maximum, beside the output; null when they aren't wanted
  DType dtype = DType::f32;    // floating
  bool count_include_pad = true;
  int64_t divisor_override = 0;  // 0: none
};

}  // namespace aorta::body
