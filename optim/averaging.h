#pragma once

#include <aorta/core/io/state.h>

namespace aorta::optim {

/// Which average AveragedModel takes.
struct AverageOptions {
  /// Exponential moving average, average = decay average + (1 - decay) tensor; without it the equal
  /// average of stochastic weight averaging (Izmailov et al. 2018), as SWALR goes with.
  std::optional<double> ema_decay = {};
};

/// Averages of parameters (and buffers) over training, as torch.optim.swa_utils.AveragedModel has
/// them, on a list of tensors:
///
///     optim::AveragedModel averages(net.parameters(), {.ema_decay = 0.999});
///     optimizer.step();  averages.update_parameters(net.parameters());     // after each step
///     averages.swap(net.parameters());  evaluate(net);  averages.swap(net.parameters());
///
/// A net with batch norms then needs the statistics of the averages: `nn::update_bn(net, loader)`
/// between swap and evaluate. The first update copies. Averages have the tensors' dtype, where a
/// decay near 1 doesn't move a half type: average the f32 parameters. Tensors that aren't floating
/// are copied at each update. One pass over memory an update.
class AveragedModel {
 public:
  explicit AveragedModel(const List<Tensor>& tensors, const AverageOptions& options = {});

  void update_parameters(const List<Tensor>& tensors);
  /// The averages, in the tensors' order.
  const std::vector<Tensor>& parameters() const { return averages_; }
  /// Writes the averages into the tensors.
  void copy_to(const List<Tensor>& tensors) const;
  /// Exchanges the averages and the tensors' values.
  void swap(const List<Tensor>& tensors);
  int64_t n_averaged() const { return n_averaged_; }

  /// n_averaged, and averages.POSITION: the object's own tensors.
  State state() const;
  /// Checks everything before anything changes.
  void restore(const State& state);
  State state_dict() const { return state(); }
  void load_state_dict(const State& state) { restore(state); }

 private:
  void check_like(const std::vector<Tensor>& tensors) const;

  AverageOptions options_;
  std::vector<Tensor> averages_;
  int64_t n_averaged_ = 0;
};

}  // namespace aorta::optim
