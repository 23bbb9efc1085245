#include <aorta/optim/scheduler.h>

namespace aorta::optim {

void LRScheduler::check_groups(const char* op) const {
  check(base_.size() == optimizer().group_count(), op,
        "the optimizer must have the groups that the schedule was made for",
        optimizer().group_count(), " for ", base_.size());
}

void LRScheduler::note_rates() {
  last_lr_.resize(optimizer().group_count());
  for (size_t g = 0; g < last_lr_.size(); ++g) last_lr_[g] = optimizer().lr(g);
}

void LRScheduler::begin() {
  for (size_t g = 0; g < optimizer().group_count(); ++g) {
    std::optional<double>& initial = optimizer().initial_lr(g);
    if (!initial) initial = optimizer().lr(g);
    base_.push_back(*initial);
  }
  initial_step();
}

void LRScheduler::initial_step() {
  last_epoch_ = -1;
  step_count_ = 0;
  initial_ = true;
  step();
  initial_ = false;
}

void LRScheduler::step() {
  check_groups("lr_scheduler");
  ++last_epoch_;
  ++step_count_;
  std::vector<double> rates(base_.size());
  try {
    for (size_t g = 0; g < rates.size(); ++g) rates[g] = lr_of(g, optimizer().lr(g));
  } catch (...) {
    --last_epoch_;
    --step_count_;
    throw;
  }
  for (size_t g = 0; g < rates.size(); ++g) optimizer().set_lr(rates[g], g);
  note_rates();
}

void LRScheduler::start() {
  check_groups("lr_scheduler");
  last_epoch_ = 0;
  for (size_t g = 0; g < base_.size(); ++g) optimizer().set_lr(lr_at_start(g), g);
  note_rates();
}

State LRScheduler::state() const {
  State state;
  state.set("last_epoch", State::Value(last_epoch_));
  state.set("step_count", State::Value(step_count_));
  state.set("base_lrs", State::Value(base_));
  state.set("last_lr", State::Value(last_lr_));
  return state;
}

void LRScheduler::restore(const State& state) {
  load(state, false);
  load(state, true);
}

void LRScheduler::load(const State& state, bool apply) {
  state.check_names({"last_epoch", "step_count", "base_lrs", "last_lr"});
  const auto base = state.get<std::vector<double>>("base_lrs");
  const auto last = state.get<std::vector<double>>("last_lr");
  const auto epoch = state.get<int64_t>("last_epoch"), count = state.get<int64_t>("step_count");
  check(base.size() == base_.size() && last.size() == last_lr_.size(), "lr_scheduler",
        "the state must have as many groups as the schedule", base.size(), " for ", base_.size());
  if (!apply) return;
  base_ = base;
  last_lr_ = last;
  last_epoch_ = epoch;
  step_count_ = count;
}

}  // namespace aorta::optim
