#pragma once

#include <aorta/optim/composed_schedules.h>
#include <aorta/optim/plateau.h>

namespace aorta::optim {

/// lr *= gamma every step_size steps.
class StepLR : public LRScheduler {
 public:
  struct Options {
    int64_t step_size;
    double gamma = 0.1;
  };
  StepLR(Optimizer& optimizer, const Options& options);

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// lr *= gamma at each milestone (as often as it is listed).
class MultiStepLR : public LRScheduler {
 public:
  struct Options {
    List<int64_t> milestones;
    double gamma = 0.1;
  };
  MultiStepLR(Optimizer& optimizer, Options options);

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// lr times `factor` until total_iters.
class ConstantLR : public LRScheduler {
 public:
  struct Options {
    double factor = 1.0 / 3;
    int64_t total_iters = 5;
  };
  explicit ConstantLR(Optimizer& optimizer, const Options& options);
  explicit ConstantLR(Optimizer& optimizer) : ConstantLR(optimizer, Options()) {}

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// lr times a factor that goes from start_factor to end_factor in total_iters steps: the usual
/// warm-up, alone or first in a SequentialLR or ChainedScheduler.
class LinearLR : public LRScheduler {
 public:
  struct Options {
    double start_factor = 1.0 / 3, end_factor = 1;
    int64_t total_iters = 5;
  };
  explicit LinearLR(Optimizer& optimizer, const Options& options);
  explicit LinearLR(Optimizer& optimizer) : LinearLR(optimizer, Options()) {}

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// lr *= gamma at each step.
class ExponentialLR : public LRScheduler {
 public:
  struct Options {
    double gamma;
  };
  ExponentialLR(Optimizer& optimizer, const Options& options);

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// base (1 - t / total_iters)^power, then 0.
class PolynomialLR : public LRScheduler {
 public:
  struct Options {
    int64_t total_iters = 5;
    double power = 1;
  };
  explicit PolynomialLR(Optimizer& optimizer, const Options& options);
  explicit PolynomialLR(Optimizer& optimizer) : PolynomialLR(optimizer, Options()) {}

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// eta_min + (base - eta_min) (1 + cos(pi t / T_max)) / 2 (Loshchilov and Hutter 2017), by
/// PyTorch's recurrence, so that it composes.
class CosineAnnealingLR : public LRScheduler {
 public:
  struct Options {
    int64_t T_max;
    double eta_min = 0;
  };
  CosineAnnealingLR(Optimizer& optimizer, const Options& options);

 protected:
  double lr_of(size_t group, double lr) override;
  double lr_at_start(size_t group) override;

 private:
  Options options_;
};

/// Starts the cosine again after T_0 steps, then after T_0 T_mult, T_0 T_mult^2, ... step(epoch)
/// goes to any (fractional) epoch.
class CosineAnnealingWarmRestarts : public LRScheduler {
 public:
  struct Options {
    int64_t T_0;
    int64_t T_mult = 1;
    double eta_min = 0;
  };
  CosineAnnealingWarmRestarts(Optimizer& optimizer, const Options& options);
  void step() override;
  void step(double epoch);
  State state() const override;
  void initial_step() override { step(0); }
  void start() override { step(0); }
  void load(const State& state, bool apply) override;

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  void set_rates();

  Options options_;
  double current_ = -1;  // T_cur, epochs since the last restart
  double period_;        // T_i
};

/// base times function(t), of the group's own or one for all.
class LambdaLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t epoch)>;
  LambdaLR(Optimizer& optimizer, Function function);
  LambdaLR(Optimizer& optimizer, List<Function> functions);

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  std::vector<Function> functions_;
};

/// lr *= function(t) from step 1 on, of the group's own or one for all.
class MultiplicativeLR : public LRScheduler {
 public:
  using Function = std::function<double(int64_t epoch)>;
  MultiplicativeLR(Optimizer& optimizer, Function function);
  MultiplicativeLR(Optimizer& optimizer, List<Function> functions);

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  std::vector<Function> functions_;
};

/// The curve from one learning rate to the next: half a cosine, or a line.
enum class Anneal : uint8_t { cos, linear };

/// From max_lr / div_factor up to max_lr in the first pct_start of total_steps, or of epochs times
/// steps_per_epoch, then down to the start / final_div_factor (Smith and Topin 2018); three_phase:
/// down to the start as fast as up, then further. The momentum (or beta1) goes the other way.
class OneCycleLR : public LRScheduler {
 public:
  struct Options {
    List<double> max_lr;  // one, or one a group
    std::optional<int64_t> total_steps = {}, epochs = {}, steps_per_epoch = {};
    double pct_start = 0.3;
    Anneal anneal_strategy = Anneal::cos;
    bool cycle_momentum = true;
    double base_momentum = 0.85, max_momentum = 0.95;
    double div_factor = 25, final_div_factor = 1e4;
    bool three_phase = false;
  };
  OneCycleLR(Optimizer& optimizer, Options options);
  /// How many steps options ask for. Errors: they say neither total_steps nor both others; one is
  /// not above 0.
  static int64_t steps_of(const Options& options);

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  Options options_;
  int64_t total_steps_;
};

/// How high the cycles of CyclicLR are: all the same; half of the one before; gamma^t.
enum class CyclicMode : uint8_t { triangular, triangular2, exp_range };
/// What CyclicLR's scale_fn is a function of: the number of the cycle, from 1, or t.
enum class CyclicScale : uint8_t { cycle, iterations };

/// From base_lr up to max_lr in step_size_up steps and down in step_size_down (as many, when left
/// out), again and again (Smith 2017), the height times the mode's scale or `scale_fn`. The
/// momentum (or beta1) goes from max_momentum to base_momentum and back.
class CyclicLR : public LRScheduler {
 public:
  struct Options {
    List<double> base_lr, max_lr;  // one, or one a group
    int64_t step_size_up = 2000;
    std::optional<int64_t> step_size_down = {};
    CyclicMode mode = CyclicMode::triangular;
    double gamma = 1;
    std::function<double(int64_t)> scale_fn = {};
    CyclicScale scale_mode = CyclicScale::cycle;  // of scale_fn
    bool cycle_momentum = true;
    double base_momentum = 0.8, max_momentum = 0.9;
  };
  CyclicLR(Optimizer& optimizer, Options options);

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  double scale(int64_t cycle) const;

  Options options_;
};

/// Goes to swa_lr in anneal_epochs steps and stays: for averaging (optim/averaging.h).
class SWALR : public LRScheduler {
 public:
  struct Options {
    List<double> swa_lr;  // one, or one a group
    int64_t anneal_epochs = 10;
    Anneal anneal_strategy = Anneal::cos;
  };
  SWALR(Optimizer& optimizer, Options options);

 protected:
  double lr_of(size_t group, double lr) override;

 private:
  Options options_;
};

}  // namespace aorta::optim
