#include <aorta/core/check.h>
#include <aorta/data/images/image_place.h>

namespace aorta::data {

ImagePlace image_place(const char* op, const Tensor& image) {
  check_defined(op, {{"image", image}});
  check(image.dtype() == u8 && image.device() == Device() && image.dim() == 3 &&
            (image.size(0) == 1 || image.size(0) == 3),
        op, "image must be u8 (C, H, W) on the CPU, C = 1 or 3", image.dtype(), " ", image.shape(),
        " on ", image.device());
  return {.data = image.data<uint8_t>(),
          .channels = image.size(0),
          .height = image.size(1),
          .width = image.size(2),
          .channel_stride = image.stride(0),
          .row_stride = image.stride(1),
          .pixel_stride = image.stride(2)};
}

}  // namespace aorta::data
