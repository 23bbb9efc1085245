#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Adam, with PyTorch's names and defaults.
struct AdamOptions {
  Option<double> lr = Default(1e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(0);
  Option<bool> amsgrad = Default(false);
  Option<bool> maximize = Default(false);
  Option<bool> decoupled_weight_decay = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("betas", betas), f("eps", eps), f("weight_decay", weight_decay),
        f("amsgrad", amsgrad), f("maximize", maximize);
    f.later("decoupled_weight_decay", decoupled_weight_decay);
  }
  void check() const;
};

/// Adam (Kingma and Ba 2015, algorithm 1), from g = gradient + weight_decay theta, at step t:
///
///     m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2
///     theta -= lr / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
///
/// With decoupled_weight_decay it is AdamW. amsgrad (Reddi et al. 2018) takes the largest v so far,
/// as PyTorch does before the correction. State: exp_avg, exp_avg_sq, max_exp_avg_sq. With eps = 0
/// a gradient that was always 0 gives NaN.
class Adam : public OptimizerOf<AdamOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

/// The options of AdamW, with PyTorch's names and defaults.
struct AdamWOptions {
  Option<double> lr = Default(1e-3);
  Option<std::array<double, 2>> betas = Default(std::array{0.9, 0.999});
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(1e-2);
  Option<bool> amsgrad = Default(false);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("betas", betas), f("eps", eps), f("weight_decay", weight_decay),
        f("amsgrad", amsgrad), f("maximize", maximize);
  }
  void check() const;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019): theta *= 1 - lr weight_decay
/// before the step, and g = gradient.
class AdamW : public OptimizerOf<AdamWOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
