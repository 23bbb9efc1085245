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

/// The first derivative of digamma, which has no op of its own.
struct Trigamma {
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return polygamma(1, x);
  }
};

/// The n-th derivative of digamma, n > 0.
struct Polygamma {
  /// What it is where is_simpler(): a loop over that is vectorised, and one over both isn't.
  using Simpler = Trigamma;
  bool is_simpler() const { return n == 1; }

  static constexpr PointwiseInfo info = real_function("polygamma");
  int n = 1;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return polygamma(n, x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    // Never the first one, which floats have a function for.
    if constexpr (std::is_same_v<T, float>)
      return g * static_cast<float>(polygamma(n + 1, static_cast<double>(x)));
    else
      return g * polygamma(n + 1, x);
  }
};

/// e^(x^2) erfc(x).
struct Erfcx {
  static constexpr PointwiseInfo info = in_f32(real_function("erfcx"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return erfcx(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    if constexpr (std::is_same_v<T, float>)
      return g * static_cast<float>(slope<double>(x, erfcx_wide(x)));
    else
      return g * slope(x, erfcx(x));
  }
  /// 2x erfcx(x) - 2/sqrt(pi), and for large x, where that cancels, its series.
  template <class T>
  static AORTA_INLINE T slope(T x, T value) {
    const auto is_far = x > T(50);
    const T s = T(1) / (select(is_far, x, T(50)) * select(is_far, x, T(50)));
    const T series =
        s * (T(-1) + s * (T(1.5) + s * (T(-3.75) + s * (T(13.125) + s * T(-59.0625)))));
    const T direct = T(2) * select(is_far, T(0), x) * value;
    return select(is_far, T(0.56418958354775628695) * series, direct - T(1.12837916709551257390));
  }
};

/// The logarithm of the normal distribution function.
struct LogNdtr {
  static constexpr PointwiseInfo info = in_f32(real_function("log_ndtr"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return log_ndtr(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * T(0.79788456080286535588) / erfcx(x * T(-0.70710678118654752440));
  }
};

/// The modified Bessel function of order 0.
struct I0 {
  static constexpr PointwiseInfo info = in_f32(real_function("i0"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return i0(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * i1(x);
  }
};

/// Over e^|x|.
struct I0e {
  static constexpr PointwiseInfo info = real_function("i0e");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return i0e(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    if constexpr (std::is_same_v<T, float>)
      return g * static_cast<float>(slope<double>(x, i0e_wide(x), i1e_wide(x)));
    else
      return g * slope(x, i0e(x), i1e(x));
  }
  template <class T>
  static AORTA_INLINE T slope(T x, T value, T next) {
    const T part = select(x < T(0), -value, value);
    return select(abs(x) <= T(0), T(0), next - part);  // between both sides of the kink
  }
};

/// The modified Bessel function of order 1.
struct I1 {
  static constexpr PointwiseInfo info = in_f32(real_function("i1"));
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return i1(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const auto is_zero = abs(x) <= T(0);
    const T quotient = i1(x) / select(is_zero, T(1), x);
    return g * (i0(x) - select(is_zero, T(0.5), quotient));
  }
};

/// Over e^|x|.
struct I1e {
  static constexpr PointwiseInfo info = real_function("i1e");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return i1e(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    if constexpr (std::is_same_v<T, float>)
      return g * static_cast<float>(slope<double>(x, i1e_wide(x), i0e_wide(x)));
    else
      return g * slope(x, i1e(x), i0e(x));
  }
  template <class T>
  static AORTA_INLINE T slope(T x, T value, T before) {
    const auto is_zero = abs(x) <= T(0);
    const T quotient = value / select(is_zero, T(1), x);
    return before - abs(value) - select(is_zero, T(0.5), quotient);
  }
};

/// The regularised lower incomplete gamma function: the share of gamma(a) that lies below x.
struct Igamma {
  static constexpr PointwiseInfo info = floating_function("igamma");
  template <class T>
  AORTA_INLINE T operator()(T a, T x) const {
    return static_cast<T>(incomplete_gamma(a, x, false));
  }
};

/// The upper one: 1 - igamma(a, x), without cancellation.
struct Igammac {
  static constexpr PointwiseInfo info = floating_function("igammac");
  template <class T>
  AORTA_INLINE T operator()(T a, T x) const {
    return static_cast<T>(incomplete_gamma(a, x, true));
  }
};

/// The m of x = m 2^e, 0.5 <= |m| < 1; of 0, infinities and NaN x.
struct Frexp {
  static constexpr PointwiseInfo info = floating_function("frexp");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return mantissa_of(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const auto has_none = abs(x) <= T(0);
    return g * select(has_none, T(1), mantissa_of(x) / select(has_none, T(1), x));
  }
};

/// The e; of 0, infinities and NaN 0.
struct FrexpExponent {
  static constexpr PointwiseInfo info = floating_function("frexp_exponent");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return exponent_of(x);
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

/// sin(pi x) / (pi x), and 1 at 0. The sine is taken of the distance to the nearest integer, which
/// is exact: so zeros are, and what is beside them has its digits.
struct Sinc {
  static constexpr PointwiseInfo info = real_function("sinc");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T nearest = rint(x), pairs = nearest * T(0.5);
    const T sign = T(1) - T(4) * (pairs - floor(pairs));                       // -1 of odd ones
    const T value = sign * sin(T(kPi) * (x - nearest)) / (T(kPi) * x) + T(0);  // never -0
    return select(x == T(0), T(1), value);
  }
  /// (cos(pi x) - sinc(x)) / x, and around 0, where that cancels, its series.
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const auto is_near = abs(x) < T(0.25);
    // Each stays in its range where the other is chosen, or a pass that records itself has NaN.
    const T far = select(is_near, T(1), x), near = select(is_near, x, T(0));
    const T turned = T(kPi) * far, s = near * near;
    T series = T(4.049947846619241e-06);
    series = series * s + T(-9.766223126318928e-05);
    series = series * s + T(0.001781145516372851);
    series = series * s + T(-0.023460810354558225);
    series = series * s + T(0.20918278254123832);
    series = series * s + T(-1.144510944732505);
    series = series * s + T(3.246969701133414);
    series = series * s + T(-3.289868133696453);
    return g * select(is_near, near * series, (cos(turned) - sin(turned) / turned) / far);
  }

 private:
  static constexpr double kPi = 3.14159265358979323846;
};

/// x 2^y; in double, for a float may hold the product and not the power.
struct Ldexp {
  static constexpr PointwiseInfo info = real_function("ldexp");
  AORTA_INLINE double operator()(double x, double y) const { return x * exp2(y); }
  AORTA_INLINE float operator()(float x, float y) const {
    // No float times 2^1000 is finite, nor times 2^-1000 more than 0; NaN stays.
    const double wide = y, bounded = wide > 1000.0 ? 1000.0 : wide < -1000.0 ? -1000.0 : wide;
    const double power = exp2_lane(bounded);
    return static_cast<float>(x * (wide >= 1024 ? kInfinity<double> : wide <= -1075 ? 0.0 : power));
  }
};

}  // namespace aorta::scalar
