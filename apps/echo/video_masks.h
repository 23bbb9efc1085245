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

  /// The frames of a file, which must outlive this.
  static VideoFrames of(const data::VideoReader& video);
};

/// What a segmenter finds in a video, a few frames at a time.
///
/// A network of frames sees each by itself. One of clips sees a window that slides over the video:
/// a frame's mask is found from `frames` of them, `period` apart, around it; the video's first and
/// last frame stand for those that it lacks. Of frames in their order each is read once.
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
  const Segmenter& segmenter_;
  VideoFrames video_;
  std::map<int64_t, Tensor> frames_;  // of the last call, by their number
};

}  // namespace aorta::echo
