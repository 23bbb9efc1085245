#include <aorta/aorta.h>
#include <aorta/apps/echo/beats/beats_report.h>
#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/report/canvas.h>
#include <aorta/report/plot.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {

std::string interval_plot(const std::vector<BeatToBeat>& videos) {
  std::vector<double> told, found;
  for (const BeatToBeat& video : videos) {
    if (!std::isfinite(video.told) || !std::isfinite(video.mean)) continue;
    told.push_back(video.told);
    found.push_back(video.mean);
  }
  if (told.empty()) return "";
  const Agreement result = agreement(told, found);
  report::Plot plot(
      {.title = fmt::format("Ejection fraction: MAE {:.2f} %, R\u00b2 {}, {} videos", result.mae,
                            agreement_text("{:.3f}", result.r2), result.count),
       .x = {.label = "ejection fraction by the table (%)"},
       .y = {.label = "mean of the beats, 95 % interval (%)"},
       .width = 640,
       .height = 690});
  for (const BeatToBeat& video : videos) {
    if (!std::isfinite(video.told) || !std::isfinite(video.low)) continue;
    // A wide one, of two beats, would leave nothing else to see.
    const double ends[] = {std::clamp(video.low, 0., 100.), std::clamp(video.high, 0., 100.)};
    const double at[] = {video.told, video.told};
    plot.line("", at, ends);
  }
  plot.scatter("videos", told, found);
  plot.diagonal("equal");
  return plot.svg();
}

report::Page::Film beat_film(const data::VideoReader& video, const BeatToBeat& found, size_t beat,
                             const std::string& caption) {
  constexpr int64_t kMostFrames = 60;
  const MeasuredBeat& one = found.beats.at(beat);
  const VideoSegmentation& segmentation = found.segmentation;
  const FrameView view = segmentation.view();
  const auto count = static_cast<int64_t>(segmentation.areas.size());
  const int64_t first = one.diastole;
  const int64_t last = std::min({count, 2 * one.systole - one.diastole + 1, first + kMostFrames});
  std::vector<Tensor> masks;
  for (int64_t i = first; i < last; ++i) masks.push_back(view.grow(segmentation.masks[i]));
  return outlined_film(video.read(first, last - first), stack(masks), segmentation.fps, caption);
}

std::string verdict(const BeatToBeat& video) {
  std::string text = fmt::format("EF {:.1f} %", video.mean);
  if (std::isfinite(video.told))
    text += fmt::format("; told {:.1f} %, off by {:.1f}", video.told,
                        std::abs(video.mean - video.told));
  return text;
}

}  // namespace aorta::echo
