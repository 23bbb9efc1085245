#include <aorta/autograd/backward.h>
#include <aorta/autograd/functional.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>

#include <algorithm>

namespace aorta::autograd::functional {
namespace {

using Tensors = std::vector<Tensor>;
using Products = std::pair<Tensors, Tensors>;

// What the function is called with: of the caller's graph where results are to be part of it.
Tensors inputs_of(const char* op, const Tensors& inputs, const FunctionalOptions& options) {
  check(!inputs.empty(), op, "there must be inputs", "none");
  Tensors mine;
  for (const Tensor& input : inputs) {
    check_defined(op, {{"input", input}});
    check(is_differentiable(input.dtype()), op, "inputs must be of a floating dtype",
          input.dtype());
    const bool is_part = options.create_graph && input.requires_grad();
    mine.push_back(is_part ? input.view_as(input) : input.detach().requires_grad_());
  }
  return mine;
}

Tensors call(const char* op, const DifferentiableFunction& f, const Tensors& inputs) {
  check(bool(f), op, "there must be a function", "an empty one");
  const Tensors outputs = f(inputs);
  for (const Tensor& output : outputs) check_defined(op, {{"output", output}});
  return outputs;
}

// The given v, or 1 for what is one number.
Tensors direction(const char* op, const Tensors& v, const Tensors& like) {
  if (v.empty() || (v.size() == 1 && !v[0].defined())) {
    check(like.size() == 1 && like[0].numel() == 1, op,
          "v may be left out for one tensor of one element", like.size(), " tensors");
    return {ones_like(like[0])};
  }
  check(v.size() == like.size(), op, "v must have as many tensors as it stands for", v.size(),
        " for ", like.size());
  for (size_t i = 0; i < v.size(); ++i) {
    check_defined(op, {{"v", v[i]}});
    check(v[i].shape() == like[i].shape(), op, "v must have the shape of what it stands for",
          v[i].shape(), " for ", like[i].shape());
  }
  return v;
}

// The gradients of the outputs that depend on anything; zeros where an input isn't reached.
Tensors gradients(const Tensors& outputs, const Tensors& inputs, const Tensors& v,
                  bool create_graph) {
  Tensors reached, weights;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].requires_grad()) continue;
    reached.push_back(outputs[i]);
    weights.push_back(v[i]);
  }
  Tensors result(inputs.size());
  if (!reached.empty()) {
    result = grad(reached, inputs, weights,
                  {.retain_graph = true, .create_graph = create_graph, .allow_unused = true});
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!result[i].defined()) result[i] = zeros_like(inputs[i]);
  return result;
}

void cut(Tensors& tensors, const FunctionalOptions& options) {
  if (options.create_graph) return;
  for (Tensor& tensor : tensors) tensor = tensor.detach();
}

Shape joined(const Shape& a, const Shape& b) {
  Shape both = a;
  for (const int64_t size : b) both.push_back(size);
  return both;
}

std::vector<Tensors> jacobian_of(const char* op, const DifferentiableFunction& f,
                                 const Tensors& inputs, const FunctionalOptions& options) {
  const AutoGradMode recorded(true);
  const Tensors mine = inputs_of(op, inputs, options);
  std::vector<Tensors> result;
  for (const Tensor& output : call(op, f, mine)) {
    std::vector<Tensors> rows(mine.size());
    for (int64_t i = 0; i < output.numel(); ++i) {
      const Tensor one =
          zeros({output.numel()}, {.dtype = output.dtype(), .device = output.device()});
      one.select(0, i).fill_(1);
      const Tensors row =
          gradients({output}, mine, {one.view(output.shape())}, options.create_graph);
      for (size_t k = 0; k < mine.size(); ++k) rows[k].push_back(row[k]);
    }
    Tensors blocks;
    for (size_t k = 0; k < mine.size(); ++k) {
      const Shape shape = joined(output.shape(), mine[k].shape());
      blocks.push_back(rows[k].empty()
                           ? zeros(shape, {.dtype = mine[k].dtype(), .device = mine[k].device()})
                           : stack(rows[k]).view(shape));
    }
    cut(blocks, options);
    result.push_back(std::move(blocks));
  }
  return result;
}

Products vjp_of(const char* op, const DifferentiableFunction& f, const Tensors& inputs,
                const Tensors& v, const FunctionalOptions& options) {
  const AutoGradMode recorded(true);
  const Tensors mine = inputs_of(op, inputs, options);
  Tensors outputs = call(op, f, mine);
  Tensors product = gradients(outputs, mine, direction(op, v, outputs), options.create_graph);
  cut(outputs, options);
  cut(product, options);
  return {std::move(outputs), std::move(product)};
}

