#pragma once

#include <aorta/core/cpu/small_gemm.h>

namespace aorta::cpu::onednn {

// What Aorta asks of oneDNN. Every call takes the threads of get_num_threads(), or one inside a
// parallel_for; failures are Errors that start with `op`.

/// oneDNN's single-precision product.
void gemm_f32(const char* op, const GemmF32& gemm);

/// The same with bf16 operands, accumulated in f32 and rounded once; needs has_bf16().
struct GemmBf16 {
  bool transpose_a = false, transpose_b = false;
  int64_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  const void* b = nullptr;
  int64_t ldb = 0;
  void* c = nullptr;
  int64_t ldc = 0;
};
void gemm_bf16(const char* op, const GemmBf16& gemm);

}  // namespace aorta::cpu::onednn
