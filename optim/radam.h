#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of RAdam, with PyTorch's names and defaults.
struct RAdamOptions {
  Option<double> lr = Default(1e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(0);
  Option<bool> decoupled_weight_decay = Default(false);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("betas", betas), f("eps", eps), f("weight_decay", weight_decay),
        f("decoupled_weight_decay", decoupled_weight_decay), f("maximize", maximize);
  }
  void check() const;
};

/// RAdam (Liu et al. 2020), from g = gradient + weight_decay theta (decoupled: as AdamW), at step
/// t, with rho = 2 / (1 - beta2) - 1 and rho_t = rho - 2 t beta2^t / (1 - beta2^t), the length of
/// the average that v is:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     rho_t > 5:  theta -= lr r_t m / (1 - beta1^t) * sqrt(1 - beta2^t) / (sqrt(v) + eps),
///                 r_t^2 = (rho_t - 4)(rho_t - 2) rho / ((rho - 4)(rho - 2) rho_t)
///     else:       theta -= lr m / (1 - beta1^t)
///
/// State: exp_avg, exp_avg_sq.
class RAdam : public OptimizerOf<RAdamOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
