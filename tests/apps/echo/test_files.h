#pragma once

#include <aorta/aorta.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace aorta::echo {

/// A folder of its own that goes away.
struct TestFolder {
  TestFolder() {
    static int count = 0;
    path = std::filesystem::path(::testing::TempDir()) /
           ("echo_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path);
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string str() const { return path.string(); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  void write(const std::string& name, const std::string& contents) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << contents;
  }

  std::filesystem::path path;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

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
