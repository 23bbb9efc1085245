#pragma once

#include <aorta/autograd/node.h>

#include <mutex>

namespace aorta::autograd {

/// How backward() goes about it.
struct BackwardOptions {
  std::optional<bool> retain_graph = {};  // keep the saved tensors; by default `create_graph`
  bool create_graph = false;              // record the computation of the gradients too
  std::span<const Tensor> inputs = {};    // accumulate for these leaves alone; empty: for all
};

/// Computes the gradients of sum_i <gradients[i], tensors[i]> with respect to the leaves of the
/// graph and adds them to their grad(). An undefined (or missing) gradient stands for 1 and needs a
/// tensor of one element. Gradients of a tensor with several uses are summed in the reverse order
/// of those uses: the same graph gives the same bits.
void backward(std::span<const Tensor> tensors, std::span<const Tensor> gradients = {},
              const BackwardOptions& options = {});

/// How grad() goes about it; the first two are those of BackwardOptions.
struct GradOptions {
  std::optional<bool> retain_graph = {};
  bool create_graph = false;
  bool allow_unused = false;  // undefined for an input that the outputs don't depend on: no error
};

/// The gradients of sum_i <grad_outputs[i], outputs[i]> with respect to `inputs`, leaves or not, in
/// their order. Touches no grad().
std::vector<Tensor> grad(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                         std::span<const Tensor> grad_outputs = {},
                         const GradOptions& options = {});
std::vector<Tensor> grad(std::initializer_list<Tensor> outputs,
                         std::initializer_list<Tensor> inputs,
                         std::initializer_list<Tensor> grad_outputs = {},
                         const GradOptions& options = {});

/// Backward passes that run on several threads at once and share leaves. Each has a turn, 0, 1,
/// ..., and its gradients reach grad() in the order of turns, so that the sums are the same bits
/// for any number of threads. No thread waits: who finishes turn k adds what lies ready from k on.
///
///     OrderedBackward passes;
///     // on any thread, for each part k of the batch:
///     passes.backward(k, loss);
class OrderedBackward {
 public:
  /// Each turn once.
  void backward(int64_t turn, const Tensor& loss, const Tensor& gradient = {});
  /// Turns that have reached grad().
  int64_t finished() const;

 private:
  using LeafGradients = std::vector<std::pair<Ref<Node>, Tensor>>;

  mutable std::mutex mutex_;
  std::vector<std::optional<LeafGradients>> waiting_;
  int64_t next_ = 0;
};

}  // namespace aorta::autograd
