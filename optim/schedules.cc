#include <aorta/optim/schedules.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace aorta::optim {
namespace {

constexpr double kPi = std::numbers::pi;

double cosine(double share) { return 1 + std::cos(kPi * share); }

double anneal(Anneal strategy, double start, double end, double share) {
  if (strategy == Anneal::linear) return (end - start) * share + start;
  return end + (start - end) / 2.0 * cosine(share);
}

// One a group, of one or as many.
std::vector<double> by_group(const char* op, const char* rule, const std::vector<double>& values,
                             size_t groups) {
  check(values.size() == 1 || values.size() == groups, op, rule, values.size(), " for ", groups);
  return values.size() == 1 ? std::vector<double>(groups, values[0]) : values;
}

// Sets the momentum, or beta1, of a group.
void set_momentum(const char* op, Optimizer& optimizer, size_t group, double momentum) {
  const Fields fields = optimizer.fields(group);
  if (auto* betas = fields.find<std::array<double, 2>>("betas")) {
    (*betas)[0] = momentum;
    return;
  }
  double* place = fields.find<double>("momentum");
  check(place, op, "the optimizer must have momentum or betas, or cycle_momentum be off",
        "neither");
  *place = momentum;
}

using Function = std::function<double(int64_t)>;
void check_functions(const char* op, const std::vector<Function>& functions, size_t groups) {
  check(functions.size() == groups, op, "there must be a function for each group", functions.size(),
        " for ", groups);
  for (const Function& function : functions)
    check(bool(function), op, "the functions must be functions", "an empty one");
}

}  // namespace

StepLR::StepLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  check(options.step_size > 0, "step_lr", "step_size must be above 0", options.step_size);
  begin();
}
double StepLR::lr_of(size_t, double lr) {
  return last_epoch_ == 0 || last_epoch_ % options_.step_size != 0 ? lr : lr * options_.gamma;
}
double StepLR::lr_at_start(size_t group) { return base(group); }

MultiStepLR::MultiStepLR(Optimizer& optimizer, Options options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  begin();
}
double MultiStepLR::lr_of(size_t, double lr) {
  const auto times =
      std::count(options_.milestones.begin(), options_.milestones.end(), last_epoch_);
  return times == 0 ? lr : lr * std::pow(options_.gamma, static_cast<double>(times));
}
double MultiStepLR::lr_at_start(size_t group) {
  const auto passed = std::count_if(options_.milestones.begin(), options_.milestones.end(),
                                    [](int64_t milestone) { return milestone <= 0; });
  return base(group) * std::pow(options_.gamma, static_cast<double>(passed));
}

ConstantLR::ConstantLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  check(options.factor > 0 && options.factor <= 1, "constant_lr", "factor must be in (0, 1]",
        options.factor);
  check(options.total_iters >= 0, "constant_lr", "total_iters must be at least 0",
        options.total_iters);
  begin();
}
double ConstantLR::lr_of(size_t, double lr) {
  if (last_epoch_ == 0) return lr * options_.factor;
  return last_epoch_ == options_.total_iters ? lr * (1.0 / options_.factor) : lr;
}
double ConstantLR::lr_at_start(size_t group) {
  return options_.total_iters <= 0 ? base(group) : base(group) * options_.factor;
}

LinearLR::LinearLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  check(options.start_factor > 0 && options.start_factor <= 1, "linear_lr",
        "start_factor must be in (0, 1]", options.start_factor);
  check(options.end_factor >= 0 && options.end_factor <= 1, "linear_lr",
        "end_factor must be in [0, 1]", options.end_factor);
  check(options.total_iters >= 0, "linear_lr", "total_iters must be at least 0",
        options.total_iters);
  begin();
}
double LinearLR::lr_of(size_t, double lr) {
  if (last_epoch_ == 0) return lr * options_.start_factor;
  if (is_initial() || last_epoch_ > options_.total_iters) return lr;
  const double rise = options_.end_factor - options_.start_factor;
  const double here = static_cast<double>(options_.total_iters) * options_.start_factor +
                      static_cast<double>(last_epoch_ - 1) * rise;
  // Rounding takes the last step to 0 below it, where no optimizer goes.
  return lr * std::max(1.0 + rise / here, 0.0);
}
double LinearLR::lr_at_start(size_t group) { return base(group) * options_.start_factor; }

