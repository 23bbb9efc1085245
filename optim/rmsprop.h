#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of RMSprop, with PyTorch's names and defaults.
struct RMSpropOptions {
  Option<double> lr = Default(1e-2);
  Option<double> alpha = Default(0.99);
  Option<double> eps = Default(1e-8);
  Option<double> weight_decay = Default(0);
  Option<double> momentum = Default(0);
  Option<bool> centered = Default(false);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("alpha", alpha), f("eps", eps), f("weight_decay", weight_decay),
        f("momentum", momentum), f("centered", centered), f("maximize", maximize);
  }
  void check() const;
};

/// RMSprop (Tieleman and Hinton 2012), from g = gradient + weight_decay theta:
///
///     v = alpha v + (1 - alpha) g^2;  d = g / (sqrt(v) + eps)
///     b = momentum b + d;  theta -= lr b
///
/// Centered (Graves 2013): v less the square of the average gradient. Where rounding makes that
/// negative the step is NaN, as PyTorch's is. State: square_avg, grad_avg, momentum_buffer.
class RMSprop : public OptimizerOf<RMSpropOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
