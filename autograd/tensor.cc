// The members of Tensor that speak of the graph.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/history.h>

namespace aorta {

using autograd::Edge;
using autograd::edge_of;
using autograd::GradCell;
using autograd::gradient_cell;
using autograd::LeafNode;

bool Tensor::is_leaf() const {
  check_defined("is_leaf", {{"input", *this}});
  const Edge edge = edge_of(*this);
  return !edge.node || edge.node->is_leaf();
}

std::string Tensor::grad_fn() const {
  check_defined("grad_fn", {{"input", *this}});
  const Edge edge = edge_of(*this);
  return !edge.node || edge.node->is_leaf() ? "" : edge.node->name();
}

Tensor Tensor::grad() const {
  check_defined("grad", {{"input", *this}});
  GradCell* cell = gradient_cell(*this, false);
  return cell ? cell->get() : Tensor();
}

void Tensor::set_grad(const Tensor& gradient) const {
  check_defined("set_grad", {{"input", *this}});
  if (gradient.defined()) {
    check(gradient.shape() == shape(), "set_grad", "the gradient must have the tensor's shape",
          gradient.shape(), " for ", shape());
    check(gradient.dtype() == dtype(), "set_grad", "the gradient must have the tensor's dtype",
          gradient.dtype(), " for ", dtype());
    check(gradient.device() == device(), "set_grad", "the gradient must be on the tensor's device",
          gradient.device(), " for ", device());
  }
  GradCell* cell = gradient_cell(*this, gradient.defined());
  check(cell || !gradient.defined(), "set_grad", "only a leaf has a gradient to set", shape());
  if (!cell) return;
  const Edge edge = edge_of(*this);
  if (edge.node && edge.node->is_leaf()) {
    static_cast<LeafNode&>(*edge.node).set(gradient);
  } else {
    cell->set(gradient);
  }
}

const Tensor& Tensor::retain_grad() const {
  check_defined("retain_grad", {{"input", *this}});
  check(requires_grad(), "retain_grad", "the tensor must require a gradient", shape());
  autograd::retain_gradient(*this);
  return *this;
}

void Tensor::backward(const Tensor& gradient, std::optional<bool> retain_graph,
                      bool create_graph) const {
  autograd::backward({this, 1}, {&gradient, 1},
                     {.retain_graph = retain_graph, .create_graph = create_graph});
}

HookHandle Tensor::register_hook(std::function<Tensor(const Tensor& gradient)> hook) const {
  check_defined("register_hook", {{"input", *this}});
  check(bool(hook), "register_hook", "the hook must be a function", "an empty one");
  check(requires_grad(), "register_hook", "the tensor must require a gradient", shape());
  const Edge edge = edge_of(*this);
  const int64_t id = edge.node->hooks().add(edge.output, std::move(hook), nullptr);
  return {edge.node->shared_hooks(), id};
}

HookHandle Tensor::register_post_accumulate_grad_hook(
    std::function<void(const Tensor& tensor)> hook) const {
  check(bool(hook), "register_post_accumulate_grad_hook", "the hook must be a function",
        "an empty one");
  check(requires_grad() && is_leaf(), "register_post_accumulate_grad_hook",
        "the tensor must be a leaf that requires a gradient", shape());
  const Edge edge = edge_of(*this);
  static_cast<LeafNode&>(*edge.node).keep(*this);
  const int64_t id = edge.node->hooks().add(0, nullptr, std::move(hook));
  return {edge.node->shared_hooks(), id};
}

}  // namespace aorta
