#pragma once

#include <aorta/core/check.h>
#include <aorta/core/io/bytes.h>
#include <aorta/core/tensor.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

/// What the tests of the file formats share.
namespace aorta::io_test {

/// A file that tests/fixtures/core/make_io_fixtures.py made with numpy or the safetensors package.
inline std::string fixture(const std::string& name) { return "tests/fixtures/core/io/" + name; }

/// A path that no other test uses.
inline std::string temporary(const std::string& name) {
  return ::testing::TempDir() + "/" + std::to_string(::getpid()) + "_" + name;
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.is_open(), "read_file", "the file must be there", path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

inline std::shared_ptr<const io::FileBytes> in_memory(std::string_view contents) {
  return io::FileBytes::copy("file", std::as_bytes(std::span(contents)));
}

/// Passes when `f` throws an Error of one line that contains `text`.
template <class F>
::testing::AssertionResult fails_with(const std::string& text, F f) {
  const std::string error = error_of(f);
  if (error == kNoError) return ::testing::AssertionFailure() << "no error instead of: " << text;
  if (error.find(text) == std::string::npos || error.find('\n') != std::string::npos)
    return ::testing::AssertionFailure() << "\"" << error << "\" instead of: " << text;
  return ::testing::AssertionSuccess();
}

/// Element k of a fixture: k % 2 for bool, k for unsigned, k - 2 for signed integers and
/// (k - 2) / 2 for floating dtypes; `kind` is numpy's letter.
inline std::vector<double> formula(char kind, int64_t count) {
  std::vector<double> values;
  for (int64_t k = 0; k < count; ++k) {
    auto x = static_cast<double>(k);
    values.push_back(kind == 'b'   ? static_cast<double>(k % 2)
                     : kind == 'u' ? x
                     : kind == 'i' ? x - 2
                                   : (x - 2) / 2);
  }
  return values;
}

inline std::vector<double> elements(DType dtype, const void* data, size_t size_bytes) {
  std::vector<double> values;
  for (size_t at = 0; at < size_bytes; at += static_cast<size_t>(item_size(dtype))) {
    visit_dtype(dtype, [&]<class T>(T) {
      T value;
      std::memcpy(&value, static_cast<const char*>(data) + at, sizeof value);
      if constexpr (sizeof(T) == 2)
        values.push_back(static_cast<float>(value));
      else
        values.push_back(static_cast<double>(value));
    });
  }
  return values;
}

inline std::vector<double> elements(const io::Array& array) {
  return elements(array.dtype, array.data(), array.size_bytes);
}

inline std::vector<double> elements(const Tensor& tensor) {
  return elements(tensor.dtype(), tensor.data(), static_cast<size_t>(tensor.nbytes()));
}

}  // namespace aorta::io_test
