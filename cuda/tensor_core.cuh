#pragma once

// Tensor cores, the only place that names them: as CUDA C++ offers them to a warp (nvcuda::wmma),
// which leaves open which lane has what, and by the instructions that say it.

#include <aorta/core/half.h>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <type_traits>

namespace aorta::cuda {

/// CUDA's own type for an element of T.
template <class T>
struct NativeOf {
  using Type = T;
};
template <>
struct NativeOf<Half> {
  using Type = __half;
};
template <>
struct NativeOf<BFloat16> {
  using Type = __nv_bfloat16;
};

template <class T>
using Native = typename NativeOf<T>::Type;

/// A warp's (16 rows) x (16 columns) sums in f32 of products of halves (M is CUDA's own type). All
/// lanes make every call together. What it reads and writes is shared memory at multiples of 32
/// bytes, its rows at multiples of 16.
template <class M, bool a_by_row, int rows, int columns, bool b_by_row = true>
class WarpSums {
 public:
  static constexpr int kSide = 16;

  __device__ __forceinline__ WarpSums() {
#pragma unroll
    for (int r = 0; r < rows; ++r) {
#pragma unroll
      for (int c = 0; c < columns; ++c) nvcuda::wmma::fill_fragment(sums_[r][c], 0.0f);
    }
  }

  /// Adds 16 terms: a is (16 rows, 16), its rows `a_step` apart or, not by row, its columns; b is
  /// (16, 16 columns) with rows `b_step` apart or, not by row, its columns.
  __device__ __forceinline__ void add(const M* a, int a_step, const M* b, int b_step) {
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, kSide, kSide, kSide, M, AOrder> left[rows];
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, kSide, kSide, kSide, M, BOrder> right;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      nvcuda::wmma::load_matrix_sync(left[r], a + r * kSide * (a_by_row ? a_step : 1),
                                     static_cast<unsigned>(a_step));
    }
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      nvcuda::wmma::load_matrix_sync(right, b + c * kSide * (b_by_row ? 1 : b_step),
                                     static_cast<unsigned>(b_step));
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        nvcuda::wmma::mma_sync(sums_[r][c], left[r], right, sums_[r][c]);
      }
    }
  }

  /// Writes the 16 x 16 sums at (r, c), rows `step` apart.
  __device__ __forceinline__ void store(int r, int c, float* to, int step) const {
    nvcuda::wmma::store_matrix_sync(to, sums_[r][c], static_cast<unsigned>(step),
                                    nvcuda::wmma::mem_row_major);
  }

 private:
  using AOrder = std::conditional_t<a_by_row, nvcuda::wmma::row_major, nvcuda::wmma::col_major>;
  using BOrder = std::conditional_t<b_by_row, nvcuda::wmma::row_major, nvcuda::wmma::col_major>;
  nvcuda::wmma::fragment<nvcuda::wmma::accumulator, kSide, kSide, kSide, float> sums_[rows]
                                                                                     [columns];
};

#ifndef AORTA_PTX
/// AORTA_PTX(call, text : results : operands); is an instruction that CUDA C++ has no name for;
/// where the device is no GPU, a call of what computes the same.
#define AORTA_PTX(call, ...) asm volatile(__VA_ARGS__)
#endif

/// Loads four blocks of 8 x 8 halves. Lane l says where row l % 8 of block l / 8 lies, 16 bytes of
/// shared memory at a multiple of 16, and gets elements 2 (l % 4) and the next one of row l / 4 of
/// each block or, transposed, of its column. PTX ISA, "ldmatrix".
template <bool transposed, class M>
__device__ __forceinline__ void load_blocks(uint32_t (&to)[4], const M* row) {
  if constexpr (transposed) {
    AORTA_PTX(load_blocks<true>(to, row),
              "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
              : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
              : "memory");
  } else {
    AORTA_PTX(load_blocks<false>(to, row),
              "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
              : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
              : "r"(static_cast<uint32_t>(__cvta_generic_to_shared(row)))
              : "memory");
  }
}

/// Adds 16 terms to a warp's 16 x 8 sums: lane l has x and y in row l / 4, columns 2 (l % 4) and
/// the next one, and z and w eight rows below. Blocks of a (16 rows, 16) lie in the order of
/// columns, those of b (16, 8 columns) as load_blocks loads columns for rows. PTX ISA,
/// "mma.m16n8k16".
template <class M>
__device__ __forceinline__ void multiply_blocks(float& x, float& y, float& z, float& w,
                                                const uint32_t (&a)[4], uint32_t b_low,
                                                uint32_t b_high) {
  if constexpr (std::is_same_v<M, __half>) {
    AORTA_PTX(multiply_blocks<M>(x, y, z, w, a, b_low, b_high),
              "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, "
              "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
              : "+f"(x), "+f"(y), "+f"(z), "+f"(w)
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
  } else {
    AORTA_PTX(multiply_blocks<M>(x, y, z, w, a, b_low, b_high),
              "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, "
              "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
              : "+f"(x), "+f"(y), "+f"(z), "+f"(w)
              : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b_low), "r"(b_high));
  }
}

}  // namespace aorta::cuda
