#pragma once

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// One product of row-major f32 matrices: c = alpha * op(a) op(b) + beta * c, where op(a) is (m,
/// k), op(b) (k, n), and op transposes when asked. Leading dimensions are in elements. With beta =
/// 0 `c` is not read.
struct GemmF32 {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  const float* a = nullptr;
  int64_t lda = 0;
  const float* b = nullptr;
  int64_t ldb = 0;
  float* c = nullptr;
  int64_t ldc = 0;
};

/// The kernels for products too small for a packing engine, on the calling thread.
AORTA_EACH_ISA(void small_gemm(const GemmF32& gemm);)

/// True where `small_gemm` is the one to use: a fixed rule on the shape.
bool is_small_gemm(const GemmF32& gemm);
void small_gemm(const GemmF32& gemm);

}  // namespace aorta::cpu
