#pragma once

#include <aorta/apps/echo/train_options.h>

#include <vector>

namespace aorta::echo {

struct CompareOptions {
  /// Data, network and batch; what is compared overrides it.
  TrainOptions train;
  int64_t recordings = 256;  // as many as there are, if there are fewer
  int64_t epochs = 2;        // whose time is averaged, after one to warm up
  std::vector<int> workers = {0, 4};
};

/// Prints a table: the average time of an epoch (steps alone, no validation; recordings
/// of a last batch that isn't full are left out) by workers, with and
/// without page-locked memory, on the CPU and on a GPU where there is one that trains. Returns 0,
/// or 128 + the number of the signal that ended it; throws Failure.
int compare(const CompareOptions& options);

}  // namespace aorta::echo
