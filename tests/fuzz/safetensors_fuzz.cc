#include <aorta/core/io/safetensors_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Few mutations keep a CRC right, so what lies behind it is reached without.
  for (bool verify : {true, false}) {
    aorta::fuzz::parse_file(data, size, [&](auto& file) {
      auto header = aorta::safetensors::parse_header(file->bytes(), file->name());
      bool sums = verify && aorta::safetensors::verify_header(file->bytes(), header, file->name());
      for (const auto& entry : header.tensors) {
        if (sums) aorta::safetensors::verify_tensor(file->bytes(), header, entry, file->name());
        aorta::fuzz::touch(aorta::safetensors::read_array(file, header, entry));
      }
    });
  }
  return 0;
}
