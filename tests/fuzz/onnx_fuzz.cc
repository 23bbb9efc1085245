#include <aorta/onnx/program.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::fuzz::parse_file(data, size, [&](auto& file) {
    for (const auto& [name, tensor] : aorta::onnx::load(file).state_dict())
      aorta::io::quote(name + to_string(tensor));
  });
  return 0;
}
