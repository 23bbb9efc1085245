#pragma once

// The inverse of the error function. The bound is in units in the last place (ULP) of the exact
// value, over every float.

#include <aorta/core/scalar/error_function.h>
#include <aorta/core/scalar/logarithm.h>
#include <aorta/core/scalar/power.h>

namespace aorta::scalar {

/// What erfinv is where |x| isn't below 1.
template <class T>
AORTA_INLINE T erfinv_at_limits(T x, T value) {
  const T size = abs(x);
  const T limit = size == T(1) ? copysign(kInfinity<T>, x) : kNaN<T>;
  return size < T(1) ? value : limit;
}

/// The y whose erf(y) is x. At most 0.8 ULP.
AORTA_INLINE float erfinv(float x) {
  const double wide = x;
  const double w = -0x1.62e42fefa39efp-1 * log2_lane(static_cast<float>(1.0 - wide * wide));
  const double bounded = w > 0.0 ? w : 0.0;
  const double small = polynomial<coefficients::kErfinvSmall>(bounded);
  const double large = polynomial<coefficients::kErfinvLarge>(sqrt(bounded));
  return erfinv_at_limits(x, static_cast<float>(wide * (bounded < 6.25 ? small : large)));
}
AORTA_INLINE double erfinv(double x) {
  const double size = abs(x), rest = 1.0 - size;
  const double w = -::log1p(-x * x), root = sqrt(w);
  const double over_x = w < 6.25   ? polynomial<coefficients::kErfinvSmall>(w)
                        : w < 16.0 ? polynomial<coefficients::kErfinvLarge>(root)
                                   : polynomial<coefficients::kErfinvFar>(root);
  const double z = size * over_x;
  // Halley's method triples the digits. From a half on 1 - |x| is exact, and erf(z) - |x| isn't.
  const double off = size < 0.5 ? erf(z) - size : rest - erfc(z);
  const double step = off * 0x1.c5bf891b4ef6bp-1 /*sqrt(pi)/2*/ * exp(z * z);
  return erfinv_at_limits(x, copysign(z - step / (1.0 + z * step), x));
}

}  // namespace aorta::scalar
