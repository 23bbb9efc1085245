#include <aorta/core/io/bytes.h>
#include <aorta/data/images/image.h>
#include <aorta/data/images/image_bytes.h>
#include <aorta/data/images/jpeg.h>
#include <aorta/data/images/png.h>
#include <aorta/data/stages.h>

namespace aorta::data {

Tensor decode_image(std::span<const std::byte> bytes, ImageMode mode, const Text& name) {
  const StageScope scope(Stage::decode);
  const std::string_view text = io::as_text(bytes);
  if (text.starts_with("\xff\xd8")) return decode_jpeg(bytes, mode, name);
  if (text.starts_with("\x89PNG")) return decode_png(bytes, mode, name);
  if (text.starts_with("P5") || text.starts_with("P6")) return decode_pnm(bytes, mode, name);
  fail(name, "an image must be JPEG, PNG, or PNM (P5, P6)", io::quote(text.substr(0, 8)));
}

Tensor read_image(const Text& path, ImageMode mode) {
  const StageScope scope(Stage::open);
  return decode_image(io::FileBytes::map(path)->bytes(), mode, path);
}

}  // namespace aorta::data
