#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexed_plan.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/sort.h>

namespace aorta::autograd {

SparseGradient SparseGradient::coalesce() const {
  if (coalesced) return *this;
  const NoGradGuard no_grad;
  const Unique rows = unique(indices, {.return_inverse = true});
  Shape sums_shape = shape;
  sums_shape[0] = rows.values.numel();
  const Tensor sums = zeros(sums_shape, {.dtype = values.dtype(), .device = values.device()});
  index_add_(sums, 0, rows.inverse, values);
  return {rows.values, sums, shape, true};
}

Tensor SparseGradient::to_dense() const {
  const NoGradGuard no_grad;
  const Tensor dense = zeros(shape, {.dtype = values.dtype(), .device = values.device()});
  return index_add_(dense, 0, indices, values);
}

std::optional<SparseGradient> sparse_grad(const Tensor& tensor) {
  check_defined("sparse_grad", {{"input", tensor}});
  const GradCell* cell = gradient_cell(tensor, false);
  return cell ? cell->sparse() : std::nullopt;
}

void set_sparse_grad(const Tensor& tensor, const SparseGradient& gradient) {
  const char* const op = "set_sparse_grad";
  const CalledOp called(op);
  const auto& [indices, values, shape, coalesced] = gradient;
  check_defined(op, {{"input", tensor}, {"indices", indices}, {"values", values}});
  check(tensor.dim() > 0 && shape == tensor.shape(), op,
        "the gradient must have the tensor's shape", shape, " for ", tensor.shape());
  check(indices.dtype() == DType::i64 && indices.dim() == 1, op, "indices must be (n) of i64",
        indices.dtype(), " ", indices.shape());
  Shape rows = shape;
  rows[0] = indices.numel();
  check(values.shape() == rows, op, "values must have a row an index", values.shape(), " for ",
        rows);
  check(values.dtype() == tensor.dtype(), op, "the gradient must have the tensor's dtype",
        values.dtype(), " for ", tensor.dtype());
  check(indices.device() == tensor.device() && values.device() == tensor.device(), op,
        "the gradient must be on the tensor's device", values.device(), " for ", tensor.device());
  check(tensor.is_leaf(), op, "only a leaf has a sparse gradient", shape);
  const Tensor places = indices.detach().contiguous();
  const kernel::CheckedIndex checked = kernel::check_values(places, shape[0], false);
  if (checked.bad >= 0) {
    fail(op, "indices must be rows of the tensor", places.select(0, checked.bad).item<int64_t>(),
         " for ", shape);
  }
  gradient_cell(tensor, true)->set({checked.inside, values.detach(), shape, coalesced});
}

void zero_grad(const Tensor& tensor, bool set_to_none) {
  check_defined("zero_grad", {{"input", tensor}});
  if (set_to_none) return tensor.set_grad({});
  const NoGradGuard no_grad;
  if (const auto sparse = sparse_grad(tensor)) {
    return set_sparse_grad(tensor, {sparse->indices.narrow(0, 0, 0).clone(),
                                    sparse->values.narrow(0, 0, 0).clone(), sparse->shape, true});
  }
  const Tensor gradient = tensor.grad();
  if (!gradient.defined()) return;
  if (gradient.requires_grad()) {  // of create_graph: the graph keeps the old one
    tensor.set_grad(gradient.detach().clone().zero_());
  } else {
    gradient.zero_();
  }
}

}  // namespace aorta::autograd
