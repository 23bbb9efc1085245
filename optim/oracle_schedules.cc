#include <aorta/core/ops/creation.h>
#include <aorta/optim/oracle_schedules.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aorta::optim::oracle {
namespace {

constexpr double kBases[] = {0.3, 0.05};  // of the two groups
constexpr size_t kGroups = std::size(kBases);

double as_real(int64_t x) { return static_cast<double>(x); }

// From `from` to `to`, at a share of the way.
double annealed(Anneal how, double from, double to, double share) {
  const double rest = how == Anneal::cos ? (1 + std::cos(std::numbers::pi * share)) / 2 : 1 - share;
  return to + (from - to) * rest;
}

// One for all groups, or one a group.
double of_group(const List<double>& list, size_t group) {
  return list.size() == 1 ? list[0] : list[group];
}

double one_cycle(const OneCycleLR::Options& o, size_t group, int64_t t) {
  const double most = of_group(o.max_lr, group), first = most / o.div_factor;
  const int64_t steps = OneCycleLR::steps_of(o);
  const double last = first / o.final_div_factor, top = o.pct_start * as_real(steps) - 1;
  const double end = as_real(steps - 1), at = as_real(t);
  if (at <= top) return annealed(o.anneal_strategy, first, most, at / top);
  if (!o.three_phase) return annealed(o.anneal_strategy, most, last, (at - top) / (end - top));
  const double down = 2 * o.pct_start * as_real(steps) - 2;
  if (at <= down) return annealed(o.anneal_strategy, most, first, (at - top) / (down - top));
  return annealed(o.anneal_strategy, first, last, (at - down) / (end - down));
}

double cyclic(const CyclicLR::Options& o, size_t group, int64_t t) {
  const int64_t up = o.step_size_up, down = o.step_size_down.value_or(up);
  const int64_t cycle = t / (up + down), place = t % (up + down);
  const double height =
      place <= up ? as_real(place) / as_real(up) : as_real(up + down - place) / as_real(down);
  double scale = 1;
  if (o.scale_fn)
    scale = o.scale_fn(o.scale_mode == CyclicScale::cycle ? cycle + 1 : t);
  else if (o.mode == CyclicMode::triangular2)
    scale = std::ldexp(1.0, -static_cast<int>(cycle));
  else if (o.mode == CyclicMode::exp_range)
    scale = std::pow(o.gamma, as_real(t));
  const double least = of_group(o.base_lr, group);
  return least + (of_group(o.max_lr, group) - least) * height * scale;
}

double warm_restarts(const CosineAnnealingWarmRestarts::Options& o, double base, int64_t t) {
  int64_t period = o.T_0;
  for (; t >= period; period *= o.T_mult) t -= period;
  return annealed(Anneal::cos, base, o.eta_min, as_real(t) / as_real(period));
}

using Rates = std::vector<std::vector<double>>;  // [t][group]

std::unique_ptr<SGD> make_optimizer() {
  std::vector<SGD::Group> groups;
  for (const double base : kBases) {
    const Tensor parameter = zeros({1}, {.dtype = DType::f64});
    groups.push_back({{parameter.requires_grad_()}, {.lr = base}});
  }
  return std::make_unique<SGD>(std::move(groups), SGDOptions{.momentum = 0.9});
}

std::vector<double> rates_of(const Optimizer& optimizer) {
  std::vector<double> rates;
  for (size_t group = 0; group < kGroups; ++group) rates.push_back(optimizer.lr(group));
  return rates;
}

Rates expected_rates(const ScheduleForm& form) {
  Rates rates;
  for (int64_t t = 0; t <= form.steps; ++t) {
    rates.emplace_back();
    for (size_t group = 0; group < kGroups; ++group)
      rates.back().push_back(form.lr(group, kBases[group], t));
  }
  return rates;
}

bool is_near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

struct ScheduleMistake {
  const char* what;
  double (*lr)(const ScheduleForm& form, size_t group, int64_t t);
};

constexpr ScheduleMistake kScheduleMistakes[] = {
    {"the rates come a step late",
     [](const ScheduleForm& form, size_t group, int64_t t) {
       return form.lr(group, kBases[group], std::max<int64_t>(t - 1, 0));
     }},
    {"the rates come a step early", [](const ScheduleForm& form, size_t group,
                                       int64_t t) { return form.lr(group, kBases[group], t + 1); }},
    {"each group has the first one's rates",
     [](const ScheduleForm& form, size_t, int64_t t) { return form.lr(0, kBases[0], t); }},
    {"the rate stays", [](const ScheduleForm&, size_t group, int64_t) { return kBases[group]; }},
    {"a factor of the first rate is taken of the one before it",
     [](const ScheduleForm& form, size_t group, int64_t t) {
       double rate = kBases[group];
       for (int64_t i = 1; i <= t; ++i) rate *= form.lr(group, kBases[group], i) / kBases[group];
       return rate;
     }},
};

std::string mistake_of(const ScheduleForm& form, const Rates& got) {
  for (const ScheduleMistake& mistake : kScheduleMistakes) {
    bool same = true;
    for (size_t t = 0; t < got.size() && same; ++t)
      for (size_t group = 0; group < kGroups; ++group)
        same =
            same && is_near(got[t][group], mistake.lr(form, group, static_cast<int64_t>(t)), 1e-9);
    if (same) return std::string("; ") + mistake.what;
  }
  return "";
}

}  // namespace

