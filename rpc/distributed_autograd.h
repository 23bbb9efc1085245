#pragma once

#include <aorta/autograd/node.h>
#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

#include <map>
#include <utility>

// Backward passes through calls of other processes: PyTorch's torch.distributed.autograd.
//
//     {
//       const dist_autograd::context context;   // namespace dist_autograd = distributed::autograd
//       const Tensor loss = (rpc::rpc_sync<embed>("worker1", words) - target).square().sum();
//       dist_autograd::backward(context.id(), {loss});
//       optimizer.step(context.id());           // a rpc::DistributedOptimizer
//     }

namespace aorta::distributed::autograd {

/// One forward and backward pass over several processes. While it lives, calls that this thread
/// makes, and those that they make, note the tensors with gradients that they send and receive; the
/// gradients that backward() finds are the context's and not grad(), so that passes of several
/// processes at once don't meet. Its end frees all of it, in all processes.
class context {
 public:
  /// Throws before rpc::init_rpc().
  context();
  ~context();
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  int64_t id() const { return id_; }

 private:
  const int64_t id_;
  const int64_t outer_;
};

/// The gradients of `roots`, one number each, go to all leaves that they were computed from, in
/// whichever process. It is first asked what is reached, so that a call whose result has no part in
/// the roots is no trouble: two messages a call. Throws what any process has thrown. Leaves with
/// hooks for after the accumulation (those of DistributedDataParallel) are an error, for grad()
/// isn't touched.
void backward(int64_t context_id, const List<Tensor>& roots, bool retain_graph = false);

/// Gradients of this process's leaves.
class Gradients {
 public:
  using ByNode =
      std::map<const aorta::autograd::Node*, std::pair<Ref<aorta::autograd::Node>, Tensor>>;
  explicit Gradients(ByNode gradients) : gradients_(std::move(gradients)) {}
  /// The gradient of a leaf; throws where there is none.
  const Tensor& operator[](const Tensor& leaf) const;
  bool contains(const Tensor& leaf) const { return find(leaf) != nullptr; }
  size_t size() const { return gradients_.size(); }

 private:
  const Tensor* find(const Tensor& leaf) const;
  ByNode gradients_;
};

/// What backward() has found in this process; of several calls the sums.
Gradients get_gradients(int64_t context_id);

}  // namespace aorta::distributed::autograd
