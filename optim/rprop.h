#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Rprop, with PyTorch's names and defaults.
struct RpropOptions {
  Option<double> lr = Default(1e-2);                                   // the first step size
  Option<std::array<double, 2>> etas = Default(std::array{0.5, 1.2});  // eta-, eta+
  Option<std::array<double, 2>> step_sizes = Default(std::array{1e-6, 50.0});  // smallest, largest
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("etas", etas), f("step_sizes", step_sizes), f("maximize", maximize);
  }
  void check() const;
};

/// Rprop (Riedmiller and Braun 1993), for gradients of whole batches: every element has a step size
/// d of its own, lr at first, and only the sign of the gradient g counts. With the gradient before:
///
///     g g_before > 0:  d = min(eta+ d, largest)
///     g g_before < 0:  d = max(eta- d, smallest), and g = 0 in this step and as the next g_before
///     theta -= sign(g) d
///
/// A learning rate that is changed later changes nothing. State: prev, step_size.
class Rprop : public OptimizerOf<RpropOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
