#pragma once

// Comparisons, logic on truth values, and bitwise ops.

#include <aorta/core/scalar/bits.h>
#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// x == y.
struct Eq {
  static constexpr PointwiseInfo info = predicate("eq");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x == y;
  }
};

/// x != y.
struct Ne {
  static constexpr PointwiseInfo info = predicate("ne");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x != y;
  }
};

/// x < y.
struct Lt {
  static constexpr PointwiseInfo info = predicate("lt");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x < y;
  }
};

/// x <= y.
struct Le {
  static constexpr PointwiseInfo info = predicate("le");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x <= y;
  }
};

/// x > y.
struct Gt {
  static constexpr PointwiseInfo info = predicate("gt");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x > y;
  }
};

/// x >= y.
struct Ge {
  static constexpr PointwiseInfo info = predicate("ge");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return x >= y;
  }
};

/// Whether x is a truth: not zero (NaN is a truth).
template <class T>
AORTA_INLINE bool is_true(T x) {
  return x != T(0);
}

/// x and y.
struct LogicalAnd {
  static constexpr PointwiseInfo info = predicate("logical_and");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return is_true(x) & is_true(y);
  }
};

/// x or y.
struct LogicalOr {
  static constexpr PointwiseInfo info = predicate("logical_or");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return is_true(x) | is_true(y);
  }
};

/// Exactly one of x and y.
struct LogicalXor {
  static constexpr PointwiseInfo info = predicate("logical_xor");
  template <class T>
  AORTA_INLINE bool operator()(T x, T y) const {
    return is_true(x) != is_true(y);
  }
};

/// Not x.
struct LogicalNot {
  static constexpr PointwiseInfo info = predicate("logical_not");
  template <class T>
  AORTA_INLINE bool operator()(T x) const {
    return !is_true(x);
  }
};

/// Whether x is not a number.
struct IsNan {
  static constexpr PointwiseInfo info = predicate("isnan");
  template <class T>
  AORTA_INLINE bool operator()([[maybe_unused]] T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return isnan(x);
    else
      return false;
  }
};

/// Whether x is an infinity.
struct IsInf {
  static constexpr PointwiseInfo info = predicate("isinf");
  template <class T>
  AORTA_INLINE bool operator()([[maybe_unused]] T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return isinf(x);
    else
      return false;
  }
};

/// Whether x is neither an infinity nor NaN.
struct IsFinite {
  static constexpr PointwiseInfo info = predicate("isfinite");
  template <class T>
  AORTA_INLINE bool operator()([[maybe_unused]] T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return isfinite(x);
    else
      return true;
  }
};

/// Whether x is infinity.
struct IsPosInf {
  static constexpr PointwiseInfo info = predicate("isposinf");
  template <class T>
  AORTA_INLINE bool operator()([[maybe_unused]] T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x == kInfinity<T>;
    else
      return false;
  }
};

/// Whether x is negative infinity.
struct IsNegInf {
  static constexpr PointwiseInfo info = predicate("isneginf");
  template <class T>
  AORTA_INLINE bool operator()([[maybe_unused]] T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return x == -kInfinity<T>;
    else
      return false;
  }
};

/// Whether the sign of x is set, as it is of -0 and may be of NaN.
struct Signbit {
  static constexpr PointwiseInfo info = predicate("signbit");
  template <class T>
  AORTA_INLINE bool operator()(T x) const {
    if constexpr (std::is_floating_point_v<T>)
      return signbit(x);
    else
      return is_negative(x);
  }
};

/// Bits that are set in x and in y.
struct BitwiseAnd {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_and");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x & y);
  }
};

/// Bits that are set in x or in y.
struct BitwiseOr {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_or");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x | y);
  }
};

/// Bits that are set in one of x and y.
struct BitwiseXor {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_xor");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return static_cast<T>(x ^ y);
  }
};

/// Every bit of x flipped; for bool, not x.
struct BitwiseNot {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_not");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    if constexpr (std::is_same_v<T, bool>)
      return !x;
    else
      return static_cast<T>(~x);
  }
};

/// Whether a shift of T by y bits is outside of what the language defines.
template <class T>
AORTA_INLINE bool is_shift_out_of_range(T y) {
  return is_negative(y) || y >= static_cast<T>(8 * sizeof(T));
}

/// x * 2^y, wrapping around; 0 when y is negative or not below the width of T.
struct ShiftLeft {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_left_shift");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) {
      return x;  // the op refuses bool
    } else {
      using Unsigned = std::make_unsigned_t<T>;
      const bool bad = is_shift_out_of_range(y);
      const auto shifted = static_cast<Unsigned>(x) << (bad ? T(0) : y);
      return bad ? T(0) : static_cast<T>(shifted);
    }
  }
};

/// floor(x / 2^y); a y that is negative or not below the width of T leaves only the sign.
struct ShiftRight {
  static constexpr PointwiseInfo info = bitwise_function("bitwise_right_shift");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    if constexpr (std::is_same_v<T, bool>) {
      return x;  // the op refuses bool
    } else {
      const bool bad = is_shift_out_of_range(y);
      const auto shifted = x >> (bad ? T(0) : y);
      return bad ? static_cast<T>(is_negative(x) ? -1 : 0) : static_cast<T>(shifted);
    }
  }
};

}  // namespace aorta::scalar
