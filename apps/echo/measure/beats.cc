#include <aorta/apps/echo/measure/beats.h>
#include <aorta/core/check.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace aorta::echo {
namespace {

std::vector<int64_t> local_maxima(std::span<const double> values) {
  std::vector<int64_t> peaks;
  const auto count = static_cast<int64_t>(values.size());
  const auto at = [&](int64_t i) { return values[static_cast<size_t>(i)]; };
  for (int64_t i = 1; i < count - 1; ++i) {
    if (!(at(i - 1) < at(i))) continue;
    int64_t end = i + 1;  // of the plateau
    while (end < count - 1 && at(end) == at(i)) ++end;
    if (at(end) < at(i)) {
      peaks.push_back((i + end - 1) / 2);
      i = end - 1;
    }
  }
  return peaks;
}

// Keeps the highest, and of the others those that are far enough from all that are kept.
std::vector<int64_t> apart(std::span<const double> values, const std::vector<int64_t>& peaks,
                           double distance) {
  const auto height = [&](size_t k) { return values[static_cast<size_t>(peaks[k])]; };
  const auto least = static_cast<int64_t>(std::ceil(distance));
  std::vector<size_t> order(peaks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return height(a) < height(b); });
  std::vector<bool> keep(peaks.size(), true);
  for (auto place = order.rbegin(); place != order.rend(); ++place) {
    if (!keep[*place]) continue;
    for (size_t k = *place; k-- > 0 && peaks[*place] - peaks[k] < least;) keep[k] = false;
    for (size_t k = *place + 1; k < peaks.size() && peaks[k] - peaks[*place] < least; ++k)
      keep[k] = false;
  }
  std::vector<int64_t> kept;
  for (size_t k = 0; k < peaks.size(); ++k)
    if (keep[k]) kept.push_back(peaks[k]);
  return kept;
}

double prominence_of(std::span<const double> values, int64_t peak) {
  const auto place = static_cast<size_t>(peak);
  const double height = values[place];
  double left = height, right = height;
  for (size_t i = place + 1; i-- > 0 && values[i] <= height;) left = std::min(left, values[i]);
  for (size_t i = place; i < values.size() && values[i] <= height; ++i)
    right = std::min(right, values[i]);
  return height - std::max(left, right);
}

