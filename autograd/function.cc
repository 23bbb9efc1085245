#include <aorta/autograd/function.h>

#include <algorithm>

namespace aorta::autograd {
namespace {

bool is_one_of(const Tensor& tensor, const std::vector<Tensor>& tensors) {
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const Tensor& other) { return tensor.is_same(other); });
}

// A saved output is one that the node itself made; everything else is kept as an input is.
std::vector<Saved> save(const std::vector<Tensor>& tensors, const std::vector<Tensor>& outputs) {
  std::vector<Saved> saved;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto place = std::find_if(outputs.begin(), outputs.end(),
                                    [&](const Tensor& t) { return t.is_same(tensors[i]); });
    saved.push_back(place == outputs.end()
                        ? Saved(tensors[i], static_cast<int>(i))
                        : Saved::output(tensors[i], static_cast<int>(place - outputs.begin())));
  }
  return saved;
}

}  // namespace

std::vector<Tensor> FunctionContext::saved_tensors() const {
  check(node_ != nullptr, "function", "saved tensors can be had in backward alone",
        "a call outside of it");
  std::vector<Tensor> tensors;
  for (const Saved& one : saved_) tensors.push_back(one.get(*node_));
  return tensors;
}

void FunctionCall::record(const char* name, Backward backward, FunctionContext context,
                          const std::vector<Tensor>& inputs, std::vector<Tensor>& outputs) {
  bool needed = false;
  for (const Tensor& input : inputs) needed |= needs_gradient(input);
  if (!needed) return;
  for (Tensor& output : outputs) {
    // An input, or a view of one, needs a history of its own, which is not the input's.
    const bool passed_on = is_one_of(output, inputs);
    if (!passed_on && !output.impl().base) continue;
    const Tensor own = output.detach();
    if (!passed_on)
      std::replace_if(
          context.to_save_.begin(), context.to_save_.end(),
          [&](const Tensor& t) { return t.is_same(output); }, own);
    std::replace_if(
        context.non_differentiable_.begin(), context.non_differentiable_.end(),
        [&](const Tensor& t) { return t.is_same(output); }, own);
    output = own;
  }
  context.saved_ = save(context.to_save_, outputs);
  context.to_save_.clear();
  const std::vector<Tensor> without_gradient = std::move(context.non_differentiable_);
  std::vector<const Tensor*> tensors;
  for (const Tensor& input : inputs) tensors.push_back(&input);
  const Ref<Node> node = make_node(
      name, tensors, outputs.size(),
      [name, backward, context, count = inputs.size(), results = outputs.size()](Gradients& g) {
        std::vector<Tensor> gradients;
        std::vector<bool> wanted;
        for (size_t i = 0; i < results; ++i) gradients.push_back(g.output(i));
        for (size_t i = 0; i < count; ++i) wanted.push_back(g.wanted(i));
        FunctionContext call = context;
        call.node_ = &g.node();
        call.wanted_ = &wanted;
        std::vector<Tensor> result = backward(call, gradients);
        check(result.size() == count, name, "backward must return one gradient a tensor argument",
              result.size(), " for ", count);
        for (size_t i = 0; i < count; ++i) g.input(i) = std::move(result[i]);
      });
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (is_differentiable(outputs[i].dtype()) && !is_one_of(outputs[i], without_gradient)) {
      set_history(outputs[i], node, static_cast<uint32_t>(i));
    } else {
      node->outputs()[i] = {outputs[i].shape(), outputs[i].dtype(), outputs[i].device()};
    }
  }
}

}  // namespace aorta::autograd
