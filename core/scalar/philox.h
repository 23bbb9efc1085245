#pragma once

// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC
// 2011). A counter-based generator: the numbers are a function of (key, counter), so that any
// thread of any device computes the ones it needs. Checked against the vectors published with
// Random123.

#include <aorta/core/host_device.h>

#include <cstdint>

namespace aorta::scalar {

/// Four random words.
struct PhiloxWords {
  uint32_t word[4];
};

/// The block of numbers at a position of a stream: key = seed, counter = (position, stream).
AORTA_INLINE PhiloxWords philox(uint64_t seed, uint64_t stream, uint64_t position) {
  uint32_t c0 = static_cast<uint32_t>(position), c1 = static_cast<uint32_t>(position >> 32);
  uint32_t c2 = static_cast<uint32_t>(stream), c3 = static_cast<uint32_t>(stream >> 32);
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
#pragma GCC unroll 10
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53u} * c0;
    const uint64_t b = uint64_t{0xCD9E8D57u} * c2;
    c0 = static_cast<uint32_t>(b >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(b);
    c2 = static_cast<uint32_t>(a >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(a);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in [0, 1) with 24 bits: every value is a multiple of 2^-24.
AORTA_INLINE float uniform_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// Uniform in [0, 1) with 53 bits.
AORTA_INLINE double uniform_double(uint32_t high, uint32_t low) {
  const uint64_t bits = (static_cast<uint64_t>(high) << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}
/// Uniform in [0, range): the high half of a 64-bit word times the range. The bias is range / 2^64.
AORTA_INLINE uint64_t uniform_below(uint32_t high, uint32_t low, uint64_t range) {
  // (high * 2^32 + low) * range >> 64 by 32-bit parts: no 128-bit type is needed.
  const uint64_t r0 = range & 0xffffffffu, r1 = range >> 32;
  const uint64_t low_r0 = low * r0, low_r1 = low * r1, high_r0 = high * r0, high_r1 = high * r1;
  const uint64_t middle = (low_r0 >> 32) + (low_r1 & 0xffffffffu) + (high_r0 & 0xffffffffu);
  return high_r1 + (low_r1 >> 32) + (high_r0 >> 32) + (middle >> 32);
}

}  // namespace aorta::scalar
