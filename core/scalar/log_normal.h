#pragma once

// The logarithm of the normal distribution function. The bound is in units in the last place (ULP)
// of the exact value.

#include <aorta/core/scalar/gamma_function.h>

namespace aorta::scalar {

/// log of the share of a normal distribution below x. A float at most 0.6 ULP, a double 4.
AORTA_INLINE float log_ndtr(float of) {
  const double x = of, z = abs(x) * 0x1.6a09e667f3bcdp-1, scaled = erfcx_lane(z);
  // Far below by e^(z^2) times the tail, which doesn't vanish; else log(1 - tail), of 1 - tail
  // rounded and corrected.
  const double low = log_lane(0.5 * select(isinf(x), 1.0, scaled)) - z * z;
  const double size = z * z > 700.0 ? 700.0 : z * z, tail = 0.5 * scaled * exp_lane(-size);
  const double above = x < 0.0 ? 1.0 - tail : tail, share = 1.0 - above;
  const bool is_one = share == 1.0;
  const double high = log_lane(share) * above / select(is_one, 1.0, 1.0 - share);
  const double near_one = select(is_one, -above, high);
  return static_cast<float>(x < -1.0 ? low : near_one);
}
AORTA_INLINE double log_ndtr(double x) {
  const double size = abs(x), scaled = erfcx_lane(size * 0x1.6a09e667f3bcdp-1);
  if (x < -1.0) return ::log(0.5 * scaled) - 0.5 * size * size;
  const double tail = 0.5 * scaled * exp_of_square<-2>(size > 40.0 ? 40.0 : size);
  return ::log1p(x < 0.0 ? tail - 1.0 : -tail);
}

}  // namespace aorta::scalar
