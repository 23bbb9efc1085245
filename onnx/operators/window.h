#pragma once

#include <aorta/onnx/operators.h>

namespace aorta::onnx {

/// Pads, and sizes of spatial dimensions, kernels and strides, are less: a product of two and some
/// more fits.
inline constexpr int64_t kMostPlaces = int64_t{1} << 31;

/// The attributes of an operator that moves a window: numbers by spatial dimension.
struct Window {
  explicit Window(const Node& node);

  enum class Automatic : uint8_t { none, same_upper, same_lower, valid };
  Automatic automatic;
  std::vector<int64_t> kernel, strides, dilations, pads;  // empty: not given

  /// The window for an input of these spatial sizes and a kernel of those, padding resolved.
  struct Placed {
    Dims size, kernel, stride, dilation, before, after;
    int spatial() const { return size.size(); }
    int64_t reach(int d) const { return (kernel[d] - 1) * dilation[d] + 1; }
    bool is_dilated() const;
  };
  Placed place(const char* op, const Tensor& input, const Dims& kernel_size) const;
  bool is_same() const {
    return automatic == Automatic::same_upper || automatic == Automatic::same_lower;
  }
};

/// `total` in two parts, an odd one at the end, or at the start.
struct Halves {
  int64_t before, after;
};
Halves halves(int64_t total, bool at_end);

}  // namespace aorta::onnx
