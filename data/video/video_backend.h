#pragma once

#include <aorta/data/images/jpeg_format.h>
#include <aorta/data/video/video.h>

namespace aorta::data {

/// One way of reading a video file.
class VideoReader::Backend {
 public:
  virtual ~Backend() = default;
  virtual int64_t frame_count() = 0;
  /// Frame `index`, not negative, into `place`, whose size is the video's.
  virtual void read(int64_t index, const ImagePlace& place) = 0;

  std::string path;
  double fps = 0;
  int64_t height = 0;
  int64_t width = 0;
};

/// By DCMTK, in libaorta_dicom.so.
std::unique_ptr<VideoReader::Backend> open_dicom(const std::string& path);
/// By OpenCV, in libaorta_opencv.so.
std::unique_ptr<VideoReader::Backend> open_by_opencv(const std::string& path);

}  // namespace aorta::data
