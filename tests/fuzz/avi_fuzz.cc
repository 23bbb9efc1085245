#include <aorta/data/video/avi_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  fuzz::parse_file(data, size, [&](auto& file) {
    const auto source = data::ByteSource::view("input", file->bytes());
    const data::AviIndex avi = data::parse_avi(*source);
    if (avi.frames.size() > file->size() / 8 || avi.width <= 0 || avi.height <= 0) std::abort();
    std::vector<std::byte> buffer;
    for (size_t i = 0; i < avi.frames.size(); ++i) {
      const auto& frame = avi.frames[i];
      if (frame.offset + 8 + frame.size > file->size()) std::abort();
      try {
        const auto bytes = data::read_avi_frame(*source, avi, static_cast<int64_t>(i), buffer);
        if (bytes.empty() || bytes.size() > file->size()) std::abort();
      } catch (const Error& error) {
        fuzz::judge(error.what(), data, size);
      }
    }
  });
  return 0;
}