ScheduleForm::ScheduleForm(std::string given_name, Function given_lr, int64_t given_steps)
    : name(std::move(given_name)), lr(std::move(given_lr)), steps(given_steps) {
  check(steps > 0, "schedule_form", "there must be a step to look at", steps);
}

ScheduleForm::ScheduleForm(const StepLR::Options& o)
    : ScheduleForm(
          "StepLR",
          [o](size_t, double base, int64_t t) {
            return base * std::pow(o.gamma, as_real(t / o.step_size));
          },
          3 * o.step_size + 1) {}

ScheduleForm::ScheduleForm(const MultiStepLR::Options& o)
    : ScheduleForm(
          "MultiStepLR",
          [o](size_t, double base, int64_t t) {
            const auto passed = std::count_if(o.milestones.begin(), o.milestones.end(),
                                              [&](int64_t milestone) { return milestone <= t; });
            return base * std::pow(o.gamma, static_cast<double>(passed));
          },
          o.milestones.empty() ? 3
                               : *std::max_element(o.milestones.begin(), o.milestones.end()) + 3) {}

ScheduleForm::ScheduleForm(const ConstantLR::Options& o)
    : ScheduleForm(
          "ConstantLR",
          [o](size_t, double base, int64_t t) {
            return t < o.total_iters ? base * o.factor : base;
          },
          o.total_iters + 3) {}

ScheduleForm::ScheduleForm(const LinearLR::Options& o)
    : ScheduleForm(
          "LinearLR",
          [o](size_t, double base, int64_t t) {
            const double share = as_real(std::min(t, o.total_iters)) / as_real(o.total_iters);
            return base * (o.start_factor + (o.end_factor - o.start_factor) * share);
          },
          o.total_iters + 3) {}

ScheduleForm::ScheduleForm(const ExponentialLR::Options& o)
    : ScheduleForm(
          "ExponentialLR",
          [o](size_t, double base, int64_t t) { return base * std::pow(o.gamma, as_real(t)); },
          20) {}

ScheduleForm::ScheduleForm(const PolynomialLR::Options& o)
    : ScheduleForm(
          "PolynomialLR",
          [o](size_t, double base, int64_t t) {
            const double share = as_real(std::min(t, o.total_iters)) / as_real(o.total_iters);
            return base * std::pow(1 - share, o.power);
          },
          o.total_iters + 3) {}

