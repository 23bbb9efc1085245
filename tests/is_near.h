#pragma once

#include <cmath>

namespace aorta {

/// Whether `got` is within `allowed` of `wanted`. NaN is near NaN, and infinity near infinity
/// alone: what is allowed may be a share of it.
inline bool is_near(double got, double wanted, double allowed) {
  if (got == wanted || (std::isnan(got) && std::isnan(wanted))) return true;
  return std::isfinite(wanted) && std::abs(got - wanted) <= allowed;
}

}  // namespace aorta
