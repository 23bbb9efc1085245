#pragma once

#include <cstddef>
#include <cstdint>

/// What libaorta_opencv.so offers to the library that loads it: video files by OpenCV and
/// FFmpeg. Plain C, so
/// that the two share nothing else.
extern "C" {

struct aorta_opencv_video {
  /// The version of this table; a library that was built for another version is refused.
  int version;
  /// A video file, or null with the reason in `error`.
  void* (*open)(const char* path, double* fps, int64_t* height, int64_t* width, char* error,
                size_t error_size);
  void (*close)(void* video);
  /// Moves on to the next frame: 1, or 0 at the end, or -1 with the reason in `error`.
  int (*next)(void* video, char* error, size_t error_size);
  /// The present frame, rows of pixels of 3 channels (red, green, blue) or 1: 1, or -1.
  int (*pixels)(void* video, int channels, uint8_t* out, char* error, size_t error_size);
  /// A new file of H.264 in MP4, or null with the reason in `error`; height and width are even.
  void* (*create)(const char* path, double fps, int64_t height, int64_t width, char* error,
                  size_t error_size);
  /// Appends a frame, rows of red, green and blue: 1, or -1.
  int (*add)(void* writer, const uint8_t* pixels, char* error, size_t error_size);
  /// Ends the file: 1, or -1. Then, as after an error, nothing but discard is to be called.
  int (*finish)(void* writer, char* error, size_t error_size);
  void (*discard)(void* writer);
};

const aorta_opencv_video* aorta_opencv_video_table();
}

namespace aorta::data {
inline constexpr int kOpencvVideoVersion = 4;
/// The reasons in `error` where memory or descriptors couldn't be had.
inline constexpr char kOpencvHasNoMemory[] = "no more memory";
inline constexpr char kOpencvHasNoThread[] = "no thread for it (memory and limits allow no more)";
inline constexpr char kOpencvHasNoDescriptors[] =
    "too few descriptors (ulimit -n shows how many files may be open)";
}  // namespace aorta::data
