#pragma once

#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/record.h>

#include <map>

namespace aorta::autograd {

/// What a custom function keeps from its forward for its backward.
class FunctionContext {
 public:
  /// Tensors that the backward needs: inputs or outputs (checked for writes in place), or others.
  void save_for_backward(List<Tensor> tensors) { to_save_ = std::move(tensors); }
  /// The tensors given to save_for_backward, in their order; in backward.
  std::vector<Tensor> saved_tensors() const;
  /// Numbers, shapes, ...: `context.data["dim"] = dim`.
  std::map<std::string, std::any> data;
  /// A value of `data`, typed; throws when there is none of that name and type.
  template <class T>
  const T& get(const Text& name) const {
    const auto found = data.find(name);
    const T* value = found == data.end() ? nullptr : std::any_cast<T>(&found->second);
    check(value != nullptr, "function", "backward must ask for data that forward stored", name);
    return *value;
  }
  /// In forward: outputs that have no gradient.
  void mark_non_differentiable(List<Tensor> outputs) { non_differentiable_ = std::move(outputs); }
  /// Whether the gradient of input i (counting tensors alone) is asked for; in forward, whether it
  /// may be.
  bool needs_input_gradient(size_t i) const { return wanted_->at(i); }

 private:
  template <class Derived>
  friend class Function;
  friend class FunctionCall;

  std::vector<Tensor> to_save_;
  std::vector<Tensor> non_differentiable_;
  std::vector<Saved> saved_;
  Node* node_ = nullptr;
  const std::vector<bool>* wanted_ = nullptr;
};

/// Runs a custom function's forward and records it. Not for users.
class FunctionCall {
 public:
  using Backward = std::vector<Tensor> (*)(FunctionContext& context,
                                           const std::vector<Tensor>& gradients);
  static void record(const char* name, Backward backward, FunctionContext context,
                     const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs);
};

/// An op with a gradient of the user's own:
///
///     struct Cube : autograd::Function<Cube> {
///       static constexpr const char* name = "cube";
///       static std::vector<Tensor> forward(FunctionContext& context, const Tensor& x) {
///         context.save_for_backward({x});
///         return {x * x * x};
///       }
///       static std::vector<Tensor> backward(FunctionContext& context,
///                                           const std::vector<Tensor>& gradients) {
///         const Tensor x = context.saved_tensors()[0];
///         return {gradients[0] * 3 * x * x};
///       }
///     };
///     Tensor y = Cube::apply(x)[0];
///
/// `forward` runs without recording. `backward` gets a gradient an output (zeros where none
/// arrived) and returns one an argument of `forward` that is a Tensor, in their order; an undefined
/// one stands for zeros. Built of differentiable ops it can be differentiated again.
template <class Derived>
class Function {
 public:
  template <class... Arguments>
  static std::vector<Tensor> apply(const Arguments&... arguments) {
    std::vector<Tensor> inputs;
    (add_tensor(inputs, arguments), ...);
    std::vector<bool> wanted;
    for (const Tensor& input : inputs) wanted.push_back(needs_gradient(input));
    FunctionContext context;
    context.wanted_ = &wanted;
    std::vector<Tensor> outputs;
    {
      const NoGradGuard no_grad;
      outputs = Derived::forward(context, arguments...);
    }
    FunctionCall::record(Derived::name, Derived::backward, std::move(context), inputs, outputs);
    return outputs;
  }

 private:
  template <class T>
  static void add_tensor(std::vector<Tensor>& inputs, const T& argument) {
    if constexpr (std::is_base_of_v<Tensor, T>) inputs.push_back(argument);
  }
};

}  // namespace aorta::autograd

namespace aorta {
using autograd::FunctionContext;
}  // namespace aorta
