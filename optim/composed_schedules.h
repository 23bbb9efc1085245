#pragma once

#include <aorta/optim/scheduler.h>

namespace aorta::optim {

/// The schedules that a composed one is made of.
using Schedules = List<std::shared_ptr<LRScheduler>>;

/// Schedules of one optimizer as one.
class ComposedScheduler : public LRScheduler {
 public:
  State state() const override;
  void load(const State& state, bool apply) override;

 protected:
  ComposedScheduler(Optimizer& optimizer, Schedules schedules)
      : LRScheduler(optimizer), schedules_(std::move(schedules)) {}
  double lr_of(size_t group, double lr) override;

  /// Sets every group to its base.
  void go_to_base();

  Schedules schedules_;
};

/// Steps all of its schedules, in their order. In a SequentialLR it starts from the base wherever
/// it stands (PyTorch's can only stand first, and then an ExponentialLR inside is one gamma ahead).
class ChainedScheduler : public ComposedScheduler {
 public:
  explicit ChainedScheduler(const Schedules& schedules);
  void step() override;
  void initial_step() override;
  void start() override;
};

/// schedules[0] from step 0 on, schedules[i] from milestones[i - 1] on, each from its own step 0:
///
///     auto warm_up = std::make_shared<LinearLR>(optimizer, LinearLR::Options{.total_iters = 500});
///     auto decay = std::make_shared<CosineAnnealingLR>(optimizer, ...);
///     SequentialLR schedule(optimizer, {warm_up, decay}, {500});
class SequentialLR : public ComposedScheduler {
 public:
  SequentialLR(Optimizer& optimizer, Schedules schedules, List<int64_t> milestones);
  void step() override;
  void initial_step() override;
  void start() override;

 private:
  size_t index() const;

  List<int64_t> milestones_;
};

}  // namespace aorta::optim
