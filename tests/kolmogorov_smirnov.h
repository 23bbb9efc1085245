#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace aorta {

/// sqrt(n) times the largest distance between the cdf and the share of samples below, of values of
/// the cdf at samples; above kFar once in a thousand (Kolmogorov 1933). Infinite where one is no
/// probability.
inline double kolmogorov_distance(std::vector<double> cdf_at_samples) {
  for (const double p : cdf_at_samples)
    if (!(p >= 0 && p <= 1)) return INFINITY;
  std::sort(cdf_at_samples.begin(), cdf_at_samples.end());
  const double n = static_cast<double>(cdf_at_samples.size());
  double largest = 0;
  for (size_t i = 0; i < cdf_at_samples.size(); ++i) {
    const double below = static_cast<double>(i) / n, upto = static_cast<double>(i + 1) / n;
    largest = std::max({largest, cdf_at_samples[i] - below, upto - cdf_at_samples[i]});
  }
  return largest * std::sqrt(n);
}
inline constexpr double kFar = 1.95;

}  // namespace aorta
