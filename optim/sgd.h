#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of SGD, with PyTorch's names and defaults.
struct SGDOptions {
  Option<double> lr = Default(1e-3);
  Option<double> momentum = Default(0);      // mu
  Option<double> dampening = Default(0);     // tau
  Option<double> weight_decay = Default(0);  // lambda, added to the gradient
  Option<bool> nesterov = Default(false);
  Option<bool> maximize = Default(false);
  Option<Dialect> dialect = Default(Dialect::pytorch);
  void fields(Fields& f) {
    f("lr", lr), f("momentum", momentum), f("dampening", dampening),
        f("weight_decay", weight_decay), f("nesterov", nesterov), f("maximize", maximize),
        f("dialect", dialect);
  }
  void check() const;
};

/// Stochastic gradient descent, from g = gradient + lambda theta (maximize: -gradient + ...):
///
///     b = g at first, then mu b + (1 - tau) g;  theta -= lr b,  with Nesterov lr (g + mu b)
///
/// In the paper's dialect the velocity holds the learning rate: v = mu v + lr g, theta -= v (Polyak
/// 1964), and Nesterov's g is taken at theta - mu v (Sutskever et al. 2013): call look_ahead()
/// before the forward pass, or step(closure). Then step() without it is an error; evaluate after
/// step(), or after look_back(). Equal for a constant learning rate, but for where theta stands.
/// Sparse gradients move their rows alone; they take no momentum and no weight decay.
/// State: momentum_buffer. Errors: Nesterov without momentum or with dampening.
class SGD : public OptimizerOf<SGDOptions> {
 public:
  using OptimizerOf::OptimizerOf;

  void look_ahead() override;
  void look_back() override;
  GradientKinds gradient_kinds(size_t group) const override;

 protected:
  void step_group(size_t group) override;
  StateNames state_names(size_t group) const override;
  void check_at_rest(const char* op) const override;

 private:
  std::vector<size_t> ahead_;  // groups that have looked ahead
};

}  // namespace aorta::optim
