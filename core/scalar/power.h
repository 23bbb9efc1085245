#pragma once

// Powers and roots. Bounds are in units in the last place (ULP) of the exact value, over every
// float.

#include <aorta/core/scalar/basic.h>
#include <aorta/core/scalar/coefficients.h>

namespace aorta::scalar {

/// 1/sqrt(x). At most 1.5 ULP.
AORTA_INLINE float rsqrt(float x) { return 1.0f / sqrt(x); }
AORTA_INLINE double rsqrt(double x) { return 1.0 / sqrt(x); }

/// sqrt(x*x + y*y) without overflow; infinite if x or y is, even beside NaN. At most 0.51 ULP.
AORTA_INLINE float hypot(float x, float y) {
  const double xd = x, yd = y;
  const float value = static_cast<float>(sqrt(xd * xd + yd * yd));
  return (int{isinf(x)} | int{isinf(y)}) ? kInfinity<float> : value;
}
AORTA_INLINE double hypot(double x, double y) { return ::hypot(x, y); }

/// The binary logarithm of x >= 0 in double lanes, with a relative error below 2^-40.
AORTA_INLINE double log2_lane(float x) {
  constexpr uint32_t sqrt_half = 0x3f3504f3;
  const bool is_denormal = x < 0x1p-126f;
  const uint32_t bits = to_bits(is_denormal ? x * 0x1p24f : x) - sqrt_half;
  const float k = static_cast<float>(bit_cast<int32_t>(bits) >> 23) - (is_denormal ? 24.0f : 0.0f);
  const double m = from_bits((bits & 0x7fffffu) + sqrt_half);
  const double s = (m - 1.0) / (m + 1.0);
  const double value =
      mul_add(polynomial<coefficients::kLog2Double>(s * s), s, static_cast<double>(k));
  return x == 0.0f ? -kInfinity<double> : x < kInfinity<float> ? value : static_cast<double>(x);
}

/// x to the power y, with the special cases of C99 (Annex F). At most 0.6 ULP. Signs and NaN are
/// set by bits and beforehand: ternaries around the result would become branches.
AORTA_INLINE float pow(float x, float y) {
  const float size = abs(x);
  const float half = 0.5f * y;
  const bool is_integer = y == rint(y);
  const bool is_odd = is_integer & (half != rint(half));
  const bool is_undefined = (x < 0.0f) & (size < kInfinity<float>)&!is_integer;
  double t = static_cast<double>(y) * log2_lane(size);
  t = ((size == 1.0f) | (y == 0.0f)) ? 0.0 : t;  // also for infinite y, and for x that is NaN
  t = is_undefined ? kNaN<double> : t;
  t = -160.0 > t ? -160.0 : t;
  t = 140.0 < t ? 140.0 : t;
  constexpr double magic = 6755399441055744.0 + 1023;
  const double shifted = t + magic;
  const double r = t - (shifted - magic);
  const double p = mul_add(polynomial<coefficients::kExp2Double>(r), r, 1.0);
  const float power = static_cast<float>(p * from_bits(to_bits(shifted) << 52));
  return from_bits(to_bits(power) | (to_bits(x) & (is_odd ? 0x80000000u : 0u)));
}
AORTA_INLINE double pow(double x, double y) { return ::pow(x, y); }

}  // namespace aorta::scalar
