#pragma once

// Softmax and log_softmax of an element x, from the largest of its line and the sum of its powers
// there; and their gradients, from its result y, the gradient g of that, and a sum over its line.

#include <aorta/core/scalar/math.h>

namespace aorta::body {

/// What an element adds to the sum of powers: exp(x - largest).
template <class T>
AORTA_INLINE T softmax_power(T x, T largest) {
  return scalar::exp_of_negative(x - largest);
}

/// What all results of a line are multiplied with; or, of log_softmax, what is taken from them.
template <bool log, class T>
AORTA_INLINE T softmax_scale(double sum_of_powers) {
  if constexpr (log) return static_cast<T>(scalar::log(sum_of_powers));
  return static_cast<T>(1 / sum_of_powers);
}

/// The result, from the element's power, or of log_softmax from x - largest.
template <bool log, class T>
AORTA_INLINE T softmax_result(T part, T scale) {
  if constexpr (log) return part - scale;
  return part * scale;
}

/// What an element adds to the gradient's sum.
template <bool log, class T>
AORTA_INLINE T softmax_term(T g, T y) {
  if constexpr (log) return g;
  return g * y;
}

/// y (g - sum), or of log_softmax g - exp(y) sum.
template <bool log, class T>
AORTA_INLINE T softmax_gradient(T g, T y, T sum) {
  if constexpr (log) return g - scalar::exp(y) * sum;
  return (g - sum) * y;
}

}  // namespace aorta::body
