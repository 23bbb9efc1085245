#pragma once

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>

#include <cstdlib>

namespace aorta::fuzz {

/// Runs `parse` on the input as if it were a file. An Error is a good answer, as long as it is one
/// line that starts with the file's name; anything else that goes wrong ends the program.
template <class Parse>
void parse_file(const uint8_t* data, size_t size, Parse parse) {
  auto file = io::FileBytes::copy("input", std::as_bytes(std::span(data, size)));
  try {
    parse(file);
  } catch (const Error& error) {
    std::string_view text = error.what();
    if (!text.starts_with("input") || text.find('\n') != std::string_view::npos) std::abort();
  }
}

/// Reads every byte of the array, so that a range that is wrong shows under the address sanitizer.
inline void touch(const io::Array& array) {
  auto size = io::size_in_bytes("touch", array.shape, item_size(array.dtype) * 8);
  if (size != array.size_bytes) std::abort();
  unsigned sum = 0;
  for (size_t i = 0; i < array.size_bytes; ++i) sum += std::to_integer<unsigned>(array.data()[i]);
  [[maybe_unused]] static volatile unsigned sink;
  sink = sum;
}

}  // namespace aorta::fuzz
