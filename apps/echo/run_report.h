#pragma once

#include <aorta/apps/echo/console.h>
#include <aorta/apps/echo/evaluate.h>
#include <aorta/apps/echo/history.h>
#include <aorta/apps/echo/run_folder.h>
#include <aorta/report/events.h>

namespace aorta::echo {

/// What a run leaves for people as it goes on: log.csv, curves.svg, samples/ and TensorBoard's
/// event file. None of it is needed to go on, so an error of writing is a warning.
class RunRecords {
 public:
  /// `checkpoint`: of the run that goes on, if one does; its event file is cut back to there.
  RunRecords(const RunFolder& folder, Console& console, const State* checkpoint);

  /// After an epoch, when the history has its rows.
  void write_epoch(const History& history, const Trainer& trainer, double lr);
  /// The files that follow from the history alone.
  void write_history(const History& history);
  /// What a checkpoint keeps; flushes the event file.
  State state();

 private:
  void careful(const std::function<void()>& write);
  void write_samples(const Trainer& trainer, int64_t epoch, int64_t count);

  const RunFolder& folder_;
  Console& console_;
  std::optional<report::EventWriter> events_;
};

/// The loss and the Dice of each epoch, as SVG.
std::string loss_curves(const History& history);
std::string dice_curves(const History& history);

/// A frame with the trace's outline and the network's mask, (3, H, W).
Tensor sample_picture(const Tensor& frame, const Tensor& mask, const Tensor& trace);

/// report.html: one page with everything about the run. `evaluations` are those of
/// `best`, one at least; their plots are in the folder.
void write_report(const RunFolder& folder, const TrainOptions& options, const History& history,
                  const Trainer& trainer, const Segmenter& best,
                  const std::vector<Evaluation>& evaluations);

}  // namespace aorta::echo
