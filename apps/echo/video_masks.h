#pragma once

#include <aorta/apps/echo/segmenter.h>
#include <aorta/data/video/video.h>

#include <functional>
#include <map>

namespace aorta::echo {

/// The frames of a video by their number, each u8 (3, H, W) of one size.
struct VideoFrames {
  int64_t count = 0;
  std::function<Tensor(int64_t frame)> read;

  /// Those of a file, which must outlive this.
  static VideoFrames of(const data::VideoReader& video);
};

/// The first frames of the windows of `length` frames that cover `count`, each half a window after
/// the one before; the last ends with the video. One where the video is no longer than a window.
std::vector<int64_t> window_starts(int64_t count, int64_t length);

/// What a segmenter finds in a video, a few frames at a time.
///
/// A network of frames sees each by itself. One of clips sees windows of frames x period frames of
/// the video, each as `period` clips: a frame's logits are the mean of those of all windows that
/// cover it. A video shorter than a window is one window of shorter clips; its last frame stands
/// for those by which some of these are too short. Of frames in their order each window is
/// computed once, and what is held are the windows of the last call.
class VideoMasks {
 public:
  VideoMasks(const Segmenter& segmenter, VideoFrames video)
      : segmenter_(segmenter), video_(std::move(video)) {}

  /// f32 (count, H, W) on the CPU, of the frames from `first` on.
  Tensor logits(int64_t first, int64_t count);
  /// u8: 1 where a logit is above 0.
  Tensor masks(int64_t first, int64_t count);
  /// The mask of one frame, (H, W).
  Tensor mask(int64_t frame);

 private:
  Tensor window(int64_t start, int64_t length) const;

  const Segmenter& segmenter_;
  VideoFrames video_;
  std::map<int64_t, Tensor> windows_;  // logits (length, H, W) by the first frame
};

}  // namespace aorta::echo
