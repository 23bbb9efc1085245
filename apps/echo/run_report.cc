#include <aorta/aorta.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/apps/echo/run_report.h>
#include <aorta/apps/echo/segment.h>
#include <aorta/apps/echo/video_masks.h>
#include <aorta/report/canvas.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

constexpr report::Colour kTraceColour{250, 204, 21};
constexpr int kSampleSide = 224;
constexpr int64_t kViews = 8;  // of test-time augmentation, as `segment`

std::string score(const Interval& interval) { return interval_text("{:.4f}", interval); }

const Evaluation* evaluation_of(const std::vector<Evaluation>& evaluations,
                                const std::string& split) {
  for (const Evaluation& evaluation : evaluations)
    if (evaluation.split == split) return &evaluation;
  return nullptr;
}

void add_highlights(report::Page& page, const History& history,
                    const std::vector<Evaluation>& evaluations) {
  std::vector<report::Page::Pair> pairs;
  if (const Evaluation* test = evaluation_of(evaluations, "test")) {
    pairs.emplace_back("test Dice", fmt::format("{:.4f}", test->dice.overall.value));
    if (test->ef.count > 0)
      pairs.emplace_back("EF error (MAE)", fmt::format("{:.1f} %", test->ef.mae));
  }
  const int64_t best = history.best_epoch();
  for (const HistoryRow& row : history.rows) {
    if (row.training || row.epoch != best) continue;
    pairs.emplace_back("val Dice", fmt::format("{:.4f}", row.scores[0]));
    pairs.emplace_back("best epoch", fmt::format("{}", best + 1));
  }
  if (!pairs.empty()) page.highlights(pairs);
}

void add_evaluation(report::Page& page, const RunFolder& folder,
                    const std::vector<Evaluation>& evaluations) {
  page.section("Evaluation")
      .paragraph(
          "Of the weights with the lowest validation loss. In parentheses the 5th to the 95th "
          "percentile of a bootstrap over videos. EF: the ejection fraction from the masks by the "
          "single-plane method of disks, against the table's; between the limits of agreement lie "
          "95 % of the differences.");
  std::vector<report::Page::Row> dice, ef;
  for (const Evaluation& one : evaluations) {
    dice.push_back({one.split, fmt::format("{}", one.videos.size()), score(one.dice.overall),
                    score(one.dice.large), score(one.dice.small)});
    ef.push_back(
        {one.split,
         one.ef.count > 0 ? fmt::format("{}", one.ef.count)
                          : fmt::format("none of {} has one", one.videos.size()),
         interval_text("{:.2f}", one.ef_errors.mae), interval_text("{:.3f}", one.ef_errors.r2),
         interval_text("{:+.2f}", one.ef_errors.bias),
         std::isnan(one.ef.low) ? "-"
                                : fmt::format("{:+.1f} to {:+.1f} %", one.ef.low, one.ef.high)});
  }
  page.table({"split", "videos", "Dice", "end of diastole", "end of systole"}, dice);
  page.table({"split", "videos", "EF MAE, %", "R2", "bias, %", "limits of agreement"}, ef);
  for (const Evaluation& one : evaluations)
    for (const char* plot : {"_ef.svg", "_bland_altman.svg"})
      page.figure(text_of(folder.file(one.split + plot)),
                  fmt::format("{}: {}", one.split,
                              plot[1] == 'e' ? "found against told" : "difference against mean"));
}

// From the first of two traced frames to as long after the second.
report::Page::Film traced_beat(const data::VideoReader& video, int64_t traced, int64_t other,
                               const VideoSegmentation& found, const std::string& caption) {
  constexpr int64_t kMostFrames = 60;
  const auto [first, second] = std::minmax({traced, other});
  const int64_t count =
      std::min({video.frame_count() - first, 2 * (second - first) + 1, kMostFrames});
  std::vector<Tensor> masks;
  for (int64_t i = first; i < first + count; ++i)
    masks.push_back(found.view().grow(found.masks[i]));
  return outlined_film(video.read(first, count), stack(masks), video.fps(), caption);
}

