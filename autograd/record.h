#pragma once

#include <aorta/autograd/gradients.h>
#include <aorta/autograd/history.h>
#include <aorta/core/dispatch/op_table.h>

#include <initializer_list>

namespace aorta::autograd {

using namespace kernel;

/// Lets the node's edges lead to its inputs (null for one that is no tensor).
void connect(Node& node, std::span<const Tensor* const> inputs);

/// Makes the node of an op from its inputs.
template <class Closure>
Ref<Node> make_node(const char* name, std::span<const Tensor* const> inputs, size_t outputs,
                    Closure closure) {
  Ref<Node> node = FunctionNode<Closure>::make(name, inputs.size(), outputs, std::move(closure));
  connect(*node, inputs);
  return node;
}

/// Records an op: `closure(Gradients&)` maps the gradient of `output` to those of `inputs`, by
/// differentiable ops. It may run more than once.
template <class Closure>
void record(const char* name, const Tensor& output, std::initializer_list<const Tensor*> inputs,
            Closure closure) {
  set_history(output, make_node(name, inputs, 1, std::move(closure)));
}

/// Records an op with several outputs; one without gradient is passed as null.
template <class Closure>
void record(const char* name, std::initializer_list<const Tensor*> outputs,
            std::initializer_list<const Tensor*> inputs, Closure closure) {
  const Ref<Node> node = make_node(name, inputs, outputs.size(), std::move(closure));
  uint32_t i = 0;
  for (const Tensor* output : outputs) {
    if (output) set_history(*output, node, i);
    ++i;
  }
}

/// Records a view of `input`.
template <class Closure>
void record_view(const char* name, const Tensor& view, const Tensor& input, Closure closure) {
  const Tensor* inputs[] = {&input};
  set_view_history(view, make_node(name, inputs, 1, std::move(closure)));
}

}  // namespace aorta::autograd
