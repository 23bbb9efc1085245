#pragma once

// Activation functions. Parameters, defaults and values at NaN are PyTorch's.

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// max(x, 0).
struct Relu {
  static constexpr PointwiseInfo info = numeric_function("relu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return is_negative(x) ? T(0) : x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return select(y <= T(0), T(0), g);
  }
};

/// min(max(x, 0), 6).
struct Relu6 {
  static constexpr PointwiseInfo info = numeric_function("relu6");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return is_negative(x) ? T(0) : x > T(6) ? T(6) : x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_output(T g, T y) const {
    return select((y <= T(0)) | (y >= T(6)), T(0), g);
  }
};

/// x where x > 0, negative_slope*x elsewhere.
struct LeakyRelu {
  static constexpr PointwiseInfo info = floating_function("leaky_relu");
  double negative_slope = 0.01;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x > T(0) ? x : x * T(negative_slope);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x > T(0), g, g * T(negative_slope));
  }
};

/// x where x > 0, weight*x elsewhere.
struct Prelu {
  static constexpr PointwiseInfo info = floating_function("prelu");
  template <class T>
  AORTA_INLINE T operator()(T x, T weight) const {
    return x > T(0) ? x : weight * x;
  }
};

/// x where x < 0, 0 elsewhere, with a slope of 0 at 0.
template <class T>
AORTA_INLINE T negative_part(T x) {
  return select(x < T(0), x, T(0));
}

/// x where x > 0, alpha*(e^x - 1) elsewhere.
struct Elu {
  static constexpr PointwiseInfo info = floating_function("elu");
  double alpha = 1.0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T negative = T(alpha) * expm1(x);
    return x > T(0) ? x : negative;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x <= T(0), g * T(alpha) * exp(negative_part(x)), g);
  }
};

/// scale * (x where x > 0, alpha*(e^x - 1) elsewhere), Klambauer et al. 2017.
struct Selu {
  static constexpr PointwiseInfo info = floating_function("selu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    constexpr double alpha = 1.6732632423543772848, scale = 1.0507009873554804934;
    const T negative = T(alpha * scale) * expm1(x);
    return x > T(0) ? T(scale) * x : negative;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    constexpr double alpha = 1.6732632423543772848, scale = 1.0507009873554804934;
    return select(x <= T(0), g * T(alpha * scale) * exp(negative_part(x)), g * T(scale));
  }
};

/// x where x > 0, alpha*(e^(x/alpha) - 1) elsewhere.
struct Celu {
  static constexpr PointwiseInfo info = floating_function("celu");
  double alpha = 1.0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T negative = T(alpha) * expm1(x * T(1 / alpha));
    return x > T(0) ? x : negative;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x <= T(0), g * exp(negative_part(x) * T(1 / alpha)), g);
  }
};

/// x * Phi(x), Phi the normal distribution function: x/2 * (1 + erf(x/sqrt(2))). At -inf it is the
/// limit, -0, where PyTorch has NaN.
struct Gelu {
  static constexpr PointwiseInfo info = floating_function("gelu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return gelu(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T phi = T(0.39894228040143267794) * exp(T(-0.5) * x * x);
    return g * (T(0.5) * erfc(T(-0.70710678118654752440) * x) + x * phi);
  }
};

/// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3))).
struct GeluTanh {
  static constexpr PointwiseInfo info = floating_function("gelu_tanh");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    // (1 + tanh(y))/2 = sigmoid(2y), without the cancellation at negative y.
    constexpr double twice_sqrt_2_over_pi = 1.5957691216057307118;
    const T cube = x * x * x;
    const T y = T(twice_sqrt_2_over_pi) * mul_add(T(0.044715), cube, x);
    return x * sigmoid(y);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    constexpr double twice_sqrt_2_over_pi = 1.5957691216057307118;
    const T s = sigmoid(T(twice_sqrt_2_over_pi) * (x + T(0.044715) * (x * x * x)));
    const T slope = T(twice_sqrt_2_over_pi) * (T(1) + T(3 * 0.044715) * (x * x));
    return g * (s + x * s * (T(1) - s) * slope);
  }
};

