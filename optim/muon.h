#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// The options of Muon, with PyTorch's names and defaults.
struct MuonOptions {
  Option<double> lr = Default(1e-3);
  Option<double> weight_decay = Default(0.1);
  Option<double> momentum = Default(0.95);
  Option<bool> nesterov = Default(true);
  Option<std::array<double, 3>> ns_coefficients = Default(std::array{3.4445, -4.775, 2.0315});
  Option<double> eps = Default(1e-7);
  Option<int64_t> ns_steps = Default(5);
  /// What the step of an (m, n) matrix is multiplied by: "original" sqrt(max(1, m / n)),
  /// "match_rms_adamw" 0.2 sqrt(max(m, n)), "spectral_unclamped" sqrt(m / n).
  Option<std::string> adjust_lr_fn = Default("original");
  /// The iteration is rounded to bf16, as PyTorch's is; else it is of the state's dtype.
  Option<bool> bf16 = Default(true);
  void fields(Fields& f) {
    f("lr", lr), f("weight_decay", weight_decay), f("momentum", momentum), f("nesterov", nesterov),
        f("ns_coefficients", ns_coefficients), f("eps", eps), f("ns_steps", ns_steps),
        f("adjust_lr_fn", adjust_lr_fn), f("bf16", bf16);
  }
  void check() const;
};

/// Muon (Jordan et al. 2024), momentum made nearly orthogonal, for weights (m, n) of hidden layers;
/// other parameters are another optimizer's. From the gradient g, with the average b:
///
///     b += (1 - momentum) (g - b);  u = g + momentum (b - g) with nesterov, else b
///     X = u / max(|u|, eps), transposed if m > n;  ns_steps times, with (x, y, z) the
///     coefficients:
///         A = X X^T,  X = x X + (y A + z A A) X
///     theta -= lr weight_decay theta;  theta -= lr adjustment X
///
/// The iteration brings the singular values near 1 (Newton-Schulz). State: momentum_buffer.
/// Errors: a parameter that isn't a matrix.
class Muon : public CustomOptimizer<MuonOptions> {
 public:
  using CustomOptimizer::CustomOptimizer;
  explicit Muon(List<Tensor> parameters, const MuonOptions& options = {});
  explicit Muon(List<Group> groups, const MuonOptions& options = {});

 protected:
  void update(Slot& slot, const MuonOptions& options) override;
  void check_options(size_t group) const override;
  StateNames state_names(size_t group) const override;
};

}  // namespace aorta::optim
