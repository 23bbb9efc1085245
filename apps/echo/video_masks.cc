#include <aorta/aorta.h>
#include <aorta/apps/echo/video_masks.h>

#include <algorithm>

namespace aorta::echo {

VideoFrames VideoFrames::of(const data::VideoReader& video) {
  return {.count = video.frame_count(),
          .read = [&video](int64_t frame) { return video.read(frame); }};
}

std::vector<int64_t> window_starts(int64_t count, int64_t length) {
  check(count >= 1 && length >= 1, "window_starts", "there must be frames in video and window",
        count, " and ", length);
  std::vector<int64_t> starts;
  for (int64_t start = 0; start + length < count; start += std::max<int64_t>(length / 2, 1))
    starts.push_back(start);
  starts.push_back(std::max<int64_t>(count - length, 0));
  return starts;
}

Tensor VideoMasks::logits(int64_t first, int64_t count) {
  check(first >= 0 && count >= 1 && first + count <= video_.count, "VideoMasks",
        "frames must be the video's", count, " from ", first, " of ", video_.count);
  if (!segmenter_.takes_clips()) {
    std::vector<Tensor> frames;
    for (int64_t i = 0; i < count; ++i) frames.push_back(video_.read(first + i));
    return segmenter_.found(stack(frames).to(device_of(segmenter_))).cpu();
  }
  const int64_t length = std::min(segmenter_.frames * segmenter_.period, video_.count);
  std::map<int64_t, Tensor> used;
  Tensor sums;
  std::vector<float> covered(static_cast<size_t>(count));
  for (const int64_t start : window_starts(video_.count, length)) {
    const int64_t begin = std::max(first, start), end = std::min(first + count, start + length);
    if (begin >= end) continue;
    const auto known = windows_.find(start);
    const Tensor found = known == windows_.end() ? window(start, length) : known->second;
    used.emplace(start, found);
    if (!sums.defined()) sums = zeros({count, found.size(1), found.size(2)});
    sums.narrow(0, begin - first, end - begin).add_(found.narrow(0, begin - start, end - begin));
    for (int64_t frame = begin; frame < end; ++frame) ++covered[static_cast<size_t>(frame - first)];
  }
  windows_ = std::move(used);
  return sums / tensor(covered).view({count, 1, 1});
}

Tensor VideoMasks::masks(int64_t first, int64_t count) { return (logits(first, count) > 0).to(u8); }

Tensor VideoMasks::mask(int64_t frame) { return masks(frame, 1)[0]; }

Tensor VideoMasks::window(int64_t start, int64_t length) const {
  const int64_t period = std::min(segmenter_.period, length);
  const int64_t frames = (length + period - 1) / period;
  Tensor clips;
  for (int64_t i = 0; i < frames * period; ++i) {
    const Tensor frame = video_.read(start + std::min(i, length - 1));
    if (!clips.defined())
      clips = empty({period, 3, frames, frame.size(1), frame.size(2)}, {.dtype = u8});
    clips.select(0, i % period).select(1, i / period).copy_(frame);
  }
  const Tensor found = segmenter_.found(clips.to(device_of(segmenter_))).cpu();
  return found.transpose(0, 1).flatten(0, 1).narrow(0, 0, length);
}

}  // namespace aorta::echo
