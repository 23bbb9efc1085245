#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of SparseAdam, with PyTorch's names and defaults.
struct SparseAdamOptions {
  Option<double> lr = Default(1e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) { f("lr", lr), f("betas", betas), f("eps", eps), f("maximize", maximize); }
  void check() const;
};

/// Adam of the rows that a sparse gradient names, as embedding(..., sparse) gives one: a step costs
/// what its rows do. A row's moments move when it is there, by the sum g of its gradients; t counts
/// all steps of the parameter. eps is added before the correction:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     theta -= lr sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)
///
/// State: exp_avg, exp_avg_sq. Errors: a dense gradient.
class SparseAdam : public OptimizerOf<SparseAdamOptions> {
 public:
  using OptimizerOf::OptimizerOf;
  GradientKinds gradient_kinds(size_t) const override { return GradientKinds::sparse; }

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
