#pragma once

#include <aorta/core/comm.h>
#include <aorta/nn/module.h>
#include <aorta/nn/parallel/gradient_reducer.h>

#include <memory>
#include <utility>

namespace aorta::nn {

/// A module that each rank of a group computes on a part of the batch of its own:
///
///     nn::DistributedDataParallel parallel(net, group);
///     Tensor loss = nn::cross_entropy(parallel(images), labels);   // of this rank's images
///     loss.backward();                                             // gradients: the ranks' mean
///     optimizer.step();                                            // the same step on each rank
///
/// It keeps references of `net` and of `group`. When it is made, all ranks take rank 0's parameters
/// and buffers; in training each call takes its buffers first. A backward pass leaves the mean over
/// the ranks in each parameter's grad(): buckets of parameters, the last ones first, are reduced
/// while the rest of the pass runs, in an order that is the same on all ranks. So each rank makes
/// the same passes, and what requires a gradient must not change.
///
/// Every parameter must get a gradient in every pass; those that got none are named in an error, on
/// all ranks. With `find_unused_parameters` they count as zeros, and what no rank has used keeps
/// the grad() that it has. A rank that fails ends the group, with its message.
template <class M>
class DistributedDataParallel {
 public:
  DistributedDataParallel(M& module, Communicator& group,
                          const DistributedDataParallelOptions& options = {})
      : module_(&module),
        group_(&group),
        reducer_(std::make_unique<GradientReducer>(base(module), group, options)) {}
  DistributedDataParallel(M&& module, Communicator& group,
                          const DistributedDataParallelOptions& options = {}) =
      delete;  // it keeps a reference

  M& module() const { return *module_; }

  template <class... Args>
  auto operator()(Args&&... args) const {
    reducer_->before_forward();
    const CommunicatorScope scope(group_);
    return (*module_)(std::forward<Args>(args)...);
  }

  /// See GradientReducer.
  double waited_seconds() const { return reducer_->waited_seconds(); }

  /// While the result lives, backward passes leave each rank's own gradients, which the next pass
  /// after it adds to and reduces: several small batches as a large one.
  [[nodiscard]] NoSync no_sync() const { return NoSync(*reducer_); }

 private:
  static Module& base(M& module) {
    if constexpr (std::derived_from<M, Module>)
      return module;
    else
      return *module;
  }

  M* module_;
  Communicator* group_;
  std::unique_ptr<GradientReducer> reducer_;
};

}  // namespace aorta::nn
