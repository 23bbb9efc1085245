#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace aorta::emulated {

/// f32 as tensor cores take it: 10 bits behind the point, to the nearest.
inline float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return std::bit_cast<float>((bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu);
}

}  // namespace aorta::emulated
