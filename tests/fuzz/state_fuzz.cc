#include <aorta/core/io/state_format.h>

#include <aorta/tests/fuzz/fuzz.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  aorta::fuzz::parse_file(data, size, [](auto& file) {
    namespace format = aorta::state_format;
    auto header = aorta::safetensors::parse_header(file->bytes(), file->name());
    format::check_version(header.metadata, file->name());
    for (auto& [name, value] : format::parse_values(header.metadata, file->name())) {
      // What is read is written as text that reads back as itself. (An empty list has no type.)
      std::string text = format::value_text(value);
      if (format::value_text(format::parse_value(text, "input")) != text) std::abort();
    }
  });
  return 0;
}
