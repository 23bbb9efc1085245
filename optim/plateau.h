#pragma once

#include <aorta/optim/optimizer.h>

namespace aorta::optim {

/// lr *= factor when a metric hasn't become better in `patience` steps.
class ReduceLROnPlateau {
 public:
  enum class Mode : uint8_t { min, max };
  enum class Threshold : uint8_t { rel, abs };
  struct Options {
    Mode mode = Mode::min;
    double factor = 0.1;
    int64_t patience = 10;
    double threshold = 1e-4;
    Threshold threshold_mode = Threshold::rel;
    int64_t cooldown = 0;
    List<double> min_lr = {0};  // one, or one a group
    double eps = 1e-8;          // smaller changes aren't made
  };
  ReduceLROnPlateau(Optimizer& optimizer, Options options);
  explicit ReduceLROnPlateau(Optimizer& optimizer) : ReduceLROnPlateau(optimizer, Options()) {}

  void step(double metric);
  std::vector<double> get_last_lr() const;
  double best() const { return best_; }
  State state() const;
  void restore(const State& state);
  State state_dict() const { return state(); }
  void load_state_dict(const State& state) { restore(state); }

 private:
  bool is_better(double metric) const;

  OptimizerRef optimizer_;
  Options options_;
  double best_;
  int64_t last_epoch_ = 0, bad_epochs_ = 0, cooldown_left_ = 0;
};

}  // namespace aorta::optim
