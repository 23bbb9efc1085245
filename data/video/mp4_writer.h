#pragma once

#include <aorta/core/io/file.h>
#include <aorta/data/images/jpeg_format.h>

#include <optional>
#include <string>
#include <vector>

namespace aorta::data {

/// Writes an MP4 file of H.264, which browsers play, by FFmpeg in libaorta_opencv.so. The file
/// appears at `path` when close() returns, whole. Frames of an odd height or width get a black row
/// or column more, for H.264 halves its colours.
class Mp4Writer {
 public:
  Mp4Writer(std::string path, int64_t height, int64_t width, double fps);
  Mp4Writer(const Mp4Writer&) = delete;
  Mp4Writer& operator=(const Mp4Writer&) = delete;
  ~Mp4Writer();

  void add(const ImagePlace& image);
  void close();

 private:
  void discard();

  std::string path_;
  std::optional<io::AtomicFile> file_;
  int64_t height_, width_;  // of what is written
  void* writer_ = nullptr;
  std::vector<uint8_t> pixels_;
};

}  // namespace aorta::data
