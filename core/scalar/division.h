#pragma once

// Division with an integer quotient, and powers. An integer divided by zero gives 0 here: the op
// refuses it before a kernel runs.

#include <aorta/core/scalar/arithmetic.h>

namespace aorta::scalar {

// Functors of remainders have `of_short_quotient`: the same where has_short_quotient, in a few
// instructions and without a call.

/// floor(x/y), computed from the exact remainder as Python's divmod does.
struct FloorDivide {
  static constexpr PointwiseInfo info = numeric_function("floor_divide");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return of_remainder(x, y, fmod(x, y));
    } else {
      if (is_zero_or_minus_one(y)) return y == T(0) ? T(0) : wrapping_sub(T(0), x);
      const T quotient = static_cast<T>(x / y);
      return static_cast<T>(quotient - T(x % y != 0 && is_negative(x) != is_negative(y)));
    }
  }
  template <class T>
  AORTA_INLINE T of_short_quotient(T x, T y) const {
    return of_remainder(x, y, short_fmod(x, y));
  }

 private:
  template <class T>
  static AORTA_INLINE T of_remainder(T x, T y, T remainder) {
    T quotient = (x - remainder) / y;
    if (remainder != T(0) && is_negative(y) != is_negative(remainder)) quotient -= T(1);
    T result = floor(quotient);
    if (quotient - result > T(0.5)) result += T(1);
    if (quotient == T(0)) result = copysign(T(0), x / y);
    return y == T(0) ? x / y : result;
  }
};

/// x - trunc(x/y)*y, with the sign of x.
struct Fmod {
  static constexpr PointwiseInfo info = numeric_function("fmod");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return fmod(x, y);
    else
      return is_zero_or_minus_one(y) ? T(0) : static_cast<T>(x % y);
  }
  template <class T>
  AORTA_INLINE T of_short_quotient(T x, T y) const {
    return short_fmod(x, y);
  }
};

/// x - floor(x/y)*y, with the sign of y, as Python's % and torch.remainder.
struct Remainder {
  static constexpr PointwiseInfo info = numeric_function("remainder");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return of_remainder(y, fmod(x, y));
    } else {
      if (is_zero_or_minus_one(y)) return T(0);
      return of_remainder(y, static_cast<T>(x % y));
    }
  }
  template <class T>
  AORTA_INLINE T of_short_quotient(T x, T y) const {
    return of_remainder(y, short_fmod(x, y));
  }

 private:
  template <class T>
  static AORTA_INLINE T of_remainder(T y, T r) {
    return r != T(0) && is_negative(r) != is_negative(y) ? static_cast<T>(r + y) : r;
  }
};

/// x to the power y. An integer to a negative power is 1/x^|y| truncated (0 for x = 0); it wraps
/// around.
struct Pow {
  static constexpr PointwiseInfo info = numeric_function("pow");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return pow(x, y);
    } else {
      if constexpr (std::is_signed_v<T>) {
        if (y < T(0)) return negative_power(x, y);
      }
      T result = 1;
      while (y != T(0)) {
        if ((y & T(1)) != 0) result = wrapping_mul(result, x);
        y = static_cast<T>(y / T(2));
        x = wrapping_mul(x, x);
      }
      return result;
    }
  }

 private:
  template <class T>
  static AORTA_INLINE T negative_power(T x, T y) {
    if (x == T(1)) return T(1);
    if (x == T(-1)) return y % T(2) == T(0) ? T(1) : T(-1);
    return T(0);
  }
};

/// The greatest common divisor of the magnitudes, that of 0 and x being |x|.
struct Gcd {
  static constexpr PointwiseInfo info = bitwise_function("gcd");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return static_cast<T>(of_magnitudes(magnitude(x), magnitude(y)));
  }

  template <class T>
  static AORTA_INLINE uint64_t magnitude(T x) {
    const auto bits = static_cast<uint64_t>(x);
    if constexpr (std::is_signed_v<T>)
      return x < T(0) ? 0 - bits : bits;
    else
      return bits;
  }
  static AORTA_INLINE uint64_t of_magnitudes(uint64_t x, uint64_t y) {
    while (y != 0) {
      const uint64_t rest = x % y;
      x = y;
      y = rest;
    }
    return x;
  }
};

/// The least common multiple of the magnitudes, 0 where one is 0; it wraps around, and is the
/// magnitude of what comes out then.
struct Lcm {
  static constexpr PointwiseInfo info = bitwise_function("lcm");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    const uint64_t a = Gcd::magnitude(x), b = Gcd::magnitude(y);
    const uint64_t divisor = Gcd::of_magnitudes(a, b);
    return divisor == 0 ? T(0) : static_cast<T>(Gcd::magnitude(static_cast<T>(a / divisor * b)));
  }
};

}  // namespace aorta::scalar
