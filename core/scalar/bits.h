#pragma once

// Bit patterns, classification and NaN-propagating selection of float and double.

#include <aorta/core/host_device.h>

#include <cstdint>
#include <limits>
#include <type_traits>

namespace aorta::scalar {

/// Largest finite value, infinity and quiet NaN of T, usable on the device too.
template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();

/// Returns the bits of `from` as a To; both are of one size.
template <class To, class From>
AORTA_INLINE To bit_cast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

AORTA_INLINE uint32_t to_bits(float x) { return bit_cast<uint32_t>(x); }
AORTA_INLINE uint64_t to_bits(double x) { return bit_cast<uint64_t>(x); }
AORTA_INLINE float from_bits(uint32_t bits) { return bit_cast<float>(bits); }
AORTA_INLINE double from_bits(uint64_t bits) { return bit_cast<double>(bits); }

AORTA_INLINE float abs(float x) { return from_bits(to_bits(x) & 0x7fffffffu); }
AORTA_INLINE double abs(double x) { return from_bits(to_bits(x) & 0x7fffffffffffffffu); }

AORTA_INLINE bool isnan(float x) { return x != x; }
AORTA_INLINE bool isnan(double x) { return x != x; }
AORTA_INLINE bool isinf(float x) { return abs(x) == kInfinity<float>; }
AORTA_INLINE bool isinf(double x) { return abs(x) == kInfinity<double>; }
AORTA_INLINE bool isfinite(float x) { return abs(x) < kInfinity<float>; }
AORTA_INLINE bool isfinite(double x) { return abs(x) < kInfinity<double>; }
AORTA_INLINE bool signbit(float x) { return (to_bits(x) >> 31) != 0; }
AORTA_INLINE bool signbit(double x) { return (to_bits(x) >> 63) != 0; }

/// The magnitude of x with the sign of y.
AORTA_INLINE float copysign(float x, float y) {
  return from_bits((to_bits(x) & 0x7fffffffu) | (to_bits(y) & 0x80000000u));
}
AORTA_INLINE double copysign(double x, double y) {
  return from_bits((to_bits(x) & 0x7fffffffffffffffu) | (to_bits(y) & 0x8000000000000000u));
}

/// a where `condition` holds, else b, by masking bits. A compiler that sees several ternaries on
/// one condition computes everything that follows for both cases; it can't follow a mask.
AORTA_INLINE float select(bool condition, float a, float b) {
  const uint32_t mask = 0u - static_cast<uint32_t>(condition);
  return from_bits((to_bits(a) & mask) | (to_bits(b) & ~mask));
}
AORTA_INLINE double select(bool condition, double a, double b) {
  const uint64_t mask = 0u - static_cast<uint64_t>(condition);
  return from_bits((to_bits(a) & mask) | (to_bits(b) & ~mask));
}

/// Whether x < 0, for any arithmetic T (without a warning where T is unsigned).
template <class T>
AORTA_INLINE bool is_negative(T x) {
  if constexpr (std::is_signed_v<T>)
    return x < T(0);
  else
    return (void)x, false;
}

/// The smaller of x and y; NaN if either is NaN.
template <class T>
AORTA_INLINE T minimum(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    const T smaller = x < y ? x : y;
    return x != x ? x : smaller;
  } else {
    return y < x ? y : x;
  }
}

/// The larger of x and y; NaN if either is NaN.
template <class T>
AORTA_INLINE T maximum(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    const T larger = x > y ? x : y;
    return x != x ? x : larger;
  } else {
    return x < y ? y : x;
  }
}

/// minimum(maximum(x, low), high). Each of those ternaries is one instruction and leaves an x that
/// is NaN; what is subtracted makes a bound that is NaN count, and lies outside the loop.
template <class T>
AORTA_INLINE T clamp(T x, T low, T high) {
  if constexpr (std::is_floating_point_v<T>) {
    const T larger = low > x ? low : x;
    const T clamped = high < larger ? high : larger;
    return clamped - ((low != low) | (high != high) ? kNaN<T> : T(0));
  } else {
    return minimum(maximum(x, low), high);
  }
}

/// x = m 2^e with 0.5 <= |m| < 1; of 0, infinities and NaN m is x and e is 0. Denormal numbers are
/// made normal before.
AORTA_INLINE bool has_exponent(float x) { return (abs(x) > 0.0f) & isfinite(x); }
AORTA_INLINE bool has_exponent(double x) { return (abs(x) > 0.0) & isfinite(x); }
AORTA_INLINE float mantissa_of(float x) {
  const uint32_t bits = to_bits(x * select(abs(x) < 0x1p-126f, 0x1p+25f, 1.0f));
  return select(has_exponent(x), from_bits((bits & 0x807fffffu) | 0x3f000000u), x);
}
AORTA_INLINE double mantissa_of(double x) {
  const uint64_t bits = to_bits(x * select(abs(x) < 0x1p-1022, 0x1p+54, 1.0));
  return select(has_exponent(x), from_bits((bits & 0x800fffffffffffffu) | 0x3fe0000000000000u), x);
}
AORTA_INLINE float exponent_of(float x) {
  const bool denormal = abs(x) < 0x1p-126f;
  const uint32_t bits = to_bits(x * select(denormal, 0x1p+25f, 1.0f)) & 0x7fffffffu;
  const float exponent = static_cast<float>(static_cast<int32_t>(bits >> 23)) - 126.0f;
  return select(has_exponent(x), exponent - select(denormal, 25.0f, 0.0f), 0.0f);
}
AORTA_INLINE double exponent_of(double x) {
  constexpr double magic = 0x1p+52;  // whose last digits hold an integer
  const bool denormal = abs(x) < 0x1p-1022;
  const uint64_t bits = to_bits(abs(x) * select(denormal, 0x1p+54, 1.0));
  const double exponent = from_bits((bits >> 52) | to_bits(magic)) - (magic + 1022.0);
  return select(has_exponent(x), exponent - select(denormal, 54.0, 0.0), 0.0);
}

}  // namespace aorta::scalar
