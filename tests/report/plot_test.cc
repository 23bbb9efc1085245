#include <aorta/core/check.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>

#include <aorta/report/contour.h>
#include <aorta/report/plot.h>
#include <aorta/tests/report/xml.h>
#include <aorta/tests/special_numbers.h>

namespace aorta::report {
namespace {

using Numbers = std::vector<double>;

struct At {
  double x, y;
};

// "M1.00,2.00L3.00,4.00".
std::vector<At> points_of(const std::string& data) {
  std::vector<At> points;
  std::istringstream in(data);
  At at{};
  char letter, comma;
  while (in >> letter >> at.x >> comma >> at.y) points.push_back(at);
  EXPECT_TRUE(in.eof()) << data;
  return points;
}

// A drawn plot, read back.
struct Picture {
  explicit Picture(const Plot& plot) : elements(parse_xml(plot.svg())) {
    for (const Element& element : elements) {
      const std::string cls = get(element, "class");
      if (cls == "x-tick")
        x_ticks.push_back({std::stod(get(element, "x")), 0}), x_labels.push_back(element.text);
      if (cls == "y-tick")
        y_ticks.push_back({0, std::stod(get(element, "y")) - 4}), y_labels.push_back(element.text);
      if (cls == "legend") legend.push_back(element.text);
      if (element.name == "path" && cls.empty()) curves.push_back(points_of(get(element, "d")));
      if (element.name == "path" && cls == "contour")
        contours.push_back(points_of(get(element, "d")));
      if (element.name == "circle")
        circles.push_back({std::stod(get(element, "cx")), std::stod(get(element, "cy"))});
    }
  }
  static std::string get(const Element& element, const std::string& key) {
    const auto found = element.attributes.find(key);
    return found == element.attributes.end() ? "" : found->second;
  }
  // The pixel of a value, from the outermost ticks.
  double x(double value, double low, double high) const {
    return x_ticks.front().x +
           (value - low) / (high - low) * (x_ticks.back().x - x_ticks.front().x);
  }
  double y(double value, double low, double high) const {
    return y_ticks.front().y +
           (value - low) / (high - low) * (y_ticks.back().y - y_ticks.front().y);
  }

