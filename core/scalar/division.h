#pragma once

// Division with an integer quotient, and powers. An integer divided by zero gives 0 here: the op
// refuses it before a kernel runs.

#include <aorta/core/scalar/arithmetic.h>

namespace aorta::scalar {

/// floor(x/y), computed from the exact remainder as Python's divmod does.
struct FloorDivide {
  static constexpr PointwiseInfo info = numeric_function("floor_divide");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      const T remainder = fmod(x, y);
      T quotient = (x - remainder) / y;
      if (remainder != T(0) && is_negative(y) != is_negative(remainder)) quotient -= T(1);
      T result = floor(quotient);
      if (quotient - result > T(0.5)) result += T(1);
      if (quotient == T(0)) result = copysign(T(0), x / y);
      return y == T(0) ? x / y : result;
    } else {
      if (is_zero_or_minus_one(y)) return y == T(0) ? T(0) : wrapping_sub(T(0), x);
      const T quotient = static_cast<T>(x / y);
      return static_cast<T>(quotient - T(x % y != 0 && is_negative(x) != is_negative(y)));
    }
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
};

/// x - floor(x/y)*y, with the sign of y.
struct Remainder {
  static constexpr PointwiseInfo info = numeric_function("remainder");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_floating_point_v<T>) {
      return remainder(x, y);
    } else {
      if (is_zero_or_minus_one(y)) return T(0);
      const T r = static_cast<T>(x % y);
      return r != T(0) && is_negative(r) != is_negative(y) ? static_cast<T>(r + y) : r;
    }
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

}  // namespace aorta::scalar
