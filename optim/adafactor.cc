#include <aorta/optim/adafactor.h>

#include <aorta/autograd/shard.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace aorta::optim {
namespace {

constexpr const char* kAdafactor = "adafactor";

double machine_epsilon(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::ldexp(1.0, -52);
    case DType::f16:
      return std::ldexp(1.0, -10);
    case DType::bf16:
      return std::ldexp(1.0, -7);
    default:
      return std::ldexp(1.0, -23);
  }
}

constexpr std::array kStates = {"row_var", "col_var", "variance"};

// Row averages have one column, column averages one row.
std::optional<Shape> state_shape(std::string_view name, const Shape& parameter) {
  const int dims = parameter.size();
  if ((name == "variance") != (dims < 2)) return {};
  Shape shape = parameter;
  if (name == "row_var") shape[dims - 1] = 1;
  if (name == "col_var") shape[dims - 2] = 1;
  return shape;
}

}  // namespace

void AdafactorOptions::check() const {
  aorta::check(lr >= 0, kAdafactor, "lr must be at least 0", lr);
  aorta::check(beta2_decay <= 0, kAdafactor, "beta2_decay must be at most 0", beta2_decay);
  aorta::check(eps[0] >= 0 || eps[0] == kMachineEpsilon, kAdafactor,
               "eps must be at least 0, or kMachineEpsilon", eps[0]);
  aorta::check(eps[1] >= 0, kAdafactor, "eps must be at least 0", eps[1]);
  aorta::check(d >= 1, kAdafactor, "d must be at least 1", d);
  aorta::check(weight_decay >= 0, kAdafactor, "weight_decay must be at least 0", weight_decay);
}

void Adafactor::update(Slot& slot, const AdafactorOptions& o) {
  autograd::check_whole(kAdafactor, slot.parameter);
  const DType dtype = slot.parameter.dtype(), computed = compute_dtype(dtype);
  const Shape& shape = slot.parameter.shape();
  if (slot.parameter.numel() == 0) {  // it has a state all the same, which restore() asks for
    for (const char* const name : kStates)
      if (const auto size = state_shape(name, shape)) slot.state(name, *size);
    return;
  }
  const Tensor g = slot.gradient.to(computed) * (o.maximize ? -1 : 1);
  Tensor p = slot.parameter.detach().to(computed);
  const double t = static_cast<double>(slot.step), share = std::pow(t, o.beta2_decay);
  const double eps1 = o.eps[0] == kMachineEpsilon ? machine_epsilon(dtype) : o.eps[0];
  const double root = std::sqrt(static_cast<double>(p.numel()));
  const Tensor alpha =
      clamp_min(norm(p) / root, o.eps[1]) * std::min<double>(o.lr, 1 / std::sqrt(t));
  if (o.weight_decay != 0) p = p * (1 - o.lr * o.weight_decay);
  const auto averaged = [&](const char* name, const Tensor& squares) {
    const Tensor average = slot.state(name, *state_shape(name, shape));
    return lerp_(average, squares, share);
  };
  Tensor variance;
  if (shape.size() < 2) {
    variance = averaged("variance", square(g));
  } else {
    const Tensor rows = averaged("row_var", mean(square(g), {-1}, true));
    const Tensor columns = averaged("col_var", mean(square(g), {-2}, true));
    variance = matmul(rows, columns) / clamp_min(mean(rows, {-2}, true), eps1);
  }
  const Tensor direction = rsqrt(clamp_min(variance, eps1 * eps1)) * g;
  const Tensor limit = clamp_min(norm(direction) / (root * o.d), 1);
  slot.parameter.copy_(p - direction * (alpha / limit));
}

StateNames Adafactor::state_names(size_t) const {
  return {.required = {kStates.begin(), kStates.end()}, .shape_of = state_shape};
}

}  // namespace aorta::optim
