#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

/// JPEG images as bytes, without tensors; by libjpeg-turbo. What is accepted stands in jpeg.h.
namespace aorta::data {

struct JpegHeader {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;  // as stored: 1 or 3
};

/// Where the pixels of an image lie: (C, H, W) with any strides, in bytes, C = 1 or 3 (red, green,
/// blue).
struct ImagePlace {
  uint8_t* data = nullptr;
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  int64_t channel_stride = 0;
  int64_t row_stride = 0;
  int64_t pixel_stride = 0;
};

/// Larger images are refused before memory is taken for them.
inline constexpr int64_t kMaxJpegPixels = int64_t{1} << 27;

/// `name` starts the errors.
JpegHeader parse_jpeg_header(const std::string& name, std::span<const std::byte> bytes,
                             int64_t max_pixels = kMaxJpegPixels);
/// Writes every pixel of `place`, whose size must be the image's.
void decode_jpeg(const std::string& name, std::span<const std::byte> bytes, const ImagePlace& place,
                 int64_t max_pixels = kMaxJpegPixels);
/// Puts the file's bytes into `out`. `quality` 1 to 100 as libjpeg scales its tables; colour is
/// stored at half resolution (4:2:0).
void encode_jpeg(const ImagePlace& image, int quality, std::vector<std::byte>& out);

}  // namespace aorta::data
