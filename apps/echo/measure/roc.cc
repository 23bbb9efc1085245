#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/apps/echo/measure/roc.h>
#include <aorta/core/check.h>
#include <aorta/report/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace aorta::echo {
namespace {

struct Scored {
  double found;
  bool high;
};

// The area under the curve of things in descending order, each as often as its weight says.
double area_under(std::span<const Scored> things, std::span<const int32_t> weights) {
  int64_t low = 0, high = 0;
  double pairs = 0;  // of a high and a lower low thing
  for (size_t i = 0; i < things.size();) {
    int64_t tied_low = 0, tied_high = 0;
    const double found = things[i].found;
    for (; i < things.size() && things[i].found == found; ++i)
      (things[i].high ? tied_high : tied_low) += weights[i];
    pairs += static_cast<double>(tied_low) *
             (static_cast<double>(high) + static_cast<double>(tied_high) / 2);
    low += tied_low;
    high += tied_high;
  }
  if (low == 0 || high == 0) return std::numeric_limits<double>::quiet_NaN();
  return pairs / (static_cast<double>(low) * static_cast<double>(high));
}

}  // namespace

Roc roc(std::span<const double> told, std::span<const double> found, double threshold,
        const BootstrapOptions& options) {
  check(told.size() == found.size(), "roc", "there must be as many told as found", told.size(),
        " and ", found.size());
  std::vector<Scored> things;
  for (size_t i = 0; i < told.size(); ++i)
    if (std::isfinite(told[i]) && std::isfinite(found[i]))
      things.push_back({found[i], told[i] > threshold});
  std::stable_sort(things.begin(), things.end(),
                   [](const Scored& a, const Scored& b) { return a.found > b.found; });
  Roc result{.threshold = threshold};
  for (const Scored& thing : things) ++(thing.high ? result.high : result.low);
  result.false_positives = {0};
  result.true_positives = {0};
  int64_t low = 0, high = 0;
  for (size_t i = 0; i < things.size(); ++i) {
    ++(things[i].high ? high : low);
    if (i + 1 < things.size() && things[i + 1].found == things[i].found) continue;
    result.false_positives.push_back(static_cast<double>(low) / static_cast<double>(result.low));
    result.true_positives.push_back(static_cast<double>(high) / static_cast<double>(result.high));
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  result.area = {kNone, kNone, kNone};
  if (result.low == 0 || result.high == 0) return result;
  result.area = bootstrap(
      static_cast<int64_t>(things.size()),
      [&](std::span<const int32_t> chosen) {
        std::vector<int32_t> weights(things.size());
        for (const int32_t i : chosen) ++weights[static_cast<size_t>(i)];
        return area_under(things, weights);
      },
      options);
  return result;
}

void plot_roc(const std::string& path, std::span<const Roc> curves) {
  report::Plot plot({.title = "Receiver operating characteristic",
                     .x = {.label = "false positive rate", .low = 0, .high = 1},
                     .y = {.label = "true positive rate", .low = 0, .high = 1},
                     .width = 640,
                     .height = 690});
  for (const Roc& curve : curves)
    if (!std::isnan(curve.area.value))
      plot.line(fmt::format("above {:g}: AUC {:.3f}", curve.threshold, curve.area.value),
                curve.false_positives, curve.true_positives);
  plot.diagonal("chance");
  plot.save(path);
}

}  // namespace aorta::echo
