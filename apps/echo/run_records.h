#pragma once

#include <aorta/apps/echo/job.h>
#include <aorta/report/events.h>

namespace aorta::echo {

/// What a run leaves for people as it goes on: log.csv, the plots of its job, samples/ and
/// TensorBoard's event file. None of it is needed to go on, so an error of writing is a warning.
class RunRecords {
 public:
  /// `checkpoint`: of the run that goes on, if one does; its event file is cut back to there.
  RunRecords(const RunFolder& folder, Console& console, const State* checkpoint);

  /// After an epoch, when the history has its rows.
  void write_epoch(const History& history, Job& job);
  /// The files that follow from the history alone.
  void write_history(const History& history, const Job& job);
  /// What a checkpoint keeps; flushes the event file.
  State state();

 private:
  void careful(const std::function<void()>& write);
  void write_picture(const Job& job, int64_t epoch);

  const RunFolder& folder_;
  Console& console_;
  std::optional<report::EventWriter> events_;
};

}  // namespace aorta::echo
