#pragma once

#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/tests/test_folder.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

namespace aorta::data {

/// Smooth colours that differ from frame to frame, u8 (C, H, W).
inline Tensor test_picture(int64_t height, int64_t width, int frame = 0, int64_t channels = 3) {
  const Tensor image = empty({channels, height, width}, {.dtype = u8});
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        image.at<uint8_t>({c, y, x}) = static_cast<uint8_t>(
            127 +
            100 * std::sin(static_cast<double>(x + 3 * frame) / (5.0 + static_cast<double>(c))) *
                std::cos(static_cast<double>(y) / 7.0 + frame));
  return image;
}

inline double mean_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const auto x = a.to_vector<int64_t>(), y = b.to_vector<int64_t>();
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += std::abs(static_cast<double>(x[i] - y[i]));
  return sum / static_cast<double>(x.size());
}

/// The arrays of a fixture by the part of their name before '/'.
inline std::map<std::string, std::map<std::string, Tensor>> fixture(const std::string& file) {
  std::map<std::string, std::map<std::string, Tensor>> result;
  for (const auto& [name, tensor] : load("tests/fixtures/data/" + file)) {
    const size_t slash = name.find('/');
    result[name.substr(0, slash)][name.substr(slash + 1)] = tensor;
  }
  return result;
}

}  // namespace aorta::data
