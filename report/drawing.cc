#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <aorta/report/drawing.h>
#include <aorta/report/markup.h>

namespace aorta::report {
namespace {

constexpr size_t kColours = std::size(kPalette);
constexpr const char* kDashes[] = {"", "7 4", "2 3"};
constexpr size_t kMarkedPoints = 40;  // a curve of so many shows each

std::string line_element(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\"/>\n", number(x1),
                     number(y1), number(x2), number(y2), colour);
}

template <class Points>
std::string path_data(const Points& points) {
  std::string data, before;
  for (const auto& point : points) {
    const std::string text = number(point.x) + "," + number(point.y);
    if (text != before) data += (data.empty() ? "M" : "L") + text;
    before = text;
  }
  return data;
}

// Keeps each pixel column's first, lowest, highest and last of the points from left to right.
template <class Points>
Points thinned(const Points& points) {
  Points kept;
  for (size_t begin = 0; begin < points.size();) {
    size_t end = begin, low = begin, high = begin;
    for (; end < points.size() && std::floor(points[end].x) == std::floor(points[begin].x); ++end) {
      if (points[end].y < points[low].y) low = end;
      if (points[end].y > points[high].y) high = end;
    }
    size_t chosen[] = {begin, std::min(low, high), std::max(low, high), end - 1};
    for (int i = 0; i < 4; ++i)
      if (i == 0 || chosen[i] != chosen[i - 1]) kept.push_back(points[chosen[i]]);
    begin = end;
  }
  return kept;
}

// The ends that an axis shows: given ones, else those of the data, spread where they're one number.
Ticks ticks_of(const Axis& axis, double low, double high, int wanted) {
  const bool log = axis.scale == Scale::log;
  if (low > high) {  // no data
    low = log ? 1 : 0;
    high = log ? 10 : 1;
  }
  if (axis.low) low = *axis.low;
  if (axis.high) high = *axis.high;
  if (log) {
    if (axis.low && high <= low) high = low * 10;
    if (axis.high && low >= high) low = high / 10;
    if (high / low < 1 + 1e-9) low /= 2, high *= 2;
  } else {
    const double pad = std::max({std::abs(low) / 10, std::abs(high) / 10, 1e-280});
    const double room = low == 0 && high == 0 ? 1 : pad;
    if (axis.low && high <= low) high = low + room;
    if (axis.high && low >= high) low = high - room;
    if (high - low <= room * 1e-9) low -= room, high += room;
  }
  return choose_ticks(low, high,
                      {.scale = axis.scale,
                       .wanted = wanted,
                       .fixed_low = axis.low.has_value(),
                       .fixed_high = axis.high.has_value(),
                       .whole = axis.whole});
}

}  // namespace

Drawing::Drawing(const Plot& plot) : plot_(plot) {
  choose_ranges();
  const PlotOptions& options = plot.options_;
  double widest = 0;
  for (const double tick : y_.at) widest = std::max(widest, text_width(tick_text(tick), 12));
  left_ = std::max(24., widest + 12 + (options.y.label.empty() ? 12 : 36));
  right_ = options.width - 28.;
  lay_out_legend();
  bottom_ = options.height - (options.x.label.empty() ? 34. : 58.);
}

void Drawing::choose_ranges() {
  const double none = INFINITY;
  double x_low = none, x_high = -none, y_low = none, y_high = -none;
  for (const Plot::Series& series : plot_.series_)
    for (const Plot::Point& point : series.points) {
      if (std::isnan(point.x)) continue;
      x_low = std::min(x_low, point.x), x_high = std::max(x_high, point.x);
      y_low = std::min(y_low, point.y), y_high = std::max(y_high, point.y);
      if (series.kind == Plot::Kind::bars)
        y_low = std::min(y_low, 0.), y_high = std::max(y_high, 0.);
    }
  empty_ = x_low > x_high && plot_.contours_.empty();  // lines across it are no data
  bool one_range = false;
  for (const Plot::Rule& rule : plot_.rules_) {
    if (rule.kind == Plot::Rule::Kind::diagonal) {
      one_range = true;
      continue;
    }
    const bool of_y = rule.kind == Plot::Rule::Kind::horizontal;
    double& low = of_y ? y_low : x_low;
    double& high = of_y ? y_high : x_high;
    low = std::min(low, rule.at), high = std::max(high, rule.at);
  }
  const PlotOptions& options = plot_.options_;
  int x_wanted = std::max(2, options.width / 110), y_wanted = std::max(2, options.height / 75);
  if (one_range) {
    x_low = y_low = std::min(x_low, y_low);
    x_high = y_high = std::max(x_high, y_high);
    x_wanted = y_wanted = std::min(x_wanted, y_wanted);
  }
  x_ = ticks_of(options.x, x_low, x_high, x_wanted);
  y_ = ticks_of(options.y, y_low, y_high, y_wanted);
}

