#pragma once

#include <string>
#include <vector>

namespace aorta::report {

enum class Scale { linear, log };

/// The range that an axis shows and the numbers on it. On a log axis positions are logarithms.
struct Ticks {
  double low = 0;
  double high = 1;
  std::vector<double> at;     // with a label each
  std::vector<double> minor;  // between them, on log axes
};

struct TickRules {
  Scale scale = Scale::linear;
  int wanted = 5;                              // about so many ticks
  bool fixed_low = false, fixed_high = false;  // the range that is shown ends exactly there
  bool whole = false;                          // whole numbers alone, on a linear axis
};
/// Round numbers (1, 2 or 5 times a power of ten) such that the first and the last enclose
/// [low, high]: the range that is shown grows to them, but for an end that is fixed, and ticks lie
/// inside it. low < high, apart by more than rounding errors; on a log axis both are positive.
Ticks choose_ticks(double low, double high, const TickRules& rules);

/// A tick's label: "0.001", "20,000", "10⁻⁷", "2×10⁹".
std::string tick_text(double value);

/// Where `value` lies between low (0) and high (1).
double fraction(double value, double low, double high, Scale scale);

}  // namespace aorta::report
