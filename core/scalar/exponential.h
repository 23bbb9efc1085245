#pragma once

// Exponentials and the logistic function. Bounds are in units in the last place (ULP) of the exact
// value, over every float, with and without fused multiply-add.

#include <aorta/core/scalar/basic.h>
#include <aorta/core/scalar/coefficients.h>

namespace aorta::scalar {

/// ln(2) = kLn2High + kLn2Low; n * kLn2High is exact for |n| < 2^8.
inline constexpr float kLn2High = 0x1.62e4p-1f;
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kLog2E = 0x1.715476p+0f;

/// e^(x + tail) = fraction * 2^n, 0.7 < fraction < 1.42. `bits` holds n in its low bits: its 9
/// lowest are n + Bias.
struct ExpParts {
  float fraction;
  uint32_t bits;
};

/// Splits e^(x + tail), |tail| <= 2^-9 |x|, for x >= -104. With IsBounded x is at most 88; else
/// from x = 89 on n stays at 129 and the fraction grows, up to infinity. NaN stays in the fraction.
/// C is the polynomial.
template <int Bias, bool IsBounded, const auto& C, class... Tail>
AORTA_INLINE ExpParts exp_parts(float x, Tail... tail) {
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits, on top of the bias.
  constexpr float magic = 12582912.0f + Bias;
  constexpr int32_t limit = 0x4b400000 + Bias + 129;
  const int32_t rounded = bit_cast<int32_t>(mul_add((x + ... + tail), kLog2E, magic));
  const int32_t bits = IsBounded || rounded < limit ? rounded : limit;
  const float n = bit_cast<float>(bits) - magic;
  const float r = (mul_add(n, -kLn2Low, mul_add(n, -kLn2High, x)) + ... + tail);
  const float p = mul_add(polynomial<C>(r), r, 1.0f);
  return {mul_add(p, r, 1.0f), static_cast<uint32_t>(bits)};
}

/// a * 2^n, rounded correctly into the denormals; `bits` are those of exp_parts with a bias of 254.
AORTA_INLINE float scale(float a, uint32_t bits) {
  // 2^n as a product of two powers whose biased exponents are halves of n + 254.
  const uint32_t half = bits >> 1;
  return a * from_bits(half << 23) * from_bits((bits - half) << 23);
}

/// e^x * 2^Shift for x >= -104; with IsBounded x is at most 88.
template <int Shift = 0, bool IsBounded = false>
AORTA_INLINE float exp_scaled(float x) {
  const ExpParts e = exp_parts<254 + Shift, IsBounded, coefficients::kExpTail>(x);
  return scale(e.fraction, e.bits);
}

/// e^x for -87 <= x <= 88 (and NaN) with a relative error below 2^-22.5: nothing can overflow or
/// become denormal.
AORTA_INLINE float exp_short(float x) {
  const ExpParts e = exp_parts<127, true, coefficients::kExpTailShort>(x);
  return e.fraction * from_bits(e.bits << 23);
}

/// e^x in double lanes with a relative error below 2^-31, for -700 <= x <= 700 (and NaN).
AORTA_INLINE double exp_lane(double x) {
  constexpr double magic = 6755399441055744.0 + 1023;
  const double shifted = mul_add(x, 0x1.71547652b82fep+0, magic);
  const double r = mul_add(shifted - magic, -0x1.62e42fefa39efp-1, x);
  const double p = mul_add(mul_add(polynomial<coefficients::kExpTailDouble>(r), r, 1.0), r, 1.0);
  return p * from_bits(to_bits(shifted) << 52);
}

/// The larger of x and a constant; NaN stays NaN.
AORTA_INLINE float at_least(float x, float low) { return low > x ? low : x; }

/// The smaller of x and 89, by its bits; 89 for a NaN with a positive sign.
AORTA_INLINE float at_most_89(float x) {
  const int32_t bits = bit_cast<int32_t>(x), limit = 0x42b20000;
  return bit_cast<float>(bits < limit ? bits : limit);
}

/// e^x. At most 1.2 ULP.
AORTA_INLINE float exp(float x) { return exp_scaled(at_least(x, -104.0f)); }
AORTA_INLINE double exp(double x) { return ::exp(x); }
/// e^x for x <= 0 (and NaN).
AORTA_INLINE float exp_of_negative(float x) { return exp_scaled<0, true>(at_least(x, -104.0f)); }
AORTA_INLINE double exp_of_negative(double x) { return ::exp(x); }

/// 2^x. At most 1.2 ULP.
AORTA_INLINE float exp2(float x) {
  x = at_least(x, -151.0f);
  constexpr float magic = 12582912.0f + 254;
  constexpr int32_t limit = 0x4b400000 + 254 + 129;
  const int32_t rounded = bit_cast<int32_t>(x + magic);
  const int32_t bits = rounded < limit ? rounded : limit;
  const float r = x - (bit_cast<float>(bits) - magic);
  const float p = mul_add(polynomial<coefficients::kExp2>(r), r, 1.0f);
  const uint32_t all = static_cast<uint32_t>(bits), half = all >> 1;
  return p * from_bits(half << 23) * from_bits((all - half) << 23);
}
AORTA_INLINE double exp2(double x) { return ::exp2(x); }

/// 2^x in double lanes with a relative error below 2^-31, for -1022 <= x <= 1023 (and NaN); powers
/// of integers are exact.
AORTA_INLINE double exp2_lane(double x) {
  constexpr double magic = 6755399441055744.0 + 1023;
  const double shifted = x + magic;
  const double r = (x - (shifted - magic)) * 0x1.62e42fefa39efp-1;
  const double p = mul_add(mul_add(polynomial<coefficients::kExpTailDouble>(r), r, 1.0), r, 1.0);
  return p * from_bits(to_bits(shifted) << 52);
}

/// e^x - 1 without cancellation. At most 1.4 ULP.
AORTA_INLINE float expm1(float x) {
  // With s = 2^n / 2: e^x - 1 = 2((s - 1/2) + s*high + s*(r^2 q - n ln2_low)); the first two are
  // summed exactly.
  constexpr float magic = 12582912.0f + 126;
  const float bounded = at_least(at_most_89(x), -18.0f);
  const float shifted = mul_add(bounded, kLog2E, magic);
  const float n = shifted - magic;
  const float high = mul_add(n, -kLn2High, bounded);
  const float low = n * -kLn2Low;
  const float r = high + low;
  const float tail = mul_add(polynomial<coefficients::kExpTail>(r), r * r, low);
  const float s = from_bits(to_bits(shifted) << 23);
  const float a = s - 0.5f, b = s * high;
  const float sum = a + b;
  const float rest = b - (sum - a);
  const float half = sum + mul_add(s, tail, rest);
  return ((x < 0.0f) | (x > 0.0f)) ? half + half : x;
}
AORTA_INLINE double expm1(double x) { return ::expm1(x); }

/// 1 / (1 + e^-x). At most 2.0 ULP.
AORTA_INLINE float sigmoid(float x) {
  const float e = exp_scaled<0, true>(at_least(-abs(x), -104.0f));
  // e/(1 + e) for negative x, 1 - e/(1 + e) for positive x; a - a*q keeps the rounding of 1 + e
  // from the result.
  const float q = e / (1.0f + e);
  const float a = x < 0.0f ? e : 1.0f;
  return mul_add(-q, a, a);
}
AORTA_INLINE double sigmoid(double x) {
  const double e = exp(-abs(x));
  return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

}  // namespace aorta::scalar
