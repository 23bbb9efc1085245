#pragma once

// The gamma distribution at a point, in f64, with derivatives by its concentration.

#include <aorta/core/scalar/math.h>

#include <cstdint>
#include <numbers>

namespace aorta::body {

/// The cdf P(a, x) of the gamma distribution of rate 1, and how a sample x moves with the
/// concentration a while its quantile stays, -(dP(a, x)/da) / p(x), p the density (Figurnov,
/// Mohamed, Mnih 2018). To about 1e-10 of itself. `bend` is the slope's derivative by a where x
/// stays.
struct GammaPoint {
  double cdf, slope, bend;
};
enum class GammaPart : uint8_t { cdf, slope, bend };

/// log Gamma(a) less (a - 1/2) log a - a + log(2 pi)/2, for a >= 8: Stirling's series, whose next
/// term is below 1e-15.
AORTA_INLINE double stirling_rest(double a) {
  constexpr double kTerms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                               1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  double sum = 0;
  for (int k = 7; k-- > 0;) sum = sum / (a * a) + kTerms[k];
  return sum / a;
}

/// x^(a - 1) exp(-x) / Gamma(a); from 8 on with Stirling's series for Gamma, so that no large
/// numbers cancel.
AORTA_INLINE double gamma_density(double a, double x) {
  if (a < 8) return scalar::exp((a - 1) * scalar::log(x) - x - scalar::lgamma(a));
  const double u = (x - a) / a;
  return scalar::exp(a * (scalar::log1p(u) - u) - stirling_rest(a)) *
         scalar::sqrt(a / (2 * std::numbers::pi)) / x;
}

/// Each of the two sums has terms of one sign on its side of x = a.
AORTA_INLINE GammaPoint gamma_point(double a, double x) {
  if (!(x > 0) || !scalar::isfinite(a) || !scalar::isfinite(x)) return {x > 0 ? 1.0 : 0.0, 0, 0};
  if (a > 1e8) {
    // Cornish's and Fisher's expansion: the next terms are below 1e-12.
    const double root = scalar::sqrt(a), y = (x - a) / root, square = y * y;
    const double z =
        y - (square - 1) / (3 * root) + y * (4 * square - 7) / (9 * a) - y * (square - 3) / (4 * a);
    const double slope = 1 + z / (2 * root);
    const double bend = -z / (4 * a * root) - slope * (1 - 2 * y / (3 * root)) / (2 * a);
    return {0.5 * scalar::erfc(-z / std::numbers::sqrt2), slope, bend};
  }
  const double psi_a = scalar::digamma(a), log_x = scalar::log(x);
  const double density = gamma_density(a, x);
  double ratio = 0, slope = 0, bend = 0;
  if (x <= a) {
    // P / p = sum of x^(n + 1) / (a (a + 1) ... (a + n)), and the derivative of the logarithm of
    // its terms times p is log x - psi(a + n + 1), whose derivative is -psi1(a + n + 1).
    double term = x / a, psi = scalar::digamma(a + 1), psi1 = scalar::polygamma(1, a + 1);
    for (double n = 1; n < 1e7; ++n) {
      ratio += term;
      slope += term * (psi - log_x);
      bend += term * (psi1 - (psi - log_x) * (psi - psi_a));
      term *= x / (a + n);
      psi += 1 / (a + n);
      psi1 -= 1 / ((a + n) * (a + n));
      if (term * (psi - log_x) < 1e-17 * slope) break;
    }
    return {density * ratio, slope, bend};
  }
  // (1 - P) / p = integral of (1 + s / x)^(a - 1) exp(-s) over s > 0, whose derivative by a times p
  // has log(x + s) - psi(a) in it, and the next one -psi1(a); by the trapezoid rule on s = scale
  // exp(pi/2 sinh t).
  const double psi1_a = scalar::polygamma(1, a);
  const double fall = 1 - (a - 1) / x;
  const double scale = a > 1 ? 1 / (fall + scalar::sqrt(0.5 * (a - 1)) / x) : 1;
  constexpr double kStep = 1.0 / 16;
  for (int i = -63; i <= 72; ++i) {
    const double t = kStep * i;
    const double s = scale * scalar::exp(0.5 * std::numbers::pi * ::sinh(t));
    const double power = (a - 1) * scalar::log1p(s / x) - s;
    if (!(power > -45)) break;  // the rest is below 1e-19
    const double part = scalar::exp(power) * s * 0.5 * std::numbers::pi * ::cosh(t) * kStep;
    ratio += part;
    const double rise = scalar::log(x + s) - psi_a;
    slope += part * rise;
    bend += part * (rise * scalar::log1p(s / x) - psi1_a);
  }
  return {1 - density * ratio, slope, bend};
}

/// out[i] = that part of a[i] and x[i].
struct GammaPartBody {
  GammaPart part;
  const double *a, *x;
  double* out;
  AORTA_INLINE void operator()(int64_t i) const {
    const GammaPoint point = gamma_point(a[i], x[i]);
    out[i] = part == GammaPart::cdf     ? point.cdf
             : part == GammaPart::slope ? point.slope
                                        : point.bend;
  }
};

}  // namespace aorta::body
