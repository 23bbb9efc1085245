#include <aorta/aorta.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/overlay.h>
#include <aorta/apps/echo/run_report.h>
#include <aorta/core/process/limits.h>
#include <aorta/report/canvas.h>
#include <aorta/report/page.h>
#include <aorta/report/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace aorta::echo {
namespace {

constexpr report::Colour kTraceColour{250, 204, 21};
constexpr int kSampleSide = 224;

report::Axis epoch_axis() { return {.label = "epoch", .low = 1, .whole = true}; }

/// A column of the history: epochs from 1, and the values of a phase.
struct Curve {
  std::vector<double> x, y;
};
Curve curve(const History& history, bool training, double HistoryRow::*column) {
  Curve curve;
  for (const HistoryRow& row : history.rows) {
    if (row.training != training) continue;
    curve.x.push_back(static_cast<double>(row.epoch + 1));
    curve.y.push_back(row.*column);
  }
  return curve;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string seconds_text(double seconds) { return fmt::format("{:.1f} s", seconds); }

std::string score(const Interval& interval) {
  return fmt::format("{:.4f} ({:.4f} to {:.4f})", interval.value, interval.low, interval.high);
}

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
    pairs.emplace_back("val Dice", fmt::format("{:.4f}", row.overall_dice));
    pairs.emplace_back("best epoch", fmt::format("{}", best + 1));
  }
  if (!pairs.empty()) page.highlights(pairs);
}

void add_training(report::Page& page, const History& history) {
  page.section("Training").figure(loss_curves(history), "Loss of a pixel, each epoch.");
  page.figure(dice_curves(history), "Dice of both frames, all pixels pooled, each epoch.");
  std::vector<report::Page::Row> rows;
  for (const HistoryRow& row : history.rows)
    rows.push_back({fmt::format("{}", row.epoch + 1), row.training ? "train" : "val",
                    fmt::format("{:.4f}", row.loss), fmt::format("{:.4f}", row.overall_dice),
                    fmt::format("{:.4f}", row.large_dice), fmt::format("{:.4f}", row.small_dice),
                    seconds_text(row.seconds)});
  // The first and the last are enough to see; log.csv has all.
  constexpr size_t kMost = 24;
  if (rows.size() > kMost)
    rows.erase(rows.begin() + kMost / 2,
               rows.begin() + static_cast<ptrdiff_t>(rows.size() - kMost / 2));
  page.table({"epoch", "phase", "loss", "Dice", "large", "small", "time"}, rows);
}

void add_evaluation(report::Page& page, const RunFolder& folder,
                    const std::vector<Evaluation>& evaluations) {
  page.section("Evaluation")
      .paragraph(
          "Of the weights with the lowest validation loss. In parentheses the 5th to the 95th "
          "percentile of a bootstrap over videos. EF: the ejection fraction from the masks by the "
          "single-plane method of disks, against the table's.");
  std::vector<report::Page::Row> dice, ef;
  for (const Evaluation& one : evaluations) {
    dice.push_back({one.split, fmt::format("{}", one.videos.size()), score(one.dice.overall),
                    score(one.dice.large), score(one.dice.small)});
    const auto text = [](const char* format, double value, const char* unit) {
      return std::isnan(value) ? "-" : agreement_text(format, value) + unit;
    };
    ef.push_back({one.split,
                  one.ef.count > 0 ? fmt::format("{}", one.ef.count)
                                   : fmt::format("none of {} has one", one.videos.size()),
                  text("{:.2f}", one.ef.mae, " %"), text("{:.3f}", one.ef.r2, ""),
                  text("{:+.2f}", one.ef.bias, " %"),
                  std::isnan(one.ef.low)
                      ? "-"
                      : fmt::format("{:+.1f} to {:+.1f} %", one.ef.low, one.ef.high)});
  }
  page.table({"split", "videos", "Dice", "end of diastole", "end of systole"}, dice);
  page.table({"split", "videos", "EF MAE", "R2", "bias", "limits of agreement"}, ef);
  for (const Evaluation& one : evaluations)
    for (const char* plot : {"_ef.svg", "_bland_altman.svg"})
      page.figure(text_of(folder.file(one.split + plot)),
                  fmt::format("{}: {}", one.split,
                              plot[1] == 'e' ? "found against told" : "difference against mean"));
}

