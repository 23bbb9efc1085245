#include <aorta/data/images/jpeg_format.h>

#include <aorta/tests/fuzz/fuzz.h>

namespace {
// Little enough that the largest image with the most scans takes no second.
constexpr int64_t kMaxPixels = 1 << 14;
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  fuzz::parse_file(data, size, [](auto& file) {
    const auto header = data::parse_jpeg_header("input", file->bytes(), kMaxPixels);
    for (const int64_t channels : {1, 3}) {
      std::vector<uint8_t> pixels(static_cast<size_t>(header.height * header.width * channels));
      data::decode_jpeg("input", file->bytes(),
                        {.data = pixels.data(),
                         .channels = channels,
                         .height = header.height,
                         .width = header.width,
                         .channel_stride = header.height * header.width,
                         .row_stride = header.width,
                         .pixel_stride = 1},
                        kMaxPixels);
    }
  });
  return 0;
}
