#pragma once

#include <aorta/aorta.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace aorta::echo {

/// The arrays of echo.npz (make_echo.py) by the part of their name before '/'.
inline std::map<std::string, std::map<std::string, Tensor>> echo_fixture() {
  std::map<std::string, std::map<std::string, Tensor>> result;
  for (const auto& [name, tensor] : load("tests/fixtures/tools/echo.npz")) {
    const size_t slash = name.find('/');
    result[name.substr(0, slash)][name.substr(slash + 1)] = tensor;
  }
  return result;
}

}  // namespace aorta::echo
