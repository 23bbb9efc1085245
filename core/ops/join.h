#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

namespace aorta {

/// Joins tensors along `dim`: sizes along it add up, the others must be equal. The dtype is what
/// the inputs promote to. 1-d tensors of size 0 are left out, whatever the others' shape, as in
/// PyTorch. The result is channels_last when every input is (and one at least isn't also
/// row-major), else row-major. Errors: no tensors; other sizes, devices or numbers of dimensions.
Tensor cat(const List<Tensor>& tensors, int64_t dim = 0);

/// Joins n tensors of one shape along a new dimension of size n. Composed of unsqueeze and cat.
Tensor stack(const List<Tensor>& tensors, int64_t dim = 0);

// Joins under numpy's names; composed of views and cat, with its dtypes and errors.

/// Joined side by side: along the second dimension, 1-d tensors along their only one; a 0-d tensor
/// counts as (1).
Tensor hstack(const List<Tensor>& tensors);
/// Joined below each other, along the first dimension, of tensors with at least 2 (atleast_2d).
Tensor vstack(const List<Tensor>& tensors);
/// Joined behind each other, along the third dimension, of tensors with at least 3 (atleast_3d).
Tensor dstack(const List<Tensor>& tensors);
/// hstack with vectors and numbers as columns (n, 1).
Tensor column_stack(const List<Tensor>& tensors);

/// Matrices along the diagonal of one, 0 elsewhere; a vector is a row, and a number (1, 1).
/// Composed of pad and cat. Errors: no tensors; more than 2 dimensions.
Tensor block_diag(const List<Tensor>& tensors);

// Views of parts; composed of narrow and select.

/// Parts of `split_size` along `dim`; the last is smaller where it doesn't divide. A dimension of
/// size 0 gives one part.
std::vector<Tensor> split(const Tensor& input, int64_t split_size, int64_t dim = 0);
/// Parts of the given sizes, which must add up to the dimension's.
std::vector<Tensor> split(const Tensor& input, const List<int64_t>& sizes, int64_t dim = 0);
inline std::vector<Tensor> split(const Tensor& input, std::initializer_list<int64_t> sizes,
                                 int64_t dim = 0) {
  return split(input, std::vector<int64_t>(sizes), dim);  // so that {5} isn't the number 5
}
/// At most `chunks` parts of equal size, ceil(size / chunks); the last may be smaller.
std::vector<Tensor> chunk(const Tensor& input, int64_t chunks, int64_t dim = 0);
/// Exactly `sections` parts, the first size % sections of them one larger.
std::vector<Tensor> tensor_split(const Tensor& input, int64_t sections, int64_t dim = 0);
/// Cut before each of `indices`, which are clamped as slices are: [0, i), [i, j), ...
std::vector<Tensor> tensor_split(const Tensor& input, const List<int64_t>& indices,
                                 int64_t dim = 0);
inline std::vector<Tensor> tensor_split(const Tensor& input, std::initializer_list<int64_t> indices,
                                        int64_t dim = 0) {
  return tensor_split(input, std::vector<int64_t>(indices), dim);
}
/// tensor_split of the columns, along the second dimension or a vector's only one. Errors:
/// `sections` that don't divide the size.
std::vector<Tensor> hsplit(const Tensor& input, int64_t sections);
std::vector<Tensor> hsplit(const Tensor& input, const List<int64_t>& indices);
inline std::vector<Tensor> hsplit(const Tensor& input, std::initializer_list<int64_t> indices) {
  return hsplit(input, std::vector<int64_t>(indices));
}
/// Does the same with the rows, along the first dimension of 2 or more.
std::vector<Tensor> vsplit(const Tensor& input, int64_t sections);
std::vector<Tensor> vsplit(const Tensor& input, const List<int64_t>& indices);
inline std::vector<Tensor> vsplit(const Tensor& input, std::initializer_list<int64_t> indices) {
  return vsplit(input, std::vector<int64_t>(indices));
}
/// Does the same along the third dimension.
std::vector<Tensor> dsplit(const Tensor& input, int64_t sections);
std::vector<Tensor> dsplit(const Tensor& input, const List<int64_t>& indices);
inline std::vector<Tensor> dsplit(const Tensor& input, std::initializer_list<int64_t> indices) {
  return dsplit(input, std::vector<int64_t>(indices));
}
/// `select(dim, i)` for every i.
std::vector<Tensor> unbind(const Tensor& input, int64_t dim = 0);

namespace detail {

template <size_t parts>
std::array<Tensor, parts> exactly(const char* op, std::vector<Tensor> found) {
  check(found.size() == parts, op, "there must be as many parts as are taken apart", found.size(),
        " for ", parts);
  std::array<Tensor, parts> result;
  for (size_t i = 0; i < parts; ++i) result[i] = std::move(found[i]);
  return result;
}

}  // namespace detail

// So many parts and no others, for `auto [input, gate] = x.chunk<2>(1)`. Errors: another number.

/// chunk into `parts` parts.
template <size_t parts>
std::array<Tensor, parts> chunk(const Tensor& input, int64_t dim = 0) {
  return detail::exactly<parts>("chunk", chunk(input, static_cast<int64_t>(parts), dim));
}
/// split into `parts` parts.
template <size_t parts>
std::array<Tensor, parts> split(const Tensor& input, int64_t split_size, int64_t dim = 0) {
  return detail::exactly<parts>("split", split(input, split_size, dim));
}
template <size_t parts>
std::array<Tensor, parts> split(const Tensor& input, const List<int64_t>& sizes, int64_t dim = 0) {
  return detail::exactly<parts>("split", split(input, sizes, dim));
}
template <size_t parts>
std::array<Tensor, parts> split(const Tensor& input, std::initializer_list<int64_t> sizes,
                                int64_t dim = 0) {
  return detail::exactly<parts>("split", split(input, sizes, dim));
}
/// unbind of a dimension of size `parts`.
template <size_t parts>
std::array<Tensor, parts> unbind(const Tensor& input, int64_t dim = 0) {
  return detail::exactly<parts>("unbind", unbind(input, dim));
}

template <size_t parts>
std::array<Tensor, parts> TensorMethods::chunk(int64_t dim) const {
  return aorta::chunk<parts>(self(), dim);
}
template <size_t parts>
std::array<Tensor, parts> TensorMethods::split(int64_t split_size, int64_t dim) const {
  return aorta::split<parts>(self(), split_size, dim);
}
template <size_t parts>
std::array<Tensor, parts> TensorMethods::split(const List<int64_t>& sizes, int64_t dim) const {
  return aorta::split<parts>(self(), sizes, dim);
}
template <size_t parts>
std::array<Tensor, parts> TensorMethods::split(std::initializer_list<int64_t> sizes,
                                               int64_t dim) const {
  return aorta::split<parts>(self(), sizes, dim);
}
template <size_t parts>
std::array<Tensor, parts> TensorMethods::unbind(int64_t dim) const {
  return aorta::unbind<parts>(self(), dim);
}

}  // namespace aorta

namespace aorta::kernel {

/// The row of cat, which runs the copy kernel on parts of its output. `tensors` are those that were
/// joined (legacy empty ones left out).
extern Op<NoKernel, void (*)(Tensor& output, std::span<const Tensor> tensors, int dim)> cat_op;

}  // namespace aorta::kernel
