#pragma once

#include <aorta/core/ops/linalg.h>
#include <aorta/core/reduce_dims.h>

#include <optional>
#include <vector>

// Norms, and products with the names of torch.linalg. Composed of other ops.
namespace aorta::linalg {

/// The norm (sum of |x|^ord)^(1/ord) of x as a vector over `dims`; see norm (core/ops/reduction.h).
Tensor vector_norm(const Tensor& x, double ord = 2, const ReduceDims& dims = {},
                   bool keepdim = false);

/// The order of a matrix norm: "fro" the root of the sum of squares, "nuc" the sum of the singular
/// values, 2 and -2 the largest and the smallest one, 1 and -1 the largest and the smallest sum of
/// |a| of a column, inf and -inf of a row.
class MatrixOrder {
 public:
  MatrixOrder(const char* name) : name_(name) {}  // NOLINT: implicit, as the next
  MatrixOrder(double order) : order_(order) {}    // NOLINT
  const char* name() const { return name_; }      // null of a number
  double order() const { return order_; }

 private:
  const char* name_ = nullptr;
  double order_ = 0;
};
/// The norm of the matrices over `dims`, two of A's.
Tensor matrix_norm(const Tensor& A, const MatrixOrder& ord = "fro", const Dims& dims = {-2, -1},
                   bool keepdim = false);

/// The norm of vectors or of matrices, over one dimension or two; without `dims` A has as many. No
/// `ord`: the root of the sum of squares over any `dims`, or over all.
Tensor norm(const Tensor& A, const std::optional<MatrixOrder>& ord = {}, const Dims& dims = {},
            bool keepdim = false);

/// The condition number (*): |A| |A^-1| in the norm `p`; by default, and for 2 and -2, the ratio of
/// the singular values, of any A. Others need a square A, which must not be singular.
Tensor cond(const Tensor& A, const MatrixOrder& p = 2);

/// The product of the matrices in the order that takes the fewest multiplications; the first and
/// the last may be vectors.
Tensor multi_dot(const List<Tensor>& tensors);
/// Sums of conj(x) * y along `dim`, where the two broadcast.
Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim = -1);
/// The cross product along `dim`, of size 3. Others broadcast.
Tensor cross(const Tensor& input, const Tensor& other, int64_t dim = -1);
/// Powers x^0 .. x^(N-1) of x (*, n) -> (*, n, N); N is n where it isn't given.
Tensor vander(const Tensor& x, std::optional<int64_t> N = {});
/// The inverse of A as a map from its last dimensions, from `ind` on, to its first ones.
Tensor tensorinv(const Tensor& A, int64_t ind = 2);
/// X with tensordot(A, X, X's number of dimensions) = B, B's dimensions being A's first ones.
Tensor tensorsolve(const Tensor& A, const Tensor& B);

}  // namespace aorta::linalg
