#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The machine epsilon of a parameter's dtype, where an option is this.
inline constexpr double kMachineEpsilon = -1;

/// The options of Adafactor, with PyTorch's names and defaults.
struct AdafactorOptions {
  Option<double> lr = Default(1e-2);  // the largest relative step
  Option<double> beta2_decay = Default(-0.8);
  Option<std::array<double, 2>> eps = Default(std::array{kMachineEpsilon, 1e-3});  // eps1, eps2
  Option<double> d = Default(1);  // the largest root mean square of an update
  Option<double> weight_decay = Default(0);
  Option<bool> maximize = Default(false);
  void fields(Fields& f) {
    f("lr", lr), f("beta2_decay", beta2_decay), f("eps", eps), f("d", d),
        f("weight_decay", weight_decay), f("maximize", maximize);
  }
  void check() const;
};

/// Adafactor (Shazeer and Stern 2018): the step is relative to the parameter's size, and the
/// average of squares of a matrix is kept as those of its rows and columns. At step t, of gradient
/// g, with s = t^beta2_decay and rms(x) = |x| / sqrt(number of elements):
///
///     alpha = max(eps2, rms(theta)) min(lr, 1 / sqrt(t));  theta -= lr weight_decay theta
///     matrices: R += s (mean over columns of g^2 - R), C += s (mean over rows of g^2 - C),
///               V = R C / max(mean of R, eps1)
///     vectors:  V += s (g^2 - V)
///     u = g / sqrt(max(V, eps1^2));  theta -= alpha u / max(1, rms(u) / d)
///
/// Of more than two dimensions the last two are a matrix. State: row_var and col_var, of the
/// parameter's shape with the last size, and the last but one, 1; of vectors variance.
class Adafactor : public CustomOptimizer<AdafactorOptions> {
 public:
  using CustomOptimizer::CustomOptimizer;

 protected:
  void update(Slot& slot, const AdafactorOptions& options) override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
