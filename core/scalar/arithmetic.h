#pragma once

// Arithmetic ops. Integers wrap around; an integer divided by zero gives 0 here, and the op refuses
// it.

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>
#include <aorta/core/scalar/wrapping.h>

namespace aorta::scalar {

/// Whether x / y can't be computed in integers: y is 0, or the quotient is minus the smallest T.
template <class T>
AORTA_INLINE bool is_zero_or_minus_one(T y) {
  if constexpr (std::is_signed_v<T>)
    return y == T(0) || y == T(-1);
  else
    return y == T(0);
}

/// -x.
struct Neg {
  static constexpr PointwiseInfo info = numeric_function("neg");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return wrapping_sub(T(0), x);
  }
  template <class T>
  AORTA_INLINE T gradient(T g) const {
    return -g;
  }
  /// The bits of -x from those of a half type's x.
  AORTA_INLINE static uint16_t of_half(uint16_t bits) { return bits ^ 0x8000u; }
};

/// |x|; the smallest integer stays itself.
struct Abs {
  static constexpr PointwiseInfo info = numeric_function("abs");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return abs(x);
    else
      return is_negative(x) ? wrapping_sub(T(0), x) : x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x > T(0), g, select(x < T(0), -g, T(0)));
  }
  /// The bits of |x| from those of a half type's x.
  AORTA_INLINE static uint16_t of_half(uint16_t bits) { return bits & 0x7fffu; }
};

/// -1, 0 or 1 by the sign of x; 0 for NaN.
struct Sign {
  static constexpr PointwiseInfo info{"sign", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>)
      return x;
    else
      return static_cast<T>((x > T(0)) - is_negative(x));
  }
  template <class T>
  AORTA_INLINE T gradient(T /*g*/) const {
    return T(0);
  }
};

/// x*x.
struct Square {
  static constexpr PointwiseInfo info = numeric_function("square");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return wrapping_mul(x, x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return (g + g) * x;
  }
};

/// 1/x.
struct Reciprocal {
  static constexpr PointwiseInfo info = in_f32(real_function("reciprocal"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return T(1) / x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return -(g * y * y);
  }
};

/// The largest integer not above x.
struct Floor {
  static constexpr PointwiseInfo info = numeric_function("floor");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return floor(x);
    else
      return x;
  }
  template <class T>
  AORTA_INLINE T gradient(T /*g*/) const {
    return T(0);
  }
};

/// The smallest integer not below x.
struct Ceil {
  static constexpr PointwiseInfo info = numeric_function("ceil");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return ceil(x);
    else
      return x;
  }
  template <class T>
  AORTA_INLINE T gradient(T /*g*/) const {
    return T(0);
  }
};

/// The nearest integer, ties to even.
struct Round {
  static constexpr PointwiseInfo info = numeric_function("round");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return rint(x);
    else
      return x;
  }
  template <class T>
  AORTA_INLINE T gradient(T /*g*/) const {
    return T(0);
  }
};

/// The integer part of x.
struct Trunc {
  static constexpr PointwiseInfo info = numeric_function("trunc");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return trunc(x);
    else
      return x;
  }
  template <class T>
  AORTA_INLINE T gradient(T /*g*/) const {
    return T(0);
  }
};

/// x - trunc(x).
struct Frac {
  static constexpr PointwiseInfo info = floating_function("frac");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x - trunc(x);
  }
  template <class T>
  AORTA_INLINE T gradient(T g) const {
    return g;
  }
};

/// x + alpha*y; for bool, x or (alpha and y).
struct Add {
  static constexpr PointwiseInfo info{"add", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return wrapping_add(x, y);
  }
};
struct AddScaled {
  static constexpr PointwiseInfo info{"add_scaled", Accept::any, Compute::promote, Result::same};
  Number alpha = 1;
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return wrapping_add(x, wrapping_mul(alpha.to<T>(), y));
  }
};

/// x - alpha*y.
struct Sub {
  static constexpr PointwiseInfo info = numeric_function("sub");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return wrapping_sub(x, y);
  }
};
struct SubScaled {
  static constexpr PointwiseInfo info = numeric_function("sub_scaled");
  Number alpha = 1;
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return wrapping_sub(x, wrapping_mul(alpha.to<T>(), y));
  }
};

/// x*y; for bool, x and y.
struct Mul {
  static constexpr PointwiseInfo info{"mul", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return wrapping_mul(x, y);
  }
};

/// x/y in floating point.
struct Div {
  static constexpr PointwiseInfo info = real_function("div");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return x / y;
  }
};

/// The smaller of x and y; NaN if either is NaN.
struct Minimum {
  static constexpr PointwiseInfo info{"minimum", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return minimum(x, y);
  }
};

/// The larger of x and y; NaN if either is NaN.
struct Maximum {
  static constexpr PointwiseInfo info{"maximum", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return maximum(x, y);
  }
};

/// min(max(x, min), max); NaN stays NaN, and `max` wins where min > max.
struct Clamp {
  static constexpr PointwiseInfo info = numeric_function("clamp");
  Number min, max;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return clamp(x, min.bound<T>(), max.bound<T>());
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select((x > min.to<T>()) & (x < max.to<T>()), g, T(0));
  }
};
struct ClampMin {
  static constexpr PointwiseInfo info = numeric_function("clamp_min");
  Number min;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return maximum(x, min.bound<T>());
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x > min.to<T>(), g, T(0));
  }
};
struct ClampMax {
  static constexpr PointwiseInfo info = numeric_function("clamp_max");
  Number max;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return minimum(x, max.bound<T>());
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x < max.to<T>(), g, T(0));
  }
};

/// start + weight*(end - start), computed from the nearer end.
struct Lerp {
  static constexpr PointwiseInfo info = floating_function("lerp");
  template <class T>
  AORTA_INLINE T operator()(T start, T end, T weight) const {
    const T difference = end - start;
    return abs(weight) < T(0.5) ? start + weight * difference : end - difference * (T(1) - weight);
  }
};

/// x + value*y*z.
struct Addcmul {
  static constexpr PointwiseInfo info = numeric_function("addcmul");
  Number value = 1;
  template <class T>
  AORTA_INLINE T operator()(T x, T y, T z) const {
    return wrapping_add(x, wrapping_mul(wrapping_mul(value.to<T>(), y), z));
  }
};

/// x + value*y/z.
struct Addcdiv {
  static constexpr PointwiseInfo info = floating_function("addcdiv");
  Number value = 1;
  template <class T>
  AORTA_INLINE T operator()(T x, T y, T z) const {
    return x + value.to<T>() * y / z;
  }
};

/// |x| with the sign of y.
struct Copysign {
  static constexpr PointwiseInfo info = real_function("copysign");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return copysign(x, y);
  }
};

/// 0 below 0 and of NaN, 1 above 0, y at 0.
struct Heaviside {
  static constexpr PointwiseInfo info{"heaviside", Accept::any, Compute::promote, Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    const T side = static_cast<T>(x > T(0));
    return x == T(0) ? y : side;
  }
};

/// The number next to x on its way to y. The C library's.
struct Nextafter {
  static constexpr PointwiseInfo info = floating_function("nextafter");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (sizeof(T) == sizeof(float))
      return ::nextafterf(x, y);
    else
      return ::nextafter(x, y);
  }
};

}  // namespace aorta::scalar
