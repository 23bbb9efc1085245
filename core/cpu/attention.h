#pragma once

#include <aorta/core/cpu/gemm.h>
#include <aorta/core/ops/attention.h>

namespace aorta::cpu {

/// What turns scores of some queries and a block of keys into weights.
struct AttentionScores {
  int64_t rows = 0, keys = 0;
  int64_t seen = 0, seen_step = 0;  // row r sees the first seen + r * seen_step keys, if any
  int64_t width = 0;                // weights are made of so many keys, zeros of those not seen
  void* scores = nullptr;           // (rows, keys), sums of products; room for whole steps of 32
  int64_t stride = 0;               // of rows, in elements
  const char* mask = nullptr;       // of the first row and key; null for none
  DType mask_dtype = DType::boolean;
  int64_t mask_row = 0, mask_column = 0;  // in bytes
  DropoutMask dropout = {};
  int64_t number = 0, number_step = 0;  // of the first row's first weight; from row to row
  /// The number of keys that row r sees.
  AORTA_INLINE int64_t seen_by(int64_t r) const {
    const int64_t n = seen + r * seen_step;
    return n < 0 ? 0 : n < keys ? n : keys;
  }
};

/// A step of a softmax over blocks of keys: exponentials of scores become a blocked panel
/// (GemmPack), and what was found before is brought to the new largest score. The three a row.
struct AttentionSoftmax {
  AttentionScores part;
  bool first = false;       // block of keys
  void* weights = nullptr;  // the panel
  void* largest = nullptr;  // of the row's scores
  void* total = nullptr;    // of the exponentials
  void* sums = nullptr;     // (rows, values): scaled where there are such
  int64_t values = 0;
};

/// Weights, and the gradient of the scores, from the scores and the gradient of the weights.
struct AttentionSlopes {
  AttentionScores part;
  const void* products = nullptr;  // the gradient of the weights, laid out like the scores
  const void* log_sum = nullptr;   // a row
  const void* inner = nullptr;     // a row: the product of the output and its gradient
  double scale = 1;
  void* weights = nullptr;  // with what is dropped out, (rows, keys) with the stride of the scores
  void* slopes = nullptr;
};

/// Rows whose numbers are neighbours; `step` bytes from row to row.
struct AttentionRows {
  char* data;
  int64_t step;
};

/// An instruction set's loops. Numbers are those of a kind of product: f32 with weights of f32 or
/// bf16, or f64.
struct AttentionLoops {
  void (*softmax)(GemmKind kind, const AttentionSoftmax& step);
  void (*slopes)(GemmKind kind, const AttentionSlopes& step);
  /// Rows of `count` numbers of `dtype` become those of `sums` times the row's factor; a factor of
  /// 0 makes zeros. Null: 1 for all.
  void (*store)(DType dtype, const AttentionRows& to, const void* sums, const void* factors,
                int64_t rows, int64_t count);
  /// The sums of the products of rows, `count` neighbours each.
  void (*inner)(DType dtype, void* sums, const AttentionRows& a, const AttentionRows& b,
                int64_t rows, int64_t count);
};
AORTA_ISA_TABLE(AttentionLoops, attention_loops)

}  // namespace aorta::cpu
