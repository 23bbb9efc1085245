#pragma once

// Hyperbolic functions and their inverses. Bounds are in units in the last place (ULP) of the exact
// value, over every float.

#include <aorta/core/scalar/exponential.h>
#include <aorta/core/scalar/logarithm.h>

namespace aorta::scalar {

/// (e^x - e^-x) / 2. At most 1.8 ULP.
AORTA_INLINE float sinh(float x) {
  const float size = abs(x);
  const float u = x * x;
  const float small = mul_add(size * u, polynomial<coefficients::kSinhTail>(u), size);
  const float e = exp_scaled<-1>(size);
  const float large = e - 0.25f / e;
  return copysign(size < 1.0f ? small : large, x);
}
AORTA_INLINE double sinh(double x) { return ::sinh(x); }

/// (e^x + e^-x) / 2. At most 1.7 ULP.
AORTA_INLINE float cosh(float x) {
  const float e = exp_scaled<-1>(abs(x));
  return e + 0.25f / e;
}
AORTA_INLINE double cosh(double x) { return ::cosh(x); }

/// sinh(x) / cosh(x). At most 1.9 ULP.
AORTA_INLINE float tanh(float x) {
  const float size = abs(x);
  const float u = x * x;
  const float small = mul_add(size * u, polynomial<coefficients::kTanhTail>(u), size);
  const float e = exp_short(at_least(-2.0f * size, -20.0f));
  const float large = 1.0f - (e + e) / (1.0f + e);
  return copysign(size < 0.7f ? small : large, x);
}
AORTA_INLINE double tanh(double x) { return ::tanh(x); }

/// log(1 + v) for a v in double that may pass the range of float: from 2^30 on v/2 is taken, and 1
/// added to the binary logarithm.
AORTA_INLINE float log1p_of_lane(double v) {
  const bool is_large = v > 0x1p30;
  const double scaled = is_large ? 0.5 * v : v;
  const float high = static_cast<float>(scaled);
  const float tail = is_large ? 0.0f : static_cast<float>(scaled - static_cast<double>(high));
  return log1p_with_tail(high, tail, is_large ? 1.0f : 0.0f);
}

/// The inverse of sinh. At most 1.2 ULP.
AORTA_INLINE float asinh(float x) {
  const double a = abs(x);
  const double square = a * a;
  const double value = a + square / (1.0 + sqrt(square + 1.0));
  return copysign(log1p_of_lane(a < kInfinity<double> ? value : a), x);
}
AORTA_INLINE double asinh(double x) { return ::asinh(x); }

/// The inverse of cosh; NaN for x < 1. At most 1.1 ULP.
AORTA_INLINE float acosh(float x) {
  const double t = static_cast<double>(x) - 1.0;
  const double value = t + sqrt(t * (t + 2.0));
  return log1p_of_lane(x < 1.0f ? kNaN<double> : value);
}
AORTA_INLINE double acosh(double x) { return ::acosh(x); }

/// The inverse of tanh; NaN for |x| > 1. At most 1.2 ULP.
AORTA_INLINE float atanh(float x) {
  const double a = abs(x);
  return copysign(0.5f * log1p_of_lane((a + a) / (1.0 - a)), x);
}
AORTA_INLINE double atanh(double x) { return ::atanh(x); }

}  // namespace aorta::scalar