void Drawing::lay_out_legend() {
  double y = plot_.options_.title.empty() ? 18 : 56;
  double x = left_;
  bool any = false;
  for (const Plot::Series& series : plot_.series_) {
    if (series.name.empty() ||
        number_of(series) != static_cast<size_t>(&series - &plot_.series_[0]))
      continue;
    const double width = 26 + text_width(series.name, 13) + 18;
    if (x > left_ && x + width > right_ + 18) {
      x = left_;
      y += 21;
    }
    legend_.push_back({x, y, &series});
    x += width;
    any = true;
  }
  top_ = any ? y + 18 : plot_.options_.title.empty() ? 20 : 48;
}

double Drawing::x_of(double value) const {
  return left_ + fraction(value, x_.low, x_.high, plot_.options_.x.scale) * (right_ - left_);
}

double Drawing::y_of(double value) const {
  return bottom_ - fraction(value, y_.low, y_.high, plot_.options_.y.scale) * (bottom_ - top_);
}

Drawing::Pixel Drawing::pixel(Plot::Point point) const { return {x_of(point.x), y_of(point.y)}; }

// The stretches between gaps.
std::vector<std::vector<Drawing::Pixel>> Drawing::pieces(const Plot::Series& series) const {
  std::vector<std::vector<Pixel>> pieces(1);
  for (const Plot::Point& point : series.points) {
    if (!std::isnan(point.x))
      pieces.back().push_back(pixel(point));
    else if (!pieces.back().empty())
      pieces.emplace_back();
  }
  if (pieces.back().empty()) pieces.pop_back();
  return pieces;
}

// Which series' colour and place in the legend it has: its own, or that of a band's line.
size_t Drawing::number_of(const Plot::Series& series) const {
  const auto own = static_cast<size_t>(&series - plot_.series_.data());
  if (series.kind != Plot::Kind::band || series.name.empty()) return own;
  for (const Plot::Series& other : plot_.series_)
    if (other.kind != Plot::Kind::band && other.name == series.name)
      return static_cast<size_t>(&other - plot_.series_.data());
  return own;
}

std::string Drawing::colour(const Plot::Series& series) const {
  return kPalette[number_of(series) % kColours].light;
}

std::string Drawing::dash(const Plot::Series& series) const {
  const std::string dash = kDashes[number_of(series) / kColours % std::size(kDashes)];
  return dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"";
}

void Drawing::draw_grid() {
  for (const double tick : x_.minor)
    out_ += line_element(x_of(tick), top_, x_of(tick), bottom_, kMinorLine.light);
  for (const double tick : y_.minor)
    out_ += line_element(left_, y_of(tick), right_, y_of(tick), kMinorLine.light);
  for (const double tick : x_.at)
    out_ += line_element(x_of(tick), top_, x_of(tick), bottom_, kGridLine.light);
  for (const double tick : y_.at)
    out_ += line_element(left_, y_of(tick), right_, y_of(tick), kGridLine.light);
}

void Drawing::draw_contours() {
  for (const Plot::Contour& contour : plot_.contours_) {
    std::vector<Pixel> points;
    for (const Plot::Point& point : contour.points) points.push_back(pixel(point));
    // From a slate blue to a pale one.
    const auto mix = [&](int low, int high) {
      return static_cast<int>(std::lround(low + (high - low) * contour.shade));
    };
    out_ += fmt::format(
        "<path class=\"contour\" d=\"{}\" fill=\"none\" stroke=\"#{:02x}{:02x}{:02x}\"/>\n",
        path_data(points), mix(0x5b, 0xd3), mix(0x70, 0xdb), mix(0x8f, 0xe6));
  }
}

void Drawing::draw_circle(Pixel at, double radius, const std::string& style) {
  out_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{:g}\" {}/>\n", number(at.x), number(at.y),
                      radius, style);
}

