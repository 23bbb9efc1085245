#pragma once

#include <aorta/core/host_device.h>

#include <cstdint>
#include <type_traits>

namespace aorta::scalar {

/// The type in which sums and products of T are defined for every input: T itself, or unsigned.
template <class T>
using Wrapping = std::conditional_t<std::is_floating_point_v<T>, T,
                                    std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>;

/// x + y, x - y and x y; integers wrap around.
template <class T>
AORTA_INLINE T wrapping_add(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) + static_cast<Wrapping<T>>(y));
}
template <class T>
AORTA_INLINE T wrapping_sub(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) - static_cast<Wrapping<T>>(y));
}
template <class T>
AORTA_INLINE T wrapping_mul(T x, T y) {
  return static_cast<T>(static_cast<Wrapping<T>>(x) * static_cast<Wrapping<T>>(y));
}

}  // namespace aorta::scalar
