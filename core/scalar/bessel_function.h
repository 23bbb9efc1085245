#pragma once

// Modified Bessel functions of the first kind, of order 0 and 1 (NIST DLMF 10.25). Floats are
// computed in double lanes and rounded. Bounds are in units in the last place (ULP) of the exact
// value.

#include <aorta/core/scalar/exponential.h>
#include <aorta/core/scalar/power.h>

namespace aorta::scalar {

/// I_n of a size up to 8, by its series, whose terms are positive.
template <int kOrder>
AORTA_INLINE double bessel_near(double size) {
  const double bounded = size > 8.0 ? 8.0 : size, half = 0.5 * bounded, square = half * half;
  if constexpr (kOrder == 0)
    return polynomial<coefficients::kI0Series>(square);
  else
    return half * polynomial<coefficients::kI1Series>(square);
}

/// e^-size I_n(size) of a size from 8 on.
template <int kOrder>
AORTA_INLINE double bessel_far(double size) {
  const double bounded = size < 8.0 ? 8.0 : size, t = 16.0 / bounded - 1.0;
  if constexpr (kOrder == 0)
    return polynomial<coefficients::kI0Tail>(t) / sqrt(bounded);
  else
    return polynomial<coefficients::kI1Tail>(t) / sqrt(bounded);
}

/// e^x of a double, for a result of type T: a float needs fewer digits.
template <class T>
AORTA_INLINE double exp_for(double x) {
  if constexpr (std::is_same_v<T, float>)
    return exp_lane(x);
  else
    return exp(x);
}

/// I_n(|x|).
template <int kOrder, class T>
AORTA_INLINE double bessel(T x) {
  // Beyond its end I_n overflows; e^size does so before.
  constexpr double end = std::is_same_v<T, float> ? 100.0 : 720.0;
  const double wide = abs(x), size = wide > end ? end : wide;
  const double root = exp_for<T>(0.5 * size), far = bessel_far<kOrder>(size) * root * root;
  return select(size > 8.0, far, bessel_near<kOrder>(size));
}

/// e^-|x| I_n(|x|).
template <int kOrder, class T>
AORTA_INLINE double scaled_bessel(T x) {
  const double size = abs(x);
  const double near = bessel_near<kOrder>(size) * exp_for<T>(size > 8.0 ? -8.0 : -size);
  return select(size > 8.0, bessel_far<kOrder>(size), near);
}

/// i0e() and i1e() of a float, before they are rounded: their slopes are differences.
AORTA_INLINE double i0e_wide(float x) { return scaled_bessel<0>(x); }
AORTA_INLINE double i1e_wide(float x) {
  return copysign(scaled_bessel<1>(x), static_cast<double>(x));
}

/// I_0(x). A float at most 0.6 ULP, a double 4.
template <class T>
AORTA_INLINE T i0(T x) {
  return static_cast<T>(bessel<0>(x));
}
/// e^-|x| I_0(x). A float at most 0.6 ULP, a double 3.
template <class T>
AORTA_INLINE T i0e(T x) {
  return static_cast<T>(scaled_bessel<0>(x));
}
/// I_1(x). A float at most 0.6 ULP, a double 4.
template <class T>
AORTA_INLINE T i1(T x) {
  return copysign(static_cast<T>(bessel<1>(x)), x);
}
/// e^-|x| I_1(x). A float at most 0.6 ULP, a double 4.
template <class T>
AORTA_INLINE T i1e(T x) {
  return copysign(static_cast<T>(scaled_bessel<1>(x)), x);
}

}  // namespace aorta::scalar
