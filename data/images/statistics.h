#pragma once

#include <aorta/data/dataset.h>

namespace aorta::data {

/// What mean_and_std looks at.
struct StatisticsOptions {
  /// Samples that are looked at, chosen at random; 0: all of them. EchoNet takes 128.
  int64_t samples = 0;
  /// The dimension of the tensor that is the channels.
  int64_t channel_dim = 0;
  uint64_t seed = 0;
  /// Reads several samples at once. The dataset's read() must then be safe to call from several
  /// threads, as those of this library are. The result is the same.
  bool parallel = false;
};

/// Mean and standard deviation of each channel.
struct ChannelStatistics {
  std::vector<float> mean;  // one a channel
  std::vector<float> std;   // of the whole population
};

/// Mean and standard deviation of each channel of the tensor called `name`, u8 or f32, over a
/// dataset's samples, in double precision: what normalisation takes.
///
///     auto [mean, std] = data::mean_and_std(videos, "video", {.samples = 128});
ChannelStatistics mean_and_std(const Dataset& dataset, const Text& name,
                               const StatisticsOptions& options = {});

}  // namespace aorta::data
