#pragma once

#include <aorta/core/tensor.h>

#include <optional>
#include <string>

namespace aorta {

/// A matrix (M, N) that is 0 but in n places, by their coordinates: element (indices[0][k],
/// indices[1][k]) is values[k], and one that comes twice their sum. What an adjacency matrix of a
/// graph is. It is no Tensor: `sparse::mm` multiplies, `to_dense()` leads back, and all else is
/// done with its values.
struct SparseTensor {
  Tensor indices;  // (2, n) i64
  Tensor values;   // (n), of a floating dtype or an integer; has gradients
  int64_t rows = 0, columns = 0;
  bool is_coalesced = false;  // the places rise, row by row, and none comes twice

  Shape shape() const { return {rows, columns}; }
  int64_t nnz() const { return values.numel(); }
  DType dtype() const { return values.dtype(); }
  Device device() const { return values.device(); }
  /// Each place once, row by row.
  SparseTensor coalesce() const;
  /// (N, M).
  SparseTensor t() const;
  Tensor to_dense() const;
  SparseTensor to(const ToOptions& options) const;
};

/// The tensor of places (2, n) and values (n); without a shape the smallest that has them. Errors:
/// places that are negative or outside, other shapes, indices that aren't whole numbers, several
/// devices.
SparseTensor sparse_coo_tensor(const Tensor& indices, const Tensor& values,
                               const std::optional<Shape>& shape = {});
/// The elements of a matrix (M, N) that aren't 0, with the gradient of the matrix.
SparseTensor to_sparse(const Tensor& input);

/// "SparseTensor(3 of [4, 5], f32)".
std::string to_string(const SparseTensor& matrix);

}  // namespace aorta

namespace aorta::sparse {

/// The product of a sparse matrix (M, N) and a dense one (N, K): (M, K), or of a vector (N): (M).
/// Composed of index_select, mul and index_add, between which there are n K elements; gradients of
/// the values and of the dense matrix.
Tensor mm(const SparseTensor& matrix, const Tensor& dense);
/// The other way round: a dense matrix (K, M) and a sparse one (M, N): (K, N), or a vector (M):
/// (N).
Tensor mm(const Tensor& dense, const SparseTensor& matrix);
/// The sum of each row (dim 1) or column (dim 0), or of all elements.
Tensor sum(const SparseTensor& matrix, std::optional<int64_t> dim = {});
/// Softmax over the elements of each row (dim 1) or column (dim 0) that are there: a graph's
/// attention over the neighbours of a node. The result is coalesced.
SparseTensor softmax(const SparseTensor& matrix, int64_t dim);

}  // namespace aorta::sparse
