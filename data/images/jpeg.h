#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/image_mode.h>

#include <cstddef>
#include <span>
#include <string>

namespace aorta::data {

/// JPEG images (ITU-T T.81: baseline and progressive, 8 bits, 1 or 3 components), decoded by
/// libjpeg-turbo with its exact integer transform and smooth upsampling, which OpenCV takes too:
/// the same pixels. Frames of Motion JPEG without Huffman tables get the standard's. Orientation
/// tags are ignored, as torchvision does.
///
/// A damaged or cut image is an error, never pixels that were made up: `name: JPEG image must be
/// sound, got Premature end of JPEG file`. Images of more than 2^27 pixels are refused.
///
/// u8 (C, H, W); `name` starts the errors.
Tensor decode_jpeg(std::span<const std::byte> bytes, ImageMode mode = ImageMode::unchanged,
                   const Text& name = "decode_jpeg");
/// Decodes into `place`, u8 (C, H, W) on the CPU with any strides that don't overlap, C = 1 or 3:
/// a part of a batch, say, or the permuted view of a (H, W, C) tensor. H and W must be the image's.
void decode_jpeg_into(std::span<const std::byte> bytes, const Tensor& place,
                      const Text& name = "decode_jpeg");
/// The image in a file.
Tensor read_jpeg(const Text& path, ImageMode mode = ImageMode::unchanged);

/// A JPEG file's bytes, u8 (N), of an image u8 (C, H, W), C = 1 or 3. `quality` 1 to 100.
Tensor encode_jpeg(const Tensor& image, int quality = 75);
/// Writes that file, whole or not at all.
void write_jpeg(const Tensor& image, const Text& path, int quality = 75);

}  // namespace aorta::data
