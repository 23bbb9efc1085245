#pragma once

// How running values of a scan take up the next one: double or int64 `a` of what came before, `b`
// of what comes after.

#include <aorta/core/scalar/reduce.h>
#include <aorta/core/scalar/special.h>

namespace aorta::scalar {

/// a + b.
struct RunningSum {
  template <class A>
  AORTA_INLINE static constexpr A identity() {
    return 0;
  }
  template <class A>
  AORTA_INLINE A operator()(A a, A b) const {
    return wrapping_add(a, b);
  }
};

/// a * b.
struct RunningProduct {
  template <class A>
  AORTA_INLINE static constexpr A identity() {
    return 1;
  }
  template <class A>
  AORTA_INLINE A operator()(A a, A b) const {
    return wrapping_mul(a, b);
  }
};

/// The larger (smaller); of equals, -0 and 0 too, the later; NaN if either is.
template <bool largest>
struct RunningExtremum {
  template <class A>
  AORTA_INLINE static constexpr A identity() {
    return largest ? lowest<A>() : highest<A>();
  }
  /// Whether it is `b` now.
  template <class A>
  AORTA_INLINE static constexpr bool takes(A a, A b) {
    return (largest ? b >= a : b <= a) | (b != b);
  }
  template <class A>
  AORTA_INLINE A operator()(A a, A b) const {
    return takes(a, b) ? b : a;
  }
};

/// log(e^a + e^b); the op refuses integers.
struct RunningLogSumExp {
  template <class A>
  AORTA_INLINE static constexpr A identity() {
    return std::is_floating_point_v<A> ? -kInfinity<A> : A(0);
  }
  template <class A>
  AORTA_INLINE A operator()(A a, A b) const {
    if constexpr (std::is_floating_point_v<A>)
      return Logaddexp{}(a, b);
    else
      return a;
  }
};

}  // namespace aorta::scalar
