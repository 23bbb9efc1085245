#pragma once

#include <aorta/nn/module.h>

// Members of modules that are computed of others, as torch.nn.utils.parametrize has them.

namespace aorta::nn {

/// What computes a member of a module of its originals. Of one original it defines `forward`, as
/// any module does; where there are several it defines `compute`.
///
///     struct Symmetric : nn::Parametrization {
///       Tensor forward(const Tensor& x) const override { return x.triu() + x.triu(1).t(); }
///     };
///     nn::register_parametrization(net.hidden, "weight", Symmetric());
class Parametrization : public Module {
 public:
  using Module::Module;
  /// The member's value.
  virtual Tensor compute(const std::vector<Tensor>& originals) const;
  /// What the originals start at, so that compute gives about `value`; `value` itself where it is
  /// not overridden.
  virtual std::vector<Tensor> right_inverse(const Tensor& value) const { return {value}; }
};

/// Has module.name, a parameter or buffer, computed by `parametrization` whenever the module is
/// called. Trained, moved and saved is in its place "parametrizations.weight.original" (the same
/// tensor as before, or "original0", "original1" where there are several) and, if it has some, what
/// belongs to the parametrization itself, "parametrizations.weight.0.x". Between calls the member
/// is undefined, and `parametrized` computes it. Another one for the same member computes it of
/// what the first gives. Calls of one module from several threads take turns. Errors: no such
/// member; a value of another shape, dtype or device than the member's.
void register_parametrization(Module& module, const Text& name, AnyModule parametrization);
/// Whether module.name is computed, or without a name whether any member is.
bool is_parametrized(const Module& module, const Text& name = "");
/// The value of module.name, computed now; gradients go to its originals. Errors: nothing computes
/// it.
Tensor parametrized(const Module& module, const Text& name);
/// Makes module.name an ordinary member again, with its computed value or, unless
/// `leave_parametrized`, its original. Where there is one original that is the tensor that stays.
/// Errors: nothing computes it; several originals and none to go back to.
void remove_parametrizations(Module& module, const Text& name, bool leave_parametrized = true);

}  // namespace aorta::nn
