#pragma once

#include <aorta/optim/scheduler.h>

namespace aorta::optim {

using Schedules = std::vector<std::shared_ptr<LRScheduler>>;

/// Steps all of its schedules, in their order.
class ChainedScheduler : public LRScheduler {
 public:
  explicit ChainedScheduler(Schedules schedules);
  void step() override;
  State state() const override;
  void undo() override;
  void initial_step() override;
  void start() override;
  void load(const State& state, bool apply) override;

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  Schedules schedules_;
};

/// schedules[0] from step 0 on, schedules[i] from milestones[i - 1] on, each from its own step 0:
///
///     auto warm_up = std::make_shared<LinearLR>(optimizer, LinearLR::Options{.total_iters = 500});
///     auto decay = std::make_shared<CosineAnnealingLR>(optimizer, ...);
///     SequentialLR schedule(optimizer, {warm_up, decay}, {500});
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, Schedules schedules, std::vector<int64_t> milestones);
  void step() override;
  State state() const override;
  void undo() override;
  void initial_step() override;
  void start() override;
  void load(const State& state, bool apply) override;

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  size_t index() const;

  Schedules schedules_;
  std::vector<int64_t> milestones_;
};

}  // namespace aorta::optim