/// x * sigmoid(x).
struct Silu {
  static constexpr PointwiseInfo info = floating_function("silu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x * sigmoid(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T s = sigmoid(x);
    return g * (s * (T(1) + x * (T(1) - s)));
  }
};

/// x * tanh(log(1 + e^x)).
struct Mish {
  static constexpr PointwiseInfo info = floating_function("mish");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    // tanh(log(1 + e)) = n / (n + 2) with n = e(e + 2); from x = 20 on it rounds to 1.
    const T e = exp(x > T(20) ? T(20) : x);
    const T n = e * (e + T(2));
    return x * (n / (n + T(2)));
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T e = exp(minimum(x, T(20)));
    const T n = e * (e + T(2));
    const T t = n / (n + T(2));
    return g * (t + x * sigmoid(x) * (T(1) - t * t));
  }
};

/// log(1 + e^(beta*x)) / beta; x itself where beta*x > threshold.
struct Softplus {
  static constexpr PointwiseInfo info = in_f32(floating_function("softplus"));
  double beta = 1.0, threshold = 20.0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T scaled = x * T(beta);
    const T value = softplus(scaled) / T(beta);
    return scaled > T(threshold) ? x : value;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T scaled = x * T(beta);
    return select(scaled > T(threshold), g, g * sigmoid(scaled));
  }
};

/// log(sigmoid(x)).
struct LogSigmoid {
  static constexpr PointwiseInfo info = floating_function("logsigmoid");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return T(0) - softplus(-x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return g * sigmoid(-x);
  }
};

/// x / (1 + |x|).
struct Softsign {
  static constexpr PointwiseInfo info{"softsign", Accept::numeric, Compute::promote_to_float,
                                      Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x / (T(1) + abs(x));
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T d = abs(x) + T(1);
    return g / (d * d);
  }
};

/// min(max(x, min), max).
struct Hardtanh {
  static constexpr PointwiseInfo info = numeric_function("hardtanh");
  Number min = -1, max = 1;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return clamp(x, min.bound<T>(), max.bound<T>());
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select((x <= min.to<T>()) | (x >= max.to<T>()), T(0), g);
  }
};

/// min(max(x + 3, 0), 6) / 6.
struct Hardsigmoid {
  static constexpr PointwiseInfo info = floating_function("hardsigmoid");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return clamp(x + T(3), T(0), T(6)) / T(6);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select((x > T(-3)) & (x < T(3)), g / T(6), T(0));
  }
};

/// x * min(max(x + 3, 0), 6) / 6.
struct Hardswish {
  static constexpr PointwiseInfo info = floating_function("hardswish");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x * clamp(x + T(3), T(0), T(6)) / T(6);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x <= T(-3), T(0), select(x < T(3), g * (x / T(3) + T(0.5)), g));
  }
};

/// x where x > threshold, value elsewhere.
struct Threshold {
  static constexpr PointwiseInfo info = numeric_function("threshold");
  Number threshold = 0, value = 0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x <= threshold.to<T>() ? value.to<T>() : x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(x <= threshold.to<T>(), T(0), g);
  }
};

/// 0 where |x| <= lambd, x elsewhere.
struct Hardshrink {
  static constexpr PointwiseInfo info = floating_function("hardshrink");
  double lambd = 0.5;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return abs(x) <= T(lambd) ? T(0) : x;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(abs(x) <= T(lambd), T(0), g);
  }
};

/// x moved towards 0 by lambd, 0 where |x| <= lambd.
struct Softshrink {
  static constexpr PointwiseInfo info = floating_function("softshrink");
  double lambd = 0.5;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T moved = x - copysign(T(lambd), x);
    return abs(x) <= T(lambd) ? T(0) : moved;
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    return select(abs(x) <= T(lambd), T(0), g);
  }
};

/// x - tanh(x).
struct Tanhshrink {
  static constexpr PointwiseInfo info{"tanhshrink", Accept::numeric, Compute::promote_to_float,
                                      Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x - tanh(x);
  }
  template <class T>
  AORTA_INLINE T gradient_from_input(T g, T x) const {
    const T t = tanh(x);
    return g * (t * t);
  }
};

}  // namespace aorta::scalar
