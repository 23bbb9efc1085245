#include <aorta/aorta.h>
#include <aorta/apps/echo/video_masks.h>

#include <algorithm>

namespace aorta::echo {

VideoFrames VideoFrames::of(const data::VideoReader& video) {
  return {.count = video.frame_count(),
          .read = [&video](int64_t frame) { return video.read(frame); }};
}

Tensor VideoMasks::logits(int64_t first, int64_t count) {
  check(first >= 0 && count >= 1 && first + count <= video_.count, "VideoMasks",
        "frames must be the video's", count, " from ", first, " of ", video_.count);
  if (!segmenter_.takes_clips()) {
    std::vector<Tensor> frames;
    for (int64_t i = 0; i < count; ++i) frames.push_back(video_.read(first + i));
    return segmenter_.found(stack(frames).to(device_of(segmenter_))).cpu();
  }
  const int64_t frames = segmenter_.frames, period = segmenter_.period;
  std::map<int64_t, Tensor> used;
  const auto frame = [&](int64_t index) {
    const auto known = frames_.find(index);
    if (known != frames_.end()) used.insert(*known);
    Tensor& pixels = used[index];
    if (!pixels.defined()) pixels = video_.read(index);
    return pixels;
  };
  std::vector<Tensor> clips;
  for (int64_t i = first; i < first + count; ++i) {
    std::vector<Tensor> clip;
    for (int64_t k = 0; k < frames; ++k)
      clip.push_back(
          frame(std::clamp<int64_t>(i + (k - frames / 2) * period, 0, video_.count - 1)));
    clips.push_back(stack(clip, 1));
  }
  // The windows to come may want a frame that none of this call's had.
  for (const auto& [index, pixels] : frames_)
    if (index >= first + count - frames / 2 * period) used.emplace(index, pixels);
  frames_ = std::move(used);
  return segmenter_.found(stack(clips).to(device_of(segmenter_))).cpu();
}

Tensor VideoMasks::masks(int64_t first, int64_t count) { return (logits(first, count) > 0).to(u8); }

Tensor VideoMasks::mask(int64_t frame) { return masks(frame, 1)[0]; }

}  // namespace aorta::echo
