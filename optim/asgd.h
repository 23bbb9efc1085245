#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of ASGD, with PyTorch's names and defaults.
struct ASGDOptions {
  Option<double> lr = Default(1e-2);
  Option<double> lambd = Default(1e-4);  // decay
  Option<double> alpha = Default(0.75);  // power of the learning rate's fall
  Option<double> t0 = Default(1e6);      // the step from which on parameters are averaged
  Option<double> weight_decay = Default(0);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("lambd", lambd), f("alpha", alpha), f("t0", t0), f("weight_decay", weight_decay),
        f("maximize", maximize);
  }
  void check() const;
};

/// Averaged SGD (Polyak and Juditsky 1992), from g = gradient + weight_decay theta, at step t with
/// eta_1 = lr and eta_{t+1} = lr / (1 + lambd lr t)^alpha:
///
///     theta = (1 - lambd eta_t) theta - eta_t g
///     ax += (theta - ax) / max(1, t - 1 - t0)
///
/// A changed lr is in eta a step later, as in PyTorch. State: ax, the average, which is the
/// parameter itself up to step t0 + 2, and the number eta of the next step.
class ASGD : public OptimizerOf<ASGDOptions> {
 public:
  using OptimizerOf::OptimizerOf;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
