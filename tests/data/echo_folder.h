#pragma once

#include <aorta/core/ops/join.h>
#include <aorta/data/datasets/echo.h>
#include <aorta/data/video/video.h>

#include <aorta/tests/data/test_files.h>

namespace aorta::data {

inline constexpr int64_t kSide = 32;

inline EchoOptions with_targets(std::vector<std::string> targets,
                                EchoSplit split = EchoSplit::train) {
  EchoOptions options;
  options.split = split;
  options.targets = std::move(targets);
  options.video = false;
  return options;
}

// A square trace of that half side around (cx, cy): the long axis, then three rows from top to
// bottom.
inline std::string trace(const std::string& name, int frame, double cx, double cy, double half) {
  std::string rows;
  const auto row = [&](double x1, double y1, double x2, double y2) {
    rows += name + "," + std::to_string(x1) + "," + std::to_string(y1) + "," + std::to_string(x2) +
            "," + std::to_string(y2) + "," + std::to_string(frame) + "\n";
  };
  row(cx, cy - half, cx, cy + half);
  for (const double y : {cy - half, cy, cy + half}) row(cx - half, y, cx + half, y);
  return rows;
}

// Five videos: a and b to train with, c to validate, d to test, e without traces. In b the rows of
// the large frame come first; in d the large trace reaches a pixel over the frame's edge.
struct EchoFolder : TestFolder {
  EchoFolder() {
    std::filesystem::create_directories(path / "Videos");
    for (const auto& [name, count] :
         {std::pair{"a", 40}, {"b", 20}, {"c", 9}, {"d", 33}, {"e", 12}}) {
      std::vector<Tensor> frames;
      for (int i = 0; i < count; ++i)
        frames.push_back(test_picture(kSide, kSide, i + name[0]).unsqueeze(0));
      write_video(video(name), cat(frames), {.fps = 50, .quality = 90});
    }
    list =
        "FileName,EF,ESV,EDV,FrameHeight,FrameWidth,FPS,NumberOfFrames,Split\n"
        "a,60.5,20,50.25,32,32,50,40,TRAIN\n"
        "b.avi,55,30,66,32,32,50,20,train\n"
        "c,40,10,20,32,32,50,9,VAL\n"
        "d,50,10,20,32,32,50,33,TEST\n"
        "e,50,10,20,32,32,50,12,TRAIN\n";
    tracings = "FileName,X1,Y1,X2,Y2,Frame\n" + trace("a.avi", 33, 15, 15, 4.4) +
               trace("a.avi", 3, 15, 16, 9) + trace("b", 2, 10, 10, 8) + trace("b", 11, 12, 12, 3) +
               trace("c.avi", 0, 20, 20, 5) + trace("c.avi", 8, 20, 20, 6) +
               trace("d.avi", 1, 23, 23, 8) + trace("d.avi", 30, 23, 23, 9);
    save();
  }
  void save() const {
    write("FileList.csv", list);
    write("VolumeTracings.csv", tracings);
  }
  std::string video(const std::string& name) const { return file("Videos/" + name + ".avi"); }
  std::string str() const { return path.string(); }

  std::string list, tracings;
};

}  // namespace aorta::data
