#include <aorta/core/check.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/view.h>
#include <aorta/data/images/animated_png.h>
#include <aorta/data/images/png.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

namespace aorta::data {
namespace {

constexpr size_t kSignature = 8, kPngHead = 8, kPngCheck = 4;  // of a chunk: length, name; CRC

void put_u32(std::string& text, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 0xff);
}

void put_png_chunk(std::string& text, std::string_view name, std::string_view content) {
  put_u32(text, static_cast<uint32_t>(content.size()));
  const size_t begin = text.size();
  text += name;
  text += content;
  const auto* bytes = reinterpret_cast<const Bytef*>(text.data() + begin);
  put_u32(text, static_cast<uint32_t>(crc32(0, bytes, static_cast<uInt>(text.size() - begin))));
}

// visit(name, content) of each chunk of a file that encode_png() made.
template <class Visit>
void each_png_chunk(std::string_view file, const Visit& visit) {
  for (size_t at = kSignature; at + kPngHead + kPngCheck <= file.size();) {
    uint32_t size = 0;
    for (size_t k = 0; k < 4; ++k) size = size << 8 | static_cast<uint8_t>(file[at + k]);
    visit(file.substr(at + 4, 4), file.substr(at + kPngHead, size));
    at += kPngHead + size + kPngCheck;
  }
}

// fcTL: a whole frame, shown for a part of a second, in place of the one before.
std::string frame_control(uint32_t number, const Tensor& frames, double fps) {
  std::string control;
  put_u32(control, number);
  put_u32(control, static_cast<uint32_t>(frames.size(3)));
  put_u32(control, static_cast<uint32_t>(frames.size(2)));
  put_u32(control, 0);
  put_u32(control, 0);
  constexpr uint16_t kParts = 1000;  // of a second
  const auto delay = static_cast<uint16_t>(std::clamp(std::lround(kParts / fps), 1L, 65535L));
  for (const uint16_t value : {delay, kParts}) {
    control += static_cast<char>(value >> 8);
    control += static_cast<char>(value & 0xff);
  }
  return control + std::string(2, '\0');
}

}  // namespace

Tensor encode_animated_png(const Tensor& frames, double fps) {
  check_defined("encode_animated_png", {{"frames", frames}});
  check(frames.dtype() == u8 && frames.dim() == 4 && frames.size(0) > 0, "encode_animated_png",
        "frames must be u8 (T, C, H, W)", frames.dtype(), " ", frames.shape());
  check(fps >= 0.02 && fps <= 1000, "encode_animated_png", "fps must be 0.02 to 1000", fps);
  std::string file;
  uint32_t number = 0;  // of a chunk of the animation
  for (int64_t i = 0; i < frames.size(0); ++i) {
    const Tensor png = encode_png(frames[i]);
    const std::string_view bytes(reinterpret_cast<const char*>(png.data<uint8_t>()),
                                 static_cast<size_t>(png.numel()));
    if (i == 0) file = bytes.substr(0, kSignature);
    bool controlled = false;
    each_png_chunk(bytes, [&](std::string_view name, std::string_view content) {
      if (name == "IDAT") {
        if (!controlled) put_png_chunk(file, "fcTL", frame_control(number++, frames, fps));
        controlled = true;
        std::string numbered;
        if (i > 0) put_u32(numbered, number++);
        put_png_chunk(file, i == 0 ? "IDAT" : "fdAT", numbered + std::string(content));
      } else if (i == 0 && name == "IHDR") {
        put_png_chunk(file, name, content);
        std::string animation;
        put_u32(animation, static_cast<uint32_t>(frames.size(0)));
        put_u32(animation, 0);  // for ever
        put_png_chunk(file, "acTL", animation);
      }
    });
  }
  put_png_chunk(file, "IEND", "");
  const Tensor result = empty({static_cast<int64_t>(file.size())}, {.dtype = u8});
  std::copy(file.begin(), file.end(), reinterpret_cast<char*>(result.data<uint8_t>()));
  return result;
}

}  // namespace aorta::data
