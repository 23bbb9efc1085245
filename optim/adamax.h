#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Adamax, with PyTorch's names and defaults.
struct AdamaxOptions {
  Option<double> lr = Default(2e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(0);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("betas", betas), f("eps", eps), f("weight_decay", weight_decay),
        f("maximize", maximize);
  }
  void check() const;
};

/// Adamax (Kingma and Ba 2015, algorithm 2, and PyTorch's eps), from g = gradient + weight_decay
/// theta, at step t:
///
///     m = beta1 m + (1 - beta1) g;  u = max(beta2 u, |g| + eps)
///     theta -= lr / (1 - beta1^t) * m / u
///
/// State: exp_avg, exp_inf.
class Adamax : public OptimizerOf<AdamaxOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