void add_examples(report::Page& page, const Segmenter& best, const TrainOptions& options,
                  const std::vector<Evaluation>& evaluations) {
  const Evaluation& shown = evaluations.back();
  page.section("Best, median and worst")
      .paragraph("Videos of " + shown.split +
                 " by their Dice: the network's mask in blue, the tracing in yellow.");
  std::vector<report::Page::Picture> pictures;
  for (const EvaluatedFrames& frames :
       best_median_worst(best, options.data_dir, split_of(shown.split), shown)) {
    const EvaluatedVideo& video = shown.videos[frames.video];
    pictures.push_back({sample_picture(frames.large_frame, frames.large_mask, frames.large_trace),
                        fmt::format("{}, end of diastole, Dice {:.3f}", video.file_name,
                                    video.overlap.large.dice())});
    pictures.push_back({sample_picture(frames.small_frame, frames.small_mask, frames.small_trace),
                        fmt::format("{}, end of systole, Dice {:.3f}", video.file_name,
                                    video.overlap.small.dice())});
  }
  page.pictures(pictures);
}

void add_time(report::Page& page, const History& history, const RunTimes& times,
              const data::StallAccount& account) {
  double whole = 0;
  for (const HistoryRow& row : history.rows) whole += row.seconds;
  page.section("Time").paragraph(
      fmt::format("{} in all epochs. Where the run's time went:", seconds_text(whole)));
  std::vector<report::Page::Row> rows;
  for (const auto& [name, seconds] : kRunTimes)
    rows.push_back({name, seconds_text(times.*seconds)});
  page.table({"stage", "time"}, rows);
  page.heading("The last epoch's data").code(account.table());
}

}  // namespace

std::string loss_curves(const History& history) {
  report::Plot plot({.title = "Loss", .x = epoch_axis(), .y = {"loss of a pixel"}});
  for (const bool training : {true, false}) {
    const Curve c = curve(history, training, &HistoryRow::loss);
    plot.line(training ? "train" : "val", c.x, c.y);
  }
  return plot.svg();
}

std::string dice_curves(const History& history) {
  report::Plot plot(
      {.title = "Dice", .x = epoch_axis(), .y = {.label = "Dice", .low = 0, .high = 1}});
  const std::pair<const char*, double HistoryRow::*> columns[] = {
      {"val", &HistoryRow::overall_dice},
      {"val, end of diastole", &HistoryRow::large_dice},
      {"val, end of systole", &HistoryRow::small_dice}};
  const Curve train = curve(history, true, &HistoryRow::overall_dice);
  plot.line("train", train.x, train.y);
  for (const auto& [name, column] : columns) {
    const Curve c = curve(history, false, column);
    plot.line(name, c.x, c.y);
  }
  return plot.svg();
}

Tensor sample_picture(const Tensor& frame, const Tensor& mask, const Tensor& trace) {
  const Tensor both = tinted(tinted(frame, mask), trace, kTraceColour, 0);
  const int height = static_cast<int>(kSampleSide * frame.size(1) / frame.size(2));
  report::Canvas canvas(kSampleSide, std::max(height, 1), {0, 0, 0});
  canvas.picture(both, 0, 0, kSampleSide);
  return canvas.image();
}

RunRecords::RunRecords(const RunFolder& folder, Console& console, const State* checkpoint)
    : folder_(folder), console_(console) {
  if (checkpoint && checkpoint->contains("events.file")) {
    try {
      events_ = report::EventWriter::resume(
          folder_.file(checkpoint->get<std::string>("events.file")),
          static_cast<uint64_t>(checkpoint->get<int64_t>("events.bytes")));
      return;
    } catch (const Error& error) {
      console_.warn(std::string(error.what()) + "; a new event file begins here");
    }
  } else {
    // A run that was stopped before its first checkpoint left these; its rows come again.
    folder_.remove_starting("events.out.tfevents.");
  }
  careful([&] { events_.emplace(folder_.path()); });
}

