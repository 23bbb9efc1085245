#pragma once

#include <aorta/core/dispatch/op_table.h>

namespace aorta {

// Products of matrices. Names, defaults and shape rules are PyTorch's. The operands of one product
// have the same dtype: f32, f64, f16, bf16, i64, i32 or u8. Half types are accumulated in f32 and
// rounded once, at the end; integers wrap around. NaN and infinities propagate (0 * inf is NaN),
// and a sum over nothing is 0. Results have the same bits for any number of threads. Transposed and
// strided operands are read where they are.

/// The matrix product by the operands' dimensions:
///   (k) (k) -> (), (m, k) (k) -> (m), (k) (k, n) -> (n), (m, k) (k, n) -> (m, n),
///   (*A, m, k) (*B, k, n) -> (*C, m, n), where *A and *B broadcast to *C; a vector among them
///   counts as (1, k) on the left, as (k, 1) on the right, and its 1 goes away.
/// Composed of matmul_op and views.
Tensor matmul(const Tensor& input, const Tensor& other);
/// (m, k) (k, n) -> (m, n).
Tensor mm(const Tensor& input, const Tensor& mat2);
/// (b, m, k) (b, k, n) -> (b, m, n).
Tensor bmm(const Tensor& input, const Tensor& mat2);
/// (m, k) (k) -> (m).
Tensor mv(const Tensor& input, const Tensor& vec);
/// (k) (k) -> (): the sum of the products.
Tensor dot(const Tensor& input, const Tensor& other);
/// (m) (n) -> (m, n): every product. Composed of mul; takes its dtypes.
Tensor outer(const Tensor& input, const Tensor& vec2);

/// The Kronecker product: a block a_ij b for each element of a, along every dimension; the operand
/// with fewer dimensions gets ones of size 1 in front. Composed of mul and views. Errors: more than
/// 6 dimensions.
Tensor kron(const Tensor& input, const Tensor& other);
/// The sum of the main diagonal of a matrix. Composed of diagonal and sum.
Tensor trace(const Tensor& input);

/// What `addmm` and `baddbmm` multiply by.
struct AddmmOptions {
  Scalar beta = 1;
  Scalar alpha = 1;
};
/// beta * input + alpha * (mat1 @ mat2) for mat1 (m, k), mat2 (k, n), input broadcast to (m, n).
/// With beta = 0 the input isn't read (its NaNs don't count), with alpha = 0 the matrices aren't.
/// Integer dtypes take integer numbers.
Tensor addmm(const Tensor& input, const Tensor& mat1, const Tensor& mat2,
             const AddmmOptions& options = {});
/// Does for each matrix of a batch what addmm does: batch1 (b, m, k), batch2 (b, k, n), input
/// broadcast to (b, m, n).
Tensor baddbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
               const AddmmOptions& options = {});

/// beta * input + alpha * (the sum over i of batch1[i] @ batch2[i]) for batch1 (b, m, k), batch2
/// (b, k, n), input broadcast to (m, n); otherwise as addmm, of which it is composed.
Tensor addbmm(const Tensor& input, const Tensor& batch1, const Tensor& batch2,
              const AddmmOptions& options = {});
/// beta * input + alpha * (mat @ vec) for mat (m, k), vec (k), input broadcast to (m); as addmm.
Tensor addmv(const Tensor& input, const Tensor& mat, const Tensor& vec,
             const AddmmOptions& options = {});
/// beta * input + alpha * (every product) for vec1 (m), vec2 (n), input broadcast to (m, n); as
/// addmm, but dtypes promote.
Tensor addr(const Tensor& input, const Tensor& vec1, const Tensor& vec2,
            const AddmmOptions& options = {});

/// input @ weight^T + bias for input (*, in), weight (out, in), bias (out) or none -> (*, out).
/// A weight (in) with a bias () or none gives (*).
Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias = {});

/// x1^T weight[o] x2 + bias[o] for each o: input1 (*, m), input2 (*, n), weight (out, m, n), bias
/// (out) or none -> (*, out). Composed of two products, between which there are * out n elements.
Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias = {});

/// Sums products over the last `dims` dimensions of `input` and the first `dims` of `other`.
Tensor tensordot(const Tensor& input, const Tensor& other, int64_t dims = 2);
/// Sums products over `input`'s dimensions `input_dims` paired with `other`'s `other_dims`; the
/// result has input's other dimensions, then other's. Composed of views and matmul_op.
Tensor tensordot(const Tensor& input, const Tensor& other, const Dims& input_dims,
                 const Dims& other_dims);
/// Sums products over the last dimensions: (*A, k) (*B, k) -> (*A, *B). Where one is a number, mul.
Tensor inner(const Tensor& input, const Tensor& other);

}  // namespace aorta

namespace aorta::kernel {

/// What a matmul kernel gets: for every index i of `batch_shape` (perhaps none)
///   c[i] = alpha * (a[i] @ b[i]) + beta * input[i],  a (m, k), b (k, n), input and c (m, n).
/// `c` is contiguous, overwritten, and overlaps nothing. Strides are in elements; 0 where a
/// dimension is expanded. No size is 0 but perhaps k; `input` is null where beta = 0, and k = 0
/// where alpha = 0.
struct MatmulArgs {
  DType dtype = DType::f32;
  Device device = {};
  Shape batch_shape;
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  const void* input = nullptr;
  void* c = nullptr;
  Strides a_batch, b_batch, input_batch;
  int64_t a_row = 0, a_column = 0;  // strides along m and k
  int64_t b_row = 0, b_column = 0;  // along k and n
  int64_t input_row = 0, input_column = 0;
  Scalar alpha = 1, beta = 1;
};
using MatmulKernel = void (*)(const MatmulArgs& args);

/// output (*B, m, n) = input (*B, m, k) @ other (*B, k, n); the batch dimensions *B are the same
/// (broadcast ones have been expanded by a recorded view), perhaps none.
using MatmulGradient = void (*)(Tensor& output, const Tensor& input, const Tensor& other);
extern Op<MatmulKernel, MatmulGradient> matmul_op;

/// output (*B, m, n) = beta * input (*B, m, n) + alpha * mat1 (*B, m, k) @ mat2 (*B, k, n); `input`
/// has been expanded by a recorded view.
using AddmmGradient = void (*)(Tensor& output, const Tensor& input, const Tensor& mat1,
                               const Tensor& mat2, const AddmmOptions& options);
extern Op<MatmulKernel, AddmmGradient> addmm_op;

/// output (*, out), input (*, in), weight (out, in), bias (out) or undefined.
using LinearGradient = void (*)(Tensor& output, const Tensor& input, const Tensor& weight,
                                const Tensor& bias);
extern Op<MatmulKernel, LinearGradient> linear_op;

}  // namespace aorta::kernel
