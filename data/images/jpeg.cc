#include <aorta/core/io/file.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/image_place.h>
#include <aorta/data/images/jpeg.h>

#include <cstring>

namespace aorta::data {

Tensor decode_jpeg(std::span<const std::byte> bytes, ImageMode mode, const Text& name) {
  const JpegHeader header = parse_jpeg_header(name, bytes);
  const int64_t channels = mode == ImageMode::unchanged ? header.channels
                           : mode == ImageMode::gray    ? 1
                                                        : 3;
  const Tensor image = empty({channels, header.height, header.width}, {.dtype = u8});
  decode_jpeg(name, bytes, image_place("decode_jpeg", image));
  return image;
}

void decode_jpeg_into(std::span<const std::byte> bytes, const Tensor& place, const Text& name) {
  decode_jpeg(name, bytes, image_place("decode_jpeg", place));
  place.bump_version();
}

Tensor read_jpeg(const Text& path, ImageMode mode) {
  return decode_jpeg(io::FileBytes::map(path)->bytes(), mode, path);
}

Tensor encode_jpeg(const Tensor& image, int quality) {
  std::vector<std::byte> bytes;
  encode_jpeg(image_place("encode_jpeg", image), quality, bytes);
  const Tensor result = empty({static_cast<int64_t>(bytes.size())}, {.dtype = u8});
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

void write_jpeg(const Tensor& image, const Text& path, int quality) {
  std::vector<std::byte> bytes;
  encode_jpeg(image_place("write_jpeg", image), quality, bytes);
  io::AtomicFile file(path);
  file.write(bytes.data(), bytes.size());
  file.commit();
}

}  // namespace aorta::data
