#pragma once

// The error function and the normal distribution function. Bounds are in units in the last place
// (ULP) of the exact value, over every float.

#include <aorta/core/scalar/exponential.h>

namespace aorta::scalar {

/// 2/sqrt(pi) times the integral of e^-t^2 from 0 to x. At most 1.7 ULP.
AORTA_INLINE float erf(float x) {
  const float size = abs(x);
  const float small = mul_add(size, polynomial<coefficients::kErfSmall>(x * x), size);
  const float bounded = size > 4.0f ? 4.0f : size;
  const float large = 1.0f - exp_short(polynomial<coefficients::kErfLarge>(bounded));
  return copysign(size < 0.9f ? small : large, x);
}
AORTA_INLINE double erf(double x) { return ::erf(x); }

/// 1 - erf(x) without cancellation. At most 0.6 ULP.
AORTA_INLINE float erfc(float x) {
  // In double lanes: float arithmetic loses 3 ULP in e^-x^2 and in the argument of the polynomial.
  const float magnitude = abs(x);
  const double size = magnitude > 10.3f ? 10.3f : magnitude;
  const double w = 1.0 / (size + 3.0);
  const double value = exp_lane(-size * size) * w * polynomial<coefficients::kErfcTail>(w);
  return static_cast<float>(x < 0.0f ? 2.0 - value : value);
}
AORTA_INLINE double erfc(double x) { return ::erfc(x); }

/// e^(x^2), or e^(-x^2/2) where kPart is -2, from an x^2 with all digits; 0 <= x < 2^26.
template <int kPart>
AORTA_INLINE double exp_of_square(double x) {
  // x^2 is that of `head`, which is exact, and `tail`.
  const double head = from_bits(to_bits(x) & 0xfffffffff8000000u);
  const double tail = (x - head) * (x + head) / kPart;
  const double factor = mul_add(mul_add(mul_add(tail, 1.0 / 6, 0.5), tail, 1.0), tail, 1.0);
  return exp(head * head / kPart) * factor;
}

/// e^(x^2) erfc(x) of x >= 0 in double lanes, at most 2 ULP.
AORTA_INLINE double erfcx_lane(double x) {
  const double t = 1.0 - 6.0 / (x + 3.0);
  return 0.5 * polynomial<coefficients::kErfcx>(t) / (x + 0.5);
}

/// erfcx() of a float, before it is rounded: its slope is a difference.
AORTA_INLINE double erfcx_wide(float x) {
  const double size = abs(x), positive = erfcx_lane(size);
  const double bounded = size > 10.0 ? 10.0 : size;
  return x < 0.0f ? 2.0 * exp_lane(bounded * bounded) - positive : positive;
}

/// e^(x^2) erfc(x), which doesn't vanish where erfc does. A float at most 0.6 ULP, a double 4.
AORTA_INLINE float erfcx(float x) { return static_cast<float>(erfcx_wide(x)); }
AORTA_INLINE double erfcx(double x) {
  const double size = abs(x), positive = erfcx_lane(size);
  const double bounded = size > 27.0 ? 27.0 : size;
  return x < 0.0 ? 2.0 * exp_of_square<1>(bounded) - positive : positive;
}

/// x times the normal distribution function: x/2 * (1 + erf(x/sqrt(2))). At most 7.5 ULP.
AORTA_INLINE float gelu(float x) {
  // x Q(|x|) for negative x and x - x Q(x) for positive x, where Q(t) = e^(-t^2/2) P(t)/S(t) is the
  // upper tail of the normal distribution. -t^2/2 is the exact `square` plus `tail`.
  const float magnitude = abs(x);
  // The smaller of |x| and 14.5, by its bits: one instruction.
  const uint32_t limit = 0x41680000u, bits = to_bits(magnitude);
  const float t = from_bits(bits < limit ? bits : limit);
  const float short_t = from_bits(to_bits(t) & 0xfffff000u);
  const float square = -0.5f * short_t * short_t;
  const float tail = -0.5f * (t - short_t) * (t + short_t);
  const ExpParts e = exp_parts<254, true, coefficients::kExpTail>(square, tail);
  // In powers of u = t^2, so that its rounding cancels in the quotient.
  const float u = t * t;
  constexpr float p4 = coefficients::kNormalTailNumerator[4];
  const float numerator = mul_add(mul_add(u, p4, linear<coefficients::kNormalTailNumerator, 2>(t)),
                                  u, linear<coefficients::kNormalTailNumerator, 0>(t));
  const float denominator = mul_add(mul_add(linear<coefficients::kNormalTailDenominator, 4>(t), u,
                                            linear<coefficients::kNormalTailDenominator, 2>(t)),
                                    u, linear<coefficients::kNormalTailDenominator, 0>(t));
  const float product = scale(t * e.fraction * numerator / denominator, e.bits);
  return x < 0.0f ? -product : x - product;
}
AORTA_INLINE double gelu(double x) {
  const double share = 0.5 * erfc(-0x1.6a09e667f3bcdp-1 * x);
  return share == 0 ? -0.0 : x * share;  // the limit at -inf
}

}  // namespace aorta::scalar
