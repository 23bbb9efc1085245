#pragma once

#include <aorta/aorta.h>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

namespace aorta::echo {

/// A folder in EchoNet-Dynamic's layout with videos of a bright ellipse that beats in noise:
/// `train` videos, and 2 each of VAL and TEST.
inline std::string tiny_echo_folder(const std::string& name, int train = 6, int side = 32) {
  const std::string folder = ::testing::TempDir() + name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/Videos");
  std::ofstream list(folder + "/FileList.csv"), traces(folder + "/VolumeTracings.csv");
  list << "FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split\n";
  traces << "FileName,X1,Y1,X2,Y2,Frame\n";
  Generator random(7);
  const int frames = 6;
  for (int i = 0; i < train + 4; ++i) {
    const std::string file = "0X" + std::to_string(1000 + i);
    const double x = side * (0.4 + 0.2 * random.next_uniform()), y = side * 0.5;
    const auto radius = [&](int t) { return side * (t % 6 < 3 ? 0.28 : 0.2); };
    Tensor video = (rand({frames, 3, side, side}, {}, &random) * 60).to(u8);
    for (int t = 0; t < frames; ++t)
      for (int c = 0; c < 3; ++c)
        for (int row = 0; row < side; ++row)
          for (int column = 0; column < side; ++column) {
            const double dx = (column - x) / (0.7 * radius(t)), dy = (row - y) / radius(t);
            if (dx * dx + dy * dy <= 1) video.at<uint8_t>({t, c, row, column}) += 120;
          }
    data::write_video(folder + "/Videos/" + file + ".avi", video);
    list << file << ",50,50,100," << side << "," << side << ",50," << frames << ","
         << (i < train       ? "TRAIN"
             : i < train + 2 ? "VAL"
                             : "TEST")
         << "\n";
    for (const int t : {0, 3}) {
      const double r = radius(t);
      traces << file << ".avi," << x << "," << y - r << "," << x << "," << y + r << "," << t
             << "\n";
      for (int chord = 0; chord < 20; ++chord) {
        const double v = -0.95 + 0.1 * chord, half = 0.7 * r * std::sqrt(1 - v * v);
        traces << file << ".avi," << x - half << "," << y + r * v << "," << x + half << ","
               << y + r * v << "," << t << "\n";
      }
    }
  }
  return folder;
}

}  // namespace aorta::echo
