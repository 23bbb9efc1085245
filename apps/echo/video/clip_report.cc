#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/video/clip_report.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace aorta::echo {
namespace {

std::string cell(const char* format, const Interval& interval) {
  return std::isnan(interval.value) ? "-" : interval_text(format, interval);
}

void add_evaluations(report::Page& page, const RunFolder& folder,
                     const std::vector<ClipEvaluation>& evaluations) {
  page.section("Evaluation")
      .paragraph(
          "Of the weights with the lowest validation loss: the mean of every clip of a video, and "
          "below it one clip from a random place. In parentheses the 5th to the 95th percentile of "
          "a bootstrap over videos.");
  std::vector<report::Page::Row> rows;
  for (const ClipEvaluation& one : evaluations)
    for (const auto& [name, errors] :
         {std::pair("all", &one.all_clips), std::pair("one", &one.one_clip)})
      rows.push_back({one.split, fmt::format("{}", one.videos.size()), name,
                      cell("{:.2f}", errors->mae), cell("{:.2f}", errors->rmse),
                      cell("{:.3f}", errors->r2)});
  page.table({"split", "videos", "clips", "MAE", "RMSE", "R2"}, rows);
  std::vector<report::Page::Row> areas;
  for (const ClipEvaluation& one : evaluations)
    for (const Roc& roc : one.rocs)
      areas.push_back({one.split, fmt::format("{:g} %", roc.threshold),
                       fmt::format("{} of {}", roc.low, roc.low + roc.high),
                       cell("{:.3f}", roc.area)});
  if (!areas.empty())
    page.paragraph(
            "How well videos of a low EF are told from the others: the area under the curve.")
        .table({"split", "EF at most", "videos", "AUC"}, areas);
  for (const ClipEvaluation& one : evaluations) {
    const std::string start = folder.file(one.split);
    page.figure(text_of(start + "_scatter.svg"), one.split + ": found against told");
    page.figure(text_of(start + "_bland_altman.svg"), one.split + ": difference against mean");
    if (!one.rocs.empty())
      page.figure(text_of(start + "_roc.svg"),
                  one.split + ": receiver operating characteristic, by the EF that is told");
  }
}

void add_farthest(report::Page& page, const ClipEvaluation& evaluation) {
  std::vector<const RegressedVideo*> order;
  for (const RegressedVideo& video : evaluation.videos) order.push_back(&video);
  std::stable_sort(order.begin(), order.end(),
                   [](const RegressedVideo* a, const RegressedVideo* b) {
                     return std::abs(a->found - a->told) > std::abs(b->found - b->told);
                   });
  std::vector<report::Page::Row> rows;
  for (size_t i = 0; i < std::min<size_t>(order.size(), 5); ++i) {
    const auto [low, high] = std::minmax_element(order[i]->clips.begin(), order[i]->clips.end());
    rows.push_back({order[i]->file_name, fmt::format("{:.1f}", order[i]->told),
                    fmt::format("{:.1f}", order[i]->found),
                    fmt::format("{:.1f} to {:.1f}", *low, *high)});
  }
  page.heading("Farthest off, of " + evaluation.split)
      .table({"video", "told", "found", "its clips"}, rows);
}

}  // namespace

std::string error_curves(const History& history, const std::string& task) {
  const std::string unit = unit_of(task);
  report::Plot plot(
      {.title = "Error of " + task,
       .x = epoch_axis(),
       .y = {.label = "mean absolute error" + (unit.empty() ? "" : " (" + unit + ")"), .low = 0}});
  for (const bool training : {true, false}) {
    const Curve c = curve(history, training, [](const HistoryRow& row) { return row.scores[1]; });
    plot.line(training ? "train" : "val", c.x, c.y);
  }
  return plot.svg();
}

std::string last_line(const ClipEvaluation& evaluation) {
  const Errors& errors = evaluation.all_clips;
  return fmt::format("{} {} MAE {:.2f} RMSE {:.2f} R2 {}", evaluation.split, evaluation.task,
                     errors.mae.value, errors.rmse.value,
                     agreement_text("{:.3f}", errors.r2.value));
}

void write_clip_report(const RunFolder& folder, const VideoOptions& options, const History& history,
                       const std::vector<Figure>& figures, const ClipTrainer& trainer,
                       const std::vector<ClipEvaluation>& evaluations) {
  report::Page page(options.task + " from videos",
                    fmt::format("{} on {}, clips of {} frames, {} apart, {} of {} epochs",
                                options.model_name, options.data_dir, options.frames,
                                options.period, trainer.epoch(), options.num_epochs));
  const ClipEvaluation& last = evaluations.back();
  const std::string unit = unit_of(options.task);
  page.highlights({{last.split + " MAE", fmt::format("{:.2f} {}", last.all_clips.mae.value, unit)},
                   {"RMSE", fmt::format("{:.2f} {}", last.all_clips.rmse.value, unit)},
                   {"R2", agreement_text("{:.3f}", last.all_clips.r2.value)},
                   {"best epoch", fmt::format("{}", history.best_epoch() + 1)}});
  if (!history.rows.empty()) add_training(page, history, trainer.scores(), figures);
  add_evaluations(page, folder, evaluations);
  add_farthest(page, last);
  add_run(page, history, trainer, args_yaml(options), folder);
  page.save(folder.file("report.html"));
}

}  // namespace aorta::echo
