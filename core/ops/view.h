#pragma once

#include <aorta/core/dispatch/op_table.h>

namespace aorta {

/// Any view, by shape, strides and offset in elements from the storage's start; must lie inside it.
/// Where the input requires a gradient it must lie inside the input.
Tensor as_strided(const Tensor& input, const Shape& shape, const Strides& strides, int64_t offset);

/// The elements on a diagonal of dimensions dim1 and dim2, as a view whose last dimension runs
/// along it.
Tensor diagonal(const Tensor& input, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1);

/// The matrix (n + |diagonal|, n + |diagonal|) with a vector (n) on its `diagonal`-th diagonal, 0
/// elsewhere; for a matrix a copy of that diagonal. Composed of diagonal and copy_.
Tensor diag(const Tensor& input, int64_t diagonal = 0);
/// A matrix of each vector (*, n), with it on the `offset`-th diagonal and 0 elsewhere, whose rows
/// and columns are dimensions dim1 and dim2 of the result. Composed of diagonal and copy_.
Tensor diag_embed(const Tensor& input, int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1);
/// diag of the flattened input.
Tensor diagflat(const Tensor& input, int64_t offset = 0);
/// Writes `value` on the main diagonal, where all indices are equal: of a matrix, or of more
/// dimensions of one size. With `wrap` a tall matrix (rows, columns) has another one from each
/// (columns + 1)-th row on. Composed of diagonal and fill_, or of masked_fill_.
Tensor fill_diagonal_(const Tensor& input, const Scalar& value, bool wrap = false);
/// All windows of `size` elements along `dimension`, `step` apart, in a last dimension: a view, but
/// of an expanded input. Errors: a size above the dimension's; step < 1.
Tensor unfold(const Tensor& input, int64_t dimension, int64_t size, int64_t step);

/// The members of Tensor with these names as functions, as PyTorch has them.
Tensor reshape(const Tensor& input, const Shape& shape);
Tensor flatten(const Tensor& input, int64_t start_dim = 0, int64_t end_dim = -1);
Tensor unflatten(const Tensor& input, int64_t dim, const Shape& sizes);
Tensor permute(const Tensor& input, const Dims& dims);
Tensor transpose(const Tensor& input, int64_t dim0, int64_t dim1);
Tensor squeeze(const Tensor& input);
Tensor squeeze(const Tensor& input, int64_t dim);
Tensor squeeze(const Tensor& input, const Dims& dims);
Tensor unsqueeze(const Tensor& input, int64_t dim);
Tensor expand(const Tensor& input, const Shape& shape);
Tensor select(const Tensor& input, int64_t dim, int64_t index);
Tensor narrow(const Tensor& input, int64_t dim, int64_t start, int64_t length);
/// Views with at least 1, 2 or 3 dimensions: a number becomes (1), (1, 1), (1, 1, 1), a vector (n)
/// (1, n), (1, n, 1), a matrix (r, c) (r, c, 1).
Tensor atleast_1d(const Tensor& input);
Tensor atleast_2d(const Tensor& input);
Tensor atleast_3d(const Tensor& input);
/// A copy of what narrow is a view of.
Tensor narrow_copy(const Tensor& input, int64_t dim, int64_t start, int64_t length);
/// Moves dimension `source` to position `destination`, or each of several; the others keep their
/// order.
Tensor movedim(const Tensor& input, int64_t source, int64_t destination);
Tensor movedim(const Tensor& input, const Dims& source, const Dims& destination);

}  // namespace aorta

namespace aorta::kernel {

// The rows of the view ops: the members of Tensor record through them. They run no kernel.

using ViewGradient = void (*)(Tensor& output, const Tensor& input);
/// view, reshape without a copy, flatten, squeeze, unsqueeze.
extern Op<NoKernel, ViewGradient> view_op;
extern Op<NoKernel, ViewGradient> expand_op, as_strided_op;
extern Op<NoKernel,
          void (*)(Tensor& view, const Tensor& input, int dim, int64_t size, int64_t step)>
    unfold_op;
/// output dimension i is input dimension dims[i].
extern Op<NoKernel, void (*)(Tensor& output, const Tensor& input, const Dims& dims)> permute_op;
/// start, start + step, ... along dim, as many as the output has.
extern Op<NoKernel,
          void (*)(Tensor& output, const Tensor& input, int dim, int64_t start, int64_t step)>
    slice_op;
extern Op<NoKernel, void (*)(Tensor& output, const Tensor& input, int dim, int64_t index)>
    select_op;
extern Op<NoKernel,
          void (*)(Tensor& output, const Tensor& input, int64_t offset, int dim1, int dim2)>
    diagonal_op;

/// `view`, a tensor on the input's memory, as a view of it.
Tensor as_view_of(const Tensor& input, Tensor view);

/// Puts the rows of the view ops into the table, which no kernel does.
void link_view_ops();

}  // namespace aorta::kernel
