#include <aorta/data/idx_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::fuzz::parse_file(data, size,
                          [](auto& file) { aorta::fuzz::touch(aorta::data::parse_idx(file)); });
  return 0;
}
