#pragma once

#include <aorta/apps/echo/job.h>
#include <aorta/apps/echo/measure/bootstrap.h>
#include <aorta/report/page.h>
#include <aorta/report/plot.h>

// What the reports of all runs have in common.

namespace aorta::echo {

report::Axis epoch_axis();

/// A column of the history: epochs from 1, and the values of a phase.
struct Curve {
  std::vector<double> x, y;
};
Curve curve(const History& history, bool training,
            const std::function<double(const HistoryRow&)>& value);
/// The loss of each epoch, of both phases, as SVG.
std::string loss_curves(const History& history, const std::string& label);

/// A file's text; empty where it can't be read.
std::string text_of(const std::string& path);
std::string seconds_text(double seconds);
/// "0.9123 (0.9001 to 0.9201)", fmt's format of a number in `format`.
std::string interval_text(const char* format, const Interval& interval);

/// A section of the figures and a table of the epochs.
void add_training(report::Page& page, const History& history, const std::vector<Score>& scores,
                  const std::vector<Figure>& figures);
/// Sections of where the time went, the settings and the machine.
void add_run(report::Page& page, const History& history, const TrainingLoop& loop,
             const std::string& args, const RunFolder& folder);

}  // namespace aorta::echo
