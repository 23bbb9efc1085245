#pragma once

// The vectors that the matrix kernels compute in: a register's width of float or double, a
// multiply-add, and loads and stores of a part. Included only by cpu/isa/gemm*.cc.

#include <aorta/core/cpu/gemm.h>
#include <aorta/core/host_device.h>

#include <immintrin.h>

#ifdef __AVX512F__
// For _mm512_dpbf16_ps, which runs only where has_bf16(); the compiler makes no use of it by
// itself.
#pragma GCC target("avx512bf16")
#endif

namespace aorta::cpu::AORTA_ISA {
namespace {

// Element is what the operands' panels hold, Number what C holds; the sums are vectors of Output.

#if defined(__AVX512F__)

inline constexpr int kRegisters = 32;
// A load or store of a part is as fast as one of a whole vector.
inline constexpr bool kFastParts = true;

struct F32 {
  using Output = F32;
  using Element = float;
  using Number = float;
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static AORTA_INLINE Vector zero() { return _mm512_setzero_ps(); }
  static AORTA_INLINE Vector fill(float x) { return _mm512_set1_ps(x); }
  static AORTA_INLINE Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static AORTA_INLINE Vector load(const float* p, int n) {
    return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
  }
  static AORTA_INLINE void store(float* p, Vector x) { _mm512_storeu_ps(p, x); }
  static AORTA_INLINE void store(float* p, Vector x, int n) {
    _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), x);
  }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm512_fmadd_ps(a, b, sum);
  }
  /// The number at `a` for all lanes, read by the multiply-add itself.
  static AORTA_INLINE Vector multiply_add(const float* a, Vector b, Vector sum) {
    asm("vfmadd231ps %1%{1to16%}, %2, %0" : "+v"(sum) : "m"(*a), "v"(b));
    return sum;
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static AORTA_INLINE float sum(Vector x) {
    const __m256 y = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
                     __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    __m128 z = _mm256_castps256_ps128(y) + _mm256_extractf128_ps(y, 1);
    z += _mm_movehl_ps(z, z);
    return z[0] + z[1];
  }
};

struct F64 {
  using Output = F64;
  using Element = double;
  using Number = double;
  using Vector = __m512d;
  static constexpr int kLanes = 8;
  static AORTA_INLINE Vector zero() { return _mm512_setzero_pd(); }
  static AORTA_INLINE Vector fill(double x) { return _mm512_set1_pd(x); }
  static AORTA_INLINE Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static AORTA_INLINE Vector load(const double* p, int n) {
    return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
  }
  static AORTA_INLINE void store(double* p, Vector x) { _mm512_storeu_pd(p, x); }
  static AORTA_INLINE void store(double* p, Vector x, int n) {
    _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1u << n) - 1), x);
  }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm512_fmadd_pd(a, b, sum);
  }
  static AORTA_INLINE Vector multiply_add(const double* a, Vector b, Vector sum) {
    asm("vfmadd231pd %1%{1to8%}, %2, %0" : "+v"(sum) : "m"(*a), "v"(b));
    return sum;
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
  static AORTA_INLINE double sum(Vector x) {
    const __m256d y =
        __builtin_shufflevector(x, x, 0, 1, 2, 3) + __builtin_shufflevector(x, x, 4, 5, 6, 7);
    const __m128d z = _mm256_castpd256_pd128(y) + _mm256_extractf128_pd(y, 1);
    return z[0] + z[1];
  }
};

/// Pairs of bf16: sum += a.first * b.first + a.second * b.second. Subnormal numbers count as 0.
struct Bf16 {
  using Output = F32;
  using Element = uint32_t;
  using Number = float;
  using Vector = __m512;
  static constexpr int kLanes = 16;
  static AORTA_INLINE Vector zero() { return _mm512_setzero_ps(); }
  static AORTA_INLINE Vector fill(uint32_t x) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(x)));
  }
  static AORTA_INLINE Vector load(const uint32_t* p) {
    return _mm512_castsi512_ps(_mm512_loadu_si512(p));
  }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(a), reinterpret_cast<__m512bh>(b));
  }
};

#elif defined(__AVX2__)

inline constexpr int kRegisters = 16;
inline constexpr bool kFastParts = false;

// n ones and then zeros, as masks of 32 bits: the window that starts at 8 - n.
alignas(64) constexpr int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

