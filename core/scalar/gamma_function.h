#pragma once

// The logarithm of the gamma function and its derivatives. Floats are computed in double lanes and
// rounded. Bounds are of the double functions, in units in the last place (ULP) of the exact value,
// at the points of tests/core/scalar/functor_test.cc.

#include <aorta/core/scalar/power.h>

namespace aorta::scalar {

// Bernoulli's numbers: B(2k) over 2k (2k - 1), over 2k, and themselves.
inline constexpr double kStirling[] = {1.0 / 12,    -1.0 / 360, 1.0 / 1260,
                                       -1.0 / 1680, 1.0 / 1188, -691.0 / 360360};
inline constexpr double kDigammaTail[] = {1.0 / 12,   -1.0 / 120, 1.0 / 252,
                                          -1.0 / 240, 5.0 / 660,  -691.0 / 32760};
inline constexpr double kTrigammaTail[] = {1.0 / 6,   -1.0 / 30, 1.0 / 42,
                                           -1.0 / 30, 5.0 / 66,  -691.0 / 2730};

/// log(x) of 2^-1022 <= x < infinity in double lanes, at most 2 ULP.
AORTA_INLINE double log_lane(double x) {
  constexpr uint64_t sqrt_half = 0x3fe6a09e667f3bcd;
  constexpr uint64_t one = 0x3ff0000000000000, magic = 0x4330000000000000;  // 2^52
  const uint64_t bits = to_bits(x) - sqrt_half;
  const double k = from_bits(((bits + one) >> 52) | magic) - (0x1p52 + 1023.0);
  const double m = from_bits((bits & 0xfffffffffffffu) + sqrt_half);
  const double s = (m - 1.0) / (m + 1.0), square = s * s;
  const double value = mul_add(s * square, polynomial<coefficients::kLogTailDouble>(square), s + s);
  // log(2) in two parts, of which the first one has zeros at its end.
  return mul_add(k, 0x1.62e42fee00000p-1, mul_add(k, 0x1.a39ef35793c76p-33, value));
}

/// A positive number that is shifted beyond 8 by whole steps. Of those that it comes by, to the
/// power kPower, 1 or 2: the product, and the sum of the reciprocals, which is `sum` / `product`.
struct ShiftedArgument {
  double z, product, sum;
};
template <int kPower, int kSteps = 8>
AORTA_INLINE ShiftedArgument shift_argument(double z, double product = 1.0, double sum = 0.0) {
  if constexpr (kSteps == 0) {
    return {z, product, sum};
  } else {
    const bool near = z < 8.0;
    const double step = kPower == 1 ? z : z * z;
    return shift_argument<kPower, kSteps - 1>(z + select(near, 1.0, 0.0),
                                              product * select(near, step, 1.0),
                                              select(near, mul_add(sum, step, product), sum));
  }
}

/// log|gamma(x)|; infinite at 0, -1, -2, ... The double one is the C library's. A float at most
/// 1.1 ULP: between 0.75 and 2.75 by a polynomial that has the zeros, else by Stirling's series
/// (NIST DLMF 5.11.1) beyond 8 and gamma(x) gamma(1 - x) sin(pi x) = pi.
AORTA_INLINE double lgamma(double x) { return ::lgamma(x); }
AORTA_INLINE float lgamma(float of) {
  constexpr double pi = 0x1.921fb54442d18p+1, half_log_2pi = 0x1.d67f1c864beb5p-1;
  const double x = of;
  const bool reflected = x < 0.0;
  const ShiftedArgument shifted = shift_argument<1>(select(reflected, 1.0 - x, x));
  const double r = x - rint(x);
  const double sine = abs(r * polynomial<coefficients::kSinPi>(r * r));
  const double steps = log_lane(shifted.product * select(reflected, pi / sine, 1.0));
  const double inverse = 1.0 / shifted.z;
  const double tail = polynomial<kStirling>(inverse * inverse) * inverse;
  const double series =
      mul_add(shifted.z - 0.5, log_lane(shifted.z) - 1.0, half_log_2pi - 0.5 + tail);
  double value = select(reflected, steps - series, series - steps);
  const double u = x - 1.75;
  const double near = polynomial<coefficients::kLgammaNear>(u) * ((x - 1.0) * (x - 2.0));
  value = select(abs(u) <= 1.0, near + 0.0, value);  // of 1 it is 0, not -0
  const bool is_pole = (x <= 0.0) & (r == 0.0);
  value = select(is_pole | isinf(x), kInfinity<double>, value);
  return static_cast<float>(select(isnan(x), x, value));
}

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
/// The derivative for a float, shifted beyond 8: at most 1 ULP, and 2^-47 beside the zeros.
AORTA_INLINE float digamma(float of) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  const double x = of;
  const bool reflected = x < 0.0;
  const ShiftedArgument shifted = shift_argument<1>(select(reflected, 1.0 - x, x));
  const double inverse = 1.0 / shifted.z, square = inverse * inverse;
  const double tail = polynomial<kDigammaTail>(square) * square;
  double value = log_lane(shifted.z) - 0.5 * inverse - tail - shifted.sum / shifted.product;
  const double r = x - rint(x), of_r = r * r;
  const double sine = r * polynomial<coefficients::kSinPi>(of_r);
  value -= select(reflected, pi * polynomial<coefficients::kCosPi>(of_r) / sine, 0.0);
  value = select(reflected & (r == 0.0), kNaN<double>, value);
  value = select(x == 0.0, copysign(kInfinity<double>, -x), value);
  value = select(x == kInfinity<double>, x, value);
  return static_cast<float>(select(isnan(x), x, value));
}

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

/// Hurwitz's zeta function for any x, infinite at 0, -1, -2, ... Left of 0 the terms of all whole
/// k, known from the distance to the nearest whole number, less those of negative k.
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
/// The first one of a float, which is also digamma's gradient: at most 1 ULP.
AORTA_INLINE float trigamma(float of) {
  constexpr double pi = 0x1.921fb54442d18p+1;
  const double x = of;
  const bool reflected = x < 0.0;
  const ShiftedArgument shifted = shift_argument<2>(select(reflected, 1.0 - x, x));
  const double inverse = 1.0 / shifted.z, square = inverse * inverse;
  const double tail =
      mul_add(polynomial<kTrigammaTail>(square) * square, inverse, mul_add(0.5, square, inverse));
  const double right = tail + shifted.sum / shifted.product;
  const double r = x - rint(x);
  const double sine = r * polynomial<coefficients::kSinPi>(r * r);
  double value = select(reflected, pi / sine * (pi / sine) - right, right);
  value = select((x <= 0.0) & ((r == 0.0) | isinf(x)), kInfinity<double>, value);
  value = select(x == kInfinity<double>, 0.0, value);
  return static_cast<float>(select(isnan(x), x, value));
}
AORTA_INLINE float polygamma(int n, float x) {
  return n == 1 ? trigamma(x) : static_cast<float>(polygamma(n, static_cast<double>(x)));
}

}  // namespace aorta::scalar