ScheduleForm::ScheduleForm(const CosineAnnealingLR::Options& o)
    : ScheduleForm(
          "CosineAnnealingLR",
          [o](size_t, double base, int64_t t) {
            return annealed(Anneal::cos, base, o.eta_min, as_real(t) / as_real(o.T_max));
          },
          3 * o.T_max + 1) {}

ScheduleForm::ScheduleForm(const CosineAnnealingWarmRestarts::Options& o)
    : ScheduleForm(
          "CosineAnnealingWarmRestarts",
          [o](size_t, double base, int64_t t) { return warm_restarts(o, base, t); },
          o.T_0 * (1 + o.T_mult) + 3) {}

ScheduleForm::ScheduleForm(const OneCycleLR::Options& o)
    : ScheduleForm(
          "OneCycleLR",
          [o](size_t group, double, int64_t t) {
            return one_cycle(o, group, std::min(t, OneCycleLR::steps_of(o) - 1));
          },
          OneCycleLR::steps_of(o) - 1) {}

ScheduleForm::ScheduleForm(const CyclicLR::Options& o)
    : ScheduleForm(
          "CyclicLR", [o](size_t group, double, int64_t t) { return cyclic(o, group, t); },
          3 * (o.step_size_up + o.step_size_down.value_or(o.step_size_up))) {}

ScheduleForm::ScheduleForm(const SWALR::Options& o)
    : ScheduleForm(
          "SWALR",
          [o](size_t group, double base, int64_t t) {
            const double share = std::min(1.0, as_real(t) / as_real(o.anneal_epochs));
            return annealed(o.anneal_strategy, base, of_group(o.swa_lr, group), share);
          },
          o.anneal_epochs + 3) {}

ScheduleForm lambda_form(const LambdaLR::Function& function, int64_t steps) {
  return {"LambdaLR", [function](size_t, double base, int64_t t) { return base * function(t); },
          steps};
}

ScheduleForm multiplicative_form(const MultiplicativeLR::Function& function, int64_t steps) {
  return {"MultiplicativeLR",
          [function](size_t, double base, int64_t t) {
            double lr = base;
            for (int64_t i = 1; i <= t; ++i) lr *= function(i);
            return lr;
          },
          steps};
}

Result check_schedule(const MakeSchedule& make, const ScheduleForm& form, double tolerance) {
  auto optimizer = make_optimizer();
  auto schedule = make(*optimizer);
  Rates got = {rates_of(*optimizer)};
  State of_schedule, of_optimizer;
  for (int64_t t = 1; t <= form.steps; ++t) {
    if (t == (form.steps + 1) / 2) {
      of_schedule = schedule->state();
      of_optimizer = optimizer->state();
    }
    schedule->step();
    got.push_back(rates_of(*optimizer));
    if (schedule->get_last_lr() != got.back())
      return {fmt::format("{}: step {}: get_last_lr() must give the groups' rates, got {} for {}",
                          form.name, t, fmt::join(schedule->get_last_lr(), ", "),
                          fmt::join(got.back(), ", "))};
  }
  const Rates expected = expected_rates(form);
  for (size_t t = 0; t < got.size(); ++t)
    for (size_t group = 0; group < kGroups; ++group)
      if (!is_near(got[t][group], expected[t][group], tolerance))
        return {fmt::format("{}: step {}, group {}: lr must be {}, got {}{}", form.name, t, group,
                            expected[t][group], got[t][group], mistake_of(form, got))};
  auto other = make_optimizer();
  auto resumed = make(*other);
  other->restore(of_optimizer);
  resumed->restore(of_schedule);
  for (int64_t t = (form.steps + 1) / 2; t <= form.steps; ++t) {
    resumed->step();
    if (rates_of(*other) != got[static_cast<size_t>(t)])
      return {fmt::format("{}: step {}: a schedule that was restored must give {}, got {}",
                          form.name, t, fmt::join(got[static_cast<size_t>(t)], ", "),
                          fmt::join(rates_of(*other), ", "))};
  }
  return {};
}

}  // namespace aorta::optim::oracle
