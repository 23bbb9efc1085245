#include <aorta/onnx/program.h>

#include <aorta/tests/fuzz/fuzz.h>

#include <cstdlib>

namespace {

#ifdef __SANITIZE_ADDRESS__
// The sanitizer calls dlopen in our place, and with it the search along our run path is gone.
[[maybe_unused]] const int kPluginNamed = setenv("AORTA_ONNX_PLUGIN", "onnx/libaorta_onnx.so", 0);
#endif

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::onnx::plugin("input");  // where it isn't there, nothing would be tried
  aorta::fuzz::parse_file(data, size, [&](auto& file) {
    for (const auto& [name, tensor] : aorta::onnx::load(file).state_dict())
      aorta::io::quote(name + to_string(tensor));
  });
  return 0;
}
