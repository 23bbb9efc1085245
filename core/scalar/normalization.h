#pragma once

// The arithmetic of normalisation: moments and how they are joined, and the maps that they give.
// Statistics are f64; C is the type that elements are computed in.

#include <aorta/core/scalar/arithmetic.h>
#include <aorta/core/scalar/channel_numbers.h>
#include <aorta/core/scalar/convert.h>
#include <aorta/core/scalar/math.h>

namespace aorta::scalar {

/// The moments of some elements: how many they are, their mean, and the sum of their squared
/// distances from it.
struct NormMoments {
  double count, mean, squares;
};

/// Joins the moments of other elements to those of a: Chan, Golub & LeVeque's rule (1983).
AORTA_INLINE void add(NormMoments& a, const NormMoments& b) {
  if (b.count == 0) return;
  if (a.count == 0) {
    a = b;
    return;
  }
  const double total = a.count + b.count, share = b.count / total, distance = b.mean - a.mean;
  a.mean += distance * share;
  a.squares += b.squares + distance * distance * (a.count * share);
  a.count = total;
}

/// The moments of elements from sums of distances, and of squared ones, from `shift`.
AORTA_INLINE NormMoments moments_from(double shift, double count, double sum, double squares) {
  const double mean = sum / count;
  return {count, shift + mean, maximum(squares - sum * mean, 0.0)};
}

template <class T>
AORTA_INLINE T& number(const ChannelNumbers& numbers, int64_t i) {
  return static_cast<T*>(numbers.data)[i * numbers.stride];
}
AORTA_INLINE double ChannelNumbers::get(int64_t i) const {
  switch (dtype) {
    case DType::f64:
      return number<double>(*this, i);
    case DType::f16:
      return convert_value<double>(number<Half>(*this, i));
    case DType::bf16:
      return convert_value<double>(number<BFloat16>(*this, i));
    default:
      return convert_value<double>(number<float>(*this, i));
  }
}
AORTA_INLINE void ChannelNumbers::set(int64_t i, double value) const {
  switch (dtype) {
    case DType::f64:
      number<double>(*this, i) = value;
      break;
    case DType::f16:
      number<Half>(*this, i) = convert_value<Half>(value);
      break;
    case DType::bf16:
      number<BFloat16>(*this, i) = convert_value<BFloat16>(value);
      break;
    default:
      number<float>(*this, i) = convert_value<float>(value);
  }
}

/// running = (1 - momentum) running + momentum value, for a channel's mean and unbiased variance.
AORTA_INLINE void move(const RunningStatistics& running, int64_t channel, double mean, double var) {
  const Lerp lerp;
  running.mean.set(channel, lerp(running.mean.get(channel), mean, running.momentum));
  running.var.set(channel,
                  lerp(running.var.get(channel), var * running.unbiased, running.momentum));
}

/// A mean in the type that is computed in, and what that rounds off: maps account for it.
struct SplitMean {
  double rounded, rest;
  AORTA_INLINE SplitMean(double mean, bool is_double)
      : rounded(is_double ? mean : static_cast<double>(static_cast<float>(mean))),
        rest(isfinite(rounded) ? mean - rounded : 0) {}
};

/// y = (x - mean) scale + shift, or with `relu` the greater of that and 0.
struct NormMap {
  double mean, scale, shift;
  bool relu = false;
};
/// The map of elements with these statistics, and the weight and the bias of a channel.
AORTA_INLINE NormMap norm_map(const SplitMean& mean, double inverse_deviation, double weight,
                              double bias, bool relu) {
  const double scale = inverse_deviation * weight;
  return {mean.rounded, scale, bias - mean.rest * scale, relu};
}

/// The parts of dx = of_gradient g + of_input (x - mean) + constant that a unit has in common.
struct NormSlope {
  double of_input, constant;
};
/// With k = 1 / sqrt(var + eps), n elements, and sums over them of g weight and of
/// g weight (x - mean):  dx = k weight g - k sum / n - k^3 (x - mean) sum of products / n.
AORTA_INLINE NormSlope norm_slope(double inverse_deviation, double n, double sum, double product,
                                  double rest) {
  const double k = inverse_deviation, of_input = -k * k * k * (product / n);
  return {of_input, -k * (sum / n) - of_input * rest};
}

/// The greater of y and 0; NaN stays.
template <class C>
AORTA_INLINE C rectified(C y) {
  return C(0) > y ? C(0) : y;
}
/// The gradient g of max(y, 0) with respect to y.
template <class C>
AORTA_INLINE C masked(C g, C y) {
  return y <= C(0) ? C(0) : g;
}
/// (x - mean) scale + shift.
template <class C>
AORTA_INLINE C normalised(C x, C mean, C scale, C shift) {
  return (x - mean) * scale + shift;
}
/// dx of a channel, by NormSlope.
template <class C>
AORTA_INLINE C norm_gradient(C g, C distance, C of_gradient, C of_input, C constant) {
  return of_gradient * g + (of_input * distance + constant);
}
/// dx of a line, from the gradient of the normalised x, and the means of that and of its products
/// with the normalised x.
template <class C>
AORTA_INLINE C line_norm_gradient(C scale, C g, C x_hat, C mean_gradient, C mean_product) {
  return scale * (g - mean_gradient - x_hat * mean_product);
}

}  // namespace aorta::scalar
