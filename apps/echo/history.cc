#include <aorta/apps/echo/history.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/ops/creation.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

constexpr size_t kColumns = 11;

std::array<double, kColumns> numbers(const HistoryRow& row) {
  return {static_cast<double>(row.epoch),
          row.training ? 1. : 0.,
          row.loss,
          row.overall_dice,
          row.large_dice,
          row.small_dice,
          row.seconds,
          static_cast<double>(row.samples),
          static_cast<double>(row.memory_allocated),
          static_cast<double>(row.memory_reserved),
          static_cast<double>(row.batch_size)};
}

HistoryRow row_of(const double* number) {
  const auto whole = [&](size_t i) { return static_cast<int64_t>(number[i]); };
  return {.epoch = whole(0),
          .training = number[1] != 0,
          .loss = number[2],
          .overall_dice = number[3],
          .large_dice = number[4],
          .small_dice = number[5],
          .seconds = number[6],
          .samples = whole(7),
          .memory_allocated = whole(8),
          .memory_reserved = whole(9),
          .batch_size = whole(10)};
}

}  // namespace

HistoryRow history_row(int64_t epoch, bool training, const Totals& totals, int64_t batch_size,
                       Device device) {
  const MemoryStats memory = backend(device.type).memory_stats(device.index);
  return {.epoch = epoch,
          .training = training,
          .loss = totals.mean_loss(),
          .overall_dice = totals.dice(),
          .large_dice = totals.large.dice(),
          .small_dice = totals.small.dice(),
          .seconds = totals.seconds,
          .samples = totals.samples,
          .memory_allocated = memory.peak_bytes,
          .memory_reserved = memory.bytes_in_use + memory.bytes_cached,
          .batch_size = batch_size};
}

std::string History::csv() const {
  std::string text =
      "epoch,phase,loss,overall_dice,large_dice,small_dice,time,samples,memory_allocated,"
      "memory_reserved,batch_size\n";
  for (const HistoryRow& row : rows)
    text += fmt::format("{},{},{},{},{},{},{:.3f},{},{},{},{}\n", row.epoch,
                        row.training ? "train" : "val", row.loss, row.overall_dice, row.large_dice,
                        row.small_dice, row.seconds, row.samples, row.memory_allocated,
                        row.memory_reserved, row.batch_size);
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
    const auto line = numbers(row);
    table.insert(table.end(), line.begin(), line.end());
  }
  State state;
  state.set("rows", tensor(table, Shape{static_cast<int64_t>(rows.size()),
                                        static_cast<int64_t>(kColumns)}));
  return state;
}

void History::restore(const State& state) {
  const Tensor table = state.tensor("rows").contiguous();
  check(table.dtype() == f64 && table.dim() == 2 && table.size(1) == kColumns, "history",
        "rows must be f64 (N, 11)", table.dtype(), " ", to_string(table.shape()));
  rows.clear();
  for (int64_t i = 0; i < table.size(0); ++i)
    rows.push_back(row_of(table.data<double>() + i * static_cast<int64_t>(kColumns)));
}

}  // namespace aorta::echo
