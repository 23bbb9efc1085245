#pragma once

// The register tile of the matrix kernels. Included only by cpu/isa/gemm*.cc.

#include <aorta/core/cpu/isa/gemm_vector.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Sums that a tile may keep in registers, with room for a row of b and a number of a.
inline constexpr int kSums = kRegisters == 32 ? 24 : 12;
/// Rows of a tile at most: two vectors a row.
inline constexpr int kTileRows = kSums / 2;

/// c (rows, vectors * lanes) = or += alpha * a (rows, k) b (k, vectors * lanes), where b's k steps
/// are those of the runs. With `partial`, the last vector has only `last` columns in c, and in b
/// too when `direct`; a packed b is padded. With `blocked`, a lies in blocks of kGemmSteps steps.
template <class K, int rows, int vectors, bool partial, bool direct, bool blocked>
AORTA_INLINE void multiply_tile(const GemmRun* runs, int64_t run_count,
                                const typename K::Element* a, int64_t a_row, int64_t a_column,
                                const typename K::Element* first_b, int64_t b_row,
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
  [[maybe_unused]] int64_t at = 0;  // of a block
#pragma GCC unroll 1
  for (const GemmRun* run = runs; run != runs + run_count; ++run) {
    const typename K::Element* b = first_b + run->first * b_row;
    int64_t rest = run->k;
    do {
      int64_t steps = rest;
      if constexpr (blocked) steps = rest < kGemmSteps - at ? rest : kGemmSteps - at;
      rest -= steps;
#pragma GCC unroll 2
      for (int64_t p = 0; p < steps; ++p) {
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
          const typename K::Element* const x = a + r * a_row;
          // In every other row the multiply-adds read the number of a, an instruction less for a
          // read more: all rows so would be as many reads as multiply-adds.
          if constexpr (requires(Vector y) { K::multiply_add(x, y, y); }) {
            if (r % 2 == 1) {
#pragma GCC unroll 4
              for (int v = 0; v < vectors; ++v)
                sums[r][v] = K::multiply_add(x, columns[v], sums[r][v]);
              continue;
            }
          }
          const Vector filled = K::fill(*x);
#pragma GCC unroll 4
          for (int v = 0; v < vectors; ++v)
            sums[r][v] = K::multiply_add(filled, columns[v], sums[r][v]);
        }
        a += a_column;
        b += b_row;
      }
      if constexpr (blocked) {
        at += steps;
        if (at == kGemmSteps) {
          a += (rows - 1) * kGemmSteps;
          at = 0;
        }
      }
    } while (rest > 0);
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
