#pragma once

#include <aorta/core/dispatch/op_table.h>

namespace aorta {

/// While one of these lives, ops of this thread record no gradients (NoGradGuard), record them
/// (EnableGradGuard), or do so as told (AutoGradMode). Scopes nest.
class AutoGradMode {
 public:
  [[nodiscard]] explicit AutoGradMode(bool enabled) : outer_(grad_mode()) {
    set_grad_mode({enabled && !outer_.inference, outer_.inference});
  }
  ~AutoGradMode() { set_grad_mode(outer_); }
  AutoGradMode(const AutoGradMode&) = delete;
  AutoGradMode& operator=(const AutoGradMode&) = delete;

 private:
  GradMode outer_;
};

/// While it lives, this thread records no gradients.
struct NoGradGuard : AutoGradMode {
  [[nodiscard]] NoGradGuard() : AutoGradMode(false) {}
};
/// While it lives, this thread records gradients, also inside of a NoGradGuard.
struct EnableGradGuard : AutoGradMode {
  [[nodiscard]] EnableGradGuard() : AutoGradMode(true) {}
};

/// NoGradGuard for tensors that never meet a graph: those made while it lives can't be saved for a
/// gradient or require one later, which is an error instead of a wrong gradient.
class InferenceMode {
 public:
  [[nodiscard]] explicit InferenceMode(bool enabled = true) : outer_(grad_mode()) {
    set_grad_mode({!enabled, enabled});
  }
  ~InferenceMode() { set_grad_mode(outer_); }
  InferenceMode(const InferenceMode&) = delete;
  InferenceMode& operator=(const InferenceMode&) = delete;

 private:
  GradMode outer_;
};

}  // namespace aorta
