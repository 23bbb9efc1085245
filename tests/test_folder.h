#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace aorta {

/// A folder of its own that goes away.
struct TestFolder {
  TestFolder() {
    static int count = 0;
    path = std::filesystem::path(::testing::TempDir()) /
           ("aorta_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path);
  }
  ~TestFolder() { std::filesystem::remove_all(path); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  std::string str() const { return path.string(); }
  std::string file(const std::string& name) const { return (path / name).string(); }
  /// Writes a file and gives its path.
  std::string write(const std::string& name, const std::string& contents) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << contents;
    return file(name);
  }

  /// The names of what lies in it.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path))
      names.push_back(entry.path().filename());
    return names;
  }

  std::filesystem::path path;
};

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace aorta
