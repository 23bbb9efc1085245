#pragma once

#include <aorta/autograd/gradcheck.h>

#include <utility>

// Derivatives of functions as a whole, as torch.autograd.functional has them. Each calls the
// function with copies of the inputs that require a gradient, so no grad() changes. With several
// inputs the function takes and gives vectors, and so do these. An output that doesn't depend on an
// input has derivatives of 0. Errors of all: inputs that aren't of a floating dtype; a v that isn't
// as many tensors as it stands for, of their shapes.

namespace aorta::autograd::functional {

/// What these functions differentiate where it is of one tensor, to one.
using OneTensorFunction = std::function<Tensor(const Tensor&)>;

/// The options of these functions, with PyTorch's default.
struct FunctionalOptions {
  /// Gradients of the results may be asked for, with respect to the inputs too.
  bool create_graph = false;
};

/// d f(x)_o / d x_i: f(x) (*O), x (*I) -> (*O, *I); a backward pass for each element of f(x).
Tensor jacobian(const OneTensorFunction& f, const Tensor& input,
                const FunctionalOptions& options = {});
/// The Jacobians of several: [o][i] is of output o by input i.
std::vector<std::vector<Tensor>> jacobian(const DifferentiableFunction& f,
                                          const List<Tensor>& inputs,
                                          const FunctionalOptions& options = {});

/// The second derivatives of f, whose value has one element: x (*I) -> (*I, *I).
Tensor hessian(const OneTensorFunction& f, const Tensor& input,
               const FunctionalOptions& options = {});
/// The second derivatives by several: [i][j] is by input i and by input j.
std::vector<std::vector<Tensor>> hessian(const DifferentiableFunction& f,
                                         const List<Tensor>& inputs,
                                         const FunctionalOptions& options = {});

/// f(x), and v^T J of the shape of x: v has the shape of f(x), and may be left out where that has
/// one element.
std::pair<Tensor, Tensor> vjp(const OneTensorFunction& f, const Tensor& input, const Tensor& v = {},
                              const FunctionalOptions& options = {});
std::pair<std::vector<Tensor>, std::vector<Tensor>> vjp(const DifferentiableFunction& f,
                                                        const List<Tensor>& inputs,
                                                        const List<Tensor>& v = {},
                                                        const FunctionalOptions& options = {});

/// f(x), and J v of the shape of f(x): v has the shape of x, and may be left out where that has one
/// element. By two backward passes.
std::pair<Tensor, Tensor> jvp(const OneTensorFunction& f, const Tensor& input, const Tensor& v = {},
                              const FunctionalOptions& options = {});
std::pair<std::vector<Tensor>, std::vector<Tensor>> jvp(const DifferentiableFunction& f,
                                                        const List<Tensor>& inputs,
                                                        const List<Tensor>& v = {},
                                                        const FunctionalOptions& options = {});

/// f(x), of one element, and v^T H; v and the product have the shape of x. Where second derivatives
/// are continuous it is hvp's product, by fewer passes.
std::pair<Tensor, Tensor> vhp(const OneTensorFunction& f, const Tensor& input, const Tensor& v = {},
                              const FunctionalOptions& options = {});
std::pair<Tensor, std::vector<Tensor>> vhp(const DifferentiableFunction& f,
                                           const List<Tensor>& inputs, const List<Tensor>& v = {},
                                           const FunctionalOptions& options = {});

/// f(x), of one element, and H v; v and the product have the shape of x.
std::pair<Tensor, Tensor> hvp(const OneTensorFunction& f, const Tensor& input, const Tensor& v = {},
                              const FunctionalOptions& options = {});
std::pair<Tensor, std::vector<Tensor>> hvp(const DifferentiableFunction& f,
                                           const List<Tensor>& inputs, const List<Tensor>& v = {},
                                           const FunctionalOptions& options = {});

}  // namespace aorta::autograd::functional
