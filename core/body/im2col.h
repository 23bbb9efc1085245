#pragma once

#include <aorta/core/body/window.h>
#include <aorta/core/dtype.h>
#include <aorta/core/scalar/convert.h>

#include <cstdint>
#include <type_traits>

namespace aorta::body {

/// One spatial dimension: block o reads o * stride - padding + j * dilation with tap j < kernel.
struct Im2colDim {
  int64_t input = 1, output = 1;  // positions, blocks
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
};

/// The blocks of an image.
struct BlockPlan {
  Im2colDim height, width;
};

/// Images (planes, H, W) and their columns (planes, kernel H, kernel W, blocks H, blocks W), both
/// contiguous; a plane is a channel of a sample. Nothing is of size 0.
struct Im2colArgs {
  int64_t planes = 1;
  Im2colDim height, width;
  const void* input = nullptr;
  void* output = nullptr;
  DType dtype = DType::f32;  // floating
};

/// Writes the columns: body(i) element i; a row is what lies along their last dimension.
template <class T>
struct Im2colBody {
  Im2colDim height, width;
  const T* input;
  T* output;

  explicit Im2colBody(const Im2colArgs& args)
      : height(args.height),
        width(args.width),
        input(static_cast<const T*>(args.input)),
        output(static_cast<T*>(args.output)) {}

  AORTA_INLINE void operator()(int64_t i) const { run(i / width.output, i % width.output, 1); }
  /// `count` elements of a row, from `column` on.
  AORTA_INLINE void run(int64_t row, int64_t column, int64_t count) const {
    const int64_t block = row % height.output;
    const int64_t tap = row / height.output;
    const int64_t tap_x = tap % width.kernel, rest = tap / width.kernel;
    const int64_t tap_y = rest % height.kernel, plane = rest / height.kernel;
    const int64_t y = block * height.stride - height.padding + tap_y * height.dilation;
    const int64_t first = tap_x * width.dilation - width.padding;
    const bool inside = y >= 0 && y < height.input;
    const T* const from = input + (plane * height.input + y) * width.input;
    T* const to = output + row * width.output;
    for (int64_t o = column; o < column + count; ++o) {
      const int64_t x = o * width.stride + first;
      to[o] = inside && x >= 0 && x < width.input ? from[x] : T{};
    }
  }
};

/// Writes elements of images: each sums what was read from it, in the order of the taps.
template <class T>
struct Col2imBody {
  using Compute = std::conditional_t<scalar::is_half_type<T>, float, T>;
  Im2colDim height, width;
  const T* input;
  T* output;

  explicit Col2imBody(const Im2colArgs& args)
      : height(args.height),
        width(args.width),
        input(static_cast<const T*>(args.input)),
        output(static_cast<T*>(args.output)) {}

  AORTA_INLINE void operator()(int64_t i) const {
    const int64_t x = i % width.input, row = i / width.input;
    const int64_t y = row % height.input, plane = row / height.input;
    Compute sum = 0;
    for (int64_t tap_y = 0; tap_y < height.kernel; ++tap_y) {
      const int64_t at_y = y + height.padding - tap_y * height.dilation;
      const int64_t block_y = at_y / height.stride;
      if (at_y < 0 || block_y >= height.output || block_y * height.stride != at_y) continue;
      for (int64_t tap_x = 0; tap_x < width.kernel; ++tap_x) {
        const int64_t at_x = x + width.padding - tap_x * width.dilation;
        const int64_t block_x = at_x / width.stride;
        if (at_x < 0 || block_x >= width.output || block_x * width.stride != at_x) continue;
        const int64_t tap = (plane * height.kernel + tap_y) * width.kernel + tap_x;
        const int64_t place = (tap * height.output + block_y) * width.output + block_x;
        sum += scalar::convert_value<Compute>(input[place]);
      }
    }
    output[i] = scalar::convert_value<T>(sum);
  }
};

}  // namespace aorta::body
