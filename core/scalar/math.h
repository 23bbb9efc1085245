#pragma once

// The scalar mathematics of every kernel, for float and double.

#include <aorta/core/scalar/basic.h>

namespace aorta::scalar {

AORTA_INLINE float exp(float x) { return ::expf(x); }
AORTA_INLINE float exp2(float x) { return ::exp2f(x); }
AORTA_INLINE float expm1(float x) { return ::expm1f(x); }
AORTA_INLINE float log(float x) { return ::logf(x); }
AORTA_INLINE float log1p(float x) { return ::log1pf(x); }
AORTA_INLINE float log2(float x) { return ::log2f(x); }
AORTA_INLINE float log10(float x) { return ::log10f(x); }
AORTA_INLINE float sin(float x) { return ::sinf(x); }
AORTA_INLINE float cos(float x) { return ::cosf(x); }
AORTA_INLINE float tan(float x) { return ::tanf(x); }
AORTA_INLINE float asin(float x) { return ::asinf(x); }
AORTA_INLINE float acos(float x) { return ::acosf(x); }
AORTA_INLINE float atan(float x) { return ::atanf(x); }
AORTA_INLINE float atan2(float y, float x) { return ::atan2f(y, x); }
AORTA_INLINE float sinh(float x) { return ::sinhf(x); }
AORTA_INLINE float cosh(float x) { return ::coshf(x); }
AORTA_INLINE float tanh(float x) { return ::tanhf(x); }
AORTA_INLINE float asinh(float x) { return ::asinhf(x); }
AORTA_INLINE float acosh(float x) { return ::acoshf(x); }
AORTA_INLINE float atanh(float x) { return ::atanhf(x); }
AORTA_INLINE float erf(float x) { return ::erff(x); }
AORTA_INLINE float erfc(float x) { return ::erfcf(x); }
AORTA_INLINE float pow(float x, float y) { return ::powf(x, y); }
AORTA_INLINE float hypot(float x, float y) { return ::hypotf(x, y); }
AORTA_INLINE double exp(double x) { return ::exp(x); }
AORTA_INLINE double exp2(double x) { return ::exp2(x); }
AORTA_INLINE double expm1(double x) { return ::expm1(x); }
AORTA_INLINE double log(double x) { return ::log(x); }
AORTA_INLINE double log1p(double x) { return ::log1p(x); }
AORTA_INLINE double log2(double x) { return ::log2(x); }
AORTA_INLINE double log10(double x) { return ::log10(x); }
AORTA_INLINE double sin(double x) { return ::sin(x); }
AORTA_INLINE double cos(double x) { return ::cos(x); }
AORTA_INLINE double tan(double x) { return ::tan(x); }
AORTA_INLINE double asin(double x) { return ::asin(x); }
AORTA_INLINE double acos(double x) { return ::acos(x); }
AORTA_INLINE double atan(double x) { return ::atan(x); }
AORTA_INLINE double atan2(double y, double x) { return ::atan2(y, x); }
AORTA_INLINE double sinh(double x) { return ::sinh(x); }
AORTA_INLINE double cosh(double x) { return ::cosh(x); }
AORTA_INLINE double tanh(double x) { return ::tanh(x); }
AORTA_INLINE double asinh(double x) { return ::asinh(x); }
AORTA_INLINE double acosh(double x) { return ::acosh(x); }
AORTA_INLINE double atanh(double x) { return ::atanh(x); }
AORTA_INLINE double erf(double x) { return ::erf(x); }
AORTA_INLINE double erfc(double x) { return ::erfc(x); }
AORTA_INLINE double pow(double x, double y) { return ::pow(x, y); }
AORTA_INLINE double hypot(double x, double y) { return ::hypot(x, y); }

template <class T>
AORTA_INLINE T rsqrt(T x) {
  return T(1) / sqrt(x);
}
template <class T>
AORTA_INLINE T sigmoid(T x) {
  const T e = exp(-abs(x));
  return (x < T(0) ? e : T(1)) / (T(1) + e);
}
template <class T>
AORTA_INLINE T softplus(T x) {
  return maximum(x, T(0)) + log1p(exp(-abs(x)));
}
template <class T>
AORTA_INLINE T gelu(T x) {
  return x * (T(0.5) * erfc(T(-0.70710678118654752440) * x));
}

}  // namespace aorta::scalar