  std::vector<Element> elements;
  std::vector<At> x_ticks, y_ticks, circles;
  std::vector<std::string> x_labels, y_labels, legend;
  std::vector<std::vector<At>> curves, contours;
};

TEST(Ticks, AreRoundAndCoverTheData) {
  const auto at = [](double low, double high, int wanted) {
    return choose_ticks(low, high, {.wanted = wanted}).at;
  };
  EXPECT_EQ(at(0, 19999, 8), (Numbers{0, 5000, 10000, 15000, 20000}));
  EXPECT_EQ(at(0.07, 2.3, 6), (Numbers{0, 0.5, 1, 1.5, 2, 2.5}));
  EXPECT_EQ(at(-0.25, 0.3, 6), (Numbers{-0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3}));
  EXPECT_EQ(at(0.1, 0.30000000000000004, 2), (Numbers{0.1, 0.2, 0.3}));
  for (int i = 0; i < 2000; ++i) {
    const double low = std::sin(i * 1.7) * std::pow(10, i % 21 - 10);
    const double high = low + (1.0001 + std::cos(i * 0.3)) * std::pow(10, i % 21 - 10 - i % 5);
    for (const int wanted : {2, 5, 8}) {
      const Ticks ticks = choose_ticks(low, high, {.wanted = wanted});
      ASSERT_GE(ticks.at.size(), 2u);
      ASSERT_LE(ticks.at.size(), static_cast<size_t>(wanted) + 3);
      ASSERT_LE(ticks.low, low);
      ASSERT_GE(ticks.high, high);
      ASSERT_LE(ticks.at.front(), low + 1e-9 * (high - low) * wanted);
      ASSERT_GE(ticks.at.back(), high - 1e-9 * (high - low) * wanted);
    }
  }
}

TEST(Ticks, OfLogAxes) {
  const auto at = [](double low, double high, int wanted) {
    return choose_ticks(low, high, {.scale = Scale::log, .wanted = wanted}).at;
  };
  EXPECT_EQ(at(0.15, 3, 7), (Numbers{0.1, 0.2, 0.5, 1, 2, 5}));
  EXPECT_EQ(at(30, 80000, 8), (Numbers{10, 100, 1000, 10000, 100000}));
  EXPECT_EQ(at(1e-9, 1, 8), (Numbers{1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1}));
  EXPECT_EQ(at(1e-19, 10, 3), (Numbers{1e-19, 1e-14, 1e-9, 1e-4, 10}));
  EXPECT_EQ(at(1, 1.05, 5), (Numbers{1, 1.01, 1.02, 1.03, 1.04, 1.05}));
  for (int i = 0; i < 2000; ++i) {
    const double low = std::pow(10, 12 * std::sin(i * 1.3)) * (1.5 + std::cos(i));
    const double high = low * std::pow(10, 6.001 + 6 * std::sin(i * 0.7));
    const Ticks ticks = choose_ticks(low, high, {.scale = Scale::log, .wanted = 6});
    ASSERT_GE(ticks.at.size(), 2u) << low << " " << high;
    ASSERT_LE(ticks.at.size(), 9u);
    ASSERT_LE(ticks.low, low);
    ASSERT_GE(ticks.high, high);
    ASSERT_LE(ticks.at.front(), low * (1 + 1e-8));
  }
}

TEST(Ticks, OfCountsAreWhole) {
  const auto at = [](double low, double high) {
    return choose_ticks(low, high, {.wanted = 8, .fixed_low = true, .whole = true}).at;
  };
  EXPECT_EQ(at(1, 1.1), (Numbers{1, 2}));
  EXPECT_EQ(at(1, 4), (Numbers{1, 2, 3, 4}));
  EXPECT_EQ(at(1, 16), (Numbers{2, 4, 6, 8, 10, 12, 14, 16}));
  const Plot plot = std::move(Plot({.x = {.label = "epoch", .low = 1, .whole = true}})
                                  .line("loss", Numbers{1}, Numbers{0.5}));
  EXPECT_EQ(Picture(plot).x_labels, (std::vector<std::string>{"1", "2"}));
}

TEST(Plot, ADiagonalIsYOfXOnOneRange) {
  Plot plot({.width = 640, .height = 690});
  plot.scatter("videos", Numbers{20, 70}, Numbers{35, 55}).diagonal("equal");
  const Picture picture(plot);
  EXPECT_EQ(picture.x_labels, picture.y_labels);
  EXPECT_EQ(picture.x_labels.front(), "20");
  EXPECT_EQ(picture.x_labels.back(), "70");
  EXPECT_EQ(picture.circles.size(), 3u);  // two videos, one in the legend
  for (const Element& element : picture.elements) {
    if (Picture::get(element, "class") != "rule") continue;
    const auto number = [&](const char* key) { return std::stod(Picture::get(element, key)); };
    EXPECT_NEAR(number("x1"), picture.x_ticks.front().x, 0.02);
    EXPECT_NEAR(number("y1"), picture.y_ticks.front().y, 0.02);
    EXPECT_NEAR(number("x2"), picture.x_ticks.back().x, 0.02);
    EXPECT_NEAR(number("y2"), picture.y_ticks.back().y, 0.02);
  }
  EXPECT_NE(plot.svg().find("class=\"rule\""), std::string::npos);
  EXPECT_NE(error_of([] {
              Plot({.y = {.low = 0}}).diagonal("equal");
            }).find("plot: a diagonal needs axes of one scale and range"),
            std::string::npos);
}

TEST(Ticks, StayInsideAGivenRange) {
  const Ticks linear =
      choose_ticks(0.13, 0.87, {.wanted = 4, .fixed_low = true, .fixed_high = true});
  EXPECT_EQ(linear.low, 0.13);
  EXPECT_EQ(linear.high, 0.87);
  EXPECT_EQ(linear.at, (Numbers{0.2, 0.4, 0.6, 0.8}));
  const Ticks log = choose_ticks(
      3, 70, {.scale = Scale::log, .wanted = 4, .fixed_low = true, .fixed_high = true});
  EXPECT_EQ(log.low, 3);
  EXPECT_EQ(log.high, 70);
  EXPECT_EQ(log.at, (Numbers{5, 10, 20, 50}));
  EXPECT_EQ(choose_ticks(2.1, 2.9,
                         {.scale = Scale::log, .wanted = 4, .fixed_low = true, .fixed_high = true})
                .at,
            (Numbers{2.2, 2.4, 2.6, 2.8}));
}

TEST(Ticks, AreWrittenAsPeopleDo) {
  EXPECT_EQ(tick_text(0), "0");
  EXPECT_EQ(tick_text(0.30000000000000004), "0.3");
  EXPECT_EQ(tick_text(5000), "5000");
  EXPECT_EQ(tick_text(20000), "20,000");
  EXPECT_EQ(tick_text(123456.5), "123,456.5");
  EXPECT_EQ(tick_text(-1000000), "\u22121,000,000");
  EXPECT_EQ(tick_text(1e-7), "10\u207b\u2077");
  EXPECT_EQ(tick_text(-2e9), "\u22122\u00d710\u2079");
  EXPECT_EQ(tick_text(5e-12), "5\u00d710\u207b\u00b9\u00b2");
}

TEST(Plot, PutsPointsWhereTheAxesSay) {
  Plot plot({.title = "T", .x = {"x"}, .y = {"y", Scale::log}});
  const Numbers x{0, 4, 10}, y{0.01, 1, 100};
  plot.line("a", x, y);
  const Picture picture(plot);
  EXPECT_EQ(picture.x_labels, (std::vector<std::string>{"0", "2", "4", "6", "8", "10"}));
  EXPECT_EQ(picture.y_labels, (std::vector<std::string>{"0.01", "0.1", "1", "10", "100"}));
  ASSERT_EQ(picture.curves.size(), 1u);
  ASSERT_EQ(picture.curves[0].size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(picture.curves[0][i].x, picture.x(x[i], 0, 10), 0.011);
    EXPECT_NEAR(picture.curves[0][i].y, picture.y(std::log10(y[i]), -2, 2), 0.011);
  }
  for (size_t i = 0; i < 6; ++i)
    EXPECT_NEAR(picture.x_ticks[i].x, picture.x(2. * static_cast<double>(i), 0, 10), 0.011);
  EXPECT_GT(picture.y_ticks.front().y, picture.y_ticks.back().y);  // upwards
}

TEST(Plot, TheLegendStandsAboveTheData) {
  Plot plot({.title = "T", .x = {"x"}, .y = {"y"}});
  const Numbers x{0, 1};
  for (int i = 0; i < 10; ++i) plot.line("a name that takes room " + std::to_string(i), x, x);
  plot.line("", x, x);
  const Picture picture(plot);
  EXPECT_EQ(picture.legend.size(), 10u);
  double lowest = 0;
  for (const Element& element : picture.elements) {
    if (Picture::get(element, "class") != "legend") continue;
    lowest = std::max(lowest, std::stod(element.attributes.at("y")));
    EXPECT_LT(std::stod(element.attributes.at("x")), 700);
  }
  EXPECT_LT(lowest, picture.y_ticks.back().y - 5);
}

TEST(Plot, PointsThatAreNotFiniteAreGaps) {
  Plot plot({.title = "", .x = {""}, .y = {""}});
  const Numbers x{0, 1, 2, 3, 4, 5, 6, kNaN};
  const Numbers y{0, 1, kNaN, 3, kInf, 1e301, 6, 7};
  plot.line("", x, y);
  const Picture picture(plot);
  ASSERT_EQ(picture.curves.size(), 1u);  // 0 and 1; 3 and 6 stand alone
  EXPECT_EQ(picture.curves[0].size(), 2u);
  EXPECT_EQ(picture.circles.size(), 4u);
  EXPECT_EQ(picture.y_labels.back(), "6");
}

TEST(Plot, ShowsOnePointConstantsAndNothing) {
  Plot one({.title = "", .x = {"x"}, .y = {"y", Scale::log}});
  one.line("a", Numbers{3}, Numbers{1e-5});
  const Picture point(one);
  EXPECT_EQ(point.circles.size(), 1u);
  EXPECT_TRUE(point.curves.empty());
  EXPECT_GE(point.x_ticks.size(), 2u);

  for (const double value : {0., 5., -1e9, 1e-300, 0.1}) {
    Plot constant({.title = "", .x = {"x"}, .y = {"y"}});
    constant.line("a", Numbers{0, 1, 2}, Numbers{value, value, value});
    const Picture flat(constant);
    ASSERT_EQ(flat.curves.size(), 1u);
    EXPECT_LT(flat.curves[0][0].y, flat.y_ticks.front().y);
    EXPECT_GT(flat.curves[0][0].y, flat.y_ticks.back().y);
  }
  for (const Scale scale : {Scale::linear, Scale::log}) {
    Plot empty({.title = "", .x = {"x", scale}, .y = {"y", scale}});
    empty.line("a", {}, {}).scatter("b", Numbers{kNaN}, Numbers{1});
    EXPECT_NE(empty.svg().find(">no data<"), std::string::npos);
    EXPECT_GE(Picture(empty).x_ticks.size(), 2u);
  }
  Plot extreme({.title = "", .x = {"x"}, .y = {"y"}});
  extreme.line("a", Numbers{-1e300, 1e300}, Numbers{1, 1.0000000000000002});
  EXPECT_EQ(Picture(extreme).curves[0].size(), 2u);
  Plot decades({.title = "", .x = {"x"}, .y = {.label = "y", .scale = Scale::log}});
  decades.line("a", Numbers{0, 1, 2}, Numbers{1e-200, 1, 1e200});
  EXPECT_EQ(decades.svg().find("nan"), std::string::npos);
  const Picture picture(decades);
  const auto& rising = picture.curves.at(0);
  EXPECT_NEAR(2 * rising[1].y, rising[0].y + rising[2].y, 1);
}

TEST(Plot, ThinsLongCurvesButKeepsTheirExtremes) {
  Plot plot({.title = "", .x = {"x"}, .y = {"y"}});
  Numbers x, y;
  for (int i = 0; i < 200000; ++i) {
    x.push_back(i);
    y.push_back(std::sin(i * 0.7));
  }
  y[77777] = 50;
  y[123456] = -40;
  plot.line("a", x, y);
  const std::string svg = plot.svg();
  EXPECT_LT(svg.size(), 80000u);
  const Picture picture(plot);
  const auto& curve = picture.curves.at(0);
  const auto has = [&](size_t i) {
    for (const At& at : curve)
      if (std::abs(at.x - picture.x(x[i], 0, 200000)) < 0.02 &&
          std::abs(at.y - picture.y(y[i], -40, 60)) < 0.02)
        return true;
    return false;
  };
  EXPECT_EQ(picture.y_labels.back(), "60");
  for (const size_t i : {size_t{0}, size_t{77777}, size_t{123456}, size_t{199999}})
    EXPECT_TRUE(has(i)) << i;
  // Every column that has data still has some.
  double before = curve[0].x;
  for (const At& at : curve) {
    EXPECT_GE(at.x, before - 0.001);
    EXPECT_LT(at.x - before, 2);
    before = at.x;
  }
}

TEST(Plot, TheSameInputGivesTheSameText) {
  const auto draw = [] {
    Plot plot({.title = "A < B & \"C\"", .x = {"x", {}, -2, 2}, .y = {"y", {}, -2, 2}});
    plot.contours([](double x, double y) { return std::sin(3 * x) + y * y; });
    plot.path("p", Numbers{0, 1, 1}, Numbers{0, 0, 1});
    plot.scatter("s", Numbers{0, 3}, Numbers{1, 1});
    return plot.svg();
  };
  EXPECT_EQ(draw(), draw());
  parse_xml(draw());
  EXPECT_NE(draw().find(">A &lt; B &amp; &quot;C&quot;<"), std::string::npos);
}

TEST(Plot, SavesAFile) {
  Plot plot({.title = "T", .x = {"x"}, .y = {"y"}});
  plot.line("a", Numbers{0, 1}, Numbers{0, 1});
  const std::string path = testing::TempDir() + "/" + std::to_string(getpid()) + "_plot.svg";
  plot.save(path);
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, plot.svg());
  unlink(path.c_str());
  EXPECT_EQ(error_of([&] { plot.save("/nowhere/x.svg"); }).substr(0, 15), "/nowhere/x.svg:");
}

TEST(Plot, SaysWhatIsWrong) {
  Plot plot({.title = "", .x = {"x"}, .y = {"y", Scale::log}});
  EXPECT_EQ(error_of([&] {
              plot.line("sgd", Numbers{0, 1}, Numbers{1, -1});
            }),
            "plot: values on a log axis must be positive, got -1 at point 1 of \"sgd\"");
  EXPECT_EQ(error_of([&] { plot.line("sgd", Numbers{0}, Numbers{0}); }),
            "plot: values on a log axis must be positive, got 0 at point 0 of \"sgd\"");
  EXPECT_EQ(error_of([&] {
              plot.line("sgd", Numbers{0, 1}, Numbers{1});
            }),
            "plot: x and y must have as many points, got 2 and 1 for \"sgd\"");
  EXPECT_EQ(error_of([&] { plot.contours([](double, double) { return 0.; }); }),
            "plot: contours need the ranges of both axes, got none for x");
  const auto text = [](const PlotOptions& options) { return error_of([&] { Plot{options}; }); };
  EXPECT_EQ(text({.x = {"x", Scale::log, 0.}}),
            "plot: the range of a log axis must be at least 1e-300, got 0 for x");
  EXPECT_EQ(text({.y = {"y", Scale::linear, 1, 1}}),
            "plot: an axis must end above where it starts, got 1 to 1 for y");
  EXPECT_EQ(text({.y = {"y", Scale::linear, -kInf}}),
            "plot: the range of an axis must be within 1e300, got -inf for y");
  EXPECT_EQ(text({.width = 10}), "plot: size must be at least 200 x 150 pixels, got 10 x 540");
}

// Contours of x^2 + y^2 are circles of radius sqrt(level), closed.
TEST(Contours, AreWhereTheFunctionHasTheLevel) {
  const Grid grid = sample_grid(
      [](double x, double y) { return x * x + y * y; },
      {.x_low = -2, .x_high = 2, .y_low = -1.5, .y_high = 1.5, .columns = 81, .rows = 61});
  for (const double level : {0.25, 1., 2.}) {
    const std::vector<Polyline> lines = contour_lines(grid, level);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0].front(), lines[0].back());
    double length = 0;
    for (size_t i = 0; i < lines[0].size(); ++i) {
      const auto [x, y] = lines[0][i];
      EXPECT_NEAR(std::hypot(x, y), std::sqrt(level), 1e-3);
      if (i > 0) length += std::hypot(x - lines[0][i - 1].first, y - lines[0][i - 1].second);
    }
    EXPECT_NEAR(length, 2 * M_PI * std::sqrt(level), 0.01);
  }
  // The rectangle cuts two arcs, left and right, off a circle of radius 1.8.
  EXPECT_EQ(contour_lines(grid, 3.24).size(), 2u);
  EXPECT_TRUE(contour_lines(grid, 50).empty());
}

