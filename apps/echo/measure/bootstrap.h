#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace aorta::echo {

/// A statistic and the range in which it lies.
struct Interval {
  double value = 0, low = 0, high = 0;
};

struct BootstrapOptions {
  int64_t samples = 10000;
  /// The part of the samples that lies below `low`, and above `high`.
  double tail = 0.05;
  uint64_t seed = 0;
};

/// A statistic of some of the things that were measured, each as often as its number is in `chosen`
/// (0 to the count of things - 1). Called from several threads.
using Statistic = std::function<double(std::span<const int32_t> chosen)>;

/// The statistic of `count` things, and from its 5th to its 95th percentile when as many are drawn
/// from them again and again (Efron 1979), samples of which it is NaN left out. A function of the
/// options alone: sample i draws from stream i of the seed.
Interval bootstrap(int64_t count, const Statistic& statistic, const BootstrapOptions& options = {});

}  // namespace aorta::echo
