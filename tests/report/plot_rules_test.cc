#include <aorta/core/check.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include <aorta/report/bar_chart.h>
#include <aorta/report/markup.h>
#include <aorta/report/plot.h>
#include <aorta/tests/report/xml.h>
#include <aorta/tests/special_numbers.h>

// Lines across a plot, bands and bars, and plots of odd names and numbers. plot_test.cc has the
// rest.

namespace aorta::report {
namespace {

using Numbers = std::vector<double>;

double number(const Element& element, const char* key) {
  return std::stod(element.attributes.at(key));
}

std::vector<Element> of_class(const std::string& svg, const std::string& name) {
  std::vector<Element> found;
  for (const Element& element : parse_xml(svg))
    if (const auto cls = element.attributes.find("class");
        cls != element.attributes.end() && cls->second == name)
      found.push_back(element);
  return found;
}

std::vector<Element> of_class(const Plot& plot, const std::string& name) {
  return of_class(plot.svg(), name);
}

// Where the tick with that label is.
double tick(const Plot& plot, char axis, const std::string& label) {
  const bool x = axis == 'x';
  for (const Element& element : of_class(plot, x ? "x-tick" : "y-tick"))
    if (element.text == label) return number(element, x ? "x" : "y") - (x ? 0 : 4);
  ADD_FAILURE() << "no tick " << label;
  return kNaN;
}

TEST(PlotRules, StandAtTheirValue) {
  Plot plot({.x = {"x"}, .y = {"y"}});
  plot.line("", Numbers{0, 10}, Numbers{0, 1});
  plot.horizontal("target", 0.4).vertical("best", 6).horizontal("", 0.8);
  const std::vector<Element> rules = of_class(plot, "rule");
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_NEAR(number(rules[0], "y1"), tick(plot, 'y', "0.4"), 0.02);
  EXPECT_EQ(number(rules[0], "y1"), number(rules[0], "y2"));
  EXPECT_NEAR(number(rules[0], "x1"), tick(plot, 'x', "0"), 0.02);
  EXPECT_NEAR(number(rules[0], "x2"), tick(plot, 'x', "10"), 0.02);
  EXPECT_NEAR(number(rules[1], "x1"), tick(plot, 'x', "6"), 0.02);
  EXPECT_NEAR(number(rules[1], "y1"), tick(plot, 'y', "1"), 0.02);
  EXPECT_NEAR(number(rules[1], "y2"), tick(plot, 'y', "0"), 0.02);
  const std::vector<Element> names = of_class(plot, "rule-name");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_EQ(names[0].text, "target");
  EXPECT_EQ(names[1].text, "best");
  EXPECT_TRUE(of_class(plot, "legend").empty());
}

TEST(PlotRules, WidenTheAxisUnlessItsRangeIsGiven) {
  Plot plot({.x = {"x"}, .y = {"y"}});
  plot.line("", Numbers{0, 10}, Numbers{0, 1}).horizontal("far", 4).vertical("far", -20);
  tick(plot, 'y', "4");
  tick(plot, 'x', "−20");
  Plot fixed({.x = {"x"}, .y = {.label = "y", .low = 0, .high = 1}});
  fixed.line("", Numbers{0, 10}, Numbers{0, 1}).horizontal("outside", 4);
  EXPECT_TRUE(of_class(fixed, "rule").empty());
  EXPECT_TRUE(of_class(fixed, "rule-name").empty());
}

TEST(PlotRules, OfNoNumberAreLeftOut) {
  Plot plot({});
  plot.horizontal("a", kNaN).vertical("b", kInf).horizontal("c", 1e301);
  EXPECT_TRUE(of_class(plot, "rule").empty());
  EXPECT_EQ(of_class(plot, "empty").size(), 1u);
  EXPECT_EQ(of_class(Plot({}).horizontal("alone", 3), "rule").size(), 1u);
  EXPECT_EQ(error_of([] {
              Plot({.y = {"y", Scale::log}}).horizontal("zero", 0);
            }),
            "plot: values on a log axis must be positive, got 0 at point 0 of \"zero\"");
}

TEST(PlotBand, LiesBetweenItsEdgesAndHasItsLinesColour) {
  Plot plot({.x = {"x"}, .y = {"y"}});
  plot.scatter("other", Numbers{0}, Numbers{0});
  plot.line("val", Numbers{0, 1, 2}, Numbers{1, 2, 3});
  plot.band("val", Numbers{0, 1, kNaN, 2}, Numbers{0, 1, 0, 2}, Numbers{2, 3, 0, 4});
  const std::vector<Element> bands = of_class(plot, "band");
  ASSERT_EQ(bands.size(), 1u);
  EXPECT_EQ(bands[0].attributes.at("fill"), kPalette[1].light);
  EXPECT_EQ(of_class(plot, "legend").size(), 2u);
  // There along the lower edge, back along the upper one.
  const std::string path = bands[0].attributes.at("d");
  double x[6], y[6];
  ASSERT_EQ(
      std::sscanf(path.c_str(), "M%lf,%lfL%lf,%lfL%lf,%lfL%lf,%lfL%lf,%lfL%lf,%lfZ", &x[0], &y[0],
                  &x[1], &y[1], &x[2], &y[2], &x[3], &y[3], &x[4], &y[4], &x[5], &y[5]),
      12)
      << path;
  const double expected[6][2] = {{0, 0}, {1, 1}, {2, 2}, {2, 4}, {1, 3}, {0, 2}};
  const double zero = tick(plot, 'y', "0"), four = tick(plot, 'y', "4");
  const double left = tick(plot, 'x', "0"), right = tick(plot, 'x', "2");
  for (int i = 0; i < 6; ++i) {
    EXPECT_NEAR(x[i], left + (right - left) * expected[i][0] / 2, 0.02) << i;
    EXPECT_NEAR(y[i], zero + (four - zero) * expected[i][1] / 4, 0.02) << i;
  }
  EXPECT_EQ(of_class(Plot({}).band("alone", Numbers{0, 1}, Numbers{0, 1}, Numbers{2, 2}), "legend")
                .size(),
            1u);
  EXPECT_EQ(error_of([] {
              Plot({}).band("b", Numbers{1}, Numbers{1, 2}, Numbers{1});
            }),
            "plot: x and both edges of a band must have as many points, got 1, 2 and 1 for \"b\"");
}

TEST(PlotBars, StandOnZero) {
  Plot plot({.x = {"x"}, .y = {"y"}});
  plot.bars("n", Numbers{0, 1, 4}, Numbers{3, -1});
  const std::vector<Element> bars = of_class(plot, "bar");
  ASSERT_EQ(bars.size(), 2u);
  const double zero = tick(plot, 'y', "0"), one = zero - tick(plot, 'y', "1");
  const double left = tick(plot, 'x', "0"), unit = tick(plot, 'x', "1") - left;
  EXPECT_NEAR(number(bars[0], "y"), zero - 3 * one, 0.1);
  EXPECT_NEAR(number(bars[0], "height"), 3 * one, 0.1);
  EXPECT_NEAR(number(bars[1], "y"), zero, 0.02);
  EXPECT_NEAR(number(bars[1], "height"), one, 0.1);
  EXPECT_NEAR(number(bars[0], "x"), left, 1.02);
  EXPECT_NEAR(number(bars[1], "width"), 3 * unit, 1.1);
  EXPECT_EQ(error_of([] {
              Plot({}).bars("b", Numbers{0, 1}, Numbers{1, 2});
            }),
            "plot: bars must have one edge more than heights, got 2 and 2 for \"b\"");
  EXPECT_EQ(error_of([] {
              Plot({}).bars("b", Numbers{0, 0}, Numbers{1});
            }),
            "plot: edges of bars must ascend, got 0 and 0 for \"b\"");
  EXPECT_EQ(error_of([] {
              Plot({.y = {"y", Scale::log}}).bars("b", Numbers{0, 1}, Numbers{1});
            }),
            "plot: bars need a linear y axis, got a log axis");
}

TEST(PlotHistogram, CountsAsNumpyDoes) {
  // numpy.histogram([0, 0.5, 1, 1, 2.5, 3, 4], 4) is [2, 2, 1, 2]: the last interval is closed.
  Plot plot({.x = {"x"}, .y = {"y"}});
  plot.histogram("h", Numbers{0, 0.5, 1, kNaN, 1, 2.5, 3, 4, kInf}, 4);
  const std::vector<Element> bars = of_class(plot, "bar");
  ASSERT_EQ(bars.size(), 4u);
  const double unit = number(bars[2], "height");
  const double counts[] = {2, 2, 1, 2};
  for (size_t i = 0; i < 4; ++i)
    EXPECT_NEAR(number(bars[i], "height") / unit, counts[i], 1e-3) << i;
  // Sturges: 1 + log2(8) intervals for 8 values.
  EXPECT_EQ(of_class(Plot({}).histogram("h", Numbers{1, 2, 3, 4, 5, 6, 7, 8}), "bar").size(), 4u);
  EXPECT_EQ(of_class(Plot({}).histogram("h", Numbers{5, 5, 5}), "bar").size(), 3u);
  EXPECT_EQ(of_class(Plot({}).histogram("h", Numbers{kNaN}), "empty").size(), 1u);
  EXPECT_EQ(of_class(Plot({}).histogram("h", Numbers{}), "empty").size(), 1u);
  EXPECT_EQ(error_of([] { Plot({}).histogram("h", Numbers{1}, -1); }),
            "plot: a histogram must have 0 to 10000 bars, got -1");
}

TEST(BarChart, HasLengthsInProportion) {
  const std::string svg =
      bar_chart("Time", {{"reading", 4.1, "4.1 s"}, {"step", 32.8}, {"gone", kNaN}, {"below", -1}});
  const std::vector<Element> bars = of_class(svg, "bar"), texts = of_class(svg, "value");
  ASSERT_EQ(bars.size(), 4u);
  EXPECT_NEAR(number(bars[1], "width"), 8 * number(bars[0], "width"), 0.1);
  EXPECT_EQ(number(bars[2], "width"), 0);
  EXPECT_EQ(number(bars[3], "width"), 0);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0].text, "4.1 s");
  EXPECT_EQ(texts[1].text, "32.8");
  EXPECT_EQ(texts[2].text, "–");
  EXPECT_EQ(texts[3].text, "−1");
  // The longest bar and what stands behind it lie inside.
  EXPECT_LT(number(texts[1], "x") + text_width("32.8", 13), 900);
  EXPECT_GT(number(bars[0], "x"), text_width("reading", 13));
}