TEST(Contours, OfALineASaddleAndAHole) {
  const Grid plane =
      sample_grid([](double x, double y) { return x + 2 * y; }, {.columns = 5, .rows = 9});
  const std::vector<Polyline> line = contour_lines(plane, 1.1);
  ASSERT_EQ(line.size(), 1u);
  for (const auto& [x, y] : line[0]) EXPECT_NEAR(x + 2 * y, 1.1, 1e-12);
  // x y = c has a branch in two quadrants, which lie on the diagonal for c > 0, else across it.
  const Grid saddle = sample_grid([](double x, double y) { return x * y; },
                                  {.x_low = -1, .y_low = -1, .columns = 8, .rows = 8});
  for (const double level : {0.004, -0.004}) {
    const std::vector<Polyline> branches = contour_lines(saddle, level);
    ASSERT_EQ(branches.size(), 2u);
    for (const Polyline& branch : branches)
      for (const auto& [x, y] : branch) EXPECT_GT(x * y * level, 0);
  }
  const Grid hole = sample_grid([](double x, double y) { return x < 0 ? kNaN : x - y; },
                                {.x_low = -1, .y_low = -1, .columns = 21, .rows = 21});
  const std::vector<Polyline> half = contour_lines(hole, 0);
  ASSERT_EQ(half.size(), 1u);
  for (const auto& [x, y] : half[0]) {
    EXPECT_GE(x, 0);
    EXPECT_NEAR(x, y, 1e-12);
  }
}

