#pragma once

// bfloat16 as cuda/element.cuh uses it.

#include <cuda_runtime.h>

#include <bit>
#include <cmath>
#include <cstdint>

struct __nv_bfloat16 {
  unsigned short bits;
};

/// To the nearest, ties to even; every NaN becomes 0x7fff, as on the GPU.
inline __nv_bfloat16 __float2bfloat16_rn(float value) {
  if (std::isnan(value)) return {0x7fff};
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t half = 0x7fff + (bits >> 16 & 1);
  return {static_cast<unsigned short>((bits + half) >> 16)};
}
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) { return value.bits; }
