#include <aorta/aorta.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/video_masks.h>
#include <aorta/apps/echo/views.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

// What one frame's mask says.
struct Measured {
  Tensor mask;  // without what lies outside of the frame
  double area = 0;
  Disks disks;
};

Measured measure(const FrameView& view, const Tensor& mask) {
  Measured result;
  result.mask = view.cut(mask);
  const Tensor grown = view.grow(result.mask);
  const uint8_t* const pixels = grown.data<uint8_t>();
  result.area = static_cast<double>(std::count(pixels, pixels + grown.numel(), uint8_t{1}));
  result.disks = measure_disks(result.mask, kTraceBorder);
  return result;
}

void add(VideoSegmentation& found, const FrameView& view, const Measured& frame) {
  const Disks& disks = frame.disks;
  found.areas.push_back(frame.area);
  found.ventricles.push_back(disks.area);
  found.volumes.push_back(disks.volume);
  found.axes.push_back({view.frame_x(disks.base.x), view.frame_y(disks.base.y),
                        view.frame_x(disks.apex.x), view.frame_y(disks.apex.y)});
  found.masks.add(frame.mask);
}

void measure_beats(VideoSegmentation& found, const Segmenter& segmenter, const VideoFrames& video,
                   int64_t tta) {
  const FrameView view = found.view();
  const Tensor picture = view.cut(ones({found.side, found.side}, {.dtype = u8}));
  const bool all_cut = std::all_of(found.beats.begin(), found.beats.end(),
                                   [](const Beat& beat) { return beat.cut; });
  std::vector<std::vector<double>> counted;
  for (const Beat& beat : found.beats) {
    if (tta > 0)
      found.views.push_back(
          ef_of_views(segmenter, video, beat.diastole, beat.systole, picture, tta));
    else
      found.views.push_back({ejection_fraction(found.volumes[static_cast<size_t>(beat.diastole)],
                                               found.volumes[static_cast<size_t>(beat.systole)])});
    found.beat_efs.push_back(mean_of_beats(std::span(&found.views.back(), 1)).value);
    if (all_cut || !beat.cut) counted.push_back(found.views.back());
  }
  found.ef_range = mean_of_beats(counted);
  found.ef = found.ef_range.value;
}

}  // namespace

VideoSegmentation segment_video(const Segmenter& segmenter, const data::VideoReader& video,
                                const SegmentSettings& settings) {
  check(settings.batch_size >= 1, "segment", "batch_size must be positive", settings.batch_size);
  VideoSegmentation found;
  found.name = stem_of(video.path());
  found.height = video.height();
  found.width = video.width();
  found.fps = video.fps();
  found.side = settings.side.value_or(segmenter.side);
  if (found.side == 0) found.side = std::max(found.height, found.width);
  const FrameView view = found.view();
  check(settings.tta >= 0, "segment", "tta must not be negative", settings.tta);
  const int64_t count = video.frame_count();
  check(count > 0, video.path(), "a video must have a frame", count);
  const VideoFrames frames{.count = count,
                           .read = [&](int64_t frame) { return view.shrink(video.read(frame)); }};
  VideoMasks seen(segmenter, frames);
  for (int64_t first = 0; first < count; first += settings.batch_size) {
    const int64_t size = std::min(settings.batch_size, count - first);
    const Tensor masks = seen.masks(first, size);
    std::vector<Measured> measured(static_cast<size_t>(size));
    parallel_for(0, size, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        measured[static_cast<size_t>(i)] = measure(view, masks[i]);
    });
    for (const Measured& frame : measured) add(found, view, frame);
    if (settings.progress) settings.progress(first + size, count);
  }
  found.beats = find_beats(found.ventricles, found.fps);
  measure_beats(found, segmenter, frames, settings.tta);
  return found;
}

double VideoSegmentation::millilitres(double volume) const {
  if (!(millimetres > 0)) return std::numeric_limits<double>::quiet_NaN();
  const double pixel =
      millimetres * static_cast<double>(std::max(height, width)) / static_cast<double>(side);
  return volume * pixel * pixel * pixel / 1000;
}

std::string to_string(const VideoSegmentation& segmentation) {
  if (segmentation.beats.empty()) return "no heart beat found";
  std::string list;
  for (size_t i = 0; i < segmentation.beats.size(); ++i)
    list += fmt::format("{}{:.1f}{}", i == 0 ? "" : ", ", segmentation.beat_efs[i],
                        segmentation.beats[i].cut ? " cut" : "");
  const Interval& range = segmentation.ef_range;
  const std::string known =
      std::isnan(range.low) ? "" : fmt::format("{:.1f} to {:.1f}; ", range.low, range.high);
  const char* beats = segmentation.beats.size() == 1 ? "beat" : "beats";
  return fmt::format("{} {}, EF {:.1f} % ({}{} {})", segmentation.beats.size(), beats,
                     segmentation.ef, known, beats, list);
}

report::Plot size_plot(const VideoSegmentation& segmentation) {
  std::vector<double> frames(segmentation.areas.size());
  for (size_t i = 0; i < frames.size(); ++i) frames[i] = static_cast<double>(i);
  report::Plot plot(
      {.title = segmentation.name + ": " + to_string(segmentation),
       .x = {.label = "frame", .low = 0, .high = std::max(1., frames.back()), .whole = true},
       .y = {.label = "area of the left ventricle (pixels)", .low = 0},
       .width = 900,
       .height = 380});
  plot.line("area", frames, segmentation.areas);
  std::vector<double> diastoles, systoles, largest, smallest;
  for (const Beat& beat : segmentation.beats) {
    diastoles.push_back(static_cast<double>(beat.diastole));
    largest.push_back(segmentation.areas[static_cast<size_t>(beat.diastole)]);
    systoles.push_back(static_cast<double>(beat.systole));
    smallest.push_back(segmentation.areas[static_cast<size_t>(beat.systole)]);
  }
  if (!segmentation.beats.empty()) {
    plot.scatter("end of diastole", diastoles, largest);
    plot.scatter("end of systole", systoles, smallest);
  }
  return plot;
}

}  // namespace aorta::echo
