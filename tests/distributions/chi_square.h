#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace aorta::distributions {

/// What chi-square is above once in a thousand, with `freedom` degrees of freedom (Wilson, Hilferty
/// 1931).
inline double far_of(int freedom) {
  const double part = 2.0 / (9.0 * freedom);
  return freedom * std::pow(1 - part + 3.09 * std::sqrt(part), 3);
}

/// sum of (counted - expected)^2 / expected, of values 0, 1, ... that should come with these
/// probabilities; what is beyond them is one more class. Infinite where one is no such value.
inline double chi_square(const std::vector<double>& values,
                         const std::vector<double>& probabilities) {
  std::vector<double> counted(probabilities.size() + 1), expected;
  for (const double value : values) {
    if (!(value >= 0 && value == std::floor(value))) return INFINITY;
    const double most = static_cast<double>(probabilities.size());
    ++counted[static_cast<size_t>(std::min(value, most))];
  }
  double rest = 1;
  for (const double p : probabilities) {
    expected.push_back(p);
    rest -= p;
  }
  expected.push_back(rest);
  double total = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double wanted = expected[i] * static_cast<double>(values.size());
    if (wanted >= 1e-6)
      total += (counted[i] - wanted) * (counted[i] - wanted) / wanted;
    else if (counted[i] > 0)
      return INFINITY;  // what can't come
  }
  return total;
}

}  // namespace aorta::distributions
