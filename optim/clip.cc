#include <aorta/optim/clip.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/shard.h>
#include <aorta/autograd/sparse_gradient.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/total_norm.h>
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

// The norms of tensors whose norm is that of all: each tensor's own, and those that lie on a GPU
// together, for each dtype and device.
std::vector<Tensor> norms_of(const List<Tensor>& tensors, double norm_type, DType dtype) {
  std::vector<Tensor> norms;
  std::vector<std::vector<Tensor>> together;
  for (const Tensor& tensor : tensors) {
    if (tensor.is_cpu() || tensor.is_meta() || tensor.numel() == 0) {
      norms.push_back(norm(tensor.detach(), norm_type, {}, false, dtype));
      continue;
    }
    auto group = std::find_if(together.begin(), together.end(), [&](const auto& g) {
      return g[0].dtype() == tensor.dtype() && g[0].device() == tensor.device();
    });
    if (group == together.end()) group = together.insert(group, std::vector<Tensor>());
    group->push_back(is_dense(tensor) ? tensor.detach() : tensor.detach().contiguous());
  }
  for (const auto& group : together)
    norms.push_back(kernel::total_norm(group, norm_type).to(dtype));
  return norms;
}

// The norm of all elements, by those of their parts.
Tensor joined(const std::vector<Tensor>& norms, double norm_type) {
  // How many elements aren't 0 is the sum of how many there are in each.
  return norm(stack(norms), norm_type == 0 ? 1 : norm_type);
}

void check_finite(const char* op, const Tensor& total) {
  if (total.is_meta()) return;
  const double value = total.item<double>();
  check(std::isfinite(value), op, "the norm must be finite", value);
}

// The norm in f64, which a rank without gradients has too.
Tensor norm_over_ranks(const Tensor& mine, double norm_type, Communicator& group, Device device) {
  const NoGradGuard no_grad;
  if (mine.is_meta()) return mine;
  const Tensor all = group.all_gather(mine.to(ToOptions{.dtype = DType::f64, .device = device}));
  return norm(all, norm_type == 0 ? 1 : norm_type);
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
  std::vector<Tensor> norms = norms_of(tensors, norm_type, dtype);
  for (Tensor& one : norms) one = one.to(tensors[0].device());
  const Tensor total = norms.size() == 1 ? norms[0] : joined(norms, norm_type);
  if (error_if_nonfinite) check_finite("get_total_norm", total);
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
  std::vector<Tensor> here, elsewhere;
  for (const Tensor& gradient : gradients) {
    if (gradient.is_meta())
      mul_(gradient.detach(), 1);  // what a plan counts
    else
      (gradient.is_cpu() ? here : elsewhere).push_back(gradient);
  }
  if (!elsewhere.empty()) scale_all(minimum(max_norm / (total_norm + 1e-6), 1.0), elsewhere);
  if (here.empty()) return;
  UpdateNumbers<double> numbers;
  numbers.shrink = max_norm / (total_norm.item<double>() + 1e-6);
  if (numbers.shrink >= 1) return;
  update_all(UpdateRule::scale, numbers, here);
}

Tensor clip_grad_norm_(const List<Tensor>& parameters, double max_norm, double norm_type,
                       bool error_if_nonfinite) {
  const char* const op = "clip_grad_norm_";
  const CalledOp called(op);
  // Whole parameters, and parts by the groups that have them.
  std::vector<Tensor> own;
  std::vector<std::pair<std::vector<Communicator*>, std::vector<Tensor>>> parts;
  for (const Tensor& parameter : parameters) {
    const autograd::Shard* const shard = autograd::shard_of(parameter);
    if (!shard) {
      own.push_back(parameter);
      continue;
    }
    const std::vector<Communicator*> groups = shard->groups();
    auto place = std::find_if(parts.begin(), parts.end(),
                              [&](const auto& one) { return one.first == groups; });
    if (place == parts.end()) place = parts.insert(place, {groups, {}});
    place->second.push_back(parameter);
  }
  std::vector<Tensor> norms;
  if (!own.empty() || parts.empty())
    norms.push_back(get_total_norm(gradients_of(op, own), norm_type));
  for (const auto& [groups, mine] : parts) {
    std::vector<Tensor> gradients = gradients_of(op, mine);
    std::erase_if(gradients, [](const Tensor& gradient) { return gradient.numel() == 0; });
    norms.push_back(get_total_norm(gradients, norm_type));
    for (Communicator* const group : groups)
      norms.back() = norm_over_ranks(norms.back(), norm_type, *group, mine[0].device());
    // The dtype is the parameters', of which a rank may have none.
    const bool is_double = std::any_of(
        mine.begin(), mine.end(), [](const Tensor& part) { return part.dtype() == DType::f64; });
    norms.back() = norms.back().to(is_double ? DType::f64 : DType::f32);
  }
  Tensor total = norms[0];
  if (norms.size() > 1) {
    for (Tensor& one : norms) one = one.to(norms[0].device());
    total = joined(norms, norm_type);
  }
  if (error_if_nonfinite) check_finite(op, total);
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
