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

/// Whether it is a gzip file, or a zip file with a deflated member: what these hold isn't seen in
/// their bytes.
inline bool is_compressed(std::string_view input) {
  constexpr std::string_view kGzip = "\x1f\x8b", kMember = "PK\x03\x04", kDeflated("\x08\x00", 2);
  if (input.starts_with(kGzip)) return true;
  for (size_t at = input.find(kMember); at != input.npos; at = input.find(kMember, at + 1))
    if (at + 10 <= input.size() && input.substr(at + 8, 2) == kDeflated) return true;
  return false;
}

/// An Error is a good answer, as long as its text is clear, starts with the file's name and has no
/// number that isn't in the file; anything else that goes wrong ends the program.
inline void judge(std::string_view text, const uint8_t* data, size_t size,
                  std::string_view name = "input") {
  std::string fault = siege::fault_of(text);
  if (fault.empty() && text.find(name) == std::string_view::npos) fault = "must name its file";
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const std::string number = is_compressed(input) ? "" : siege::number_not_in(text, input);
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
