#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/jpeg_format.h>

namespace aorta::data {

/// The pixels of an image, u8 (C, H, W) on the CPU, C = 1 or 3; `op` starts the error otherwise.
ImagePlace image_place(const char* op, const Tensor& image);

}  // namespace aorta::data
