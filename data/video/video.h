#pragma once

#include <aorta/core/tensor.h>
#include <aorta/data/images/jpeg.h>

#include <memory>
#include <span>
#include <string>

namespace aorta::data {

/// The frames of a video file, by number.
///
///     data::VideoReader video("a.avi");
///     Tensor first = video.read(0);          // u8 (3, H, W)
///     Tensor every_other = video.read(0, 16, 2);  // u8 (16, 3, H, W)
///
/// Motion JPEG in AVI is read by the file's index: a frame costs the reading and decoding of that
/// frame alone, and the pixels are those of OpenCV's own reader (CAP_OPENCV_MJPEG). DICOM files are
/// read by number, too, in libaorta_dicom.so (dicom.h). Any other format goes through OpenCV in
/// libaorta_opencv.so, which is loaded when it is first needed, and frame by frame from the start,
/// since seeking isn't exact there: reading forward is cheap, reading back is not. Use a reader
/// from one thread at a time. Errors start with the path: `a.avi: frame must be 0 to the number of
/// frames - 1, got 57 of 57`.
class VideoReader {
 public:
  /// `mode`: gray gives (1, H, W), rgb and unchanged (3, H, W).
  explicit VideoReader(const Text& path, ImageMode mode = ImageMode::rgb);
  class Backend;
  /// Frames from elsewhere: a way of one's own to read them (video_backend.h).
  explicit VideoReader(std::unique_ptr<Backend> backend, ImageMode mode = ImageMode::rgb);
  VideoReader(VideoReader&&) noexcept;
  VideoReader& operator=(VideoReader&&) noexcept;
  ~VideoReader();

  const std::string& path() const;
  /// For a format that OpenCV reads, this goes through the file once: what such files say of
  /// themselves is an estimate.
  int64_t frame_count() const;
  /// Frames a second; 0 where the file doesn't say.
  double fps() const;
  int64_t height() const;
  int64_t width() const;
  int64_t channels() const;

  /// u8 (C, H, W).
  Tensor read(int64_t index) const;
  /// Frames first, first + step, ...: u8 (count, C, H, W).
  Tensor read(int64_t first, int64_t count, int64_t step = 1) const;
  /// Writes a frame into `place`, u8 (C, H, W) with any strides that don't overlap, C = 1 or 3.
  void read_into(int64_t index, const Tensor& place) const;

 private:
  std::unique_ptr<Backend> backend_;
  int64_t channels_;
};

/// How a VideoWriter writes.
struct VideoWriterOptions {
  double fps = 50;
  /// The quality of an AVI file's JPEG images, 1 to 100; 95 is what OpenCV takes.
  int quality = 95;
};

/// Writes a video that VideoReader, OpenCV and players read: AVI of Motion JPEG, at most 1 GiB; or,
/// where the name says .mp4, H.264, which browsers play, by FFmpeg in libaorta_opencv.so. The file
/// appears when close() returns, whole; without it, nothing is left.
class VideoWriter {
 public:
  /// `path` ends with ".avi" or ".mp4".
  explicit VideoWriter(const Text& path, const VideoWriterOptions& options = {});
  VideoWriter(VideoWriter&&) noexcept;
  VideoWriter& operator=(VideoWriter&&) noexcept;
  ~VideoWriter();

  /// A frame, u8 (C, H, W), C = 1 or 3; all of one size. (T, C, H, W) or several: their JPEG images
  /// are compressed by all threads.
  void write(const Tensor& frames);
  void write(std::span<const Tensor> frames);
  void close();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Why no .mp4 file can be written; empty where libaorta_opencv.so is there.
std::string mp4_problem();

/// A whole video at once: u8 (T, C, H, W).
void write_video(const Text& path, const Tensor& frames, const VideoWriterOptions& options = {});

}  // namespace aorta::data
