#include <aorta/autograd/backward.h>
#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>

namespace aorta::autograd {
namespace {

std::vector<Edge> places_of(const char* op, std::span<const Tensor> inputs) {
  std::vector<Edge> places;
  for (size_t i = 0; i < inputs.size(); ++i) {
    places.push_back(edge_of(inputs[i]));
    check(places.back().node.get() != nullptr, op, "an input must require a gradient", "input ", i,
          " of shape ", inputs[i].shape());
  }
  return places;
}

}  // namespace

void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients,
              const BackwardOptions& options) {
  BackwardPass pass(tensors, gradients, "backward");
  const std::vector<Edge> places = places_of("backward", options.inputs);
  for (const Edge& place : places)
    check(place.node->is_leaf(), "backward", "inputs must be leaves", place.node->description());
  if (!places.empty()) pass.accumulate(places);
  pass.run(options.retain_graph.value_or(options.create_graph), options.create_graph);
}

std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs, const GradOptions& options) {
  check(!inputs.empty(), "grad", "at least one input must be given", 0);
  check_defined("grad", "inputs", inputs);
  BackwardPass pass(outputs, grad_outputs, "grad");
  const std::vector<Edge> places = places_of("grad", inputs);
  pass.capture(places);
  pass.run(options.retain_graph.value_or(options.create_graph), options.create_graph);
  for (size_t i = 0; i < inputs.size() && !options.allow_unused; ++i) {
    check(pass.captured()[i].defined(), "grad",
          "the outputs must depend on every input, unless allow_unused", "input ", i, " of shape ",
          inputs[i].shape());
  }
  return std::move(pass.captured());
}

std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                         std::initializer_list<Tensor> inputs,
                         std::initializer_list<Tensor> grad_outputs, const GradOptions& options) {
  return grad(std::span<const Tensor>(outputs.begin(), outputs.size()),
              std::span<const Tensor>(inputs.begin(), inputs.size()),
              std::span<const Tensor>(grad_outputs.begin(), grad_outputs.size()), options);
}

void OrderedBackward::backward(int64_t turn, const Tensor& loss, const Tensor& gradient) {
  check(turn >= 0, "backward", "a turn can't be negative", turn);
  BackwardPass pass({&loss, 1}, {&gradient, 1}, "backward");
  LeafGradients leaves;
  pass.collect(&leaves);
  pass.run(false, false);
  const std::lock_guard lock(mutex_);
  const size_t place = static_cast<size_t>(turn);
  if (waiting_.size() <= place) waiting_.resize(place + 1);
  check(turn >= next_ && !waiting_[place], "backward", "each turn must come once", turn);
  waiting_[place] = std::move(leaves);
  const NoGradGuard no_grad;  // as in a pass, for hooks that step the leaves
  for (; next_ < static_cast<int64_t>(waiting_.size()); ++next_) {
    std::optional<LeafGradients>& ready = waiting_[static_cast<size_t>(next_)];
    if (!ready) break;
    for (auto& [node, sum] : *ready)
      static_cast<LeafNode&>(*node).accumulate(std::move(sum), false);
    ready->clear();
  }
}

int64_t OrderedBackward::finished() const {
  const std::lock_guard lock(mutex_);
  return next_;
}

}  // namespace aorta::autograd
