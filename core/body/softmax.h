#pragma once

// The gradients of softmax and log_softmax: of an element, from its result y, the gradient g of
// that, and a sum over its line.

#include <aorta/core/scalar/math.h>

namespace aorta::body {

/// What an element adds to the sum.
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
