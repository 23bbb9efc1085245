#pragma once

#include <aorta/core/scalar/bits.h>

namespace aorta::scalar {

/// An element as an unsigned number in the order that sorting has: zeros are equal, NaN comes last.
template <class T>
AORTA_INLINE auto sort_key(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    const auto bits = to_bits(x + T(0));  // -0 + 0 is 0
    using Key = std::remove_const_t<decltype(bits)>;
    constexpr Key sign = Key{1} << (8 * sizeof(T) - 1);
    if (x != x) return ~Key{0};
    return static_cast<Key>(bits & sign ? ~bits : bits | sign);
  } else if constexpr (sizeof(T) == 8) {
    return static_cast<uint64_t>(x) ^ (uint64_t{1} << 63);
  } else if constexpr (sizeof(T) == 4) {
    return static_cast<uint32_t>(x) ^ 0x80000000u;
  } else {
    return static_cast<uint32_t>(x);
  }
}

}  // namespace aorta::scalar
