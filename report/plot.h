#pragma once

#include <aorta/core/list.h>

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <aorta/report/axis.h>

namespace aorta::report {

/// An axis of a plot.
struct Axis {
  std::string label = {};  // with its unit: "time per mini-batch (ms)"
  Scale scale = Scale::linear;
  /// The range; what is left out follows from the data and grows to a round number.
  std::optional<double> low = {};
  std::optional<double> high = {};
  bool whole = false;  // a count: numbers on a linear axis are whole
};

/// What a plot is called, its axes and its size.
struct PlotOptions {
  std::string title = {};
  Axis x = {};
  Axis y = {};
  int width = 900;  // pixels
  int height = 540;
};

/// A picture of curves, as SVG text that depends on nothing but what was added. Colours are
/// distinct for the colour-blind (Okabe and Ito 2008); from the eighth on lines are dashed. The
/// legend stands above the data. A point with a coordinate that isn't finite is a gap.
///
///     report::Plot plot({.title = "Loss", .x = {"iteration"}, .y = {"loss", Scale::log}});
///     plot.line("Adam", iterations, losses);
///     plot.save("loss.svg");
///
/// Errors: `plot: x and y must have as many points, ...`, `plot: values on a log axis must be
/// positive, ...`.
class Plot {
 public:
  explicit Plot(PlotOptions options);

  /// A curve through the points in their order; few of them are marked, and of more than a screen
  /// shows each pixel column keeps its first, lowest, highest and last. Without a name it isn't in
  /// the legend.
  Plot& line(Text name, std::span<const double> x, std::span<const double> y);
  Plot& scatter(Text name, std::span<const double> x, std::span<const double> y);
  /// A way through the plane, its start an open circle and its end a full one.
  Plot& path(Text name, std::span<const double> x, std::span<const double> y);
  /// The area between two curves over x, pale: an interval. It has the colour of the line of the
  /// same name, if there is one, and no place of its own in the legend then.
  Plot& band(Text name, std::span<const double> x, std::span<const double> low,
             std::span<const double> high);
  /// Bars that stand on 0, heights[i] from edges[i] to edges[i + 1]; ascending edges.
  Plot& bars(Text name, std::span<const double> edges, std::span<const double> heights);
  /// How many values lie in each of `count` intervals of one width; 0: as many as Sturges' rule
  /// says (1926). Values that aren't finite count nowhere.
  Plot& histogram(Text name, std::span<const double> values, int count = 0);
  /// A thin dashed line through the whole plot, its name beside it; the axis shows it. A value that
  /// isn't finite draws none.
  Plot& horizontal(Text name, double y);
  Plot& vertical(Text name, double x);
  /// Draws the line y = x: both axes then show one range, for which they must be alike.
  Plot& diagonal(Text name);
  /// Contour lines of f over the rectangle of the axes, whose ranges must be given. Without levels,
  /// 16 with as much area between each two neighbours: dark is low.
  Plot& contours(const std::function<double(double x, double y)>& f, List<double> levels = {});

  std::string svg() const;
  /// Writes svg() to a file, whole or not at all.
  void save(const Text& path) const;

 private:
  friend class Drawing;
  enum class Kind { line, scatter, path, band, bars };
  struct Point {
    double x, y;  // finite, or both NaN: a gap
  };
  struct Series {
    Kind kind;
    std::string name;
    std::vector<Point>
        points;  // of a band its lower edge, then the upper one; of bars pairs of tops
  };
  struct Rule {
    enum class Kind { horizontal, vertical, diagonal } kind;
    std::string name;
    double at;
  };
  struct Contour {
    double shade;  // 0 the lowest level, 1 the highest
    std::vector<Point> points;
  };
  Plot& add(Kind kind, std::string name, std::span<const double> x, std::span<const double> y);

  PlotOptions options_;
  std::vector<Series> series_;
  std::vector<Contour> contours_;
  std::vector<Rule> rules_;
};

}  // namespace aorta::report
