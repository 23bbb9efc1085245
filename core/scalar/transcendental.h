#pragma once

// Ops that are one function of core/scalar/math.h. Bounds in ULP stand with the functions.

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// The square root of x.
struct Sqrt {
  static constexpr PointwiseInfo info = real_function("sqrt");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return sqrt(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g / (y + y);
  }
};

/// 1/sqrt(x).
struct Rsqrt {
  static constexpr PointwiseInfo info = in_f32(real_function("rsqrt"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return rsqrt(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return T(-0.5) * g * (y * y * y);
  }
};

/// e^x.
struct Exp {
  static constexpr PointwiseInfo info = in_f32(real_function("exp"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return exp(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * y;
  }
};

/// 2^x.
struct Exp2 {
  static constexpr PointwiseInfo info = real_function("exp2");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return exp2(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * y * T(0.69314718055994530942);
  }
};

/// e^x - 1.
struct Expm1 {
  static constexpr PointwiseInfo info = in_f32(real_function("expm1"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return expm1(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * (y + T(1));  // an infinite g stays one at y = 0
  }
};

/// The natural logarithm of x.
struct Log {
  static constexpr PointwiseInfo info = in_f32(real_function("log"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return log(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / x;
  }
};

/// log(1 + x).
struct Log1p {
  static constexpr PointwiseInfo info = in_f32(real_function("log1p"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return log1p(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / (x + T(1));
  }
};

/// The logarithm of x to base 2.
struct Log2 {
  static constexpr PointwiseInfo info = in_f32(real_function("log2"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return log2(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / (x * T(0.69314718055994530942));
  }
};

/// The logarithm of x to base 10.
struct Log10 {
  static constexpr PointwiseInfo info = in_f32(real_function("log10"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return log10(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / (x * T(2.3025850929940456840));
  }
};

/// The sine of x radians.
struct Sin {
  static constexpr PointwiseInfo info = real_function("sin");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return sin(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * cos(x);
  }
};

/// The cosine of x radians.
struct Cos {
  static constexpr PointwiseInfo info = real_function("cos");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return cos(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return -(g * sin(x));
  }
};

/// The tangent of x radians.
struct Tan {
  static constexpr PointwiseInfo info = in_f32(real_function("tan"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return tan(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * (y * y + T(1));
  }
};

/// The angle in [-pi/2, pi/2] whose sine is x.
struct Asin {
  static constexpr PointwiseInfo info = in_f32(real_function("asin"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return asin(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * rsqrt(T(1) - x * x);
  }
};

/// The angle in [0, pi] whose cosine is x.
struct Acos {
  static constexpr PointwiseInfo info = in_f32(real_function("acos"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return acos(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return -(g * rsqrt(T(1) - x * x));
  }
};

/// The angle in [-pi/2, pi/2] whose tangent is x.
struct Atan {
  static constexpr PointwiseInfo info = real_function("atan");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return atan(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / (x * x + T(1));
  }
};

/// (e^x - e^-x) / 2.
struct Sinh {
  static constexpr PointwiseInfo info = in_f32(real_function("sinh"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return sinh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * cosh(x);
  }
};

/// (e^x + e^-x) / 2.
struct Cosh {
  static constexpr PointwiseInfo info = in_f32(real_function("cosh"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return cosh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * sinh(x);
  }
};

/// sinh(x) / cosh(x).
struct Tanh {
  static constexpr PointwiseInfo info = real_function("tanh");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return tanh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * (T(1) - y * y);
  }
};

/// The inverse of sinh.
struct Asinh {
  static constexpr PointwiseInfo info = real_function("asinh");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return asinh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * rsqrt(x * x + T(1));
  }
};

/// The inverse of cosh, x >= 1.
struct Acosh {
  static constexpr PointwiseInfo info = real_function("acosh");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return acosh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * rsqrt(x * x - T(1));
  }
};

/// The inverse of tanh, |x| <= 1.
struct Atanh {
  static constexpr PointwiseInfo info = real_function("atanh");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return atanh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g / (T(1) - x * x);
  }
};

/// 2/sqrt(pi) times the integral of e^-t^2 from 0 to x.
struct Erf {
  static constexpr PointwiseInfo info = real_function("erf");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return erf(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * T(1.1283791670955125739) * exp(-(x * x));
  }
};

/// 1 - erf(x).
struct Erfc {
  static constexpr PointwiseInfo info = real_function("erfc");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return erfc(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * T(-1.1283791670955125739) * exp(-(x * x));
  }
};

/// 1 / (1 + e^-x).
struct Sigmoid {
  static constexpr PointwiseInfo info = real_function("sigmoid");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return sigmoid(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return g * ((T(1) - y) * y);
  }
};

/// log(x / (1 - x)), sigmoid's inverse; of x clamped to [eps, 1 - eps] where eps isn't negative.
struct Logit {
  static constexpr PointwiseInfo info = real_function("logit");
  double eps = -1;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T low = eps < 0 ? -kInfinity<T> : T(eps), high = eps < 0 ? kInfinity<T> : T(1 - eps);
    const T p = x < low ? low : x > high ? high : x;
    const T rest = T(1) - p;
    // From a quarter on p + p - 1 is exact, also where the result is small.
    const T far = log(p / rest), near = log1p((p + p - T(1)) / rest);
    return p < T(0.25) ? far : near;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const double first = eps < 0 ? 0 : eps, outside = eps < 0 ? kNaN<double> : 0;
    return select((x < T(first)) | (x > T(1 - first)), T(outside), g / (x * (T(1) - x)));
  }
};

/// The angle of the point (x, y) in [-pi, pi].
struct Atan2 {
  static constexpr PointwiseInfo info = real_function("atan2");
  template <class T>
  AORTA_INLINE T operator()(T y, T x) const {
    return atan2(y, x);
  }
};

/// sqrt(x*x + y*y) without overflow.
struct Hypot {
  static constexpr PointwiseInfo info = floating_function("hypot");
  template <class T>
  AORTA_INLINE T operator()(T x, T y) const {
    return hypot(x, y);
  }
};

}  // namespace aorta::scalar
