#include <aorta/apps/echo/doctor.h>
#include <aorta/apps/echo/files.h>
#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/report_parts.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/process/limits.h>

#include <fmt/format.h>

#include <fstream>
#include <sstream>

namespace aorta::echo {
namespace {

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

report::Axis epoch_axis() { return {.label = "epoch", .low = 1, .whole = true}; }

Curve curve(const History& history, bool training,
            const std::function<double(const HistoryRow&)>& value) {
  Curve curve;
  for (const HistoryRow& row : history.rows) {
    if (row.training != training) continue;
    curve.x.push_back(static_cast<double>(row.epoch + 1));
    curve.y.push_back(value(row));
  }
  return curve;
}

std::string loss_curves(const History& history, const std::string& label) {
  report::Plot plot({.title = "Loss", .x = epoch_axis(), .y = {label}});
  for (const bool training : {true, false}) {
    const Curve c = curve(history, training, [](const HistoryRow& row) { return row.loss; });
    plot.line(training ? "train" : "val", c.x, c.y);
  }
  return plot.svg();
}

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fmt::format("{:.3f} s", seconds) : fmt::format("{:.1f} s", seconds);
}

std::string interval_text(const char* format, const Interval& interval) {
  const auto text = [&](double value) { return agreement_text(format, value); };
  return text(interval.value) + " (" + text(interval.low) + " to " + text(interval.high) + ")";
}

void add_training(report::Page& page, const History& history, const std::vector<Score>& scores,
                  const std::vector<Figure>& figures) {
  page.section("Training");
  for (const Figure& figure : figures) page.figure(figure.svg, figure.caption);
  std::vector<report::Page::Row> rows;
  for (const HistoryRow& row : history.rows) {
    rows.push_back({fmt::format("{}", row.epoch + 1), row.training ? "train" : "val",
                    fmt::format("{:.4f}", row.loss)});
    for (const double score : row.scores) rows.back().push_back(fmt::format("{:.4f}", score));
    rows.back().push_back(seconds_text(row.seconds));
  }
  // The first and the last are enough to see; log.csv has all.
  constexpr size_t kMost = 24;
  if (rows.size() > kMost)
    rows.erase(rows.begin() + kMost / 2,
               rows.begin() + static_cast<ptrdiff_t>(rows.size() - kMost / 2));
  report::Page::Row columns = {"epoch", "phase", "loss"};
  for (const Score& score : scores) columns.push_back(score.title);
  columns.push_back("time");
  page.table(columns, rows);
}

void add_run(report::Page& page, const History& history, const TrainingLoop& loop,
             const std::string& args, const RunFolder& folder) {
  add_time(page, history, loop.times(), loop.stall_account());
  page.section("Settings").code(args);
  page.section("Machine").facts({{"CPU", cpu_name()},
                                 {"threads", fmt::format("{}", get_num_threads())},
                                 {"device", loop.device_names()},
                                 {"training videos", fmt::format("{}", loop.train_size())},
                                 {"folder", absolute_path(folder.path())}});
}

}  // namespace aorta::echo
