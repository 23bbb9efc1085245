#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/sparse.h>
#include <aorta/core/ops/view.h>

#include <optional>
#include <string>

namespace aorta {
namespace {

void check_whole(const char* op, const SparseTensor& matrix) {
  check_defined(op, {{"indices", matrix.indices}, {"values", matrix.values}});
}

// Sums of the terms (n, *) of each place; half types are added up in f32.
Tensor add_up(const Tensor& terms, const Tensor& places, int64_t count) {
  const DType dtype = terms.dtype(), wide = is_half(dtype) ? DType::f32 : dtype;
  Shape shape = terms.shape();
  shape[0] = count;
  const Tensor sums = zeros(shape, {.dtype = wide, .device = terms.device()});
  return index_add(sums, 0, places, terms.to(wide)).to(dtype);
}

int64_t wrapped(const char* op, int64_t dim) {
  check(dim >= -2 && dim < 2, op, "dim must be -2 to 1", dim);
  return dim < 0 ? dim + 2 : dim;
}

}  // namespace

SparseTensor sparse_coo_tensor(const Tensor& indices, const Tensor& values,
                               const std::optional<Shape>& shape) {
  const CalledOp called("sparse_coo_tensor");
  const char* const op = "sparse_coo_tensor";
  check_defined(op, {{"indices", indices}, {"values", values}});
  check(is_integral(indices.dtype()) && indices.dim() == 2 && indices.size(0) == 2, op,
        "indices must be whole numbers (2, n)", indices.dtype(), " ", indices.shape());
  check(values.shape() == Shape{indices.size(1)}, op, "values must be (n)", values.shape(),
        " for indices ", indices.shape());
  check(indices.device() == values.device(), op, "the operands must be on one device",
        indices.device(), " and ", values.device());
  check(!shape || (shape->size() == 2 && (*shape)[0] >= 0 && (*shape)[1] >= 0), op,
        "shape must be (M, N)", shape.value_or(Shape()));
  SparseTensor matrix{.indices = indices.detach().to(DType::i64).contiguous(), .values = values};
  int64_t sizes[2] = {0, 0};
  for (int d = 0; d < 2 && indices.size(1) > 0; ++d) {
    const MinMax ends = aminmax(matrix.indices.select(0, d));
    const int64_t first = ends.min.item<int64_t>(), last = ends.max.item<int64_t>();
    check(first >= 0, op, "indices can't be negative", first);
    check(!shape || last < (*shape)[d], op, "indices must lie within the shape", last,
          " in dimension ", d, " of ", shape.value_or(Shape()));
    sizes[d] = last + 1;
  }
  matrix.rows = shape ? (*shape)[0] : sizes[0];
  matrix.columns = shape ? (*shape)[1] : sizes[1];
  int64_t elements = 0;
  check(!__builtin_mul_overflow(matrix.rows, matrix.columns, &elements), op,
        "the matrix must have fewer than 2^63 elements", matrix.shape());
  return matrix;
}

SparseTensor to_sparse(const Tensor& input) {
  const CalledOp called("to_sparse");
  check_defined("to_sparse", {{"input", input}});
  check(input.dim() == 2, "to_sparse", "input must be a matrix", input.shape());
  const Tensor places = nonzero(input.detach());  // (n, 2), row by row
  const Tensor flat = places.select(1, 0) * input.size(1) + places.select(1, 1);
  return {.indices = places.t().contiguous(),
          .values = index_select(input.reshape({-1}), 0, flat),
          .rows = input.size(0),
          .columns = input.size(1),
          .is_coalesced = true};
}

SparseTensor SparseTensor::coalesce() const {
  const CalledOp called("coalesce");
  check_whole("coalesce", *this);
  if (is_coalesced) return *this;
  SparseTensor result = *this;
  result.is_coalesced = true;
  if (nnz() == 0) return result;
  const Unique places =
      unique(indices.select(0, 0) * columns + indices.select(0, 1), {.return_inverse = true});
  result.indices = stack({floor_divide(places.values, columns), remainder(places.values, columns)});
  result.values = add_up(values, places.inverse, places.values.numel());
  return result;
}

SparseTensor SparseTensor::t() const {
  check_whole("t", *this);
  return {.indices = flip(indices, {0}), .values = values, .rows = columns, .columns = rows};
}

Tensor SparseTensor::to_dense() const {
  const CalledOp called("to_dense");
  check_whole("to_dense", *this);
  const Tensor places = indices.select(0, 0) * columns + indices.select(0, 1);
  return add_up(values, places, rows * columns).reshape({rows, columns});
}

SparseTensor SparseTensor::to(const ToOptions& options) const {
  check_whole("to", *this);
  SparseTensor result = *this;
  result.values = values.to(options);
  result.indices = indices.to(result.values.device());
  return result;
}

std::string to_string(const SparseTensor& matrix) {
  check_whole("to_string", matrix);
  return "SparseTensor(" + std::to_string(matrix.nnz()) + " of " + to_string(matrix.shape()) +
         ", " + to_string(matrix.dtype()) + ")";
}

Tensor sparse::mm(const SparseTensor& matrix, const Tensor& dense) {
  const CalledOp called("sparse.mm");
  const char* const op = "sparse.mm";
  check_whole(op, matrix);
  check_defined(op, {{"dense", dense}});
  check(dense.dim() == 1 || dense.dim() == 2, op, "dense must be (N, K) or (N)", dense.shape());
  check(dense.size(0) == matrix.columns, op, "the inner sizes must match", matrix.shape(), " and ",
        dense.shape());
  check(dense.dtype() == matrix.dtype(), op, "the operands must have one dtype", matrix.dtype(),
        " and ", dense.dtype());
  check(dense.device() == matrix.device(), op, "the operands must be on one device",
        matrix.device(), " and ", dense.device());
  const Tensor read = index_select(dense, 0, matrix.indices.select(0, 1));
  const Tensor factors = dense.dim() == 2 ? matrix.values.unsqueeze(1) : matrix.values;
  const bool half = is_half(matrix.dtype());
  const Tensor terms = half ? factors.to(DType::f32) * read.to(DType::f32) : factors * read;
  return add_up(terms, matrix.indices.select(0, 0), matrix.rows).to(matrix.dtype());
}

Tensor sparse::mm(const Tensor& dense, const SparseTensor& matrix) {
  const CalledOp called("sparse.mm");
  const char* const op = "sparse.mm";
  check_whole(op, matrix);
  check_defined(op, {{"dense", dense}});
  check(dense.dim() == 1 || dense.dim() == 2, op, "dense must be (K, M) or (M)", dense.shape());
  check(dense.size(-1) == matrix.rows, op, "the inner sizes must match", dense.shape(), " and ",
        matrix.shape());
  return dense.dim() == 1 ? mm(matrix.t(), dense) : mm(matrix.t(), dense.t()).t();
}

Tensor sparse::sum(const SparseTensor& matrix, std::optional<int64_t> dim) {
  const CalledOp called("sparse.sum");
  check_whole("sparse.sum", matrix);
  if (!dim) return aorta::sum(matrix.values);
  const int64_t d = wrapped("sparse.sum", *dim);
  return add_up(matrix.values, matrix.indices.select(0, 1 - d),
                d == 1 ? matrix.rows : matrix.columns);
}

SparseTensor sparse::softmax(const SparseTensor& matrix, int64_t dim) {
  const CalledOp called("sparse.softmax");
  check_whole("sparse.softmax", matrix);
  check(is_floating(matrix.dtype()), "sparse.softmax", "dtype must be floating", matrix.dtype());
  const int64_t d = wrapped("sparse.softmax", dim);
  SparseTensor result = matrix.coalesce();
  const Tensor lines = result.indices.select(0, 1 - d);
  const int64_t count = d == 1 ? matrix.rows : matrix.columns;
  const DType dtype = matrix.dtype();
  const Tensor x = is_half(dtype) ? result.values.to(DType::f32) : result.values;
  // The largest of a line takes no part in the gradient: it cancels.
  const Tensor largest =
      scatter_reduce(full({count}, -INFINITY, {.dtype = x.dtype(), .device = x.device()}), 0, lines,
                     x.detach(), ScatterReduce::amax);
  const Tensor weights = exp(x - index_select(largest, 0, lines));
  const Tensor sums = add_up(weights, lines, count);
  result.values = (weights / index_select(sums, 0, lines)).to(dtype);
  return result;
}

}  // namespace aorta