ExponentialLR::ExponentialLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  begin();
}
double ExponentialLR::lr_of(size_t, double lr) { return is_initial() ? lr : lr * options_.gamma; }
double ExponentialLR::lr_at_start(size_t group) { return base(group); }

PolynomialLR::PolynomialLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  check(options.total_iters > 0, "polynomial_lr", "total_iters must be above 0",
        options.total_iters);
  begin();
}
double PolynomialLR::lr_of(size_t, double lr) {
  if (is_initial() || last_epoch_ > options_.total_iters) return lr;
  const double total = static_cast<double>(options_.total_iters);
  const double factor = (1.0 - static_cast<double>(last_epoch_) / total) /
                        (1.0 - static_cast<double>(last_epoch_ - 1) / total);
  return lr * std::pow(factor, options_.power);
}
double PolynomialLR::lr_at_start(size_t group) { return base(group); }

CosineAnnealingLR::CosineAnnealingLR(Optimizer& optimizer, const Options& options)
    : LRScheduler(optimizer), options_(options) {
  check(options.T_max > 0, "cosine_annealing_lr", "T_max must be above 0", options.T_max);
  begin();
}
double CosineAnnealingLR::lr_of(size_t group, double lr) {
  if (is_initial()) return lr;
  const double low = options_.eta_min, period = static_cast<double>(options_.T_max);
  const double t = static_cast<double>(last_epoch_);
  if (step_count() == 1 && last_epoch_ > 0)
    return low + (base(group) - low) * (1 + std::cos(t * kPi / period)) / 2;
  // Each second period begins; the difference of two that aren't negative can't overflow.
  const int64_t past = last_epoch_ - 1 - options_.T_max;
  if (past % options_.T_max == 0 && past / options_.T_max % 2 == 0)
    return lr + (base(group) - low) * (1 - std::cos(kPi / period)) / 2;
  return (1 + std::cos(kPi * t / period)) / (1 + std::cos(kPi * (t - 1) / period)) * (lr - low) +
         low;
}
double CosineAnnealingLR::lr_at_start(size_t group) {
  return options_.eta_min + (base(group) - options_.eta_min) * (1 + std::cos(0.0)) / 2;
}

CosineAnnealingWarmRestarts::CosineAnnealingWarmRestarts(Optimizer& optimizer,
                                                         const Options& options)
    : LRScheduler(optimizer), options_(options), period_(static_cast<double>(options.T_0)) {
  constexpr const char* kOp = "cosine_annealing_warm_restarts";
  check(options.T_0 > 0, kOp, "T_0 must be above 0", options.T_0);
  check(options.T_mult >= 1, kOp, "T_mult must be at least 1", options.T_mult);
  begin();
}
double CosineAnnealingWarmRestarts::lr_of(size_t group, double) {
  const double low = options_.eta_min;
  return low + (base(group) - low) * cosine(current_ / period_) / 2;
}
void CosineAnnealingWarmRestarts::set_rates() {
  check_groups("cosine_annealing_warm_restarts");
  for (size_t g = 0; g < optimizer().group_count(); ++g) optimizer().set_lr(lr_of(g, 0), g);
  note_rates();
}
void CosineAnnealingWarmRestarts::step() {
  if (last_epoch_ < 0) return step(0);
  current_ += 1;
  if (current_ >= period_) {
    current_ = std::fmod(current_, period_);
    period_ *= static_cast<double>(options_.T_mult);
  }
  ++last_epoch_;
  set_rates();
}
void CosineAnnealingWarmRestarts::step(double epoch) {
  check(epoch >= 0, "cosine_annealing_warm_restarts", "epoch must be at least 0", epoch);
  const double first = static_cast<double>(options_.T_0);
  const double factor = static_cast<double>(options_.T_mult);
  if (epoch < first) {
    period_ = first;
    current_ = epoch;
  } else if (options_.T_mult == 1) {
    current_ = std::fmod(epoch, first);
  } else {
    const double restarts =
        std::trunc(std::log(epoch / first * (factor - 1) + 1) / std::log(factor));
    current_ = epoch - first * (std::pow(factor, restarts) - 1) / (factor - 1);
    period_ = first * std::pow(factor, restarts);
  }
  last_epoch_ = static_cast<int64_t>(std::floor(epoch));
  set_rates();
}
State CosineAnnealingWarmRestarts::state() const {
  State state;
  state.add("", LRScheduler::state());
  state.set("T_cur", State::Value(current_));
  state.set("T_i", State::Value(period_));
  return state;
}
void CosineAnnealingWarmRestarts::load(const State& state, bool apply) {
  const double current = state.get<double>("T_cur"), period = state.get<double>("T_i");
  State rest;
  for (const auto& [name, value] : state.values()) {
    if (name != "T_cur" && name != "T_i") rest.set(name, value);
  }
  LRScheduler::load(rest, apply);
  if (!apply) return;
  current_ = current;
  period_ = period;
}

