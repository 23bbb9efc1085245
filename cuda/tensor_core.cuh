#pragma once

// Tensor cores, as CUDA C++ offers them to a warp (nvcuda::wmma): the only place that names them.

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

}  // namespace aorta::cuda
