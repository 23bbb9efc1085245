#pragma once

#include <aorta/core/comm.h>
#include <aorta/optim/optimizer.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace aorta::optim {

/// Optimizer state divided among the ranks of a group: the first stage of ZeRO (Rajbhandari et al.,
/// 2020), PyTorch's class of that name. Each rank steps the parameters that are its own and sends
/// them to the others, so that it keeps the state of those alone, about one of size() parts.
/// Parameters are dealt out whole, the largest first, each to the rank that has fewest elements:
/// the bits are those of an optimizer that has them all.
///
///     optim::ZeroRedundancyOptimizer optimizer(net.parameters(), group, [](const auto& mine) {
///       return std::make_unique<optim::Adam>(mine, optim::AdamOptions{.lr = 1e-3});
///     });
///
/// All ranks make the same calls, and gradients are the same on all, as DistributedDataParallel
/// leaves them.
class ZeroRedundancyOptimizer {
 public:
  using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Tensor>& parameters)>;

  /// `make` gives an optimizer with one group. Throws where there are fewer parameters than ranks.
  ZeroRedundancyOptimizer(List<Tensor> parameters, Communicator& group, const Make& make);

  /// That of this rank's parameters: its learning rate is what a schedule moves, on each rank.
  Optimizer& own() { return *own_; }
  const Optimizer& own() const { return *own_; }
  /// The rank that steps parameter `position`.
  int owner(size_t position) const { return owners_.at(position); }

  void step();
  /// Clears the gradients of all parameters, as Optimizer's does.
  void zero_grad(bool set_to_none = true);

  /// What an optimizer of all parameters gives, so that either goes on from the other's, on any
  /// number of ranks: on rank 0, which alone gets the others' state. All ranks call it.
  State state() const;
  /// Takes over what state() gave on rank 0, or an optimizer of all parameters.
  void restore(const State& state);

 private:
  void check_whole(const State& state) const;
  void broadcast_entries(const State& mine, int root, State& all) const;

  std::vector<Tensor> parameters_;
  Communicator& group_;
  std::vector<int> owners_;
  std::vector<size_t> positions_;  // of this rank's parameters
  std::unique_ptr<Optimizer> own_;
};

}  // namespace aorta::optim