void Drawing::draw_series(const Plot::Series& series) {
  const std::string fill = "fill=\"" + colour(series) + "\"";
  out_ += "<g class=\"series\">\n";
  if (!series.name.empty()) out_ += "<title>" + escape(series.name) + "</title>\n";
  if (series.kind == Plot::Kind::band || series.kind == Plot::Kind::bars) {
    series.kind == Plot::Kind::band ? draw_band(series) : draw_bars(series);
    out_ += "</g>\n";
    return;
  }
  const std::vector<std::vector<Pixel>> all = pieces(series);
  const auto columns = static_cast<size_t>(right_ - left_);
  for (const std::vector<Pixel>& piece : all) {
    if (series.kind == Plot::Kind::scatter) {
      for (const Pixel& at : piece) draw_circle(at, 3, fill + " fill-opacity=\"0.7\"");
      continue;
    }
    const bool thin =
        series.kind == Plot::Kind::line && piece.size() > 4 * columns &&
        std::is_sorted(piece.begin(), piece.end(), [](Pixel a, Pixel b) { return a.x < b.x; });
    if (piece.size() > 1)
      out_ += fmt::format(
          "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" "
          "stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>\n",
          path_data(thin ? thinned(piece) : piece), colour(series), thin ? "1.2" : "2",
          dash(series));
    const bool marked = series.points.size() <= kMarkedPoints || piece.size() == 1;
    if (marked)
      for (const Pixel& at : piece) draw_circle(at, series.kind == Plot::Kind::path ? 2 : 3, fill);
  }
  if (series.kind == Plot::Kind::path && !all.empty()) {
    draw_circle(all.front().front(), 5,
                "fill=\"#ffffff\" stroke-width=\"2\" stroke=\"" + colour(series) + "\"");
    draw_circle(all.back().back(), 5, fill + " stroke=\"#ffffff\"");
  }
  out_ += "</g>\n";
}

void Drawing::draw_band(const Plot::Series& series) {
  std::vector<Pixel> outline;
  for (const Plot::Point& point : series.points) outline.push_back(pixel(point));
  if (outline.empty()) return;
  out_ += fmt::format("<path class=\"band\" d=\"{}Z\" fill=\"{}\" fill-opacity=\"0.18\"/>\n",
                      path_data(outline), colour(series));
}

void Drawing::draw_bars(const Plot::Series& series) {
  for (size_t i = 0; i + 1 < series.points.size(); i += 2) {
    if (std::isnan(series.points[i].y)) continue;
    const Pixel left = pixel(series.points[i]), right = pixel(series.points[i + 1]);
    const double ground = y_of(0);
    // A hair between neighbours.
    const double gap = right.x - left.x > 4 ? 1 : 0;
    out_ += fmt::format(
        "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" "
        "fill-opacity=\"0.8\"/>\n",
        number(left.x + gap / 2), number(std::min(left.y, ground)),
        number(std::max(0., right.x - left.x - gap)), number(std::abs(ground - left.y)),
        colour(series));
  }
}

// The lines across the plot, and their names: above the right end, or right of the upper end.
void Drawing::draw_rules() {
  for (const Plot::Rule& rule : plot_.rules_) {
    Pixel from{left_, top_}, to{right_, bottom_};
    if (rule.kind == Plot::Rule::Kind::diagonal) std::swap(from.y, to.y);
    if (rule.kind == Plot::Rule::Kind::horizontal) from.y = to.y = y_of(rule.at);
    if (rule.kind == Plot::Rule::Kind::vertical) from.x = to.x = x_of(rule.at);
    if (from.y < top_ - 1 || from.y > bottom_ + 1 || from.x < left_ - 1 || from.x > right_ + 1)
      continue;  // outside of a range that was given
    out_ += fmt::format(
        "<line class=\"rule\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" "
        "stroke-width=\"1.2\" stroke-dasharray=\"5 4\"/>\n",
        number(from.x), number(from.y), number(to.x), number(to.y), kQuiet.light);
    if (rule.name.empty()) continue;
    const std::string style =
        fmt::format("font-size=\"12\" class=\"rule-name\" fill=\"{}\"", kQuiet.light);
    const double width = text_width(rule.name, 12);
    if (rule.kind == Plot::Rule::Kind::horizontal)
      out_ += text_element(right_ - 4, to.y - top_ < 18 ? to.y + 14 : to.y - 5, rule.name,
                           style + " text-anchor=\"end\"");
    else if (rule.kind == Plot::Rule::Kind::diagonal)
      out_ += text_element(right_ - 24, top_ + 12, rule.name, style + " text-anchor=\"end\"");
    else if (to.x + 5 + width > right_ + 20)
      out_ += text_element(to.x - 5, top_ + 12, rule.name, style + " text-anchor=\"end\"");
    else
      out_ += text_element(to.x + 5, top_ + 12, rule.name, style);
  }
}

