#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aorta {

/// Where a function lies: in the program, or in a library of this path, so many bytes behind its
/// beginning. Every process of a program that has loaded the library finds it there, wherever the
/// kernel put it.
struct FunctionPlace {
  std::string path;  // of the library; empty: the program
  uint64_t offset = 0;

  static FunctionPlace of(const void* function);
  /// Its address in this process; null where the library isn't loaded.
  void* address() const;

  /// The place as bytes, and back from their beginning, which is taken away.
  std::string text() const;
  static FunctionPlace parse(std::string_view& bytes);
};

/// Tells the program that runs from others, and from other builds of it: functions have the same
/// places in processes where it is the same.
std::string program_identity();

}  // namespace aorta
