#include <aorta/apps/echo/measure/bootstrap.h>
#include <aorta/core/check.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/scalar/philox.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace aorta::echo {
namespace {

void draw(std::vector<int32_t>& chosen, uint64_t seed, uint64_t stream) {
  const auto range = static_cast<uint64_t>(chosen.size());
  for (size_t i = 0; i < chosen.size(); i += 4) {
    const scalar::PhiloxWords words = scalar::philox(seed, stream, i / 4);
    // Uniform but for range / 2^32.
    for (size_t k = i; k < std::min(i + 4, chosen.size()); ++k)
      chosen[k] = static_cast<int32_t>(words.word[k - i] * range >> 32);
  }
}

}  // namespace

Interval bootstrap(int64_t count, const Statistic& statistic, const BootstrapOptions& options) {
  check(count >= 1 && count <= std::numeric_limits<int32_t>::max(), "bootstrap",
        "there must be 1 to 2147483647 things to choose from", count);
  check(options.samples >= 1, "bootstrap", "samples must be positive", options.samples);
  check(options.tail >= 0 && options.tail < 0.5, "bootstrap", "tail must be 0 to 0.5",
        options.tail);
  std::vector<int32_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> values(static_cast<size_t>(options.samples));
  constexpr int64_t kGrain = 64;
  parallel_for(0, options.samples, kGrain, [&](int64_t first, int64_t last) {
    std::vector<int32_t> chosen(all.size());
    for (int64_t i = first; i < last; ++i) {
      draw(chosen, options.seed, static_cast<uint64_t>(i));
      values[static_cast<size_t>(i)] = statistic(chosen);
    }
  });
  // A sample of which the statistic isn't defined says nothing.
  std::erase_if(values, [](double value) { return std::isnan(value); });
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double place = std::nearbyint(static_cast<double>(values.size()) * part);
    return values[std::min(static_cast<size_t>(place), values.size() - 1)];
  };
  return {.value = statistic(all), .low = at(options.tail), .high = at(1 - options.tail)};
}

}  // namespace aorta::echo
