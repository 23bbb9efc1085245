#pragma once

// Conversion between element types, as the copy kernels of every device do it.

#include <aorta/core/half.h>

#include <cstdint>
#include <type_traits>

namespace aorta::scalar {

template <class T>
inline constexpr bool is_half_type = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>;

/// x as a To: floating to integer cut towards zero (out of range: some value), to bool: != 0, to
/// half types by way of float.
template <class To, class From>
AORTA_INLINE To convert_value(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (is_half_type<From>) {
    return convert_value<To>(static_cast<float>(x));
  } else if constexpr (is_half_type<To>) {
    return To(static_cast<float>(x));
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_same_v<To, uint8_t> && std::is_floating_point_v<From>) {
    return static_cast<uint8_t>(static_cast<int32_t>(x));  // negative numbers wrap, as integers do
  } else {
    return static_cast<To>(x);
  }
}

}  // namespace aorta::scalar
