#include <aorta/core/io/bytes.h>
#include <aorta/core/ops/creation.h>
#include <aorta/data/images/image_bytes.h>

#include <algorithm>

namespace aorta::data {

Tensor planar_image(const uint8_t* pixels, int64_t height, int64_t width, int64_t channels,
                    ImageMode mode) {
  const bool colour = channels >= 3;
  const int64_t wanted = mode == ImageMode::unchanged ? channels : mode == ImageMode::gray ? 1 : 3;
  const Tensor image = empty({wanted, height, width}, {.dtype = u8});
  const int64_t area = height * width;
  auto* to = image.data<uint8_t>();
  if (mode == ImageMode::gray && colour) {
    for (int64_t i = 0; i < area; ++i) {  // Pillow's 16-bit weights
      const uint8_t* p = pixels + i * channels;
      to[i] = static_cast<uint8_t>((p[0] * 19595 + p[1] * 38470 + p[2] * 7471 + 0x8000) >> 16);
    }
    return image;
  }
  for (int64_t c = 0; c < wanted; ++c) {
    const uint8_t* from = pixels + (colour || mode == ImageMode::unchanged ? c : 0);
    for (int64_t i = 0; i < area; ++i) *to++ = from[i * channels];
  }
  return image;
}

namespace {

// The header's numbers: blanks between them, and comments from # to the end of a line.
class PnmHeader {
 public:
  PnmHeader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  int64_t number(const char* what) {
    skip();
    int64_t value = 0;
    const size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && value < 1000000; ++at_)
      value = value * 10 + (text_[at_] - '0');
    check(at_ > start && value > 0 && value < 1000000, name_,
          std::string("PNM header must have a ") + what + " from 1 to 999999",
          io::quote(text_.substr(start, 10)));
    return value;
  }
  size_t end() const { return at_; }

 private:
  void skip() {
    while (at_ < text_.size() && (is_blank(text_[at_]) || text_[at_] == '#')) {
      if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size() - 1);
      ++at_;
    }
  }
  static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::string_view text_;
  const std::string& name_;
  size_t at_ = 2;
};

}  // namespace

Tensor decode_pnm(std::span<const std::byte> bytes, ImageMode mode, const std::string& name) {
  const std::string_view text = io::as_text(bytes);
  check(text.starts_with("P5") || text.starts_with("P6"), name,
        "PNM image must start with P5 or P6", io::quote(text.substr(0, 10)));
  PnmHeader header(text, name);
  const int64_t channels = text[1] == '5' ? 1 : 3;
  const int64_t width = header.number("width");
  const int64_t height = header.number("height");
  const int64_t most = header.number("largest value");
  check(most <= 255, name, "PNM image must have 8 bits a channel", most, " as the largest value");
  const size_t start = header.end() + 1;  // one blank
  const auto size = static_cast<size_t>(width * height * channels);
  check(start <= bytes.size() && bytes.size() - start >= size, name,
        "data must be as long as the image's size says",
        bytes.size() - std::min(start, bytes.size()), " bytes for ", height, " x ", width);
  const Tensor image = planar_image(reinterpret_cast<const uint8_t*>(bytes.data() + start), height,
                                    width, channels, mode);
  if (most == 255) return image;
  auto* pixels = image.data<uint8_t>();
  for (int64_t i = 0; i < image.numel(); ++i)
    pixels[i] = static_cast<uint8_t>((std::min<int64_t>(pixels[i], most) * 255 + most / 2) / most);
  return image;
}

}  // namespace aorta::data