TEST(Contours, LevelsDivideTheArea) {
  const Grid grid =
      sample_grid([](double x, double) { return std::exp(5 * x); }, {.columns = 101, .rows = 3});
  const Numbers levels = quantile_levels(grid, 5);
  ASSERT_EQ(levels.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(std::log(levels[i]) / 5, 0.1 + 0.2 * static_cast<double>(i), 0.011);
  const Grid flat = sample_grid([](double, double) { return 3.; }, {.columns = 4, .rows = 4});
  EXPECT_TRUE(quantile_levels(flat, 5).empty());
}

TEST(Contours, StandInThePicture) {
  Plot plot({.title = "", .x = {"x", {}, -2, 2}, .y = {"y", {}, -2, 2}});
  plot.contours([](double x, double y) { return x * x + y * y; }, {1});
  plot.path("p", Numbers{-1, 0, 1}, Numbers{0, 1, 0});
  const Picture picture(plot);
  ASSERT_EQ(picture.contours.size(), 1u);
  for (const At& at : picture.contours[0]) {
    const double x = (at.x - picture.x(0, -2, 2)) / (picture.x(1, -2, 2) - picture.x(0, -2, 2));
    const double y = (at.y - picture.y(0, -2, 2)) / (picture.y(1, -2, 2) - picture.y(0, -2, 2));
    EXPECT_NEAR(std::hypot(x, y), 1, 2e-3);
  }
  EXPECT_EQ(picture.circles.size(), 5u);  // three steps, start and end
}

}  // namespace
}  // namespace aorta::report