void add_examples(report::Page& page, const Segmenter& best, const TrainOptions& options,
                  const std::vector<Evaluation>& evaluations) {
  const Evaluation& shown = evaluations.back();
  const data::EchoSplit split = split_of(shown.split);
  const auto videos = echo_frames(options.data_dir, split);
  page.section("Best, median and worst")
      .paragraph(
          "Videos of " + shown.split +
          " by their Dice: the network's mask in blue, the tracing in yellow; below, the beat "
          "that was traced, and the area of the mask in the whole video, with its beats and "
          "between which ejection fractions their views lie.");
  std::vector<report::Page::Picture> pictures;
  std::vector<report::Page::Film> films;
  std::vector<Figure> curves;
  for (const EvaluatedFrames& frames : best_median_worst(best, options.data_dir, split, shown)) {
    const EvaluatedVideo& video = shown.videos[frames.video];
    pictures.push_back({sample_picture(frames.large_frame, frames.large_mask, frames.large_trace),
                        fmt::format("{}, end of diastole, Dice {:.3f}", video.file_name,
                                    video.overlap.large.dice())});
    pictures.push_back({sample_picture(frames.small_frame, frames.small_mask, frames.small_trace),
                        fmt::format("{}, end of systole, Dice {:.3f}", video.file_name,
                                    video.overlap.small.dice())});
    const auto index = static_cast<int64_t>(frames.video);
    const data::VideoReader reader(videos->path(index));
    const VideoSegmentation found = segment_video(best, reader, {.side = 0, .tta = kViews});
    films.push_back(traced_beat(reader, videos->large_trace(index).frame,
                                videos->small_trace(index).frame, found,
                                fmt::format("{}, EF {} %, told {} %", video.file_name,
                                            agreement_text("{:.1f}", video.found_ef),
                                            agreement_text("{:.1f}", video.told_ef))));
    curves.push_back({"", size_plot(found).svg(), video.file_name + ", frame by frame"});
  }
  page.pictures(pictures).films(films);
  for (const Figure& curve : curves) page.figure(curve.svg, curve.caption);
}

}  // namespace

std::string dice_curves(const History& history) {
  report::Plot plot(
      {.title = "Dice", .x = epoch_axis(), .y = {.label = "Dice", .low = 0, .high = 1}});
  const auto draw = [&](const char* name, bool training, size_t score) {
    const Curve c =
        curve(history, training, [&](const HistoryRow& row) { return row.scores[score]; });
    plot.line(name, c.x, c.y);
  };
  draw("train", true, 0);
  draw("val", false, 0);
  draw("val, end of diastole", false, 1);
  draw("val, end of systole", false, 2);
  return plot.svg();
}

Tensor sample_picture(const Tensor& frame, const Tensor& mask, const Tensor& trace) {
  const Tensor both = tinted(tinted(frame, mask), trace, kTraceColour, 0);
  const int height = static_cast<int>(kSampleSide * frame.size(1) / frame.size(2));
  report::Canvas canvas(kSampleSide, std::max(height, 1), {0, 0, 0});
  canvas.picture(both, 0, 0, kSampleSide);
  return canvas.image();
}

Tensor sample_pictures(const Trainer& trainer, int64_t count) {
  const data::Echo& set = trainer.validation();
  const int64_t shown = std::min(count, set.size());
  report::Canvas canvas(static_cast<int>(shown) * kSampleSide, 2 * kSampleSide, {0, 0, 0});
  for (int64_t i = 0; i < shown; ++i) {
    const data::VideoReader video(set.path(i));
    VideoMasks found(trainer.segmenter(), VideoFrames::of(video));
    int row = 0;
    for (const data::EchoTrace& trace : {set.large_trace(i), set.small_trace(i)}) {
      const Tensor frame = video.read(trace.frame);
      const Tensor truth = zeros({frame.size(1), frame.size(2)}, {.dtype = u8});
      data::fill_polygon(truth, trace.outline);
      canvas.picture(sample_picture(frame, found.mask(trace.frame), truth),
                     static_cast<int>(i) * kSampleSide, row++ * kSampleSide, kSampleSide,
                     kSampleSide);
    }
  }
  return canvas.image();
}

void write_report(const RunFolder& folder, const TrainOptions& options, const History& history,
                  const std::vector<Figure>& figures, const Trainer& trainer, const Best& best) {
  report::Page page("Segmentation of the left ventricle",
                    fmt::format("{} on {}, {} of {} epochs", options.model_name, options.data_dir,
                                trainer.epoch(), options.num_epochs));
  add_highlights(page, history, best.evaluations);
  if (!history.rows.empty()) add_training(page, history, trainer.scores(), figures);
  add_evaluation(page, folder, best.evaluations);
  add_examples(page, best.segmenter, options, best.evaluations);
  add_run(page, history, trainer, args_yaml(options), folder);
  page.save(folder.file("report.html"));
}

}  // namespace aorta::echo
