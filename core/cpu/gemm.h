#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/dtype.h>

namespace aorta::cpu {

/// Multiply-adds that are worth a thread of their own.
inline constexpr int64_t kTaskWork = 1 << 20;
/// Multiply-adds that take as long as packing a number.
inline constexpr int64_t kPackWork = 32;

/// One matrix product c = alpha * a b, c = beta * input + alpha * a b, or c += alpha * a b: a (m,
/// k), b (k, n), input (m, n), c (m, n) row-major with `ldc` elements from row to row. Strides are
/// in elements and may be anything; of the sizes k alone may be 0. Half types are multiplied as
/// f32, or natively where has_bf16(), and accumulated in f32; `c` is f64 for f64, f32 for all else,
/// or `rounded` to `dtype` once, at the end.
struct Gemm {
  DType dtype = DType::f32;  // f32, f64, f16 or bf16: of a, b and input
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t a_row = 0, a_column = 0;
  const void* b = nullptr;
  int64_t b_row = 0, b_column = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  const void* input = nullptr;
  int64_t input_row = 0, input_column = 0;
  double alpha = 1, beta = 1;
  bool accumulate = false;  // without input, to c that isn't rounded
  bool rounded = false;
};

/// Runs the product. Note on bits: the sizes alone decide which kernel runs and where the sum over
/// k is cut, and one thread computes an element of C from start to end, in the same order in any
/// register tile. So the bits don't depend on the number of threads, which share C. (They do on the
/// instruction set.)
void gemm(const Gemm& gemm);

/// Bytes of a sum of products of `dtype`, an element of `c`.
constexpr int64_t sum_size(DType dtype) { return item_size(compute_dtype(dtype)); }

/// Which kernel the rule on the sizes picks: for tests and benchmarks.
enum class GemmPath : uint8_t { direct, dots, packed };
GemmPath gemm_path(const Gemm& gemm);

/// What the inner kernels multiply; bf16 is AVX512-BF16's product of pairs.
enum class GemmKind : uint8_t { f32, f64, bf16 };

/// Lays out lines (rows of a or columns of b) side by side: packed[k][padded], zeros from `lines`
/// on. For GemmKind::bf16 an element is the pair of (k, k + 1), the last one filled up with 0.
/// Lines lie at multiples of their stride, or at `line_offsets` where there are such; so do the
/// steps of k. A panel of `a` may be `blocked`, for lines that are contiguous along k:
/// packed[k / 16][lines][16]; step 0 goes to step `first` of it.
struct GemmPack {
  GemmKind kind = GemmKind::f32;
  DType dtype = DType::f32;  // of the source
  const char* source = nullptr;
  int64_t line_stride = 0, k_stride = 0;  // in bytes
  const int64_t* line_offsets = nullptr;
  const int64_t* k_offsets = nullptr;
  int64_t lines = 0, padded = 0, k = 0;
  void* packed = nullptr;
  bool blocked = false;
  int64_t first = 0;
};
/// Steps of a block.
inline constexpr int64_t kGemmSteps = 16;

/// Steps [first, first + k) of a panel of b.
struct GemmRun {
  int64_t first = 0, k = 0;
};

/// c (m, n) from panels that were packed one after another: of `a` GemmTile::rows rows each (the
/// last one perhaps fewer) and `k` steps, of `b` GemmTile::columns columns each (padded to half or
/// full) and `b_depth` steps. The steps of `a` meet those of `b` that the runs name, in order.
/// Panels of a blocked `a` have room for `k` steps rounded up to whole blocks.
struct GemmBlock {
  GemmKind kind = GemmKind::f32;
  int64_t m = 0, n = 0, k = 0, b_depth = 0;  // k and b_depth in packed elements
  const void* a = nullptr;
  const void* b = nullptr;
  const GemmRun* runs = nullptr;
  int64_t run_count = 0;
  void* c = nullptr;
  int64_t ldc = 0;
  double alpha = 1;
  bool accumulate = false;
  bool blocked = false;  // of a
  // Sums each run by itself before it's added to the others: a sum's error grows with its length.
  bool separate_runs = false;
};

/// How operands of `dtype` are multiplied here.
GemmKind gemm_kind(DType dtype);

/// The register tile of a kind's block kernel; its element of k has `bytes`.
struct GemmTile {
  int rows, columns, bytes;
};

/// An instruction set's loops. `direct` and `dots` read both operands where they are, and widen
/// half types: columns of b are contiguous for `direct`; rows of a and columns of b are contiguous
/// along k for `dots`. `pair_dots` are those of bf16 by AVX512-BF16, null without AVX-512.
struct GemmLoops {
  GemmTile (*tile)(GemmKind kind);
  void (*pack)(const GemmPack& pack);
  void (*block)(const GemmBlock& block);
  void (*direct)(const Gemm& gemm);
  void (*dots)(const Gemm& gemm);
  void (*pair_dots)(const Gemm& gemm);
};
AORTA_ISA_TABLE(GemmLoops, gemm_loops)

}  // namespace aorta::cpu
