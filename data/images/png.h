#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/image_mode.h>

#include <cstddef>
#include <span>
#include <string>

namespace aorta::data {

/// PNG images (ISO/IEC 15948), decoded by libpng: every colour type and depth, interlaced or not.
/// Palettes become colours, fewer than 8 bits a channel 8, and 16 are rounded to 8; gamma is left
/// alone. Unchanged keeps an alpha channel, the other modes leave it out; grey is
/// 0.299 R + 0.587 G + 0.114 B, as Pillow rounds it.
///
/// A damaged or cut image is an error: `name: PNG image must be sound, got the end of the file`. No
/// more memory is taken than deflate can fill from the file's length.
///
/// u8 (C, H, W); `name` starts the errors.
Tensor decode_png(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                  const Text& name = "decode_png");
/// The image in a file.
Tensor read_png(const Text& path, ImageMode mode = ImageMode::unchanged);

/// A PNG file's bytes, u8 (N), of an image u8 (C, H, W) or (H, W); C is 1 (grey), 2 (grey, alpha),
/// 3 (RGB) or 4 (RGB, alpha).
Tensor encode_png(const Tensor& image);
/// Writes that file, whole or not at all.
void write_png(const Tensor& image, const Text& path);

}  // namespace aorta::data
