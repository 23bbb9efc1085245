#pragma once

// Losses element by element: `value` of an input x and a target t, and `slope`, its derivative with
// respect to x. Edge cases are PyTorch's. p is the weight of the positive class in
// BceWithLogitsLoss.

#include <aorta/core/scalar/math.h>

namespace aorta::scalar {

/// (x - t)^2.
struct MseLoss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    const T d = x - t;
    return d * d;
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T) const {
    return T(2) * (x - t);
  }
};

/// |x - t|.
struct L1Loss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    return abs(x - t);
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T) const {
    const T d = x - t;
    return d > T(0) ? T(1) : d < T(0) ? T(-1) : d;
  }
};

/// d^2 / (2 beta) where |d| < beta, |d| - beta / 2 elsewhere, d = x - t (Girshick 2015).
struct SmoothL1Loss {
  double beta = 1;
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    const T d = abs(x - t), b = T(beta);
    return d < b ? T(0.5) * d * d / b : d - T(0.5) * b;
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T) const {
    const T d = x - t, b = T(beta);
    return d <= -b ? T(-1) : d >= b ? T(1) : d / b;
  }
};

/// d^2 / 2 where |d| <= delta, delta (|d| - delta / 2) elsewhere (Huber 1964).
struct HuberLoss {
  double delta = 1;
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    const T d = abs(x - t), b = T(delta);
    return d <= b ? T(0.5) * d * d : b * (d - T(0.5) * b);
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T) const {
    const T d = x - t, b = T(delta);
    return d < -b ? -b : d > b ? b : d;
  }
};

/// -(p t log(s) + (1 - t) log(1 - s)), s = sigmoid(x), without overflow or cancellation.
struct BceWithLogitsLoss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T p) const {
    return (T(1) - t) * x + (T(1) + (p - T(1)) * t) * softplus(-x);
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T p) const {
    return (T(1) + (p - T(1)) * t) * sigmoid(x) - p * t;
  }
};

/// -(t log(x) + (1 - t) log(1 - x)), logarithms at least -100.
struct BceLoss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    return (t - T(1)) * maximum(log1p(-x), T(-100)) - t * maximum(log(x), T(-100));
  }
  template <class T>
  AORTA_INLINE T slope(T x, T t, T) const {
    return (x - t) / maximum((T(1) - x) * x, T(1e-12));
  }
};

/// t (log(t) - x), 0 log(0) = 0.
struct KlDivLoss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    const T entropy = t * log(t);
    return (t == T(0) ? T(0) : entropy) - t * x;
  }
  template <class T>
  AORTA_INLINE T slope(T, T t, T) const {
    return -t;
  }
};

/// e^t (t - x).
struct KlDivLogLoss {
  template <class T>
  AORTA_INLINE T value(T x, T t, T) const {
    return exp(t) * (t - x);
  }
  template <class T>
  AORTA_INLINE T slope(T, T t, T) const {
    return -exp(t);
  }
};

}  // namespace aorta::scalar