// The mean of the numbers that aren't NaN; NaN where there is none.
class Mean {
 public:
  void add(double value) {
    if (std::isnan(value)) return;
    sum_ += value;
    ++count_;
  }
  int64_t count() const { return count_; }
  double value() const {
    return count_ > 0 ? sum_ / static_cast<double>(count_)
                      : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

// The value that stands at `part` of the sorted ones.
double at_part(const std::vector<double>& sorted, double part) {
  const double place = std::nearbyint(static_cast<double>(sorted.size()) * part);
  return sorted[std::min(static_cast<size_t>(place), sorted.size() - 1)];
}

// From the 5th to the 95th percentile.
double range_of(std::span<const double> areas) {
  if (areas.empty()) return 0;
  std::vector<double> sorted(areas.begin(), areas.end());
  std::sort(sorted.begin(), sorted.end());
  return at_part(sorted, 0.95) - at_part(sorted, 0.05);
}

// The least part of the range by which the area grows before a diastole that is seen from its
// beginning.
constexpr double kLeastRise = 0.1;

// The frames whose area a heart can have: it isn't 0, nor less than half or more than twice that of
// both frames beside it.
std::vector<bool> known_frames(std::span<const double> areas) {
  std::vector<bool> known(areas.size());
  for (size_t i = 0; i < areas.size(); ++i) {
    known[i] = areas[i] > 0;
    if (!known[i] || i == 0 || i + 1 == areas.size()) continue;
    const auto [low, high] = std::minmax(areas[i - 1], areas[i + 1]);
    if (low > 0 && (areas[i] < low / 2 || areas[i] > 2 * high)) known[i] = false;
  }
  return known;
}

// Straight lines between frames that are known; before the first and after the last, as these.
std::vector<double> interpolated(std::span<const double> areas, const std::vector<bool>& known) {
  std::vector<double> filled(areas.begin(), areas.end());
  size_t before = areas.size();  // the last one that is known, or none
  for (size_t i = 0; i < areas.size(); ++i) {
    if (!known[i]) continue;
    const size_t first = before == areas.size() ? 0 : before + 1;
    const double from = areas[before == areas.size() ? i : before];
    for (size_t k = first; k < i; ++k) {
      const auto part = static_cast<double>(k + 1 - first) / static_cast<double>(i + 1 - first);
      filled[k] = from + (areas[i] - from) * part;
    }
    before = i;
  }
  if (before < areas.size())
    std::fill(filled.begin() + static_cast<int64_t>(before), filled.end(), areas[before]);
  return filled;
}

// The known frame that is nearest, of two the earlier.
int64_t nearest(const std::vector<bool>& known, int64_t frame) {
  const auto count = static_cast<int64_t>(known.size());
  for (int64_t off = 0; off < count; ++off) {
    for (const int64_t at : {frame - off, frame + off})
      if (at >= 0 && at < count && known[static_cast<size_t>(at)]) return at;
  }
  return frame;
}

}  // namespace

std::vector<int64_t> find_peaks(std::span<const double> values, const PeakOptions& options) {
  check(options.distance >= 1, "find_peaks", "distance must be 1 at least", options.distance);
  std::vector<int64_t> peaks = apart(values, local_maxima(values), options.distance);
  std::erase_if(peaks,
                [&](int64_t peak) { return !(prominence_of(values, peak) >= options.prominence); });
  return peaks;
}

std::vector<int64_t> find_systoles(std::span<const double> areas, double fps) {
  if (areas.empty()) return {};
  const double range = range_of(areas);
  std::vector<double> contraction(areas.size());
  std::transform(areas.begin(), areas.end(), contraction.begin(), std::negate<>());
  const double distance = std::max(1., std::nearbyint(kBeatSeconds * (fps > 0 ? fps : 50)));
  return find_peaks(contraction, {.distance = distance, .prominence = 0.5 * range});
}

std::vector<Beat> find_beats(std::span<const double> areas, double fps) {
  const std::vector<bool> known = known_frames(areas);
  const std::vector<double> filled = interpolated(areas, known);
  const double range = range_of(filled);
  std::vector<Beat> beats;
  int64_t begin = 0;
  for (const int64_t peak : find_systoles(filled, fps)) {
    const int64_t systole = nearest(known, peak);
    int64_t diastole = -1;
    for (int64_t i = begin; i < systole; ++i) {
      const auto place = static_cast<size_t>(i);
      if (known[place] && (diastole < 0 || filled[place] > filled[static_cast<size_t>(diastole)]))
        diastole = i;
    }
    if (diastole < 0) continue;
    const auto end = filled.begin() + diastole;
    const double risen = *end - *std::min_element(filled.begin(), end + 1);
    beats.push_back({.diastole = diastole,
                     .systole = systole,
                     .cut = begin == 0 && risen < kLeastRise * range});
    begin = systole;
  }
  return beats;
}

Interval mean_of_beats(std::span<const std::vector<double>> beats,
                       const BootstrapOptions& options) {
  const size_t views = beats.empty() ? 0 : beats[0].size();
  Mean whole;
  for (const std::vector<double>& beat : beats) {
    check(beat.size() == views, "mean_of_beats", "beats must have the same views", beat.size(),
          " and ", views);
    for (const double value : beat) whole.add(value);
  }
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  Interval interval{whole.value(), kUnknown, kUnknown};
  if (whole.count() < 2) return interval;
  // The quotient of a number below beats x views says a beat, and the remainder a view.
  const auto resampled = [&](std::span<const int32_t> chosen) {
    Mean mean;
    const size_t view = static_cast<size_t>(chosen[0]) % views;
    for (size_t i = 0; i < beats.size(); ++i)
      mean.add(beats[static_cast<size_t>(chosen[i]) / views][view]);
    return mean.value();
  };
  const Interval range = bootstrap(static_cast<int64_t>(beats.size() * views), resampled, options);
  return {interval.value, range.low, range.high};
}

}  // namespace aorta::echo