LambdaLR::LambdaLR(Optimizer& optimizer, Function function)
    : LambdaLR(optimizer, std::vector<Function>(optimizer.group_count(), std::move(function))) {}
LambdaLR::LambdaLR(Optimizer& optimizer, List<Function> functions)
    : LRScheduler(optimizer), functions_(std::move(functions)) {
  check_functions("lambda_lr", functions_, optimizer.group_count());
  begin();
}
double LambdaLR::lr_of(size_t group, double) {
  return base(group) * functions_[group](last_epoch_);
}

MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, Function function)
    : MultiplicativeLR(optimizer,
                       std::vector<Function>(optimizer.group_count(), std::move(function))) {}
MultiplicativeLR::MultiplicativeLR(Optimizer& optimizer, List<Function> functions)
    : LRScheduler(optimizer), functions_(std::move(functions)) {
  check_functions("multiplicative_lr", functions_, optimizer.group_count());
  begin();
}
double MultiplicativeLR::lr_of(size_t group, double lr) {
  return is_initial() ? lr : lr * functions_[group](last_epoch_);
}

namespace {
void check_phase(bool has_steps, double pct_start, int64_t total_steps) {
  check(has_steps, "one_cycle_lr", "no phase may be empty", "pct_start ", pct_start, " of ",
        total_steps, " steps");
}
}  // namespace

int64_t OneCycleLR::steps_of(const Options& options) {
  constexpr const char* kOp = "one_cycle_lr";
  const auto &total = options.total_steps, &epochs = options.epochs,
             &steps = options.steps_per_epoch;
  if (total) {
    check(*total > 0, kOp, "total_steps must be above 0", *total);
    return *total;
  }
  check(epochs && steps, kOp, "it must have total_steps, or epochs and steps_per_epoch",
        epochs  ? "epochs alone"
        : steps ? "steps_per_epoch alone"
                : "none of them");
  check(*epochs > 0, kOp, "epochs must be above 0", *epochs);
  check(*steps > 0, kOp, "steps_per_epoch must be above 0", *steps);
  check(*epochs <= std::numeric_limits<int64_t>::max() / *steps, kOp,
        "epochs times steps_per_epoch must be a 64-bit integer", *epochs, " and ", *steps);
  return *epochs * *steps;
}

OneCycleLR::OneCycleLR(Optimizer& optimizer, Options options)
    : LRScheduler(optimizer), options_(std::move(options)), total_steps_(steps_of(options_)) {
  constexpr const char* kOp = "one_cycle_lr";
  check(options_.pct_start >= 0 && options_.pct_start <= 1, kOp, "pct_start must be in [0, 1]",
        options_.pct_start);
  check(options_.div_factor > 0 && options_.final_div_factor > 0, kOp,
        "div_factor and final_div_factor must be above 0", options_.div_factor, " and ",
        options_.final_div_factor);
  check_phase(options_.pct_start * static_cast<double>(total_steps_) != 1, options_.pct_start,
              total_steps_);  // from 0 to 0
  options_.max_lr = by_group(kOp, "max_lr must be one, or one for each group", options_.max_lr,
                             optimizer.group_count());
  if (options_.cycle_momentum) {
    for (size_t g = 0; g < optimizer.group_count(); ++g)
      set_momentum(kOp, optimizer, g, options_.max_momentum);
  }
  for (size_t g = 0; g < optimizer.group_count(); ++g)
    optimizer.initial_lr(g) = options_.max_lr[g] / options_.div_factor;
  begin();
}
double OneCycleLR::lr_of(size_t group, double) {
  check(last_epoch_ <= total_steps_, "one_cycle_lr", "there must be no more steps than total_steps",
        last_epoch_, " of ", total_steps_);
  const double total = static_cast<double>(total_steps_), pct = options_.pct_start;
  const double low = optimizer().initial_lr(group).value_or(base(group));
  const double high = options_.max_lr[group];
  const double lowest = low / options_.final_div_factor;
  const double slow = options_.base_momentum, fast = options_.max_momentum;
  struct Phase {
    double end, from, to, from_momentum, to_momentum;
  };
  std::vector<Phase> phases = {{pct * total - 1, low, high, fast, slow}};
  if (options_.three_phase) {
    phases.push_back({2 * pct * total - 2, high, low, slow, fast});
    phases.push_back({total - 1, low, lowest, fast, fast});
  } else {
    phases.push_back({total - 1, high, lowest, slow, fast});
  }
  const double step = static_cast<double>(last_epoch_);
  double begin = 0;
  for (const Phase& phase : phases) {
    if (step > phase.end && &phase != &phases.back()) {
      begin = phase.end;
      continue;
    }
    check_phase(phase.end != begin, pct, total_steps_);
    const double share = (step - begin) / (phase.end - begin);
    if (options_.cycle_momentum)
      set_momentum("one_cycle_lr", optimizer(), group,
                   anneal(options_.anneal_strategy, phase.from_momentum, phase.to_momentum, share));
    return anneal(options_.anneal_strategy, phase.from, phase.to, share);
  }
  return low;
}

