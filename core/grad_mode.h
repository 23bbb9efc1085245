#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

/// What this thread does about gradients; autograd's scopes switch it.
struct GradMode {
  bool enabled = true;     // ops on tensors that require a gradient record it
  bool inference = false;  // new tensors can never take part in a graph
};
GradMode grad_mode();
void set_grad_mode(GradMode mode);
inline bool grad_enabled() { return grad_mode().enabled; }

/// True when an op on these tensors has to record a gradient.
template <class... Tensors>
inline bool needs_gradient(const Tensors&... inputs) {
  return ((inputs.defined() && inputs.requires_grad()) || ...) && grad_enabled();
}

}  // namespace aorta
