#pragma once

#include <aorta/data/stages.h>

#include <string>

namespace aorta::data {

/// Where the time of an epoch went, in seconds: that of all workers together for reading samples,
/// that of the training program for the rest.
struct StallAccount {
  double open = 0, read = 0, decode = 0, transform = 0;  // stages that the dataset names
  double other = 0;                                      // of reading, outside of those stages
  double wait = 0;                                       // the program waited for a batch
  double copy = 0;                                       // the program copied or collated batches
  double compute = 0;  // between one batch and the next: the program's own work
  double total = 0;    // from the beginning to the last batch so far
  int64_t batches = 0;
  int64_t samples = 0;
  int workers = 0;

  /// One sentence: "compute-bound: loading takes 1 % of the epoch", or what to do about the wait.
  std::string verdict() const;
  /// A line for each figure, then the verdict.
  std::string table() const;
};

}  // namespace aorta::data
