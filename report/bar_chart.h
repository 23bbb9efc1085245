#pragma once

#include <aorta/core/list.h>

#include <string>
#include <vector>

namespace aorta::report {

/// A bar of a chart.
struct Bar {
  std::string name;
  double value;           // a length from 0; one that isn't finite or is negative has no bar
  std::string text = {};  // what stands at its end: "41.2 s"; else the value
};

/// Bars of a few names one below the other, the longest as wide as there is room, as SVG text: the
/// time that stages took, say. It turns dark with a Page.
///
///     page.figure(report::bar_chart("Time", {{"reading", 4.1, "4.1 s"}, {"step", 35.0, "35 s"}}));
std::string bar_chart(const Text& title, const List<Bar>& bars, int width = 900);

}  // namespace aorta::report
