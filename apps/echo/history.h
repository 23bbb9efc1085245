#pragma once

#include <aorta/apps/echo/training_loop.h>

#include <string>
#include <vector>

namespace aorta::echo {

/// A row of log.csv: a phase of an epoch. The columns are those of EchoNet's, which has no header.
struct HistoryRow {
  int64_t epoch = 0;  // from 0
  bool training = true;
  double loss = 0;             // a pixel's, or a video's
  std::vector<double> scores;  // as many as the history has columns for
  double seconds = 0;
  int64_t samples = 0;
  int64_t memory_allocated = 0, memory_reserved = 0;  // bytes, the most so far and now
  int64_t batch_size = 0;
};

/// `device`: whose memory is counted.
HistoryRow history_row(int64_t epoch, bool training, const Totals& totals,
                       const std::vector<Score>& scores, int64_t batch_size, Device device = {});

/// All phases of a run.
struct History {
  std::vector<std::string> score_columns;
  std::vector<HistoryRow> rows = {};

  /// log.csv, with a header.
  std::string csv() const;
  /// The validation of lowest loss; -1 where none has a finite one.
  int64_t best_epoch() const;
  double best_loss() const;

  State state() const;
  void restore(const State& state);
};

}  // namespace aorta::echo
