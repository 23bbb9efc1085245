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
};

/// min(max(x, 0), 6).
struct Relu6 {
  static constexpr PointwiseInfo info = numeric_function("relu6");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return is_negative(x) ? T(0) : x > T(6) ? T(6) : x;
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
};

/// x where x > 0, weight*x elsewhere.
struct Prelu {
  static constexpr PointwiseInfo info = floating_function("prelu");
  template <class T>
  AORTA_INLINE T operator()(T x, T weight) const {
    return x > T(0) ? x : weight * x;
  }
};

/// x where x > 0, alpha*(e^x - 1) elsewhere.
struct Elu {
  static constexpr PointwiseInfo info = floating_function("elu");
  double alpha = 1.0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T negative = T(alpha) * expm1(x);
    return x > T(0) ? x : negative;
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
};

/// x * Phi(x), Phi the normal distribution function: x/2 * (1 + erf(x/sqrt(2))). At -inf it is the
/// limit, -0, where PyTorch has NaN.
struct Gelu {
  static constexpr PointwiseInfo info = floating_function("gelu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return gelu(x);
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
};

/// x * sigmoid(x).
struct Silu {
  static constexpr PointwiseInfo info = floating_function("silu");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x * sigmoid(x);
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
};

/// log(1 + e^(beta*x)) / beta; x itself where beta*x > threshold.
struct Softplus {
  static constexpr PointwiseInfo info = floating_function("softplus");
  double beta = 1.0, threshold = 20.0;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    const T scaled = x * T(beta);
    const T value = softplus(scaled) / T(beta);
    return scaled > T(threshold) ? x : value;
  }
};

/// log(sigmoid(x)).
struct LogSigmoid {
  static constexpr PointwiseInfo info = floating_function("logsigmoid");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return T(0) - softplus(-x);
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
};

/// min(max(x, min), max).
struct Hardtanh {
  static constexpr PointwiseInfo info = numeric_function("hardtanh");
  Number min = -1, max = 1;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return minimum(maximum(x, min.bound<T>()), max.bound<T>());
  }
};

/// min(max(x + 3, 0), 6) / 6.
struct Hardsigmoid {
  static constexpr PointwiseInfo info = floating_function("hardsigmoid");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return minimum(maximum(x + T(3), T(0)), T(6)) / T(6);
  }
};

/// x * min(max(x + 3, 0), 6) / 6.
struct Hardswish {
  static constexpr PointwiseInfo info = floating_function("hardswish");
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x * minimum(maximum(x + T(3), T(0)), T(6)) / T(6);
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
};

/// 0 where |x| <= lambd, x elsewhere.
struct Hardshrink {
  static constexpr PointwiseInfo info = floating_function("hardshrink");
  double lambd = 0.5;
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return abs(x) <= T(lambd) ? T(0) : x;
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
};

/// x - tanh(x).
struct Tanhshrink {
  static constexpr PointwiseInfo info{"tanhshrink", Accept::numeric, Compute::promote_to_float,
                                      Result::same};
  template <class T>
  AORTA_INLINE T operator()(T x) const {
    return x - tanh(x);
  }
};

}  // namespace aorta::scalar
