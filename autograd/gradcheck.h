#pragma once

#include <aorta/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace aorta::autograd {

/// What gradcheck differentiates: outputs from inputs.
using DifferentiableFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// How closely and how thoroughly gradcheck looks.
struct GradcheckOptions {
  /// The step of the finite differences, relative to an input of magnitude 1.
  double step = 1e-4;
  /// |analytic - numeric| may be atol + rtol * |numeric|.
  double atol = 1e-8;
  double rtol = 1e-6;
  /// Every element of every input against every element of every output, instead of one random
  /// weighting of the outputs along random directions of the inputs.
  bool full_jacobian = false;
  /// A check that says nothing about an input is an error: a derivative that is 0 (below 1e-9) in
  /// every direction tried, or a kink at every element. Set this where that is right.
  bool allow_vacuous = false;
  uint64_t seed = 0;
};

/// Empty and true, or what is wrong.
struct GradcheckResult {
  std::string message;
  explicit operator bool() const { return message.empty(); }
};

/// Compares the gradients of `function` with finite differences of fourth order. Inputs that
/// require a gradient must be f64 leaves, of any layout without shared memory; their elements are
/// moved and put back. Where the differences to the left and to the right disagree (a kink)
/// elements are compared one by one, and those at a kink are left out, but not all. The message
/// names the op and its module, the input, its worst element and both values.
GradcheckResult gradcheck(const DifferentiableFunction& function, const List<Tensor>& inputs,
                          const GradcheckOptions& options = {});

/// Checks the gradients' own gradients, with respect to the inputs and to the incoming gradients,
/// which are random or given, one an output.
GradcheckResult gradgradcheck(const DifferentiableFunction& function, const List<Tensor>& inputs,
                              const GradcheckOptions& options = {},
                              const List<Tensor>& grad_outputs = {});

}  // namespace aorta::autograd
