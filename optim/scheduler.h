#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

// Learning-rate schedules with PyTorch's names and numbers. Make them after the optimizer, call
// step() after each optimizer step or epoch. Each changes the lr of every group, from where it is:
// schedules of one optimizer compose. The first schedule of an optimizer notes each group's lr as
// its initial_lr (base below). t counts the calls of step(); making a schedule is step 0.

/// What schedules share. A schedule refers to its optimizer, which must live longer: where it is
/// used after the optimizer it throws.
class LRScheduler {
 public:
  virtual ~LRScheduler() = default;
  LRScheduler(const LRScheduler&) = delete;
  LRScheduler& operator=(const LRScheduler&) = delete;

  /// Goes to the next learning rates.
  virtual void step();
  /// The learning rates that the last step set, a group each.
  const std::vector<double>& get_last_lr() const { return last_lr_; }
  int64_t last_epoch() const { return last_epoch_; }
  Optimizer& optimizer() const { return optimizer_.get(); }

  /// Where it stands; options and functions aren't part of it, and neither is the optimizer's lr,
  /// which is the optimizer's state.
  virtual State state() const;
  /// Checks everything before anything changes.
  void restore(const State& state);
  State state_dict() const { return state(); }
  void load_state_dict(const State& state) { restore(state); }

  // How schedules that hold others drive them.

  /// Takes step 0 again.
  virtual void initial_step();
  /// Starts in the middle of a sequence: step 0, from the base and not from the current lr.
  virtual void start();
  /// Checks a state, and takes it over if `apply`.
  virtual void load(const State& state, bool apply);

 protected:
  explicit LRScheduler(Optimizer& optimizer) : optimizer_(optimizer) {}
  /// To be called by constructors: notes the base and takes step 0.
  void begin();
  /// The lr of a group at last_epoch(), from the group's current one.
  virtual double lr_of(size_t group, double lr) = 0;
  /// The lr at step 0 from the base.
  virtual double lr_at_start(size_t group) { return lr_of(group, optimizer().lr(group)); }

  double base(size_t group) const { return base_[group]; }
  /// True during step 0.
  bool is_initial() const { return initial_; }
  int64_t step_count() const { return step_count_; }
  void note_rates();
  void check_groups(const char* op) const;

  int64_t last_epoch_ = -1;
  std::vector<double> last_lr_;

 private:
  OptimizerRef optimizer_;
  std::vector<double> base_;
  int64_t step_count_ = 0;
  bool initial_ = false;
};

}  // namespace aorta::optim
