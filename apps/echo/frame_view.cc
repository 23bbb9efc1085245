#include <aorta/apps/echo/frame_view.h>
#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/transforms.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

Tensor resized(const Tensor& image, int64_t height, int64_t width) {
  if (image.size(-2) == height && image.size(-1) == width) return image;
  return data::Transforms{data::Resize{.size = {height, width}}}(image);
}

int64_t scaled(int64_t length, int64_t longer, int64_t side) {
  const double ratio = static_cast<double>(side) / static_cast<double>(longer);
  return std::max<int64_t>(1, std::llround(static_cast<double>(length) * ratio));
}

}  // namespace

FrameView::FrameView(int64_t height, int64_t width, int64_t side)
    : height_(height), width_(width), side_(side) {
  check(height > 0 && width > 0 && side > 0, "frame_view", "sizes must be positive", height, " x ",
        width, " in ", side);
  inner_height_ = scaled(height, std::max(height, width), side);
  inner_width_ = scaled(width, std::max(height, width), side);
  top_ = (side - inner_height_) / 2;
  left_ = (side - inner_width_) / 2;
}

Tensor FrameView::shrink(const Tensor& frame) const {
  if (is_whole()) return frame;
  Tensor square = zeros({frame.size(0), side_, side_}, {.dtype = u8});
  square.narrow(1, top_, inner_height_)
      .narrow(2, left_, inner_width_)
      .copy_(resized(frame.contiguous(), inner_height_, inner_width_));
  return square;
}

Tensor FrameView::cut(const Tensor& mask) const {
  if (inner_height_ == side_ && inner_width_ == side_) return mask;
  Tensor result = zeros(mask.shape(), {.dtype = u8});
  result.narrow(0, top_, inner_height_)
      .narrow(1, left_, inner_width_)
      .copy_(mask.narrow(0, top_, inner_height_).narrow(1, left_, inner_width_));
  return result;
}

Tensor FrameView::grow(const Tensor& mask, int64_t height, int64_t width) const {
  const Tensor inner =
      mask.narrow(0, top_, inner_height_).narrow(1, left_, inner_width_).contiguous();
  if (inner.size(0) == height && inner.size(1) == width) return inner;
  // Between the middles of pixels a mask is interpolated, and inside where it is a half or more.
  Tensor grey = empty({1, inner_height_, inner_width_}, {.dtype = u8});
  std::transform(inner.data<uint8_t>(), inner.data<uint8_t>() + inner.numel(), grey.data<uint8_t>(),
                 [](uint8_t inside) { return inside ? uint8_t{255} : uint8_t{0}; });
  const Tensor large = resized(grey, height, width);
  Tensor result = empty({height, width}, {.dtype = u8});
  std::transform(large.data<uint8_t>(), large.data<uint8_t>() + large.numel(),
                 result.data<uint8_t>(), [](uint8_t value) { return value >= 128; });
  return result;
}

double FrameView::frame_x(double x) const {
  return (x + 0.5 - static_cast<double>(left_)) * static_cast<double>(width_) /
             static_cast<double>(inner_width_) -
         0.5;
}

double FrameView::frame_y(double y) const {
  return (y + 0.5 - static_cast<double>(top_)) * static_cast<double>(height_) /
             static_cast<double>(inner_height_) -
         0.5;
}

void MaskList::add(const Tensor& mask) {
  if (count_ == 0) {
    height_ = mask.size(0);
    width_ = mask.size(1);
  }
  check(mask.dtype() == u8 && mask.shape() == Shape({height_, width_}), "mask_list",
        "masks must be u8 of one shape", mask.dtype(), " ", mask.shape());
  const Tensor source = mask.contiguous();
  const auto bytes = static_cast<size_t>((source.numel() + 7) / 8);
  const size_t start = bits_.size();
  bits_.resize(start + bytes);
  for (int64_t i = 0; i < source.numel(); ++i)
    if (source.data<uint8_t>()[i])
      bits_[start + static_cast<size_t>(i / 8)] |= static_cast<uint8_t>(1 << i % 8);
  ++count_;
}

Tensor MaskList::operator[](int64_t index) const {
  check(index >= 0 && index < count_, "mask_list", "index must be 0 to the number of masks - 1",
        index, " of ", count_);
  Tensor mask = empty({height_, width_}, {.dtype = u8});
  const uint8_t* bits = bits_.data() + index * ((mask.numel() + 7) / 8);
  for (int64_t i = 0; i < mask.numel(); ++i) mask.data<uint8_t>()[i] = bits[i / 8] >> i % 8 & 1;
  return mask;
}

}  // namespace aorta::echo
