#include <aorta/core/io/npy_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::fuzz::parse_file(data, size, [](auto& file) {
    aorta::fuzz::touch(aorta::npy::parse(file, 0, file->size(), file->name()));
  });
  return 0;
}
