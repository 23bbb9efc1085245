#pragma once

#include <aorta/autograd/node.h>
#include <aorta/autograd/saved.h>
#include <aorta/autograd/sparse_gradient.h>

namespace aorta::autograd {

/// What a gradient function is called with: the gradients of its op's outputs, and places for those
/// of its inputs. An input whose place stays undefined has a gradient of zeros.
class Gradients {
 public:
  Gradients(Node& node, Tensor* outputs, Tensor* inputs, const bool* wanted, bool keeps_graph)
      : node_(node),
        outputs_(outputs),
        inputs_(inputs),
        wanted_(wanted),
        keeps_graph_(keeps_graph) {}

  /// The gradient of an output; zeros where none arrived.
  const Tensor& output(size_t i = 0);
  bool has_output(size_t i) const { return outputs_[i].defined(); }
  /// Where the gradient of input `i` goes. It has the input's shape; the engine converts its dtype.
  Tensor& input(size_t i = 0) { return inputs_[i]; }
  /// Where a sparse gradient of input 0, a leaf, goes instead.
  std::optional<SparseGradient>& sparse_input() { return sparse_; }
  /// Nothing goes to input `i`, not even zeros.
  void leave_out(size_t i) { left_out_.push_back(i); }
  bool leaves_out(size_t i) const;
  /// True when somebody asked for the gradient of input `i`.
  bool wanted(size_t i) const { return wanted_[i]; }
  /// The shape of a wanted input.
  const Shape& input_shape(size_t i = 0) const { return spec(i).shape; }
  const GradientSpec& spec(size_t i) const {
    const Edge& edge = node_.edges()[i];
    return edge.node->outputs()[edge.output];
  }
  /// A saved tensor; throws when it was changed since.
  Tensor saved(const Saved& saved) const { return saved.get(node_); }
  Value saved(const SavedOperand& saved) const { return saved.get(node_); }
  Node& node() const { return node_; }
  /// True when the pass leaves the graph as it is, so that this function may run again.
  bool keeps_graph() const { return keeps_graph_; }

 private:
  Node& node_;
  Tensor* outputs_;
  Tensor* inputs_;
  const bool* wanted_;
  bool keeps_graph_;
  std::optional<SparseGradient> sparse_;
  std::vector<size_t> left_out_;
};

}  // namespace aorta::autograd