CyclicLR::CyclicLR(Optimizer& optimizer, Options options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  constexpr const char* kOp = "cyclic_lr";
  const int64_t down = options_.step_size_down.value_or(options_.step_size_up);
  check(options_.step_size_up > 0 && down > 0, kOp,
        "step_size_up and step_size_down must be above 0", options_.step_size_up, " and ", down);
  options_.step_size_down = down;
  const size_t groups = optimizer.group_count();
  options_.base_lr =
      by_group(kOp, "base_lr must be one, or one for each group", options_.base_lr, groups);
  options_.max_lr =
      by_group(kOp, "max_lr must be one, or one for each group", options_.max_lr, groups);
  for (size_t g = 0; g < groups; ++g) {
    if (options_.cycle_momentum) set_momentum(kOp, optimizer, g, options_.max_momentum);
    optimizer.set_lr(options_.base_lr[g], g);  // the initial_lr, unless there is one
  }
  begin();
}
double CyclicLR::scale(int64_t cycle) const {
  if (options_.scale_fn)
    return options_.scale_fn(options_.scale_mode == CyclicScale::cycle ? cycle : last_epoch_);
  switch (options_.mode) {
    case CyclicMode::triangular2:
      return 1 / std::pow(2.0, static_cast<double>(cycle - 1));
    case CyclicMode::exp_range:
      return std::pow(options_.gamma, static_cast<double>(last_epoch_));
    case CyclicMode::triangular:
      break;
  }
  return 1;
}
double CyclicLR::lr_of(size_t group, double) {
  const double up = static_cast<double>(options_.step_size_up);
  const double size = up + static_cast<double>(*options_.step_size_down);
  const double at = 1 + static_cast<double>(last_epoch_) / size, cycle = std::floor(at);
  const double share = at - cycle, peak = up / size;
  const double height = (share <= peak ? share / peak : (share - 1) / (peak - 1)) *
                        scale(static_cast<int64_t>(cycle));
  if (options_.cycle_momentum)
    set_momentum("cyclic_lr", optimizer(), group,
                 options_.max_momentum - (options_.max_momentum - options_.base_momentum) * height);
  return options_.base_lr[group] + (options_.max_lr[group] - options_.base_lr[group]) * height;
}

SWALR::SWALR(Optimizer& optimizer, Options options)
    : LRScheduler(optimizer), options_(std::move(options)) {
  check(options_.anneal_epochs >= 0, "swa_lr", "anneal_epochs must be at least 0",
        options_.anneal_epochs);
  options_.swa_lr = by_group("swa_lr", "swa_lr must be one, or one for each group", options_.swa_lr,
                             optimizer.group_count());
  begin();
}
double SWALR::lr_of(size_t group, double lr) {
  int64_t step = step_count() - 1;
  if (options_.anneal_epochs == 0) step = std::max<int64_t>(1, step);
  const auto share = [&](int64_t at) {
    const double t = std::clamp(
        static_cast<double>(at) / static_cast<double>(std::max<int64_t>(1, options_.anneal_epochs)),
        0.0, 1.0);
    return options_.anneal_strategy == Anneal::linear ? t : (1 - std::cos(kPi * t)) / 2;
  };
  const double before = share(step - 1), now = share(step), target = options_.swa_lr[group];
  const double start = before == 1 ? target : (lr - before * target) / (1 - before);
  return target * now + start * (1 - now);
}

}  // namespace aorta::optim
