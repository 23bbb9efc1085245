#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Adagrad, with PyTorch's names and defaults.
struct AdagradOptions {
  Option<double> lr = Default(1e-2);
  Option<double> lr_decay = Default(0);
  Option<double> weight_decay = Default(0);
  Option<double> initial_accumulator_value = Default(0);
  Option<double> eps = Default(1e-10);  // in the paper's dialect 1e-8
  Option<bool> maximize = Default(false);
  Option<Dialect> dialect = Default(Dialect::pytorch);
  void fields(Fields& f) {
    f("lr", lr), f("lr_decay", lr_decay), f("weight_decay", weight_decay),
        f("initial_accumulator_value", initial_accumulator_value), f("eps", eps),
        f("maximize", maximize), f("dialect", dialect);
  }
  void check() const;
  void complete();  // gives eps the paper's value
};

/// Adagrad (Duchi et al. 2011), from g = gradient + weight_decay theta, at step t:
///
///     s += g^2;  theta -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(s) + eps)
///
/// Sparse gradients move their rows alone; they take no weight decay.
/// The paper's dialect divides by sqrt(s + eps). s starts at initial_accumulator_value. State: sum.
class Adagrad : public OptimizerOf<AdagradOptions> {
 public:
  using OptimizerOf::OptimizerOf;
  GradientKinds gradient_kinds(size_t group) const override;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
