#include <aorta/aorta.h>
#include <aorta/apps/echo/beats/beat_to_beat.h>
#include <aorta/report/plot.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace aorta::echo {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// The 97.5th percentile of Student's t, of 1 to 30 degrees of freedom; beyond, the series of
// Abramowitz and Stegun, 26.7.5.
double student_975(int64_t freedom) {
  constexpr double kTable[] = {12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                               2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                               2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                               2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= 30) return kTable[freedom - 1];
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(freedom);
  return z + (z * z * z + z) / (4 * n);
}

// All frames as the network of clips takes them, u8 (3, F, side, side).
Tensor frames_of(const data::VideoReader& video, int64_t side) {
  const FrameView view(video.height(), video.width(), side);
  const int64_t count = video.frame_count();
  const Tensor frames = empty({3, count, side, side}, {.dtype = u8});
  for (int64_t i = 0; i < count; ++i) frames.select(1, i).copy_(view.shrink(video.read(i)));
  return frames;
}

}  // namespace

int64_t clip_of_beat(const Regressor& regressor, int64_t systole, int64_t video_frames) {
  const int64_t half = regressor.frames * regressor.period / 2;
  return std::clamp<int64_t>(systole - half, 0, regressor.places(video_frames) - 1);
}

void summarise(BeatToBeat& video) {
  // Near the video's ends beats have the same clip, which is one measurement.
  std::map<int64_t, double> clips;
  for (const MeasuredBeat& beat : video.beats) clips.emplace(beat.clip, beat.ef);
  const auto count = static_cast<double>(clips.size());
  double sum = 0, squares = 0;
  for (const auto& [clip, ef] : clips) sum += ef;
  video.mean = count > 0 ? sum / count : kNone;
  for (const auto& [clip, ef] : clips) squares += (ef - video.mean) * (ef - video.mean);
  video.deviation = count > 1 ? std::sqrt(squares / (count - 1)) : kNone;
  const double half =
      count > 1 ? student_975(std::ssize(clips) - 1) * video.deviation / std::sqrt(count) : kNone;
  video.low = video.mean - half;
  video.high = video.mean + half;
}

BeatToBeat measure_beats(const Segmenter& segmenter, const Regressor& regressor,
                         const data::VideoReader& video, const SegmentSettings& settings) {
  BeatToBeat result{
      .segmentation = segment_video(segmenter, video, settings), .beats = {}, .told = kNone};
  const VideoSegmentation& found = result.segmentation;
  if (!found.beats.empty()) {
    const Tensor frames = frames_of(video, regressor.side);
    for (size_t i = 0; i < found.beats.size(); ++i) {
      const Beat& beat = found.beats[i];
      const int64_t clip = clip_of_beat(regressor, beat.systole, frames.size(1));
      result.beats.push_back({.diastole = beat.diastole,
                              .systole = beat.systole,
                              .clip = clip,
                              .ef = regressor.predict(frames, clip, 1, 1)[0].item<double>(),
                              .segmented_ef = found.beat_efs[i]});
    }
  }
  summarise(result);
  return result;
}

std::string to_string(const BeatToBeat& video) {
  if (video.beats.empty()) return "no heart beat found";
  std::string list;
  for (const MeasuredBeat& beat : video.beats)
    list += fmt::format("{}{:.1f}", list.empty() ? "" : ", ", beat.ef);
  if (video.beats.size() == 1) return fmt::format("1 beat, EF {:.1f} %", video.mean);
  if (std::isnan(video.deviation))
    return fmt::format("{} beats in one clip, EF {:.1f} %", video.beats.size(), video.mean);
  return fmt::format("{} beats, EF {:.1f} +- {:.1f} % ({:.1f} to {:.1f}; {})", video.beats.size(),
                     video.mean, video.deviation, video.low, video.high, list);
}

std::string beat_plot(const BeatToBeat& video) {
  const VideoSegmentation& found = video.segmentation;
  report::Plot plot({.title = found.name + ": " + to_string(video),
                     .x = {.label = "frame of the end of systole",
                           .low = 0,
                           .high = static_cast<double>(std::max<size_t>(found.areas.size(), 2) - 1),
                           .whole = true},
                     .y = {.label = "ejection fraction (%)", .low = 0, .high = 100},
                     .width = 900,
                     .height = 380});
  std::vector<double> frames, clips, disks;
  for (const MeasuredBeat& beat : video.beats) {
    frames.push_back(static_cast<double>(beat.systole));
    clips.push_back(beat.ef);
    disks.push_back(beat.segmented_ef);
  }
  const std::vector<double> ends = {0, std::max(1., static_cast<double>(found.areas.size()) - 1)};
  if (std::isfinite(video.low))
    plot.band("mean, 95 % interval", ends, std::vector<double>(2, std::clamp(video.low, 0., 100.)),
              std::vector<double>(2, std::clamp(video.high, 0., 100.)));
  plot.line("network of clips", frames, clips);
  plot.scatter("masks, method of disks", frames, disks);
  plot.horizontal("mean", video.mean);
  plot.horizontal("table", video.told);
  return plot.svg();
}

}  // namespace aorta::echo