TEST(BarChart, TakesAnything) {
  EXPECT_EQ(of_class(bar_chart("", {}), "empty").size(), 1u);
  const std::string svg = bar_chart(
      "<t>\"", {{std::string(9000, 'w'), 1e308}, {"\xff", 5e-324}, {"inf", kInf}, {"", 0}});
  for (const Element& bar : of_class(svg, "bar")) {
    EXPECT_GE(number(bar, "width"), 0);
    EXPECT_LE(number(bar, "x") + number(bar, "width"), 900);
  }
  EXPECT_EQ(error_of([] { bar_chart("t", {}, 20); }),
            "bar_chart: width must be 200 to 10000 pixels, got 20");
}

// Whatever is drawn, the SVG is sound: parse_xml fails the test otherwise.
TEST(PlotOdd, NamesAndNumbersMakeSoundSvg) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  const std::vector<std::string> names = {
      all,   "",       "a<b>&\"c\"'", "\xf0\x9f\xab\x80 – é", "\xff\xfe", std::string(5000, 'w'),
      "]]>", "</svg>", "\r\n\t"};
  const Numbers odd = {kNaN, kInf, -kInf, 0, -0., 1e-320, 1e300, -1e300, 1e308, 5};
  for (const std::string& name : names)
    for (const double value : odd)
      for (const size_t count : {size_t{0}, size_t{1}, size_t{3}}) {
        const Numbers x(count, value), y(count, -value);
        Plot plot({.title = name, .x = {name}, .y = {name}});
        plot.line(name, x, y).scatter(name, y, x).path(name, x, x).band(name, x, y, x);
        plot.horizontal(name, value).vertical(name, value).histogram(name, x, 3);
        const std::vector<Element> elements = parse_xml(plot.svg());
        ASSERT_FALSE(elements.empty());
        EXPECT_EQ(plot.svg().find("nan"), std::string::npos);
        EXPECT_EQ(plot.svg().find("inf"), std::string::npos);
      }
}

}  // namespace
}  // namespace aorta::report
