#pragma once

#include <aorta/core/ops/matmul.h>
#include <aorta/cuda/rows.h>

#include <array>
#include <vector>

namespace aorta::cuda {

/// A matrix as cuBLASLt reads it: column-major, `leading` elements between columns.
struct GemmOperand {
  bool transposed = false;  // stored as its transpose
  int64_t leading = 1;
  int64_t batch_stride = 0;
  bool needs_copy = false;  // neither of its dimensions lies dense: it has to be copied first
};

/// How the rows of `input` come in.
enum class GemmInput : uint8_t { none, matrix, bias, copied };

/// One strided batch of products, in cuBLASLt's terms. Its matrices are column-major and ours
/// row-major, so it computes the transpose: c^T (n, m) = b^T (n, k) a^T (k, m). Operand `left` is b
/// and `right` is a.
struct GemmPlan {
  DType dtype = DType::f32;
  int64_t m = 0, n = 0, k = 0;
  int64_t batch = 1;        // products of one call
  GemmOperand left, right;  // b and a
  GemmOperand added;        // input, where it is a matrix; not transposed
  GemmInput input = GemmInput::none;
  bool tf32 = false;  // f32 operands may be rounded to TF32
  Shape outer;        // batch dimensions that calls are repeated over
  Strides outer_a, outer_b, outer_input;

  /// Batch dimensions that every operand walks through evenly become one; `copied_*`: the operand
  /// has been made contiguous.
  static GemmPlan make(const MatmulArgs& args);

  /// What decides which algorithm is best: two calls of one key share it. `alignment` of the
  /// pointers of b, a, input and c in bytes (a power of two, at most 256).
  using Key = std::array<int64_t, 21>;
  Key key(int device, const std::array<int, 4>& alignment, bool beta) const;
};

/// The largest power of two up to 256 that divides an address.
int alignment_of(const void* data);

}  // namespace aorta::cuda