// v^T J is linear in v, so its derivative by v along a direction is J times that.
Products jvp_of(const char* op, const DifferentiableFunction& f, const Tensors& inputs,
                const Tensors& v, const FunctionalOptions& options) {
  const AutoGradMode recorded(true);
  const Tensors mine = inputs_of(op, inputs, options);
  const Tensors along = direction(op, v, mine);
  Tensors outputs = call(op, f, mine), weights;
  for (const Tensor& output : outputs) weights.push_back(zeros_like(output).requires_grad_());
  Tensors product =
      gradients(gradients(outputs, mine, weights, true), weights, along, options.create_graph);
  cut(outputs, options);
  cut(product, options);
  return {std::move(outputs), std::move(product)};
}

// The gradient of f, and where `value` isn't null also what f gave.
DifferentiableFunction gradient_of(const char* op, const DifferentiableFunction& f,
                                   Tensor* value = nullptr) {
  return [op, &f, value](const Tensors& inputs) {
    const Tensors outputs = call(op, f, inputs);
    check(outputs.size() == 1 && outputs[0].numel() == 1, op,
          "the function must give one tensor of one element", outputs.size(), " of ",
          outputs.empty() ? Shape{} : outputs[0].shape());
    if (value) *value = outputs[0];
    return gradients(outputs, inputs, {ones_like(outputs[0])}, true);
  };
}

DifferentiableFunction of_vectors(const OneTensorFunction& f) {
  if (!f) return {};
  return [&f](const Tensors& inputs) { return Tensors{f(inputs[0])}; };
}

template <class Product>
std::pair<Tensor, Tensors> second_order(const char* op, Product product,
                                        const DifferentiableFunction& f, const Tensors& inputs,
                                        const Tensors& v, const FunctionalOptions& options) {
  Tensors value(1);
  Tensors result = product(op, gradient_of(op, f, &value[0]), inputs, v, options).second;
  cut(value, options);
  return {value[0], std::move(result)};
}

}  // namespace

Tensor jacobian(const OneTensorFunction& f, const Tensor& input, const FunctionalOptions& options) {
  return jacobian_of("jacobian", of_vectors(f), {input}, options)[0][0];
}
std::vector<Tensors> jacobian(const DifferentiableFunction& f, const List<Tensor>& inputs,
                              const FunctionalOptions& options) {
  return jacobian_of("jacobian", f, inputs, options);
}

Tensor hessian(const OneTensorFunction& f, const Tensor& input, const FunctionalOptions& options) {
  return hessian(of_vectors(f), {input}, options)[0][0];
}
std::vector<Tensors> hessian(const DifferentiableFunction& f, const List<Tensor>& inputs,
                             const FunctionalOptions& options) {
  return jacobian_of("hessian", gradient_of("hessian", f), inputs, options);
}

std::pair<Tensor, Tensor> vjp(const OneTensorFunction& f, const Tensor& input, const Tensor& v,
                              const FunctionalOptions& options) {
  const auto [outputs, product] = vjp_of("vjp", of_vectors(f), {input}, {v}, options);
  return {outputs[0], product[0]};
}
Products vjp(const DifferentiableFunction& f, const List<Tensor>& inputs, const List<Tensor>& v,
             const FunctionalOptions& options) {
  return vjp_of("vjp", f, inputs, v, options);
}

std::pair<Tensor, Tensor> jvp(const OneTensorFunction& f, const Tensor& input, const Tensor& v,
                              const FunctionalOptions& options) {
  const auto [outputs, product] = jvp_of("jvp", of_vectors(f), {input}, {v}, options);
  return {outputs[0], product[0]};
}
Products jvp(const DifferentiableFunction& f, const List<Tensor>& inputs, const List<Tensor>& v,
             const FunctionalOptions& options) {
  return jvp_of("jvp", f, inputs, v, options);
}

std::pair<Tensor, Tensor> vhp(const OneTensorFunction& f, const Tensor& input, const Tensor& v,
                              const FunctionalOptions& options) {
  const auto [value, product] = second_order("vhp", vjp_of, of_vectors(f), {input}, {v}, options);
  return {value, product[0]};
}
std::pair<Tensor, Tensors> vhp(const DifferentiableFunction& f, const List<Tensor>& inputs,
                               const List<Tensor>& v, const FunctionalOptions& options) {
  return second_order("vhp", vjp_of, f, inputs, v, options);
}

std::pair<Tensor, Tensor> hvp(const OneTensorFunction& f, const Tensor& input, const Tensor& v,
                              const FunctionalOptions& options) {
  const auto [value, product] = second_order("hvp", jvp_of, of_vectors(f), {input}, {v}, options);
  return {value, product[0]};
}
std::pair<Tensor, Tensors> hvp(const DifferentiableFunction& f, const List<Tensor>& inputs,
                               const List<Tensor>& v, const FunctionalOptions& options) {
  return second_order("hvp", jvp_of, f, inputs, v, options);
}

}  // namespace aorta::autograd::functional
