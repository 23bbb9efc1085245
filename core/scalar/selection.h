#pragma once

// Ops that choose between operands.

#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

/// a where the condition holds, else b. The condition is bool and takes no part in promotion.
struct Where {
  static constexpr PointwiseInfo info{"where", Accept::any, Compute::promote, Result::same};
  static constexpr int masks = 1;
  template <class T>
  AORTA_INLINE T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

/// The number of leading bool inputs of functor F that take no part in promotion.
template <class F>
constexpr int masks_of() {
  if constexpr (requires { F::masks; })
    return F::masks;
  else
    return 0;
}

/// True when functor F is computed in C++ type T, by its dtype policy.
template <class F, class T>
constexpr bool computes_in() {
  if constexpr (std::is_floating_point_v<T>)
    return F::info.accept != Accept::integral;
  else if constexpr (std::is_same_v<T, bool>)
    return F::info.compute == Compute::promote &&
           (F::info.accept == Accept::any || F::info.accept == Accept::integral);
  else
    return F::info.compute == Compute::promote && F::info.accept != Accept::floating;
}

}  // namespace aorta::scalar
