#pragma once

#include <aorta/core/tensor.h>

#include <cstdint>
#include <vector>

namespace aorta::echo {

/// The side of EchoNet's frames, in pixels.
inline constexpr int64_t kEchoNetSide = 112;

/// How frames of any size are seen by a network that takes squares: shrunk or enlarged as a whole,
/// the longer edge to `side` pixels, in the middle of a black square. So a circle stays a circle.
class FrameView {
 public:
  FrameView(int64_t height, int64_t width, int64_t side);

  /// u8 (3, height, width) -> u8 (3, side, side).
  Tensor shrink(const Tensor& frame) const;
  /// A mask u8 (side, side) without what lies outside the picture in the square.
  Tensor cut(const Tensor& mask) const;
  /// A mask u8 (side, side) -> u8 (height, width), or another size of the same picture.
  Tensor grow(const Tensor& mask) const { return grow(mask, height_, width_); }
  Tensor grow(const Tensor& mask, int64_t height, int64_t width) const;

  int64_t side() const { return side_; }
  /// Where (x, y) of the square lies in the frame, in its pixels.
  double frame_x(double x) const;
  double frame_y(double y) const;

 private:
  bool is_whole() const { return height_ == side_ && width_ == side_; }
  int64_t height_, width_, side_;
  int64_t inner_height_, inner_width_, top_, left_;  // of the picture in the square
};

/// Masks of one size, a bit a pixel.
class MaskList {
 public:
  void add(const Tensor& mask);  // u8 (H, W), nonzero inside
  Tensor operator[](int64_t index) const;
  int64_t size() const { return count_; }

 private:
  int64_t height_ = 0, width_ = 0, count_ = 0;
  std::vector<uint8_t> bits_;
};

}  // namespace aorta::echo
