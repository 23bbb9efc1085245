#pragma once

#include <aorta/apps/echo/measure/bootstrap.h>

#include <cstdint>
#include <span>
#include <string>

namespace aorta::echo {

/// How well measurements agree with what they should be: Bland and Altman, "Statistical methods for
/// assessing agreement between two methods of clinical measurement", Lancet 1986.
struct Agreement {
  int64_t count = 0;         // pairs of finite numbers; others are left out
  double mae = 0;            // mean |found - told|
  double rmse = 0;           // sqrt(mean (found - told)^2)
  double r2 = 0;             // 1 - sum (found - told)^2 / sum (told - mean told)^2
  double bias = 0;           // mean of found - told
  double low = 0, high = 0;  // limits of agreement: bias -+ 1.96 standard deviations (n - 1)
};

/// `told` and `found` in pairs. NaN stands for what isn't defined: everything without a pair, r2
/// where all told are equal, and the limits of one pair.
Agreement agreement(std::span<const double> told, std::span<const double> found);

/// How far values are off, each with its interval over the pairs.
struct Errors {
  Interval mae, rmse, r2, bias;
};
/// The errors of pairs of finite numbers, others left out; NaN as in agreement().
Errors bootstrapped_errors(std::span<const double> told, std::span<const double> found,
                           const BootstrapOptions& options = {});

/// A number of it as people read it, fmt's format in `format`: "-" where it isn't defined.
std::string agreement_text(const char* format, double value);

/// Two plots of pairs in one unit ("ejection fraction", "%"; or none): found against told, and the
/// difference against the mean of both. Names of SVG files. `finder`: what they were found by.
void plot_scatter(const std::string& path, const std::string& quantity, const std::string& unit,
                  std::span<const double> told, std::span<const double> found,
                  const std::string& finder = "masks");
void plot_bland_altman(const std::string& path, const std::string& quantity,
                       const std::string& unit, std::span<const double> told,
                       std::span<const double> found, const std::string& finder = "masks");

}  // namespace aorta::echo
