#pragma once

// Sine, cosine, tangent and their inverses, angles in radians. Bounds are in units in the last
// place (ULP) of the exact value, over every float: arguments up to 3.4e38 are reduced exactly.

#include <aorta/core/scalar/basic.h>
#include <aorta/core/scalar/coefficients.h>

namespace aorta::scalar {

/// An angle as `quadrant` quarter turns (modulo 4, in the low two bits) plus r radians, |r| <=
/// pi/4.
struct ReducedAngle {
  double r;
  uint32_t quadrant;
};

/// Part I of 1/(2 pi) for arguments of this size.
template <int I>
AORTA_INLINE double turns_part(float size) {
  // Selected as bits: compilers would multiply by each of four doubles and select among the
  // products.
  constexpr uint64_t c0 = __builtin_bit_cast(uint64_t, coefficients::kTurns[0][I]),
                     c1 = __builtin_bit_cast(uint64_t, coefficients::kTurns[1][I]),
                     c2 = __builtin_bit_cast(uint64_t, coefficients::kTurns[2][I]),
                     c3 = __builtin_bit_cast(uint64_t, coefficients::kTurns[3][I]);
  const uint64_t low = size < 0x1p50f ? c0 : c1, high = size < 0x1p104f ? c2 : c3;
  return from_bits(size < 0x1p77f ? low : high);
}

/// Reduces x modulo a quarter turn, with a relative error of r below 2^-27 for every finite float
/// x.
AORTA_INLINE ReducedAngle reduce_angle(float x) {
  // Payne and Hanek's method in double arithmetic. 1/(2 pi) is taken as the sum of 29 bits, 28 bits
  // and a double, so that the products with the 24 bits of x and their sum are exact. From 2^50 on
  // x is a multiple of 2^(27b), and the bits of 1/(2 pi) that make whole turns of every such x are
  // left out.
  const float size = abs(x);
  const double xd = x;
  const double p0 = xd * turns_part<0>(size);
  const double p1 = xd * turns_part<1>(size);
  const double p2 = xd * turns_part<2>(size);
  const double turn = p0 - rint(p0);
  const double sum = turn + p1;
  const double lost = p1 - (sum - turn);
  const double rest = lost + p2;
  constexpr double magic =
      6755399441055744.0;  // 1.5 * 2^52 rounds to an integer, left in the low bits
  const double shifted = (sum + p2) * 4.0 + magic;
  const double r = (sum - 0.25 * (shifted - magic)) + rest;
  return {r * 0x1.921fb54442d18p+2, static_cast<uint32_t>(to_bits(shifted))};
}

template <class T>
struct SineCosine {
  T sine, cosine;
};

/// Returns the sine and the cosine of the angle r + tail, |r| <= pi/4.
AORTA_INLINE SineCosine<float> sine_cosine(float r, float tail) {
  const float u = r * r;
  const float sine = r + mul_add(r * u, polynomial<coefficients::kSinTail>(u), tail);
  const float half = 0.5f * u;
  const float high = 1.0f - half;
  const float cosine = high + (((1.0f - high) - half) +
                               mul_add(u * u, polynomial<coefficients::kCosTail>(u), -(r * tail)));
  return {sine, cosine};
}

/// sin(r + quadrant * pi/2) from sine and cosine of r.
AORTA_INLINE float in_quadrant(const SineCosine<float>& of_r, uint32_t quadrant) {
  const float value = (quadrant & 1u) != 0 ? of_r.cosine : of_r.sine;
  return from_bits(to_bits(value) ^ ((quadrant & 2u) << 30));
}

/// sin(angle + quadrant * pi/2).
AORTA_INLINE float sin_of_angle(double angle, uint32_t quadrant) {
  const float r = static_cast<float>(angle);
  return in_quadrant(sine_cosine(r, static_cast<float>(angle - static_cast<double>(r))), quadrant);
}

/// Sine and cosine of x whole turns, 0 <= x <= 1, with a relative error below 2^-22.
AORTA_INLINE SineCosine<float> sine_cosine_of_turns(float x) {
  constexpr float magic = 12582912.0f;  // 1.5 * 2^23 rounds to an integer, left in the low bits
  const float shifted = x * 4.0f + magic;
  const uint32_t quadrant = to_bits(shifted);
  const float r = (x * 4.0f - (shifted - magic)) * 0x1.921fb6p+0f;
  const SineCosine<float> of_r = sine_cosine(r, 0.0f);
  return {in_quadrant(of_r, quadrant), in_quadrant(of_r, quadrant + 1u)};
}
AORTA_INLINE SineCosine<double> sine_cosine_of_turns(double x) {
  const double angle = x * 6.283185307179586476925;
  return {::sin(angle), ::cos(angle)};
}

/// sin(x). At most 0.95 ULP.
AORTA_INLINE float sin(float x) {
  const ReducedAngle a = reduce_angle(x);
  const float value = sin_of_angle(a.r, a.quadrant);
  return x == 0.0f ? x : value;
}
AORTA_INLINE double sin(double x) { return ::sin(x); }

/// cos(x). At most 0.95 ULP.
AORTA_INLINE float cos(float x) {
  const ReducedAngle a = reduce_angle(x);
  return sin_of_angle(a.r, a.quadrant + 1u);
}
AORTA_INLINE double cos(double x) { return ::cos(x); }

/// tan(x). At most 1.6 ULP.
AORTA_INLINE float tan(float x) {
  const ReducedAngle a = reduce_angle(x);
  const float r = static_cast<float>(a.r);
  const float u = r * r;
  const double tangent = a.r + static_cast<double>(r * u * polynomial<coefficients::kTanTail>(u));
  const bool is_odd = (a.quadrant & 1u) != 0;
  const float value = static_cast<float>((is_odd ? -1.0 : tangent) / (is_odd ? tangent : 1.0));
  return x == 0.0f ? x : value;
}
AORTA_INLINE double tan(double x) { return ::tan(x); }

inline constexpr float kHalfPiHigh = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f;

/// base_high + base_low + a + b, where base_high is 0 or above |a|, and |a| well above |b| and
/// base_low.
AORTA_INLINE float add_to_angle(float base_high, float base_low, float a, float b) {
  const float sum = base_high + a;
  return sum + (((base_high - sum) + a) + (base_low + b));
}

/// The angle in [-pi/2, pi/2] whose tangent is x. At most 1.4 ULP.
AORTA_INLINE float atan(float x) {
  const float size = abs(x);
  const bool is_large = size > 1.0f;
  const float t = select(is_large, -1.0f / size, size);
  const float u = t * t;
  const float tail = t * u * polynomial<coefficients::kAtanTail>(u);
  return copysign(add_to_angle(select(is_large, kHalfPiHigh, 0.0f),
                               select(is_large, kHalfPiLow, 0.0f), t, tail),
                  x);
}
AORTA_INLINE double atan(double x) { return ::atan(x); }

/// The angle of the point (x, y) in [-pi, pi]. At most 1.8 ULP.
AORTA_INLINE float atan2(float y, float x) {
  const float ax = abs(x), ay = abs(y);
  const bool is_steep = ay > ax, is_left = signbit(x);
  const float larger = select(is_steep, ay, ax), smaller = select(is_steep, ax, ay);
  float t = smaller / larger;
  t = ((larger == 0.0f) & (smaller == 0.0f)) ? 0.0f : t;
  t = ((smaller == kInfinity<float>)&(larger == kInfinity<float>)) ? 1.0f : t;
  const float u = t * t;
  const float tail = t * u * polynomial<coefficients::kAtanTail>(u);
  // The angle is base + t or base - t with base 0, pi/2 or pi.
  const uint32_t sign = is_steep != is_left ? 0x80000000u : 0u;
  const float factor = select(is_steep, 1.0f, is_left ? 2.0f : 0.0f);
  return copysign(add_to_angle(factor * kHalfPiHigh, factor * kHalfPiLow,
                               from_bits(to_bits(t) ^ sign), from_bits(to_bits(tail) ^ sign)),
                  y);
}
AORTA_INLINE double atan2(double y, double x) { return ::atan2(y, x); }

/// The angle in [-pi/2, pi/2] whose sine is x; NaN for |x| > 1. At most 1.2 ULP.
AORTA_INLINE float asin(float x) {
  const float size = abs(x);
  const bool is_large = size > 0.5f;
  // asin(x) = pi/2 - 2 asin(sqrt((1 - x)/2))
  const float u = select(is_large, mul_add(-0.5f, size, 0.5f), size * size);
  const float s = select(is_large, -2.0f * sqrt(u), size);
  const float tail = s * u * polynomial<coefficients::kAsinTail>(u);
  return copysign(add_to_angle(select(is_large, kHalfPiHigh, 0.0f),
                               select(is_large, kHalfPiLow, 0.0f), s, tail),
                  x);
}
AORTA_INLINE double asin(double x) { return ::asin(x); }

/// The angle in [0, pi] whose cosine is x; NaN for |x| > 1. At most 1.2 ULP.
AORTA_INLINE float acos(float x) {
  const float size = abs(x);
  const bool is_large = size > 0.5f;
  // acos(x) = 2 asin(sqrt((1 - x)/2)) = pi - 2 asin(sqrt((1 + x)/2)) = pi/2 - asin(x)
  const float u = select(is_large, mul_add(-0.5f, size, 0.5f), size * size);
  const float s = select(is_large, copysign(2.0f * sqrt(u), x), -x);
  const float tail = s * u * polynomial<coefficients::kAsinTail>(u);
  const float factor = select(is_large, x < 0.0f ? 2.0f : 0.0f, 1.0f);
  return add_to_angle(factor * kHalfPiHigh, factor * kHalfPiLow, s, tail);
}
AORTA_INLINE double acos(double x) { return ::acos(x); }

}  // namespace aorta::scalar
