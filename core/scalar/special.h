#pragma once

// Special functions, as ops.

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// erf's inverse.
struct Erfinv {
  static constexpr PointwiseInfo info = in_f32(real_function("erfinv"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return erfinv(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * T(0.88622692545275801365) * exp(y * y);
  }
};

/// log|gamma(x)|.
struct Lgamma {
  static constexpr PointwiseInfo info = real_function("lgamma");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return lgamma(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * digamma(x);
  }
};

/// lgamma's derivative.
struct Digamma {
  static constexpr PointwiseInfo info = real_function("digamma");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return digamma(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * polygamma(1, x);
  }
};

/// The n-th derivative of digamma, n > 0.
struct Polygamma {
  static constexpr PointwiseInfo info = real_function("polygamma");
  int n = 1;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return polygamma(n, x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * polygamma(n + 1, x);
  }
};

/// x log(y), and 0 where x is 0, but for y NaN.
struct Xlogy {
  static constexpr PointwiseInfo info = real_function("xlogy");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    const T value = x * log(y);
    return ((x == T(0)) & (y == y)) ? T(0) : value;
  }
};

/// log(e^x + e^y) without overflow.
struct Logaddexp {
  static constexpr PointwiseInfo info = floating_function("logaddexp");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    const T larger = maximum(x, y), value = larger + log1p(exp(-abs(x - y)));
    return (isinf(x) & (x == y)) ? x : value;
  }
};

/// log2(2^x + 2^y) without overflow.
struct Logaddexp2 {
  static constexpr PointwiseInfo info = floating_function("logaddexp2");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    const T larger = maximum(x, y);
    const T value = larger + T(1.4426950408889634074) * log1p(exp2(-abs(x - y)));
    return (isinf(x) & (x == y)) ? x : value;
  }
};

}  // namespace aorta::scalar
