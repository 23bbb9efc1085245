#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/image_mode.h>

#include <cstddef>
#include <span>
#include <string>

namespace aorta::data {

/// An image file's pixels, u8 (C, H, W), as torchvision.io.read_image gives them: JPEG, PNG, or
/// Netpbm's P5 and P6; the first bytes say which, whatever the file is called. See jpeg.h and
/// png.h. Throws `path: an image must be JPEG, PNG, or PNM (P5, P6), got ...`, and what the
/// decoders say.
Tensor read_image(const Text& path, ImageMode mode = ImageMode::unchanged);
/// Decodes bytes in memory as read_image does a file; `name` starts the errors.
Tensor decode_image(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                    const Text& name = "decode_image");

}  // namespace aorta::data
