#pragma once

// The register tile of the matrix kernels. Included only by cpu/isa/gemm*.cc.

#include <aorta/core/cpu/isa/gemm_vector.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Sums that a tile may keep in registers, with room for a row of b and a number of a.
inline constexpr int kSums = kRegisters == 32 ? 24 : 12;
/// Rows of a tile at most: two vectors a row.
inline constexpr int kTileRows = kSums / 2;

/// c (rows, vectors * lanes) = or += alpha * a (rows, k) b (k, vectors * lanes). With `partial`,
/// the last vector has only `last` columns in c, and in b too when `direct`; a packed b is padded.
template <class K, int rows, int vectors, bool partial, bool direct>
AORTA_INLINE void multiply_tile(int64_t k, const typename K::Element* a, int64_t a_row,
                                int64_t a_column, const typename K::Element* b, int64_t b_row,
                                typename K::Number* c, int64_t ldc, int last,
                                typename K::Number alpha, bool accumulate) {
  using Output = typename K::Output;
  using Vector = typename K::Vector;
  constexpr int lanes = K::kLanes;
  Vector sums[rows][vectors];
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) sums[r][v] = K::zero();
  }
  if constexpr (!direct) {
#pragma GCC unroll 1
    for (int r = 0; r < rows; ++r) {
      __builtin_prefetch(c + r * ldc);
      __builtin_prefetch(c + r * ldc + (vectors - 1) * lanes);
    }
  }
#pragma GCC unroll 1
  for (int64_t p = 0; p < k; ++p) {
    Vector columns[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      if constexpr (partial && direct) {
        columns[v] = v < vectors - 1 ? K::load(b + v * lanes) : K::load(b + v * lanes, last);
      } else {
        columns[v] = K::load(b + v * lanes);
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r) {
      const Vector x = K::fill(a[r * a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = K::multiply_add(x, columns[v], sums[r][v]);
    }
    a += a_column;
    b += b_row;
  }
  // Addresses in c are computed from here on: kept across the loop, they would take its registers.
  asm("" : "+r"(c), "+r"(ldc));
  const Vector factor = Output::fill(alpha);
#pragma GCC unroll 16
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) {
      typename K::Number* const to = c + r * ldc + v * lanes;
      if (partial && v == vectors - 1) {
        const Vector x = accumulate
                             ? Output::multiply_add(factor, sums[r][v], Output::load(to, last))
                             : Output::multiply(factor, sums[r][v]);
        Output::store(to, x, last);
      } else {
        const Vector x = accumulate ? Output::multiply_add(factor, sums[r][v], Output::load(to))
                                    : Output::multiply(factor, sums[r][v]);
        Output::store(to, x);
      }
    }
  }
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
