#pragma once

// The logarithm of the gamma function and its derivatives. Floats are computed in double and
// rounded, and loops over them aren't vectorised. Bounds are of the double functions, in units in
// the last place (ULP) of the exact value, at the points of tests/core/scalar/functor_test.cc.

#include <aorta/core/scalar/power.h>

namespace aorta::scalar {

/// log|gamma(x)|; infinite at 0, -1, -2, ... The C library's.
AORTA_INLINE double lgamma(double x) { return ::lgamma(x); }
AORTA_INLINE float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }

/// pi / tan(pi x), from the fraction of x, which is exact.
AORTA_INLINE double pi_cotangent(double x) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  return pi / ::tan(pi * (x - rint(x)));
}

/// The derivative of log|gamma|, psi: NaN at -1, -2, ... and infinite at 0, as in PyTorch. The
/// argument is shifted beyond 10 by psi(x) = psi(x + 1) - 1/x, where the series in 1/x^2 (NIST DLMF
/// 5.11.2) is exact; negative ones come from psi(1 - x) = psi(x) + pi / tan(pi x). At most 8 ULP,
/// and 2^-49 beside the zeros.
AORTA_INLINE double digamma(double x) {
  constexpr double series[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               5.0 / 660, -691.0 / 32760, 1.0 / 12};
  const bool reflected = x < 0.0;
  double z = reflected ? 1.0 - x : x, shifts = 0.0;
  for (int i = 0; i < 10; ++i) {
    const bool near = z < 10.0;
    shifts += near ? 1.0 / z : 0.0;
    z += near ? 1.0 : 0.0;
  }
  const double inverse = 1.0 / (z * z);
  double tail = 0.0;
  for (int i = 7; i-- > 0;) tail = (tail + series[i]) * inverse;
  const double value = ::log(z) - 0.5 / z - tail - shifts;
  const bool pole = x == rint(x);
  const double left = pole ? kNaN<double> : value - pi_cotangent(x);
  return x == 0.0 ? copysign(kInfinity<double>, -x) : reflected ? left : value;
}
AORTA_INLINE float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// The sum of (x + k)^-s over k = 0, 1, 2, ... for whole s > 1 and x > 0: Hurwitz's zeta function,
/// by ten terms and the Euler-Maclaurin series of the rest (NIST DLMF 25.11.28).
AORTA_INLINE double positive_zeta(double s, double x) {
  // (2j)! / B(2j), by which the terms are divided.
  constexpr double divisors[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};
  double sum = 0.0;
  for (int k = 0; k < 10; ++k) sum += ::pow(x + k, -s);
  const double rest = x + 10.0, power = ::pow(rest, -s);
  sum += ::pow(rest, 1.0 - s) / (s - 1.0) + 0.5 * power;
  double factor = s, scale = power / rest, k = s;
  for (const double divisor : divisors) {
    sum += factor * scale / divisor;
    factor *= (k + 1.0) * (k + 2.0);
    scale /= rest * rest;
    k += 2.0;
  }
  return sum;
}

/// The same for any x, infinite at 0, -1, -2, ... Left of 0 the terms of all whole k, known from
/// the distance to the nearest whole number, less those of negative k.
AORTA_INLINE double zeta(double s, double x) {
  if (x > 0.0) return x < kInfinity<double> ? positive_zeta(s, x) : 0.0;
  const double distance = x - rint(x);
  if (distance == 0.0 || x == -kInfinity<double>) return kInfinity<double>;
  const double sign = ::fmod(s, 2.0) == 0.0 ? 1.0 : -1.0;
  return ::pow(distance, -s) + positive_zeta(s, 1.0 + distance) +
         sign * (positive_zeta(s, 1.0 - distance) - positive_zeta(s, 1.0 - x));
}

/// The n-th derivative of psi, for n > 0. At most 16 ULP for n = 1.
AORTA_INLINE double polygamma(int n, double x) {
  double factorial = 1.0;
  for (int k = 2; k <= n; ++k) factorial *= k;
  return (n % 2 == 1 ? factorial : -factorial) * zeta(n + 1.0, x);
}
AORTA_INLINE float polygamma(int n, float x) {
  return static_cast<float>(polygamma(n, static_cast<double>(x)));
}

}  // namespace aorta::scalar
