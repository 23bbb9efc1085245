#pragma once

#include <aorta/optim/optimizer.h>

#include <map>
#include <memory>

namespace aorta::optim {

/// How the scale of a GradScaler changes.
struct GradScalerOptions {
  double init_scale = 65536;
  double growth_factor = 2;     // after `growth_interval` updates in a row without infinities
  double backoff_factor = 0.5;  // after an update with some
  int64_t growth_interval = 2000;
  bool enabled = true;  // otherwise losses and gradients stay as they are
};

/// Scales losses, so that small gradients don't vanish in f16, as torch.amp.GradScaler does:
///
///     optim::GradScaler scaler;
///     optimizer.zero_grad();
///     Tensor loss;
///     { const Autocast scope(f16);  loss = loss_of(net(x)); }
///     scaler.scale(loss).backward();
///     scaler.unscale_(optimizer);                          // only where gradients are looked at:
///     optim::clip_grad_norm_(net.parameters(), 1);         // clipped, say
///     scaler.step(optimizer);                              // leaves a step with infinities out
///     scaler.update();                                     // once, after all optimizers
///
/// Gradients of a 16-bit float have its range, so parameters are f32 (autocast's). bf16 has f32's
/// and needs no scaling. The scale is a number of the device that the losses are on, so that only
/// step() waits for a GPU, to say whether it did, and get_scale() and state(). All of it may be in
/// a captured step (core/dispatch/capture.h), whose device decides by itself, as by
/// step_if_finite().
class GradScaler {
 public:
  explicit GradScaler(const GradScalerOptions& options = {});
  GradScaler(const GradScaler&) = delete;
  GradScaler& operator=(const GradScaler&) = delete;

  /// The loss times the scale.
  Tensor scale(const Tensor& loss);
  /// Divides the gradients of the optimizer's parameters by the scale, in place. Errors: a second
  /// time before update(), after step(); parameters of f16.
  void unscale_(Optimizer& optimizer);
  /// Divides the gradients unless unscale_() has, and steps if all of them are finite; whether it
  /// did (true in a captured step). Errors: a second time before update(); an optimizer without
  /// gradients.
  bool step(Optimizer& optimizer);
  /// The scale of the next loss: one that is given, or backoff_factor times this one if a gradient
  /// was infinite or NaN since the last update, growth_factor times it after growth_interval
  /// updates in a row where none was. Errors: neither unscale_() nor step() since the last update.
  void update(std::optional<double> new_scale = {});

  bool is_enabled() const { return options_.enabled; }
  /// 1 where it isn't enabled.
  double get_scale() const;

  /// scale, growth_factor, backoff_factor, growth_interval and growth_tracker, the updates in a row
  /// without infinities.
  State state() const;
  /// Checks everything before anything changes.
  void restore(const State& state);
  State state_dict() const { return state(); }
  void load_state_dict(const State& state) { restore(state); }

 private:
  struct Stage {
    bool stepped = false;
    Tensor largest;  // of the gradients' magnitudes, where they are
  };
  using Stages = std::map<const Optimizer*, Stage>;
  // Divides the gradients and looks at them.
  Stage& unscaled(Optimizer& optimizer);
  Tensor scale_on(Device device);

  GradScalerOptions options_;
  Tensor scale_, growth_tracker_;                                // f32 and i64, 0-d
  std::shared_ptr<Stages> stages_ = std::make_shared<Stages>();  // since the last update
};

}  // namespace aorta::optim
