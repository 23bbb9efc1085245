#include <aorta/data/lmdb_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace aorta;
  fuzz::parse_file(data, size, [&](auto& file) {
    const auto source = data::ByteSource::view("input", file->bytes());
    // A place, a node's head and a letter.
    const auto most = static_cast<int64_t>(size / 11);
    const int64_t values = data::check_lmdb(*source, "lmdb");
    if (values < 0 || values > most) std::abort();
  });
  return 0;
}
