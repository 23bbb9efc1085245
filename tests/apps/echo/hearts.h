#pragma once

#include <aorta/apps/echo/segmenter.h>

#include <cmath>
#include <numbers>

#include <aorta/tests/apps/echo/test_files.h>

namespace aorta::echo {

/// A bright ellipse in the dark that beats: all of its axes shrink to `shrunk` of their largest and
/// grow again in `beat` frames; largest at frame `phase`. An ellipsoid's EF is then 1 - shrunk^3.
struct Heart {
  int64_t height = 112, width = 112, frames = 100;
  double x = 56.3, y = 54.2, long_half = 36, short_half = 18, angle = 1.4;
  double beat = 40, phase = 8, shrunk = 0.8;

  double scale(double frame) const {
    return 1 - (1 - shrunk) * (1 - std::cos(2 * std::numbers::pi * (frame - phase) / beat)) / 2;
  }
  double ef() const { return 100 * (1 - shrunk * shrunk * shrunk); }
  double area(double frame) const {
    return std::numbers::pi * long_half * short_half * scale(frame) * scale(frame);
  }

  Tensor video() const {
    Tensor video = full({frames, 3, height, width}, 40, {.dtype = u8});
    for (int64_t t = 0; t < frames; ++t) {
      Tensor frame = video[t][0];
      const double a = long_half * scale(static_cast<double>(t)),
                   b = short_half * scale(static_cast<double>(t));
      for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column) {
          const double dx = static_cast<double>(column) - x, dy = static_cast<double>(row) - y;
          const double along = (dx * std::cos(angle) + dy * std::sin(angle)) / a;
          const double across = (dy * std::cos(angle) - dx * std::sin(angle)) / b;
          if (along * along + across * across <= 1) frame.at<uint8_t>({row, column}) = 200;
        }
      video[t][1].copy_(frame);
      video[t][2].copy_(frame);
    }
    return video;
  }

  /// Rows of VolumeTracings.csv.
  std::string tracing(const std::string& name, int64_t frame) const {
    std::string rows;
    const double a = long_half * scale(static_cast<double>(frame)),
                 b = short_half * scale(static_cast<double>(frame));
    const auto row = [&](double u1, double v1, double u2, double v2) {
      const auto point = [&](double u, double v) {
        rows += "," + std::to_string(x + u * std::cos(angle) - v * std::sin(angle)) + "," +
                std::to_string(y + u * std::sin(angle) + v * std::cos(angle));
      };
      rows += name;
      point(u1, v1);
      point(u2, v2);
      rows += "," + std::to_string(frame) + "\n";
    };
    row(-a, 0, a, 0);
    for (int i = 0; i < 20; ++i) {
      const double t = -0.975 + 0.1 * i * 0.975 / 0.95, half = b * std::sqrt(1 - t * t);
      row(a * t, -half, a * t, half);
    }
    return rows;
  }
};

/// A folder in EchoNet's layout with a video a heart, all of TEST, traced at the first diastole and
/// the systole after it.
inline void write_hearts(const TestFolder& folder, const std::vector<Heart>& hearts) {
  std::string list = "FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split\n";
  std::string tracings = "FileName,X1,Y1,X2,Y2,Frame\n";
  std::filesystem::create_directories(folder.path / "Videos");
  for (size_t i = 0; i < hearts.size(); ++i) {
    const Heart& heart = hearts[i];
    const std::string name = "heart" + std::to_string(i);
    data::write_video(folder.file("Videos/" + name + ".avi"), heart.video());
    list += name + "," + std::to_string(heart.ef()) + ",1,2," + std::to_string(heart.height) + "," +
            std::to_string(heart.width) + ",50," + std::to_string(heart.frames) + ",TEST\n";
    const auto diastole = static_cast<int64_t>(heart.phase);
    tracings += heart.tracing(name + ".avi", diastole) +
                heart.tracing(name + ".avi", diastole + static_cast<int64_t>(heart.beat / 2));
  }
  folder.write("FileList.csv", list);
  folder.write("VolumeTracings.csv", tracings);
}

/// A network that says ventricle where a pixel's colours are brighter than `level` on average.
inline Segmenter brightness_segmenter(double level = 120) {
  nn::Conv2d convolution(3, 1, 1);
  const NoGradGuard no_grad;
  convolution.named_parameters()[0].second.fill_(1. / 3);
  convolution.named_parameters()[1].second.fill_(-level);
  return {.model_name = "brightness", .net = convolution, .mean = {0, 0, 0}, .std = {1, 1, 1}};
}

}  // namespace aorta::echo
