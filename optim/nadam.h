#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of NAdam, with PyTorch's names and defaults.
struct NAdamOptions {
  Option<double> lr = Default(2e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(0);
  Option<double> momentum_decay = Default(4e-3);  // psi
  Option<bool> decoupled_weight_decay = Default(false);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("betas", betas), f("eps", eps), f("weight_decay", weight_decay),
        f("momentum_decay", momentum_decay), f("decoupled_weight_decay", decoupled_weight_decay),
        f("maximize", maximize);
  }
  void check() const;
};

/// NAdam (Dozat 2016), from g = gradient + weight_decay theta (decoupled: as AdamW), at step t,
/// with mu_t = beta1 (1 - 0.96^(t psi) / 2) and M_t = mu_1 ... mu_t:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     theta -= lr (mu_{t+1} m / (1 - M_{t+1}) + (1 - mu_t) g / (1 - M_t))
///              / (sqrt(v / (1 - beta2^t)) + eps)
///
/// State: exp_avg, exp_avg_sq, and the number mu_product (M_t).
class NAdam : public OptimizerOf<NAdamOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
