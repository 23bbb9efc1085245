#pragma once

// Rows of half types: converted in registers around the functor, a block of elements at a time.

#include <aorta/core/cpu/isa/row.h>

#include <immintrin.h>

#include <cstring>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Elements of a block.
constexpr int kHalfBlock = 32;

template <class H>
AORTA_INLINE void widen(float* block, const H* x) {
  for (int j = 0; j < kHalfBlock; ++j) block[j] = x[j];
}
template <class H>
AORTA_INLINE void narrow(H* out, const float* block) {
  for (int j = 0; j < kHalfBlock; ++j) out[j] = H(block[j]);
}
AORTA_INLINE void narrow(bool* out, const bool* block) { std::memcpy(out, block, kHalfBlock); }

// The hardware's conversions: the same bits as half.h.
#if defined(__AVX512F__)
AORTA_INLINE void widen(float* block, const Half* x) {
  for (int j = 0; j < kHalfBlock; j += 16) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + j));
    _mm512_storeu_ps(block + j, _mm512_maskz_cvtph_ps(0xffff, bits));
  }
}
AORTA_INLINE void narrow(Half* out, const float* block) {
  for (int j = 0; j < kHalfBlock; j += 16) {
    const __m256i bits =
        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(block + j), _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + j), bits);
  }
}
#elif defined(__F16C__)
AORTA_INLINE void widen(float* block, const Half* x) {
  for (int j = 0; j < kHalfBlock; j += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + j));
    _mm256_storeu_ps(block + j, _mm256_cvtph_ps(bits));
  }
}
AORTA_INLINE void narrow(Half* out, const float* block) {
  for (int j = 0; j < kHalfBlock; j += 8) {
    const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(block + j), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + j), bits);
  }
}
#endif

/// A functor of one or two operands of H, computed in float; an operand that is one for all is a
/// float. A bool result is stored as it is.
template <class F, class H>
struct HalfRow {
  static constexpr bool is_unary = std::is_invocable_v<F, float>;

  AORTA_INLINE static auto compute(const F& f, float x, float y) {
    if constexpr (is_unary)
      return f(x);
    else
      return f(x, y);
  }
  using Result = decltype(compute(std::declval<F>(), 0.0f, 0.0f));
  using Out = std::conditional_t<std::is_same_v<Result, bool>, bool, H>;

  // `number` is the operand that is one for all, or 0.
  template <int number>
  static void run_blocks(const void* functor, int64_t n, char* const* data) {
    const F f = *static_cast<const F*>(functor);
    constexpr bool reads[] = {false, number != 1, number != 2 && !is_unary};
    float x[kHalfBlock] = {}, y[kHalfBlock] = {};
    for (int j = 0; j < kHalfBlock; ++j) {
      if constexpr (number == 1) x[j] = load<float>(data[1], 0);
      if constexpr (number == 2) y[j] = load<float>(data[2], 0);
    }
    Out* const out = reinterpret_cast<Out*>(data[0]);
    int64_t i = 0;
    for (; i + kHalfBlock <= n; i += kHalfBlock) {
      if constexpr (reads[1]) widen(x, reinterpret_cast<const H*>(data[1]) + i);
      if constexpr (reads[2]) widen(y, reinterpret_cast<const H*>(data[2]) + i);
      Result result[kHalfBlock];
      if constexpr (OfShortQuotients<F, float>) {
        compute_quotients(
            f, kHalfBlock, [&](int j) { return x[j]; }, [&](int j) { return y[j]; }, result);
      } else {
        for (int j = 0; j < kHalfBlock; ++j) result[j] = compute(f, x[j], y[j]);
      }
      narrow(out + i, result);
    }
    if (i == n) return;
    // The rest becomes a block of its own, padded with zeros.
    H rest[3][kHalfBlock] = {};
    char* whole[3] = {reinterpret_cast<char*>(rest[0])};
    for (int k = 1; k <= (is_unary ? 1 : 2); ++k) {
      whole[k] = reads[k] ? reinterpret_cast<char*>(rest[k]) : data[k];
      const size_t bytes = static_cast<size_t>(n - i) * sizeof(H);
      if (reads[k]) std::memcpy(whole[k], reinterpret_cast<const H*>(data[k]) + i, bytes);
    }
    run_blocks<number>(functor, kHalfBlock, whole);
    std::memcpy(out + i, whole[0], static_cast<size_t>(n - i) * sizeof(Out));
  }

  static void run(const void* functor, int64_t n, char* const* data, unsigned broadcast) {
    if constexpr (requires { typename F::Simpler; }) {
      if (static_cast<const F*>(functor)->is_simpler())
        return HalfRow<typename F::Simpler, H>::run(functor, n, data, broadcast);
    }
    if constexpr (!is_unary) {
      if (broadcast == 2) return run_blocks<1>(functor, n, data);
      if (broadcast == 4) return run_blocks<2>(functor, n, data);
    }
    run_blocks<0>(functor, n, data);
  }
};

/// A functor that needs a half type's bits alone.
template <class F, class H>
struct BitsRow {
  static void run(const void*, int64_t n, char* const* data, unsigned) {
    H* const out = reinterpret_cast<H*>(data[0]);
    const H* const x = reinterpret_cast<const H*>(data[1]);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i].bits = F::of_half(x[i].bits);
  }
};

template <class F, class H>
constexpr RowFunction half_row() {
  if constexpr (requires { F::of_half(uint16_t{}); }) return BitsRow<F, H>::run;
  return HalfRow<F, H>::run;
}

/// A table of rows, and with it those of half types for the functors that compute in float.
template <class Table, class... Fs>
constexpr Table with_half_rows(Table table, TypeList<Fs...>) {
  RowFunction* rows = table.rows;
  const auto add = [&]<class F>(const F*) {
    if constexpr (scalar::computes_in<F, float>()) {
      rows[static_cast<int>(DType::f16)] = half_row<F, Half>();
      rows[static_cast<int>(DType::bf16)] = half_row<F, BFloat16>();
    }
    rows += kDTypeCount;
  };
  (add(static_cast<const Fs*>(nullptr)), ...);
  return table;
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
