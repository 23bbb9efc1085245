#include <aorta/apps/echo/measure/agreement.h>
#include <aorta/core/check.h>
#include <aorta/report/plot.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace aorta::echo {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Pairs {
  std::vector<double> told, found;
};

Pairs finite_pairs(std::span<const double> told, std::span<const double> found) {
  check(told.size() == found.size(), "agreement", "there must be as many told as found",
        told.size(), " and ", found.size());
  Pairs pairs;
  for (size_t i = 0; i < told.size(); ++i) {
    if (!std::isfinite(told[i]) || !std::isfinite(found[i])) continue;
    pairs.told.push_back(told[i]);
    pairs.found.push_back(found[i]);
  }
  return pairs;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Sum of squares about `centre`.
double squares(const std::vector<double>& values, double centre) {
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

std::string with_unit(const std::string& label, const std::string& unit) {
  return unit.empty() ? label : label + " (" + unit + ")";
}

std::string sentence(const std::string& quantity) {
  std::string text = quantity;
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

}  // namespace

Agreement agreement(std::span<const double> told, std::span<const double> found) {
  const Pairs pairs = finite_pairs(told, found);
  Agreement result{.count = static_cast<int64_t>(pairs.told.size()),
                   .mae = kNaN,
                   .rmse = kNaN,
                   .r2 = kNaN,
                   .bias = kNaN,
                   .low = kNaN,
                   .high = kNaN};
  if (result.count == 0) return result;
  const auto count = static_cast<double>(result.count);
  std::vector<double> differences(pairs.told.size());
  double absolute = 0;
  for (size_t i = 0; i < differences.size(); ++i) {
    differences[i] = pairs.found[i] - pairs.told[i];
    absolute += std::abs(differences[i]);
  }
  const double residual = squares(differences, 0), total = squares(pairs.told, mean(pairs.told));
  result.mae = absolute / count;
  result.rmse = std::sqrt(residual / count);
  if (total > 1e-9 * squares(pairs.told, 0)) result.r2 = 1 - residual / total;
  result.bias = mean(differences);
  if (result.count < 2) return result;
  const double half = 1.96 * std::sqrt(squares(differences, result.bias) / (count - 1));
  result.low = result.bias - half;
  result.high = result.bias + half;
  return result;
}

Errors bootstrapped_errors(std::span<const double> told, std::span<const double> found,
                           const BootstrapOptions& options) {
  const Pairs pairs = finite_pairs(told, found);
  if (pairs.told.empty()) {
    constexpr Interval kNothing{kNaN, kNaN, kNaN};
    return {.mae = kNothing, .rmse = kNothing, .r2 = kNothing, .bias = kNothing};
  }
  // Sums over the chosen videos of what the scores are made of.
  struct Sums {
    double off = 0, absolute = 0, squared = 0, told = 0, told_squared = 0;
  };
  const auto sums = [&](std::span<const int32_t> chosen) {
    Sums all;
    for (const int32_t i : chosen) {
      const auto video = static_cast<size_t>(i);
      const double value = pairs.told[video], off = pairs.found[video] - value;
      all.off += off;
      all.absolute += std::abs(off);
      all.squared += off * off;
      all.told += value;
      all.told_squared += value * value;
    }
    return all;
  };
  const auto scored = [&](auto score) {
    return bootstrap(
        static_cast<int64_t>(pairs.told.size()),
        [&](std::span<const int32_t> chosen) {
          return score(sums(chosen), static_cast<double>(chosen.size()));
        },
        options);
  };
  return {
      .mae = scored([](const Sums& all, double count) { return all.absolute / count; }),
      .rmse = scored([](const Sums& all, double count) { return std::sqrt(all.squared / count); }),
      .r2 = scored([](const Sums& all, double count) {
        const double spread = all.told_squared - all.told * all.told / count;
        return spread > 1e-9 * all.told_squared ? 1 - all.squared / spread : kNaN;
      }),
      .bias = scored([](const Sums& all, double count) { return all.off / count; })};
}

std::string agreement_text(const char* format, double value) {
  return std::isnan(value) ? "-" : fmt::format(fmt::runtime(format), value);
}

void plot_scatter(const std::string& path, const std::string& quantity, const std::string& unit,
                  std::span<const double> told, std::span<const double> found,
                  const std::string& finder) {
  const Pairs pairs = finite_pairs(told, found);
  const Agreement result = agreement(told, found);
  const std::string title =
      result.count == 0 ? sentence(quantity) + " of no video"
                        : fmt::format("{}: MAE {:.2f}{}, R\u00b2 {}, {} videos", sentence(quantity),
                                      result.mae, unit.empty() ? "" : " " + unit,
                                      agreement_text("{:.3f}", result.r2), result.count);
  report::Plot plot({.title = title,
                     .x = {.label = with_unit(quantity + " by the table", unit)},
                     .y = {.label = with_unit(quantity + " by the " + finder, unit)},
                     .width = 640,
                     .height = 690});  // about as high as wide inside of the axes
  plot.scatter("videos", pairs.told, pairs.found);
  plot.diagonal("equal");
  if (std::isfinite(result.low)) {
    const auto [least, most] = std::minmax_element(pairs.told.begin(), pairs.told.end());
    const double ends[] = {*least, *most};
    for (const double limit : {result.low, result.high}) {
      const double moved[] = {*least + limit, *most + limit};
      plot.line(limit == result.low ? "limits of agreement" : "", ends, moved);
    }
  }
  plot.save(path);
}

void plot_bland_altman(const std::string& path, const std::string& quantity,
                       const std::string& unit, std::span<const double> told,
                       std::span<const double> found, const std::string& finder) {
  const Pairs pairs = finite_pairs(told, found);
  const Agreement result = agreement(told, found);
  std::vector<double> means, differences;
  for (size_t i = 0; i < pairs.told.size(); ++i) {
    means.push_back((pairs.told[i] + pairs.found[i]) / 2);
    differences.push_back(pairs.found[i] - pairs.told[i]);
  }
  const std::string title = result.count == 0
                                ? "Bland-Altman of no video"
                                : fmt::format("Bland-Altman: bias {:+.2f}, limits {} to {} {}",
                                              result.bias, agreement_text("{:+.2f}", result.low),
                                              agreement_text("{:+.2f}", result.high), unit);
  report::Plot plot(
      {.title = title,
       .x = {.label = with_unit("mean " + quantity + " of " + finder + " and table", unit)},
       .y = {.label = with_unit(finder + " - table", unit)},
       .width = 760,
       .height = 500});
  plot.scatter("videos", means, differences);
  plot.horizontal("bias", result.bias);
  plot.horizontal("+1.96 SD", result.high);
  plot.horizontal("-1.96 SD", result.low);
  plot.save(path);
}

}  // namespace aorta::echo
