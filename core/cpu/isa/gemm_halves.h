#pragma once

// Vectors of half types for products that aren't packed, and for Winograd's transforms. Included
// only by cpu/isa/gemm_small.cc and cpu/isa/winograd.cc.

#include <aorta/core/cpu/isa/gemm_vector.h>
#include <aorta/core/half.h>

#include <cstring>
#include <type_traits>

namespace aorta::cpu::AORTA_ISA {
namespace {

// As many halves as a register has floats, and the floats that they are.

#if defined(__AVX512F__)

AORTA_INLINE __m256i fill_bits(uint16_t x) { return _mm256_set1_epi16(static_cast<int16_t>(x)); }
AORTA_INLINE __m256i load_bits(const void* p) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(p));
}
AORTA_INLINE __m256i load_bits(const void* p, int n) {
  return _mm256_maskz_loadu_epi16(static_cast<__mmask16>((1u << n) - 1), p);
}
AORTA_INLINE __m512 widen(Half, __m256i bits) { return _mm512_maskz_cvtph_ps(0xffff, bits); }
AORTA_INLINE __m512 widen(BFloat16, __m256i bits) {
  const __m512i words = _mm512_maskz_cvtepu16_epi32(0xffff, bits);
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, words, 16));
}

/// Lines of bf16: a lane of a sum takes the products of a number and its neighbour.
struct Bf16Line : Bf16 {
  using Element = BFloat16;
  static constexpr int kLanes = 32;
  static AORTA_INLINE Vector load(const BFloat16* p) {
    return _mm512_castsi512_ps(_mm512_loadu_si512(p));
  }
  static AORTA_INLINE Vector load(const BFloat16* p, int n) {
    const __mmask32 mask = static_cast<__mmask32>((uint64_t{1} << n) - 1);
    return _mm512_castsi512_ps(_mm512_maskz_loadu_epi16(mask, p));
  }
  static AORTA_INLINE float sum(Vector x) { return F32::sum(x); }
};

#else

AORTA_INLINE __m128i fill_bits(uint16_t x) { return _mm_set1_epi16(static_cast<int16_t>(x)); }
AORTA_INLINE __m128i load_bits(const uint16_t* p, int n) {
  alignas(16) uint16_t part[8] = {};
  for (int i = 0; i < n; ++i) part[i] = p[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(part));
}

#ifdef __AVX2__

AORTA_INLINE __m128i load_bits(const void* p) {
  return _mm_loadu_si128(static_cast<const __m128i*>(p));
}
AORTA_INLINE __m256 widen(Half, __m128i bits) { return _mm256_cvtph_ps(bits); }
AORTA_INLINE __m256 widen(BFloat16, __m128i bits) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

#else

AORTA_INLINE __m128i load_bits(const void* p) {
  return _mm_loadl_epi64(static_cast<const __m128i*>(p));
}
AORTA_INLINE __m128 widen(Half, __m128i bits) {
  const __m128i words = _mm_cvtepu16_epi32(bits);
  const __m128i magnitude = _mm_and_si128(words, _mm_set1_epi32(0x7fff));
  const __m128i sign = _mm_slli_epi32(_mm_xor_si128(words, magnitude), 16);
  // The exponent's bias becomes 127 from 15, of subnormal numbers too; that of infinities and NaNs
  // is the largest one.
  const __m128 scaled =
      _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)), _mm_set1_ps(0x1p112f));
  const __m128i special =
      _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff)), _mm_set1_epi32(0x7f800000));
  return _mm_or_ps(scaled, _mm_castsi128_ps(_mm_or_si128(sign, special)));
}
AORTA_INLINE __m128 widen(BFloat16, __m128i bits) {
  return _mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), bits));
}

#endif
#endif

/// Numbers of a half type, which are widened to float as they are loaded and rounded as they are
/// stored.
template <class H>
struct Widened : F32 {
  using Element = H;
  static AORTA_INLINE Vector fill(H x) { return widen(H(), fill_bits(x.bits)); }
  static AORTA_INLINE Vector load(const H* p) { return widen(H(), load_bits(&p->bits)); }
  static AORTA_INLINE Vector load(const H* p, int n) { return widen(H(), load_bits(&p->bits, n)); }
  static AORTA_INLINE void store(H* p, Vector x) {
    if constexpr (std::is_same_v<H, BFloat16>) {
      // bfloat16_bits, a vector at a time.
      typedef uint32_t Bits __attribute__((vector_size(sizeof(Vector))));
      typedef uint16_t Halves __attribute__((vector_size(sizeof(Vector) / 2)));
      const Bits bits = reinterpret_cast<Bits>(x), upper = bits >> 16;
      const Bits rounded = (bits + 0x7fffu + (upper & 1u)) >> 16;
      const Bits chosen = (bits & 0x7fffffffu) > 0x7f800000u ? upper | 0x40u : rounded;
      const Halves halves = __builtin_convertvector(chosen, Halves);
      std::memcpy(&p->bits, &halves, sizeof halves);
    } else {
      alignas(64) float block[kLanes];
      F32::store(block, x);
      for (int i = 0; i < kLanes; ++i) p[i] = H(block[i]);
    }
  }
};

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
