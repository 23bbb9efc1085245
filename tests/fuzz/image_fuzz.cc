#include <aorta/data/images/image.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <zlib.h>

#include <vector>

namespace {

// Few mutations keep the sums of a PNG's chunks right.
void repair_png(std::vector<uint8_t>& bytes) {
  const auto number = [&](size_t at) {
    return uint64_t{bytes[at]} << 24 | bytes[at + 1] << 16 | bytes[at + 2] << 8 | bytes[at + 3];
  };
  for (size_t at = 8; at + 12 <= bytes.size();) {
    const uint64_t length = number(at);
    if (length > bytes.size() - at - 12) return;
    const auto sum = crc32(0, bytes.data() + at + 4, static_cast<uInt>(length + 4));
    at += 8 + length;
    for (int i = 0; i < 4; ++i) bytes[at++] = static_cast<uint8_t>(sum >> (24 - 8 * i));
  }
}

// What says to have more pixels than a run may take is left to the check of its size.
bool is_large(const std::vector<uint8_t>& bytes) {
  if (bytes.size() < 24 || bytes[0] != 0x89) return false;
  return bytes[16] || bytes[17] || bytes[20] || bytes[21];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  for (const bool repaired : {false, true}) {
    std::vector<uint8_t> bytes(data, data + size);
    if (repaired) repair_png(bytes);
    if (is_large(bytes)) continue;
    for (const auto mode : {data::ImageMode::unchanged, data::ImageMode::gray}) {
      try {
        const Tensor image = data::decode_image(std::as_bytes(std::span(bytes)), mode, "input");
        if (image.dim() != 3 || image.dtype() != u8) std::abort();
      } catch (const Error& error) {
        fuzz::judge(error.what(), bytes.data(), bytes.size());
      }
    }
  }
  return 0;
}
