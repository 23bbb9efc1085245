#pragma once

// The loss of classes and its gradient, element by element: of an element x from the largest of its
// line and the logarithm of the sum of exp(x - largest) there.

#include <aorta/core/scalar/math.h>

namespace aorta::body {

/// What is spread over the classes of a target: `share` of each class, of a smoothed one, and
/// `kept` of the probability p.
template <class T>
AORTA_INLINE T class_share(T share, T kept, T p) {
  return share + kept * p;
}

/// -log_softmax(x).
template <class T>
AORTA_INLINE T class_loss(T x, T largest, T log_sum) {
  return log_sum - (x - largest);
}

/// softmax(x).
template <class T>
AORTA_INLINE T class_probability(T x, T largest, T log_sum) {
  return scalar::exp((x - largest) - log_sum);
}

}  // namespace aorta::body
