#include <aorta/data/gzip.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <array>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::fuzz::parse_file(data, size, [&](auto& file) {
    if (!aorta::data::GzipReader::is_gzip(*file)) return;
    aorta::data::GzipReader reader(*file);
    std::array<std::byte, 1000> buffer;
    uint64_t total = 0;
    while (const size_t count = reader.read(buffer)) total += count;
    if (total > size * 1032 + 40000) std::abort();
    reader.check_end();
  });
  return 0;
}
