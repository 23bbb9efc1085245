#pragma once

#include <aorta/core/comm.h>

// What a step divided among ranks takes, by the model of docs/scaling.md.

namespace aorta::nn {

/// How fast the ranks of a group exchange: an all_reduce of `bytes` by N ranks takes
/// latency + 2 (N - 1) / N bytes / bandwidth.
struct RankSpeed {
  double latency = 0;    // seconds
  double bandwidth = 0;  // bytes a second, out of each rank
};
/// Measures it by a few all_reduces, up to 1 MiB, of tensors on `device`. All ranks call it
/// together, and get the same.
RankSpeed measure_rank_speed(Communicator& group, Device device = {});

/// A step of DistributedDataParallel.
struct RankedStep {
  int ranks = 1;
  double compute_seconds = 0;  // of a rank's part of the batch, forward and backward
  double gradient_bytes = 0;
  double bucket_bytes = 25 << 20;
  double backward_share = 0.62;  // of the computation
  RankSpeed speed = {};
};
/// Seconds of all-reduces that backward doesn't hide: gradients are ready at an even rate, a bucket
/// waits for the one before it, and the last has at most 1 MiB.
double exposed_seconds(const RankedStep& step);
/// How many times as fast as one such rank with the whole batch: below 1 the ranks are slower.
double predicted_speedup(const RankedStep& step);

}  // namespace aorta::nn
