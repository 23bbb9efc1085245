#pragma once

// Logarithms. Bounds are in units in the last place (ULP) of the exact value, over every float.

#include <aorta/core/scalar/exponential.h>

namespace aorta::scalar {

/// log(x) = k ln(2) + f + w, where x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2) and w = log(1 + f)
/// - f.
struct LogParts {
  float k, f, w;
};

/// log(1 + f) - f.
AORTA_INLINE float log1p_tail(float f) {
  return f * f * mul_add(polynomial<coefficients::kLogTail>(f), f, -0.5f);
}

/// Splits log(x) for finite x > 0, denormal x too.
AORTA_INLINE LogParts log_parts(float x) {
  constexpr uint32_t sqrt_half = 0x3f3504f3;
  const bool is_denormal = x < 0x1p-126f;
  const uint32_t bits = to_bits(is_denormal ? x * 0x1p24f : x) - sqrt_half;
  const float k = static_cast<float>(bit_cast<int32_t>(bits) >> 23) - (is_denormal ? 24.0f : 0.0f);
  const float f = from_bits((bits & 0x7fffffu) + sqrt_half) - 1.0f;
  return {k, f, log1p_tail(f)};
}

/// a + b + tail, where a = 0 or |a| >= |b|, with one rounding of weight.
AORTA_INLINE float sum_with_tail(float a, float b, float tail) {
  const float sum = a + b;
  return sum + (((a - sum) + b) + tail);
}

/// `value` where 0 < x < infinity; what every logarithm is elsewhere.
AORTA_INLINE float log_or_special(float x, float value) {
  const float special = x < 0.0f ? kNaN<float> : x == 0.0f ? -kInfinity<float> : x;
  return ((x > 0.0f) & (x < kInfinity<float>)) ? value : special;
}

/// The natural logarithm. At most 0.95 ULP.
AORTA_INLINE float log(float x) {
  const LogParts p = log_parts(x);
  return log_or_special(x, sum_with_tail(p.k * kLn2High, p.f, mul_add(p.k, kLn2Low, p.w)));
}
AORTA_INLINE double log(double x) { return ::log(x); }

/// The logarithm to base 2, exact for powers of two. At most 1.6 ULP.
AORTA_INLINE float log2(float x) {
  const LogParts p = log_parts(x);
  const float tail = mul_add(p.f, 0x1.c551dap-2f /*log2(e) - 1*/, p.w * kLog2E);
  return log_or_special(x, sum_with_tail(p.k, p.f, tail));
}
AORTA_INLINE double log2(double x) { return ::log2(x); }

/// The logarithm to base 10. At most 1.2 ULP.
AORTA_INLINE float log10(float x) {
  constexpr float log10_2_high = 0x1.344p-2f, log10_2_low = 0x1.3509f8p-18f;
  constexpr float log10_e = 0x1.bcb7b2p-2f, log10_e_minus_half = -0x1.0d213ap-4f;
  const LogParts p = log_parts(x);
  const float tail = mul_add(p.f, log10_e_minus_half, p.w * log10_e);
  return log_or_special(
      x, sum_with_tail(p.k * log10_2_high, 0.5f * p.f, mul_add(p.k, log10_2_low, tail)));
}
AORTA_INLINE double log10(double x) { return ::log10(x); }

/// log(1 + x + tail) * 2^extra_k for |tail| <= 2^-24 |x|, and what log1p is at its limits.
AORTA_INLINE float log1p_with_tail(float x, float tail, float extra_k) {
  constexpr uint32_t sqrt_half = 0x3f3504f3;
  // 1 + x = u + rest exactly.
  const float u = 1.0f + x;
  const float back = u - 1.0f;
  const float rest = (1.0f - (u - back)) + (x - back) + tail;
  const uint32_t bits = to_bits(u) - sqrt_half;
  const int32_t k = bit_cast<int32_t>(bits) >> 23;
  const float m = from_bits((bits & 0x7fffffu) + sqrt_half) - 1.0f;
  const int32_t inverse = 127 - k;
  const float t = rest * bit_cast<float>((inverse > 0 ? inverse : 0) << 23);
  const float f = m + t;
  const float lost = (m - f) + t;
  const float kf = static_cast<float>(k) + extra_k;
  const float w = log1p_tail(f) + lost;
  const float value = sum_with_tail(kf * kLn2High, f, mul_add(kf, kLn2Low, w));
  const float special = x < -1.0f ? kNaN<float> : x == -1.0f ? -kInfinity<float> : x;
  return ((x > -1.0f) & (x < kInfinity<float>)&(x != 0.0f)) ? value : special;
}

/// log(1 + x) without cancellation. At most 1.1 ULP.
AORTA_INLINE float log1p(float x) { return log1p_with_tail(x, 0.0f, 0.0f); }
AORTA_INLINE double log1p(double x) { return ::log1p(x); }

/// log(1 + e^x) without overflow. At most 2.0 ULP.
AORTA_INLINE float softplus(float x) {
  // e = e^-|x| is in (0, 1]; log(1 + e) = log(1 + f) or ln(2) + log(1 + f) with f = e or (e - 1)/2.
  const float e = exp_scaled<0, true>(at_least(-abs(x), -104.0f));
  const bool is_large = e > 0.41421356f;
  const float f = select(is_large, mul_add(0.5f, e, -0.5f), e);
  const float tail = log1p_tail(f) + select(is_large, kLn2Low, 0.0f);
  const float value = sum_with_tail(select(is_large, kLn2High, 0.0f), f, tail);
  return (x > 0.0f ? x : 0.0f) + value;
}
AORTA_INLINE double softplus(double x) { return maximum(x, 0.0) + log1p(exp(-abs(x))); }

}  // namespace aorta::scalar
