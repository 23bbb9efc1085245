#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Adadelta, with PyTorch's names and defaults.
struct AdadeltaOptions {
  Option<double> lr = Default(1);
  Option<double> rho = Default(0.9);
  Option<double> eps = Default(1e-6);
  Option<double> weight_decay = Default(0);
  Option<bool> maximize = Default(false);
  Option<Dialect> dialect = Default(Dialect::pytorch);
  void fields(Fields& f) {
    f("lr", lr), f("rho", rho), f("eps", eps), f("weight_decay", weight_decay),
        f("maximize", maximize), f("dialect", dialect);
  }
  void check() const;
};

/// Adadelta (Zeiler 2012), from g = gradient + weight_decay theta:
///
///     v = rho v + (1 - rho) g^2;  d = sqrt(u + eps) / sqrt(v + eps) * g
///     u = rho u + (1 - rho) d^2;  theta -= lr d
///
/// The paper has no learning rate: its dialect refuses one other than 1. State: square_avg (v),
/// acc_delta (u).
class Adadelta : public OptimizerOf<AdadeltaOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
