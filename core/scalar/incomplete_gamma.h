#pragma once

// The incomplete gamma functions (NIST DLMF 8), in double.

#include <aorta/core/scalar/gamma_function.h>

namespace aorta::scalar {

// Temme's coefficients, in powers of eta (DLMF 8.12.11).
inline constexpr double kTemme0[] = {
    -0.3333333333333333,   0.08333333333333333,    -0.014814814814814815,   0.0011574074074074073,
    0.0003527336860670194, -0.0001787551440329218, 3.919263178522438e-05,   -2.185448510679992e-06,
    -1.85406221071516e-06, 8.296711340953087e-07,  -1.7665952736826078e-07, 6.707853543401498e-09};
inline constexpr double kTemme1[] = {
    -0.001851851851851852,  -0.003472222222222222,  0.0026455026455026454,   -0.0009902263374485596,
    0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06};
inline constexpr double kTemme2[] = {0.004133597883597883, -0.0026813271604938273,
                                     0.0007716049382716049, 2.0093878600823047e-06,
                                     -0.0001073665322636516};

// log(gamma(1 + a)) over a, in powers of a (DLMF 5.7.3).
inline constexpr double kLgamma1p[] = {
    -0.5772156649015329,  0.8224670334241132,  -0.40068563438653143, 0.27058080842778454,
    -0.20738555102867398, 0.1695571769974082,  -0.1440498967688461,  0.12550966952474304,
    -0.11133426586956469, 0.1000994575127818,  -0.09095401714582904, 0.083353840546109,
    -0.0769325164113522,  0.07143294629536133, -0.06666870588242046};

/// x/a - 1 - log(x/a) without cancellation.
AORTA_INLINE double log_excess(double a, double x) {
  const double m = (x - a) / a;
  if (m < -0.29 || m > 0.41) return m - ::log(x / a);
  const double s = m / (2.0 + m), square = s * s;
  return s * (m - square * polynomial<coefficients::kLogTailDouble>(square));
}

/// x^a e^-x / gamma(a + 1), a > 0, x > 0.
AORTA_INLINE double gamma_weight(double a, double x) {
  constexpr double two_pi = 0x1.921fb54442d18p+2;
  if (a < 8.0) return exp(a * ::log(x) - x - lgamma(a + 1.0));
  const double inverse = 1.0 / a, tail = polynomial<kStirling>(inverse * inverse) * inverse;
  return exp(-a * log_excess(a, x) - tail) / sqrt(two_pi * a);
}

/// The share of gamma(a) below x, x < a + 1: a series of positive terms (8.11.4).
AORTA_INLINE double gamma_series(double a, double x) {
  double term = 1.0, sum = 1.0;
  for (double n = a + 1.0; term > sum * 0x1p-54; n += 1.0) sum += term *= x / n;
  return gamma_weight(a, x) * sum;
}

/// The share above x, x >= a + 1: a continued fraction (8.9.2), from its front (Lentz).
AORTA_INLINE double gamma_fraction(double a, double x) {
  double b = x + 1.0 - a, c = 0x1p+300, d = 1.0 / b, value = d, change = 0.0;
  for (double n = 1.0; abs(change - 1.0) > 0x1p-51; n += 1.0) {
    const double top = n * (a - n);
    b += 2.0;
    d = 1.0 / (top * d + b);
    c = b + top / c;
    change = c * d;
    value *= change;
  }
  return gamma_weight(a, x) * a * value;
}

/// The share above x of a small a and x: where nearly all lies below (8.7.1).
AORTA_INLINE double gamma_rest(double a, double x) {
  const double log_gamma = a < 0.1 ? a * polynomial<kLgamma1p>(a) : lgamma(1.0 + a);
  const double log_power = a * ::log(x) - log_gamma;
  double term = 1.0, sum = 0.0, part = 1.0;
  for (double n = 1.0; abs(part) > abs(sum) * 0x1p-54; n += 1.0) {
    term *= -x / n;
    part = term / (a + n);
    sum += part;
  }
  return -::expm1(log_power) - a * exp(log_power) * sum;
}

/// Both shares near x = a of a large a, uniformly (8.12.3, 8.12.4).
AORTA_INLINE double gamma_uniform(double a, double x, bool upper) {
  constexpr double two_pi = 0x1.921fb54442d18p+2;
  const double half_square = log_excess(a, x);
  const double eta = copysign(sqrt(2.0 * half_square), x - a), inverse = 1.0 / a;
  const double terms = polynomial<kTemme0>(eta) +
                       inverse * (polynomial<kTemme1>(eta) + inverse * polynomial<kTemme2>(eta));
  const double rest = exp(-a * half_square) / sqrt(two_pi * a) * terms;
  const double normal = 0.5 * erfc((upper ? eta : -eta) * sqrt(0.5 * a));
  return upper ? normal + rest : normal - rest;
}

/// The share of gamma(a) = the integral of t^(a-1) e^-t over t > 0 that lies below x, or above it;
/// NaN where a or x is negative, or both are 0 or infinite.
AORTA_INLINE double incomplete_gamma(double a, double x, bool upper) {
  if (!(a >= 0.0) || !(x >= 0.0)) return kNaN<double>;
  const bool a_at_end = a == 0.0 || isinf(a);
  if (a == x && a_at_end) return kNaN<double>;
  if (a == 0.0 || isinf(x)) return upper ? 0.0 : 1.0;
  if (x == 0.0 || isinf(a)) return upper ? 1.0 : 0.0;
  if (a > 1e5 && abs(x - a) < 0.1 * a) return gamma_uniform(a, x, upper);
  if (x >= a + 1.0) {
    const double above = gamma_fraction(a, x);
    return upper ? above : 1.0 - above;
  }
  if (upper && a < 1.0) return gamma_rest(a, x);
  const double below = gamma_series(a, x);
  return upper ? 1.0 - below : below;
}

}  // namespace aorta::scalar
