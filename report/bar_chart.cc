#include <aorta/core/check.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include <aorta/report/axis.h>
#include <aorta/report/bar_chart.h>
#include <aorta/report/markup.h>

namespace aorta::report {
namespace {

constexpr double kRow = 28, kThickness = 16, kMargin = 16, kGap = 8;

bool has_length(double value) { return std::isfinite(value) && value > 0; }

std::string text_of(const Bar& bar) {
  if (!bar.text.empty()) return bar.text;
  return std::isfinite(bar.value) ? tick_text(bar.value) : "–";
}

}  // namespace

std::string bar_chart(const Text& title, const List<Bar>& bars, int width) {
  check(width >= 200 && width <= 10000, "bar_chart", "width must be 200 to 10000 pixels", width);
  double names = 0, texts = 0, longest = 0;
  for (const Bar& bar : bars) {
    names = std::max(names, text_width(bar.name, 13));
    texts = std::max(texts, text_width(text_of(bar), 13));
    if (has_length(bar.value)) longest = std::max(longest, bar.value);
  }
  // However long names are, bars keep a third of the width.
  const double left = kMargin + std::min(names, width / 3.) + kGap;
  const double room = std::max(width / 3. - kMargin, width - kMargin - kGap - texts - left);
  const double top = title.empty() ? kMargin : 48;
  const double height =
      top + kRow * static_cast<double>(std::max<size_t>(1, bars.size())) + kMargin;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"plot\" width=\"{0}\" height=\"{1:.0f}\" "
      "viewBox=\"0 0 {0} {1:.0f}\" font-family=\"{2}\">\n<rect width=\"{0}\" height=\"{1:.0f}\" "
      "fill=\"{3}\"/>\n",
      width, height, kFont, kGround.light);
  const std::string dark = fmt::format("fill=\"{}\"", kText.light);
  if (!title.empty())
    out += text_element(kMargin, 30, title, "font-size=\"18\" font-weight=\"600\" " + dark);
  if (bars.empty())
    out += text_element(width / 2., top + 18, "no data",
                        "font-size=\"13\" text-anchor=\"middle\" class=\"empty\" " + dark);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double middle = top + kRow * (static_cast<double>(i) + 0.5);
    const double length = has_length(bars[i].value) ? room * (bars[i].value / longest) : 0;
    out += text_element(left - kGap, middle + 4.5, bars[i].name,
                        "font-size=\"13\" text-anchor=\"end\" class=\"name\" " + dark);
    out += fmt::format(
        "<rect class=\"bar\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\" fill=\"{}\"/>\n",
        number(left), number(middle - kThickness / 2), number(length), number(kThickness),
        kPalette[0].light);
    out += text_element(left + length + kGap, middle + 4.5, text_of(bars[i]),
                        fmt::format("font-size=\"13\" class=\"value\" fill=\"{}\"", kQuiet.light));
  }
  return out + "</svg>\n";
}

}  // namespace aorta::report
