#include <aorta/apps/echo/history.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

std::vector<double> numbers(const HistoryRow& row) {
  std::vector<double> all = {static_cast<double>(row.epoch), row.training ? 1. : 0., row.loss};
  all.insert(all.end(), row.scores.begin(), row.scores.end());
  for (const auto number :
       {row.seconds, static_cast<double>(row.samples), static_cast<double>(row.memory_allocated),
        static_cast<double>(row.memory_reserved), static_cast<double>(row.batch_size)})
    all.push_back(number);
  return all;
}

HistoryRow row_of(const double* number, size_t scores) {
  const double* behind = number + 3 + scores;
  const auto whole = [&](size_t i) { return static_cast<int64_t>(behind[i]); };
  return {.epoch = static_cast<int64_t>(number[0]),
          .training = number[1] != 0,
          .loss = number[2],
          .scores = {number + 3, behind},
          .seconds = behind[0],
          .samples = whole(1),
          .memory_allocated = whole(2),
          .memory_reserved = whole(3),
          .batch_size = whole(4)};
}

}  // namespace

HistoryRow history_row(int64_t epoch, bool training, const Totals& totals,
                       const std::vector<Score>& scores, int64_t batch_size, Device device) {
  const MemoryStats memory = backend(device.type).memory_stats(device.index);
  HistoryRow row{.epoch = epoch,
                 .training = training,
                 .loss = totals.mean_loss(),
                 .scores = {},
                 .seconds = totals.seconds,
                 .samples = totals.samples,
                 .memory_allocated = memory.peak_bytes,
                 .memory_reserved = memory.bytes_in_use + memory.bytes_cached,
                 .batch_size = batch_size};
  for (const Score& score : scores) row.scores.push_back(score.value(totals));
  return row;
}

std::string History::csv() const {
  std::string text = "epoch,phase,loss";
  for (const std::string& column : score_columns) text += "," + column;
  text += ",time,samples,memory_allocated,memory_reserved,batch_size\n";
  for (const HistoryRow& row : rows) {
    text += fmt::format("{},{},{}", row.epoch, row.training ? "train" : "val", row.loss);
    for (const double score : row.scores) text += fmt::format(",{}", score);
    text += fmt::format(",{:.3f},{},{},{},{}\n", row.seconds, row.samples, row.memory_allocated,
                        row.memory_reserved, row.batch_size);
  }
  return text;
}

int64_t History::best_epoch() const {
  const HistoryRow* best = nullptr;
  for (const HistoryRow& row : rows)
    if (!row.training && std::isfinite(row.loss) && (!best || row.loss < best->loss)) best = &row;
  return best ? best->epoch : -1;
}

double History::best_loss() const {
  double best = std::numeric_limits<double>::infinity();
  for (const HistoryRow& row : rows)
    if (!row.training) best = std::min(best, row.loss);
  return best;
}

State History::state() const {
  std::vector<double> table;
  for (const HistoryRow& row : rows) {
    const std::vector<double> line = numbers(row);
    table.insert(table.end(), line.begin(), line.end());
  }
  State state;
  state.set("rows", tensor(table, Shape{static_cast<int64_t>(rows.size()),
                                        static_cast<int64_t>(8 + score_columns.size())}));
  return state;
}

void History::restore(const State& state) {
  const Tensor table = state.tensor("rows").contiguous();
  const auto columns = static_cast<int64_t>(8 + score_columns.size());
  check(table.dtype() == f64 && table.dim() == 2 && table.size(1) == columns, "history",
        "rows must be f64 (N, " + std::to_string(columns) + ")", table.dtype(), " ",
        to_string(table.shape()));
  rows.clear();
  for (int64_t i = 0; i < table.size(0); ++i)
    rows.push_back(row_of(table.data<double>() + i * columns, score_columns.size()));
}

}  // namespace aorta::echo