struct F32 {
  using Output = F32;
  using Element = float;
  using Number = float;
  using Vector = __m256;
  static constexpr int kLanes = 8;
  static AORTA_INLINE __m256i mask(int n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - n));
  }
  static AORTA_INLINE Vector zero() { return _mm256_setzero_ps(); }
  static AORTA_INLINE Vector fill(float x) { return _mm256_set1_ps(x); }
  static AORTA_INLINE Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static AORTA_INLINE Vector load(const float* p, int n) { return _mm256_maskload_ps(p, mask(n)); }
  static AORTA_INLINE void store(float* p, Vector x) { _mm256_storeu_ps(p, x); }
  static AORTA_INLINE void store(float* p, Vector x, int n) { _mm256_maskstore_ps(p, mask(n), x); }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm256_fmadd_ps(a, b, sum);
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  static AORTA_INLINE float sum(Vector x) {
    __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    y = _mm_add_ps(y, _mm_movehl_ps(y, y));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
  }
};

struct F64 {
  using Output = F64;
  using Element = double;
  using Number = double;
  using Vector = __m256d;
  static constexpr int kLanes = 4;
  static AORTA_INLINE __m256i mask(int n) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - 2 * n));
  }
  static AORTA_INLINE Vector zero() { return _mm256_setzero_pd(); }
  static AORTA_INLINE Vector fill(double x) { return _mm256_set1_pd(x); }
  static AORTA_INLINE Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static AORTA_INLINE Vector load(const double* p, int n) { return _mm256_maskload_pd(p, mask(n)); }
  static AORTA_INLINE void store(double* p, Vector x) { _mm256_storeu_pd(p, x); }
  static AORTA_INLINE void store(double* p, Vector x, int n) { _mm256_maskstore_pd(p, mask(n), x); }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm256_fmadd_pd(a, b, sum);
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  static AORTA_INLINE double sum(Vector x) {
    const __m128d y = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(y, _mm_unpackhi_pd(y, y)));
  }
};

#else

inline constexpr int kRegisters = 16;
inline constexpr bool kFastParts = false;

struct F32 {
  using Output = F32;
  using Element = float;
  using Number = float;
  using Vector = __m128;
  static constexpr int kLanes = 4;
  static AORTA_INLINE Vector zero() { return _mm_setzero_ps(); }
  static AORTA_INLINE Vector fill(float x) { return _mm_set1_ps(x); }
  static AORTA_INLINE Vector load(const float* p) { return _mm_loadu_ps(p); }
  static AORTA_INLINE Vector load(const float* p, int n) {
    alignas(16) float part[4] = {};
    for (int i = 0; i < n; ++i) part[i] = p[i];
    return _mm_load_ps(part);
  }
  static AORTA_INLINE void store(float* p, Vector x) { _mm_storeu_ps(p, x); }
  static AORTA_INLINE void store(float* p, Vector x, int n) {
    alignas(16) float part[4];
    _mm_store_ps(part, x);
    for (int i = 0; i < n; ++i) p[i] = part[i];
  }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm_add_ps(_mm_mul_ps(a, b), sum);
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm_mul_ps(a, b); }
  static AORTA_INLINE float sum(Vector x) {
    const __m128 y = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
  }
};

struct F64 {
  using Output = F64;
  using Element = double;
  using Number = double;
  using Vector = __m128d;
  static constexpr int kLanes = 2;
  static AORTA_INLINE Vector zero() { return _mm_setzero_pd(); }
  static AORTA_INLINE Vector fill(double x) { return _mm_set1_pd(x); }
  static AORTA_INLINE Vector load(const double* p) { return _mm_loadu_pd(p); }
  static AORTA_INLINE Vector load(const double* p, int n) {
    return n < 2 ? _mm_load_sd(p) : _mm_loadu_pd(p);
  }
  static AORTA_INLINE void store(double* p, Vector x) { _mm_storeu_pd(p, x); }
  static AORTA_INLINE void store(double* p, Vector x, int n) {
    if (n < 2) return _mm_store_sd(p, x);
    _mm_storeu_pd(p, x);
  }
  static AORTA_INLINE Vector multiply_add(Vector a, Vector b, Vector sum) {
    return _mm_add_pd(_mm_mul_pd(a, b), sum);
  }
  static AORTA_INLINE Vector multiply(Vector a, Vector b) { return _mm_mul_pd(a, b); }
  static AORTA_INLINE double sum(Vector x) {
    return _mm_cvtsd_f64(_mm_add_sd(x, _mm_unpackhi_pd(x, x)));
  }
};

#endif

}  // namespace

// The functions of GemmLoops that stand in gemm_small.cc.
void gemm_direct(const Gemm& gemm);
void gemm_dots(const Gemm& gemm);
#ifdef __AVX512F__
void gemm_pair_dots(const Gemm& gemm);
#else
constexpr void (*gemm_pair_dots)(const Gemm& gemm) = nullptr;
#endif

}  // namespace aorta::cpu::AORTA_ISA
