#pragma once

#include <aorta/core/check.h>

#include <string>

namespace aorta {

/// The text of the Error that `f` throws.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace aorta
