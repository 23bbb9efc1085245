#pragma once

#include <aorta/core/host_device.h>

#include <cstdint>

namespace aorta {

/// The bits of a float and back.
AORTA_INLINE uint32_t bits_of(float value) { return __builtin_bit_cast(uint32_t, value); }
AORTA_INLINE float float_of(uint32_t bits) { return __builtin_bit_cast(float, bits); }

/// float -> bfloat16 bits, to nearest, ties to even; a NaN stays a (quiet) NaN.
AORTA_INLINE uint16_t bfloat16_bits(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>((value != value ? bits | 0x400000u : rounded) >> 16);
}
AORTA_INLINE float float_from_bfloat16(uint16_t bits) {
  return float_of(static_cast<uint32_t>(bits) << 16);
}

/// float -> IEEE 754 binary16 bits, to nearest, ties to even, subnormals kept, overflow to
/// infinity.
AORTA_INLINE uint16_t half_bits(float value) {
  const uint32_t bits = bits_of(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  // Normal: rebias the exponent and round off 13 bits; a carry runs into the exponent as it should.
  const uint32_t normal = (magnitude + 0x0fffu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // Subnormal: adding 0.5 aligns the last kept bit with the last bit of the float's fraction.
  const uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  const uint32_t special =
      magnitude > 0x7f800000u ? 0x7e00u | ((magnitude >> 13) & 0x1ffu) : 0x7c00u;
  const uint32_t finite = magnitude < 0x38800000u ? subnormal : normal;
  return static_cast<uint16_t>(sign | (magnitude >= 0x477ff000u ? special : finite));
}
AORTA_INLINE float float_from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  const uint32_t normal = (magnitude << 13) + 0x38000000u;
  const uint32_t special = (magnitude << 13) | 0x7f800000u;
  const uint32_t subnormal = bits_of(static_cast<float>(magnitude) * 0x1p-24f);
  const uint32_t finite = magnitude < 0x0400u ? subnormal : normal;
  return float_of(sign | (magnitude >= 0x7c00u ? special : finite));
}

/// IEEE 754 binary16. Storage only: arithmetic is done in float.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  AORTA_INLINE explicit Half(float value) : bits(half_bits(value)) {}
  AORTA_INLINE operator float() const { return float_from_half(bits); }
};

/// bfloat16: the upper half of a float. Storage only: arithmetic is done in float.
struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  AORTA_INLINE explicit BFloat16(float value) : bits(bfloat16_bits(value)) {}
  AORTA_INLINE operator float() const { return float_from_bfloat16(bits); }
};

}  // namespace aorta
