#pragma once

#include <aorta/core/check.h>

#include <string>

namespace aorta {

inline constexpr const char* kNoError = "no error";

/// The text of the Error that `f` throws, kNoError when it throws none.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return kNoError;
}

}  // namespace aorta
