#pragma once

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/tests/siege/judge.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace aorta::fuzz {

/// Called with the text of every Error instead of ending the program at an unclear one.
inline void (*seen)(std::string_view text, std::string_view fault) = nullptr;

/// An Error is a good answer, as long as its text is clear, starts with the file's name and has no
/// number that isn't in the file; anything else that goes wrong ends the program.
inline void judge(std::string_view text, const uint8_t* data, size_t size,
                  std::string_view name = "input") {
  std::string fault = siege::fault_of(text);
  if (fault.empty() && text.find(name) == std::string_view::npos) fault = "must name its file";
  // What a compressed file holds isn't seen in it.
  const bool compressed = size > 1 && data[0] == 0x1f && data[1] == 0x8b;
  if (const std::string number =
          compressed ? "" : siege::number_not_in(text, {reinterpret_cast<const char*>(data), size});
      fault.empty() && !number.empty())
    fault = "must have no number that isn't in the file, as " + number;
  if (seen) return seen(text, fault);
  if (fault.empty()) return;
  std::fprintf(stderr, "a message %s: %.*s\n", fault.c_str(), static_cast<int>(text.size()),
               text.data());
  std::abort();
}

/// Runs `parse` on the input as if it were a file.
template <class Parse>
void parse_file(const uint8_t* data, size_t size, Parse parse) {
  auto file = io::FileBytes::copy("input", std::as_bytes(std::span(data, size)));
  try {
    parse(file);
  } catch (const Error& error) {
    judge(error.what(), data, size);
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
