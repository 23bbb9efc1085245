#pragma once

#include <aorta/core/tensor.h>

#include <optional>

namespace aorta::autograd {

/// A gradient that is 0 but in some rows, of a leaf (V, ...): what `embedding(..., sparse)` gives
/// its weight. Row indices[k] has values[k], and a row that comes twice their sum.
struct SparseGradient {
  Tensor indices;          // (n) i64, on the leaf's device
  Tensor values;           // (n, ...)
  Shape shape;             // of the leaf
  bool coalesced = false;  // the indices rise, so that no row comes twice

  /// Each row once, in order. Values are added up in their order, those of half types in f32.
  SparseGradient coalesce() const;
  Tensor to_dense() const;
};

/// What backward() has accumulated for a leaf, if it is sparse; Tensor::grad() is an error then. A
/// sparse gradient and another are their rows one after another; a sparse and a dense one are
/// dense.
std::optional<SparseGradient> sparse_grad(const Tensor& tensor);
/// Replaces the leaf's gradient, dense or sparse; set_grad({}) clears both.
void set_sparse_grad(const Tensor& tensor, const SparseGradient& gradient);

/// Takes the gradient of a leaf away, or fills it with zeros: a sparse one has no rows then.
void zero_grad(const Tensor& tensor, bool set_to_none = true);

}  // namespace aorta::autograd
