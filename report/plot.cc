#include <aorta/core/check.h>
#include <aorta/core/io/file.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <aorta/report/contour.h>
#include <aorta/report/drawing.h>
#include <aorta/report/plot.h>

namespace aorta::report {
namespace {

constexpr double kLargest = 1e300;  // beyond it differences of coordinates overflow
constexpr double kSmallest = 1e-300;

void check_axis(const Axis& axis, const char* which) {
  for (const std::optional<double>& end : {axis.low, axis.high}) {
    if (!end) continue;
    check(std::abs(*end) <= kLargest, "plot", "the range of an axis must be within 1e300", *end,
          " for ", which);
    check(axis.scale == Scale::linear || *end >= kSmallest, "plot",
          "the range of a log axis must be at least 1e-300", *end, " for ", which);
  }
  check(!axis.low || !axis.high || *axis.low < *axis.high, "plot",
        "an axis must end above where it starts", axis.low.value_or(0), " to ",
        axis.high.value_or(0), " for ", which);
}

bool usable(double value) { return std::abs(value) <= kLargest; }

void check_positive(const Axis& axis, double value, size_t index, const std::string& name) {
  check(axis.scale == Scale::linear || std::isnan(value) || value >= kSmallest, "plot",
        "values on a log axis must be positive", value, " at point ", index, " of \"", name, "\"");
}

}  // namespace

Plot::Plot(PlotOptions options) : options_(std::move(options)) {
  check(options_.width >= 200 && options_.height >= 150, "plot",
        "size must be at least 200 x 150 pixels", options_.width, " x ", options_.height);
  check_axis(options_.x, "x");
  check_axis(options_.y, "y");
}

Plot& Plot::add(Kind kind, std::string name, std::span<const double> x, std::span<const double> y) {
  check(x.size() == y.size(), "plot", "x and y must have as many points", x.size(), " and ",
        y.size(), " for \"", name, "\"");
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  Series series{kind, std::move(name), {}};
  for (size_t i = 0; i < x.size(); ++i) {
    check_positive(options_.x, x[i], i, series.name);
    check_positive(options_.y, y[i], i, series.name);
    const bool shown = usable(x[i]) && usable(y[i]);
    series.points.push_back(shown ? Point{x[i], y[i]} : Point{kNan, kNan});
  }
  series_.push_back(std::move(series));
  return *this;
}

Plot& Plot::line(Text name, std::span<const double> x, std::span<const double> y) {
  return add(Kind::line, std::move(name), x, y);
}

Plot& Plot::scatter(Text name, std::span<const double> x, std::span<const double> y) {
  return add(Kind::scatter, std::move(name), x, y);
}

Plot& Plot::path(Text name, std::span<const double> x, std::span<const double> y) {
  return add(Kind::path, std::move(name), x, y);
}

Plot& Plot::band(Text name, std::span<const double> x, std::span<const double> low,
                 std::span<const double> high) {
  check(x.size() == low.size() && x.size() == high.size(), "plot",
        "x and both edges of a band must have as many points", x.size(), ", ", low.size(), " and ",
        high.size(), " for \"", name, "\"");
  std::vector<double> there, edge;
  const auto keep = [&](size_t i) {
    if (!usable(x[i]) || !usable(low[i]) || !usable(high[i])) return false;
    there.push_back(x[i]);
    return true;
  };
  for (size_t i = 0; i < x.size(); ++i)
    if (keep(i)) edge.push_back(low[i]);
  for (size_t i = x.size(); i-- > 0;)
    if (keep(i)) edge.push_back(high[i]);
  return add(Kind::band, std::move(name), there, edge);
}

Plot& Plot::bars(Text name, std::span<const double> edges, std::span<const double> heights) {
  check(edges.size() == heights.size() + 1 || (edges.empty() && heights.empty()), "plot",
        "bars must have one edge more than heights", edges.size(), " and ", heights.size(),
        " for \"", name, "\"");
  check(options_.y.scale == Scale::linear, "plot", "bars need a linear y axis", "a log axis");
  std::vector<double> x, y;
  for (size_t i = 0; i < heights.size(); ++i) {
    check(usable(edges[i]) && usable(edges[i + 1]) && edges[i] < edges[i + 1], "plot",
          "edges of bars must ascend", edges[i], " and ", edges[i + 1], " for \"", name, "\"");
    x.insert(x.end(), {edges[i], edges[i + 1]});
    y.insert(y.end(), {heights[i], heights[i]});
  }
  return add(Kind::bars, std::move(name), x, y);
}

Plot& Plot::histogram(Text name, std::span<const double> values, int count) {
  check(count >= 0 && count <= 10000, "plot", "a histogram must have 0 to 10000 bars", count);
  double low = INFINITY, high = -INFINITY;
  size_t all = 0;
  for (const double value : values) {
    if (!usable(value)) continue;
    low = std::min(low, value), high = std::max(high, value);
    ++all;
  }
  if (all == 0) return bars(std::move(name), {}, {});
  if (count == 0) count = 1 + static_cast<int>(std::ceil(std::log2(static_cast<double>(all))));
  const double room = std::max(std::abs(low) * 1e-6, 1e-6);
  if (high - low < room) {  // one value
    low = std::max(low - room / 2, -kLargest);
    high = std::min(high + room / 2, kLargest);
  }
  std::vector<double> edges, heights(static_cast<size_t>(count));
  for (int i = 0; i <= count; ++i) edges.push_back(low + (high - low) * i / count);
  for (const double value : values) {
    if (!usable(value)) continue;
    const auto at = static_cast<int>((value - low) / (high - low) * count);
    heights[static_cast<size_t>(std::clamp(at, 0, count - 1))] += 1;
  }
  return bars(std::move(name), edges, heights);
}

Plot& Plot::horizontal(Text name, double y) {
  check_positive(options_.y, y, 0, name);
  if (usable(y)) rules_.push_back({Rule::Kind::horizontal, std::move(name), y});
  return *this;
}

Plot& Plot::vertical(Text name, double x) {
  check_positive(options_.x, x, 0, name);
  if (usable(x)) rules_.push_back({Rule::Kind::vertical, std::move(name), x});
  return *this;
}

Plot& Plot::diagonal(Text name) {
  const Axis &x = options_.x, &y = options_.y;
  check(x.scale == y.scale && x.low == y.low && x.high == y.high, "plot",
        "a diagonal needs axes of one scale and range", "two for \"", name, "\"");
  rules_.push_back({Rule::Kind::diagonal, std::move(name), 0});
  return *this;
}

Plot& Plot::contours(const std::function<double(double x, double y)>& f, List<double> levels) {
  const Axis &x = options_.x, &y = options_.y;
  check(x.low && x.high && y.low && y.high, "plot", "contours need the ranges of both axes",
        "none for ", x.low && x.high ? "y" : "x");
  check(x.scale == Scale::linear && y.scale == Scale::linear, "plot", "contours need linear axes",
        "a log axis");
  constexpr int kColumns = 241, kRows = 181, kLevels = 16;
  const Grid grid = sample_grid(f, {.x_low = *x.low,
                                    .x_high = *x.high,
                                    .y_low = *y.low,
                                    .y_high = *y.high,
                                    .columns = kColumns,
                                    .rows = kRows});
  if (levels.empty()) levels = quantile_levels(grid, kLevels);
  for (size_t i = 0; i < levels.size(); ++i) {
    const double shade =
        levels.size() < 2 ? 0 : static_cast<double>(i) / static_cast<double>(levels.size() - 1);
    for (const Polyline& line : contour_lines(grid, levels[i])) {
      Contour contour{shade, {}};
      for (const auto& [at_x, at_y] : line) contour.points.push_back({at_x, at_y});
      contours_.push_back(std::move(contour));
    }
  }
  return *this;
}

std::string Plot::svg() const { return Drawing(*this).svg(); }

void Plot::save(const Text& path) const {
  io::AtomicFile file(path);
  file.write(svg());
  file.commit();
}

}  // namespace aorta::report
