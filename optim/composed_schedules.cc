#include <aorta/optim/composed_schedules.h>

#include <algorithm>

namespace aorta::optim {
namespace {

Optimizer& optimizer_of(const char* op, const Schedules& schedules) {
  check(!schedules.empty(), op, "there must be a schedule", "none");
  for (const auto& schedule : schedules) {
    check(schedule != nullptr, op, "schedules must be there", "a null pointer");
    check(&schedule->optimizer() == &schedules[0]->optimizer(), op,
          "the schedules must be of one optimizer", "another at one of ", schedules.size());
  }
  return schedules[0]->optimizer();
}

std::string prefix(size_t i) { return "schedules." + std::to_string(i) + "."; }

}  // namespace

State ComposedScheduler::state() const {
  State state;
  state.set("last_epoch", State::Value(last_epoch_));
  state.set("last_lr", State::Value(last_lr_));
  for (size_t i = 0; i < schedules_.size(); ++i) state.add(prefix(i), schedules_[i]->state());
  return state;
}
void ComposedScheduler::go_to_base() {
  for (size_t g = 0; g < optimizer().group_count(); ++g) {
    if (const auto base = optimizer().initial_lr(g)) optimizer().set_lr(*base, g);
  }
}
void ComposedScheduler::load(const State& state, bool apply) {
  State rest;  // what isn't the schedules'
  for (const auto& [name, value] : state.values()) {
    bool theirs = false;
    for (size_t i = 0; i < schedules_.size(); ++i) theirs |= name.starts_with(prefix(i));
    if (!theirs) rest.set(name, value);
  }
  const bool has_rates = rest.contains("last_lr");  // states of before have none
  if (has_rates)
    rest.check_names({"last_epoch", "last_lr"});
  else
    rest.check_names({"last_epoch"});
  const auto rates = has_rates ? rest.get<std::vector<double>>("last_lr") : std::vector<double>();
  check(!has_rates || rates.size() == optimizer().group_count(), "lr_scheduler",
        "the state must have as many groups as the schedule", rates.size(), " for ",
        optimizer().group_count());
  const auto epoch = rest.get<int64_t>("last_epoch");
  for (size_t i = 0; i < schedules_.size(); ++i)
    schedules_[i]->load(state.with_prefix(prefix(i)), apply);
  if (!apply) return;
  last_epoch_ = epoch;
  note_rates();
  if (has_rates) last_lr_ = rates;
}
double ComposedScheduler::lr_of(size_t, double lr) { return lr; }

ChainedScheduler::ChainedScheduler(const Schedules& schedules)
    : ComposedScheduler(optimizer_of("chained_scheduler", schedules), schedules) {
  last_epoch_ = 0;
  note_rates();
}
void ChainedScheduler::step() {
  for (const auto& schedule : schedules_) schedule->step();
  ++last_epoch_;
  note_rates();
}
void ChainedScheduler::initial_step() {
  last_epoch_ = 0;
  for (const auto& schedule : schedules_) schedule->initial_step();
  note_rates();
}
void ChainedScheduler::start() {
  go_to_base();
  initial_step();
}

SequentialLR::SequentialLR(Optimizer& optimizer, Schedules schedules, List<int64_t> milestones)
    : ComposedScheduler(optimizer, std::move(schedules)), milestones_(std::move(milestones)) {
  constexpr const char* kOp = "sequential_lr";
  check(&optimizer_of(kOp, schedules_) == &optimizer, kOp,
        "the schedules must be of the optimizer given", "another");
  check(milestones_.size() + 1 == schedules_.size(), kOp,
        "there must be a milestone between each two schedules", milestones_.size(), " for ",
        schedules_.size());
  check(std::is_sorted(milestones_.begin(), milestones_.end()), kOp, "milestones must not go down",
        milestones_.size());
  go_to_base();
  initial_step();
}
size_t SequentialLR::index() const {
  return static_cast<size_t>(std::upper_bound(milestones_.begin(), milestones_.end(), last_epoch_) -
                             milestones_.begin());
}
void SequentialLR::step() {
  ++last_epoch_;
  const size_t i = index();
  if (i > 0 && milestones_[i - 1] == last_epoch_)
    schedules_[i]->start();
  else
    schedules_[i]->step();
  note_rates();
}
void SequentialLR::initial_step() {
  last_epoch_ = 0;
  schedules_[index()]->initial_step();
  note_rates();
}
void SequentialLR::start() {
  last_epoch_ = 0;
  schedules_[index()]->start();
  note_rates();
}

}  // namespace aorta::optim