void Drawing::draw_axes() {
  const PlotOptions& options = plot_.options_;
  out_ += line_element(left_, bottom_, right_, bottom_, kAxisLine.light);
  out_ += line_element(left_, top_, left_, bottom_, kAxisLine.light);
  const std::string style = std::string("font-size=\"12\" fill=\"") + kQuiet.light + "\" ";
  for (const double tick : x_.at)
    out_ += text_element(x_of(tick), bottom_ + 18, tick_text(tick),
                         style + "text-anchor=\"middle\" class=\"x-tick\"");
  for (const double tick : y_.at)
    out_ += text_element(left_ - 8, y_of(tick) + 4, tick_text(tick),
                         style + "text-anchor=\"end\" class=\"y-tick\"");
  const std::string label = std::string("font-size=\"13\" fill=\"") + kText.light + "\" ";
  const double middle = (top_ + bottom_) / 2;
  if (!options.x.label.empty())
    out_ += text_element((left_ + right_) / 2, bottom_ + 44, options.x.label,
                         label + "text-anchor=\"middle\"");
  if (!options.y.label.empty())
    out_ +=
        text_element(18, middle, options.y.label,
                     label + fmt::format("text-anchor=\"middle\" transform=\"rotate(-90 18 {})\"",
                                         number(middle)));
  if (!options.title.empty())
    out_ += text_element(
        left_, 30, options.title,
        std::string("font-size=\"18\" font-weight=\"600\" fill=\"") + kText.light + "\"");
  if (empty_)
    out_ += text_element((left_ + right_) / 2, middle, "no data",
                         label + "text-anchor=\"middle\" class=\"empty\"");
}

void Drawing::draw_legend() {
  for (const Entry& entry : legend_) {
    const Plot::Series& series = *entry.series;
    const std::string fill = "fill=\"" + colour(series) + "\"";
    if (series.kind == Plot::Kind::band || series.kind == Plot::Kind::bars)
      out_ += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"10\" {} fill-opacity=\"{}\"/>\n",
          number(entry.x), number(entry.y - 5), fill,
          series.kind == Plot::Kind::band ? "0.18" : "0.8");
    else if (series.kind != Plot::Kind::scatter)
      out_ += fmt::format(
          "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"{}\" stroke-width=\"3\"{}/>\n",
          number(entry.x), number(entry.y), number(entry.x + 20), number(entry.y), colour(series),
          dash(series));
    else
      draw_circle({entry.x + 10, entry.y}, 4, fill);
    out_ +=
        text_element(entry.x + 26, entry.y + 4.5, series.name,
                     std::string("font-size=\"13\" class=\"legend\" fill=\"") + kText.light + "\"");
  }
}

std::string Drawing::svg() {
  const PlotOptions& options = plot_.options_;
  out_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\" font-family=\"{2}\">\n<rect width=\"{0}\" height=\"{1}\" "
      "fill=\"#ffffff\"/>\n",
      options.width, options.height, kFont);
  if (plot_.contours_.empty()) draw_grid();  // its lines would be taken for contours
  // An SVG inside cuts off what lies outside the axes; a circle on their edge is seen whole.
  const double margin = 6;
  out_ += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\">\n",
      number(left_ - margin), number(top_ - margin), number(right_ - left_ + 2 * margin),
      number(bottom_ - top_ + 2 * margin));
  draw_contours();
  for (const bool below : {true, false})  // bands are drawn below curves
    for (const Plot::Series& series : plot_.series_)
      if ((series.kind == Plot::Kind::band) == below) draw_series(series);
  out_ += "</svg>\n";
  draw_rules();
  draw_axes();
  draw_legend();
  return out_ + "</svg>\n";
}

}  // namespace aorta::report
