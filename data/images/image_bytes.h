#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/image_mode.h>

#include <cstddef>
#include <span>
#include <string>

namespace aorta::data {

/// Interleaved pixels as u8 (C, H, W) of the mode; 2 and 4 channels have alpha as the last.
Tensor planar_image(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels,
                    ImageMode mode);

/// Netpbm's P5 (grey) and P6 (colour), 8 bits a channel; a largest value below 255 is stretched.
Tensor decode_pnm(std::span<const std::byte> bytes, ImageMode mode, const std::string& name);

}  // namespace aorta::data