void RunRecords::careful(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    console_.warn(std::string(error.what()) + "; the training goes on");
  } catch (const std::bad_alloc&) {
    console_.warn("memory: there must be enough for a picture, got no more; the training goes on");
  }
}

void RunRecords::write_history(const History& history) {
  careful([&] { folder_.write("log.csv", history.csv()); });
  careful([&] { folder_.write("curves.svg", loss_curves(history)); });
  careful([&] { folder_.write("dice.svg", dice_curves(history)); });
}

void RunRecords::write_samples(const Trainer& trainer, int64_t epoch, int64_t count) {
  const data::Echo& set = trainer.validation();
  const int64_t shown = std::min(count, set.size());
  report::Canvas canvas(static_cast<int>(shown) * kSampleSide, 2 * kSampleSide, {0, 0, 0});
  for (int64_t i = 0; i < shown; ++i) {
    const data::VideoReader video(set.path(i));
    int row = 0;
    for (const data::EchoTrace& trace : {set.large_trace(i), set.small_trace(i)}) {
      const Tensor frame = video.read(trace.frame);
      const Tensor truth = zeros({frame.size(1), frame.size(2)}, {.dtype = u8});
      data::fill_polygon(truth, trace.outline);
      const Tensor mask =
          trainer.segmenter().masks(frame.unsqueeze(0).to(trainer.device()))[0].cpu();
      canvas.picture(sample_picture(frame, mask, truth), static_cast<int>(i) * kSampleSide,
                     row++ * kSampleSide, kSampleSide, kSampleSide);
    }
  }
  make_folder(folder_.file("samples"));
  data::write_png(canvas.image(), folder_.file(fmt::format("samples/epoch_{:03}.png", epoch)));
  if (events_) events_->image("samples", canvas.image(), epoch);
}

void RunRecords::write_epoch(const History& history, const Trainer& trainer, double lr) {
  const int64_t epoch = history.rows.back().epoch + 1;
  if (events_) {
    for (const HistoryRow& row : history.rows) {
      if (row.epoch + 1 != epoch) continue;
      const std::string phase = row.training ? "/train" : "/val";
      careful([&] {
        events_->scalar("loss" + phase, row.loss, epoch);
        events_->scalar("dice" + phase, row.overall_dice, epoch);
        events_->scalar("dice_large" + phase, row.large_dice, epoch);
        events_->scalar("dice_small" + phase, row.small_dice, epoch);
        events_->scalar("seconds" + phase, row.seconds, epoch);
      });
    }
    careful([&] { events_->scalar("lr", lr, epoch); });
  }
  careful([&] { write_samples(trainer, epoch, 4); });
  write_history(history);
}

State RunRecords::state() {
  State state;
  if (!events_) return state;
  careful([&] { events_->flush(); });
  state.set("events.file", events_->path().substr(events_->path().rfind('/') + 1));
  state.set("events.bytes", static_cast<int64_t>(events_->size_bytes()));
  return state;
}

void write_report(const RunFolder& folder, const TrainOptions& options, const History& history,
                  const Trainer& trainer, const Segmenter& best,
                  const std::vector<Evaluation>& evaluations) {
  report::Page page("Segmentation of the left ventricle",
                    fmt::format("{} on {}, {} of {} epochs", options.model_name, options.data_dir,
                                trainer.epoch(), options.num_epochs));
  add_highlights(page, history, evaluations);
  if (!history.rows.empty()) add_training(page, history);
  add_evaluation(page, folder, evaluations);
  add_examples(page, best, options, evaluations);
  add_time(page, history, trainer.times(), trainer.stall_account());
  page.section("Settings").code(args_yaml(options));
  page.section("Machine").facts({{"CPU", cpu_name()},
                                 {"threads", fmt::format("{}", get_num_threads())},
                                 {"device", to_string(trainer.device())},
                                 {"training videos", fmt::format("{}", trainer.train_size())},
                                 {"folder", absolute_path(folder.path())}});
  page.save(folder.file("report.html"));
}

}  // namespace aorta::echo
