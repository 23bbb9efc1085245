#include <aorta/optim/plateau.h>

#include <algorithm>
#include <limits>

namespace aorta::optim {
namespace {
constexpr const char* kPlateau = "reduce_lr_on_plateau";
}  // namespace

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, Options options)
    : optimizer_(optimizer),
      options_(std::move(options)),
      best_((options_.mode == Mode::min ? 1 : -1) * std::numeric_limits<double>::infinity()) {
  check(options_.factor >= 0 && options_.factor < 1, kPlateau, "factor must be in [0, 1)",
        options_.factor);
  check(options_.min_lr.size() == 1 || options_.min_lr.size() == optimizer.group_count(), kPlateau,
        "min_lr must be one, or one for each group", options_.min_lr.size(), " for ",
        optimizer.group_count());
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const bool relative = options_.threshold_mode == Threshold::rel;
  if (options_.mode == Mode::min) {
    return metric < (relative ? best_ * (1.0 - options_.threshold) : best_ - options_.threshold);
  }
  return metric > (relative ? best_ * (options_.threshold + 1.0) : best_ + options_.threshold);
}

void ReduceLROnPlateau::step(double metric) {
  const size_t groups = optimizer_.get().group_count();
  check(options_.min_lr.size() == 1 || options_.min_lr.size() == groups, kPlateau,
        "the optimizer must have the groups that min_lr was given for", groups, " for ",
        options_.min_lr.size());
  ++last_epoch_;
  if (is_better(metric)) {
    best_ = metric;
    bad_epochs_ = 0;
  } else {
    ++bad_epochs_;
  }
  if (cooldown_left_ > 0) {
    --cooldown_left_;
    bad_epochs_ = 0;
  }
  if (bad_epochs_ <= options_.patience) return;
  for (size_t g = 0; g < groups; ++g) {
    const double least = options_.min_lr[options_.min_lr.size() == 1 ? 0 : g];
    const double before = optimizer_.get().lr(g), after = std::max(before * options_.factor, least);
    if (before - after > options_.eps) optimizer_.get().set_lr(after, g);
  }
  cooldown_left_ = options_.cooldown;
  bad_epochs_ = 0;
}

std::vector<double> ReduceLROnPlateau::get_last_lr() const {
  std::vector<double> rates;
  for (size_t g = 0; g < optimizer_.get().group_count(); ++g)
    rates.push_back(optimizer_.get().lr(g));
  return rates;
}

State ReduceLROnPlateau::state() const {
  State state;
  state.set("best", State::Value(best_));
  state.set("last_epoch", State::Value(last_epoch_));
  state.set("num_bad_epochs", State::Value(bad_epochs_));
  state.set("cooldown_counter", State::Value(cooldown_left_));
  return state;
}

void ReduceLROnPlateau::restore(const State& state) {
  state.check_names({"best", "last_epoch", "num_bad_epochs", "cooldown_counter"});
  const double best = state.get<double>("best");
  const auto epoch = state.get<int64_t>("last_epoch"), bad = state.get<int64_t>("num_bad_epochs"),
             left = state.get<int64_t>("cooldown_counter");
  best_ = best;
  last_epoch_ = epoch;
  bad_epochs_ = bad;
  cooldown_left_ = left;
}

}  // namespace aorta::optim
