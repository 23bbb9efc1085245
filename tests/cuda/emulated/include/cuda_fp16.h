#pragma once

// Half precision as cuda/element.cuh uses it. The conversions are the compiler's own _Float16, so
// that they are a second opinion on core/half.h.

#include <cuda_runtime.h>

#include <bit>

struct __half {
  unsigned short bits;
};

inline float __half2float(__half value) {
  return static_cast<float>(std::bit_cast<_Float16>(value.bits));
}
inline __half __float2half_rn(float value) {
  return {std::bit_cast<unsigned short>(static_cast<_Float16>(value))};
}
inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline unsigned short __half_as_ushort(__half value) { return value.bits; }
