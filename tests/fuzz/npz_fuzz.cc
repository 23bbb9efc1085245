#include <aorta/core/io/npz_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Few mutations keep a CRC right, so what lies behind it is reached without.
  for (bool verify : {true, false}) {
    aorta::fuzz::parse_file(data, size, [&](auto& file) {
      for (auto& [name, array] : aorta::npz::parse(file, {.verify = verify}))
        aorta::fuzz::touch(array);
    });
  }
  return 0;
}
