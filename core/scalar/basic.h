#pragma once

// Correctly rounded operations: square root, fused multiply-add, rounding to integers, remainders.

#include <aorta/core/scalar/bits.h>

#include <math.h>

namespace aorta::scalar {

/// a where the condition holds, else b; gradients say it so that it can be an op on tensors too.
template <class T>
AORTA_INLINE T select(bool condition, T a, T b) {
  return condition ? a : b;
}

/// x*y + z, rounded once, on every instruction set; slow where the CPU has no such instruction.
AORTA_INLINE float fma(float x, float y, float z) { return ::fmaf(x, y, z); }
AORTA_INLINE double fma(double x, double y, double z) { return ::fma(x, y, z); }

/// x*y + z, rounded once where that is one instruction and twice elsewhere.
template <class T>
AORTA_INLINE T mul_add(T x, T y, T z) {
#if AORTA_HAS_FMA
  return fma(x, y, z);
#else
  return x * y + z;
#endif
}

/// C[0] + C[1]*x + C[2]*x^2 + ... by Horner's rule.
template <const auto& C, int I = 0, class T>
AORTA_INLINE T polynomial(T x) {
  constexpr T c = C[I];
  if constexpr (I + 1 == sizeof(C) / sizeof(C[0]))
    return c;
  else
    return mul_add(polynomial<C, I + 1>(x), x, c);
}

/// C[I] + C[I + 1]*x.
template <const auto& C, int I, class T>
AORTA_INLINE T linear(T x) {
  constexpr T constant = C[I], slope = C[I + 1];
  return mul_add(x, slope, constant);
}

AORTA_INLINE float sqrt(float x) { return ::sqrtf(x); }
AORTA_INLINE double sqrt(double x) { return ::sqrt(x); }

AORTA_INLINE float floor(float x) { return ::floorf(x); }
AORTA_INLINE double floor(double x) { return ::floor(x); }
AORTA_INLINE float ceil(float x) { return ::ceilf(x); }
AORTA_INLINE double ceil(double x) { return ::ceil(x); }
AORTA_INLINE float trunc(float x) { return ::truncf(x); }
AORTA_INLINE double trunc(double x) { return ::trunc(x); }

/// The nearest integer, ties to even.
AORTA_INLINE float rint(float x) { return ::rintf(x); }
AORTA_INLINE double rint(double x) { return ::rint(x); }

/// x - trunc(x/y)*y, exact, with the sign of x.
AORTA_INLINE float fmod(float x, float y) { return ::fmodf(x, y); }
AORTA_INLINE double fmod(double x, double y) { return ::fmod(x, y); }

/// Whether x/y is so small, and y finite, that short_fmod gives fmod(x, y).
template <class T>
AORTA_INLINE bool has_short_quotient(T x, T y) {
  constexpr T most = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  return int{abs(x) / abs(y) < most} & int{abs(y) < kInfinity<T>};
}
/// fmod(x, y) where has_short_quotient: the rounded quotient is at most 1 above the whole one, and
/// what either leaves is a number of T, which a fused multiply-add doesn't round.
template <class T>
AORTA_INLINE T short_fmod(T x, T y) {
  const T size = abs(y), rest = fma(-trunc(abs(x) / size), size, abs(x));
  return copysign(rest < T(0) ? rest + size : rest, x);
}

}  // namespace aorta::scalar
