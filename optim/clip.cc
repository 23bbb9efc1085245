#include <aorta/optim/clip.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/multi_tensor.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim {
namespace {

std::vector<Tensor> gradients_of(const char* op, const std::vector<Tensor>& parameters) {
  check_defined(op, "parameters", parameters);
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters) {
    if (const auto sparse = autograd::sparse_grad(parameter)) {
      const autograd::SparseGradient rows = sparse->coalesce();
      autograd::set_sparse_grad(parameter, rows);
      gradients.push_back(rows.values);
      continue;
    }
    const Tensor gradient = parameter.grad();
    if (gradient.defined()) gradients.push_back(gradient);
  }
  return gradients;
}

}  // namespace

Tensor get_total_norm(const List<Tensor>& tensors, double norm_type, bool error_if_nonfinite) {
  const CalledOp called("get_total_norm");
  const NoGradGuard no_grad;
  check_defined("get_total_norm", "tensors", tensors);
  if (tensors.empty()) return zeros({});
  DType dtype = DType::f32;
  for (const Tensor& tensor : tensors) {
    check(is_floating(tensor.dtype()), "get_total_norm", "dtype must be floating", tensor.dtype());
    if (tensor.dtype() == DType::f64) dtype = DType::f64;
  }
  std::vector<Tensor> norms;
  for (const Tensor& tensor : tensors)
    norms.push_back(norm(tensor.detach(), norm_type, {}, false, dtype).to(tensors[0].device()));
  const Tensor total = norms.size() == 1 ? norms[0] : norm(stack(norms), norm_type);
  if (error_if_nonfinite && !total.is_meta()) {
    const double value = total.item<double>();
    check(std::isfinite(value), "get_total_norm", "the norm must be finite", value);
  }
  return total;
}

void clip_grads_with_norm_(const List<Tensor>& parameters, double max_norm,
                           const Tensor& total_norm) {
  const char* const op = "clip_grads_with_norm_";
  const CalledOp called(op);
  const NoGradGuard no_grad;
  check_defined(op, {{"total_norm", total_norm}});
  check(max_norm >= 0, op, "max_norm must be at least 0", max_norm);
  const std::vector<Tensor> gradients = gradients_of(op, parameters);
  std::vector<Tensor> here;
  Tensor factor;
  for (const Tensor& gradient : gradients) {
    if (gradient.is_cpu()) {
      here.push_back(gradient);
      continue;
    }
    if (!factor.defined()) factor = minimum(max_norm / (total_norm + 1e-6), 1.0);
    mul_(gradient.detach(), factor.to(gradient.device()));
  }
  if (here.empty()) return;
  UpdateNumbers<double> numbers;
  numbers.shrink = max_norm / (total_norm.item<double>() + 1e-6);
  if (numbers.shrink >= 1) return;
  update_all(UpdateRule::scale, numbers, here);
}

Tensor clip_grad_norm_(const List<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const CalledOp called("clip_grad_norm_");
  const Tensor total =
      get_total_norm(gradients_of("clip_grad_norm_", parameters), norm_type, error_if_nonfinite);
  clip_grads_with_norm_(parameters, max_norm, total);
  return total;
}

void clip_grad_value_(const List<Tensor>& parameters, double clip_value) {
  const CalledOp called("clip_grad_value_");
  const NoGradGuard no_grad;
  check(clip_value >= 0, "clip_grad_value_", "clip_value must be at least 0", clip_value);
  UpdateNumbers<double> numbers;
  numbers.step_size = clip_value;
  const std::vector<Tensor> gradients = gradients_of("clip_grad_value_", parameters);
  update_all(UpdateRule::clamp, numbers, gradients);
}

}  // namespace aorta::optim
