// Learning rates against PyTorch's; tests/fixtures/make_optim_schedules.py has the same list.
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/optim/adagrad.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/schedules.h>
#include <aorta/optim/sgd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <aorta/tests/error_text.h>

namespace aorta::optim {
namespace {

template <class T, class... A>
std::shared_ptr<T> make(Optimizer& optimizer, A&&... arguments) {
  return std::make_shared<T>(optimizer, std::forward<A>(arguments)...);
}
template <class T>
std::shared_ptr<T> make(Optimizer& optimizer, const typename T::Options& options) {
  return std::make_shared<T>(optimizer, options);
}

std::unique_ptr<SGD> two_groups() {
  return std::make_unique<SGD>(std::vector<SGD::Group>{
      {{zeros({1})}, {.lr = 0.1, .momentum = 0.5}}, {{zeros({1})}, {.lr = 0.02, .momentum = 0.5}}});
}

using MakeSchedules = std::function<Schedules(Optimizer& o)>;

const std::map<std::string, MakeSchedules>& schedules() {
  static const std::map<std::string, MakeSchedules> map = {
      {"step", [](Optimizer& o) -> Schedules { return {make<StepLR>(o, {.step_size = 30})}; }},
      {"step_half",
       [](Optimizer& o) -> Schedules { return {make<StepLR>(o, {.step_size = 7, .gamma = 0.5})}; }},
      {"multi_step",
       [](Optimizer& o) -> Schedules {
         return {make<MultiStepLR>(o, {.milestones = {10, 50, 50, 120}, .gamma = 0.3})};
       }},
      {"constant",
       [](Optimizer& o) -> Schedules {
         return {make<ConstantLR>(o, {.factor = 0.25, .total_iters = 40})};
       }},
      {"linear",
       [](Optimizer& o) -> Schedules {
         return {make<LinearLR>(o, {.start_factor = 0.01, .total_iters = 60})};
       }},
      {"linear_down",
       [](Optimizer& o) -> Schedules {
         return {make<LinearLR>(o, {.start_factor = 1, .end_factor = 0.1, .total_iters = 100})};
       }},
      {"exponential",
       [](Optimizer& o) -> Schedules { return {make<ExponentialLR>(o, {.gamma = 0.97})}; }},
      {"polynomial",
       [](Optimizer& o) -> Schedules {
         return {make<PolynomialLR>(o, {.total_iters = 150, .power = 0.9})};
       }},
      {"cosine",
       [](Optimizer& o) -> Schedules {
         return {make<CosineAnnealingLR>(o, {.T_max = 45, .eta_min = 0.001})};
       }},
      {"warm_restarts",
       [](Optimizer& o) -> Schedules {
         return {make<CosineAnnealingWarmRestarts>(o, {.T_0 = 20})};
       }},
      {"warm_restarts_longer",
       [](Optimizer& o) -> Schedules {
         return {make<CosineAnnealingWarmRestarts>(o, {.T_0 = 10, .T_mult = 2, .eta_min = 0.002})};
       }},
      {"lambda",
       [](Optimizer& o) -> Schedules {
         return {std::make_shared<LambdaLR>(
             o, std::vector<LambdaLR::Function>{
                    [](int64_t t) { return std::pow(0.95, t); },
                    [](int64_t t) { return 1 / (1 + static_cast<double>(t)); }})};
       }},
      {"multiplicative",
       [](Optimizer& o) -> Schedules {
         return {std::make_shared<MultiplicativeLR>(
             o, std::vector<MultiplicativeLR::Function>{[](int64_t) { return 0.95; },
                                                        [](int64_t t) {
                                                          return static_cast<double>(t) /
                                                                 (1 + static_cast<double>(t));
                                                        }})};
       }},
      {"cyclic",
       [](Optimizer& o) -> Schedules {
         return {make<CyclicLR>(
             o, {.base_lr = {0.01, 0.002}, .max_lr = {0.5, 0.1}, .step_size_up = 13})};
       }},
      {"cyclic_halved",
       [](Optimizer& o) -> Schedules {
         return {make<CyclicLR>(o, {.base_lr = {0.01},
                                    .max_lr = {0.5},
                                    .step_size_up = 10,
                                    .step_size_down = 25,
                                    .mode = CyclicMode::triangular2,
                                    .base_momentum = 0.7,
                                    .max_momentum = 0.95})};
       }},
      {"cyclic_range",
       [](Optimizer& o) -> Schedules {
         return {make<CyclicLR>(o, {.base_lr = {0.01},
                                    .max_lr = {0.5},
                                    .step_size_up = 20,
                                    .mode = CyclicMode::exp_range,
                                    .gamma = 0.98,
                                    .cycle_momentum = false})};
       }},
      {"cyclic_scaled",
       [](Optimizer& o) -> Schedules {
         return {make<CyclicLR>(
             o, {.base_lr = {0.01}, .max_lr = {0.5}, .step_size_up = 15, .scale_fn = [](int64_t c) {
                   return 1 / static_cast<double>(c);
                 }})};
       }},
      {"cyclic_by_step",
       [](Optimizer& o) -> Schedules {
         return {make<CyclicLR>(
             o, {.base_lr = {0.01},
                 .max_lr = {0.5},
                 .step_size_up = 15,
                 .scale_fn = [](int64_t t) { return 1 / (1 + 0.01 * static_cast<double>(t)); },
                 .scale_mode = CyclicScale::iterations})};
       }},
      {"one_cycle",
       [](Optimizer& o) -> Schedules {
         return {make<OneCycleLR>(o, {.max_lr = {0.5, 0.1}, .total_steps = 200})};
       }},
      {"one_cycle_linear",
       [](Optimizer& o) -> Schedules {
         return {make<OneCycleLR>(o, {.max_lr = {0.5},
                                      .total_steps = 220,
                                      .pct_start = 0.4,
                                      .anneal_strategy = Anneal::linear,
                                      .base_momentum = 0.8,
                                      .max_momentum = 0.9,
                                      .three_phase = true})};
       }},
      {"one_cycle_epochs",
       [](Optimizer& o) -> Schedules {
         return {make<OneCycleLR>(o, {.max_lr = {0.5, 0.1}, .epochs = 8, .steps_per_epoch = 26})};
       }},
      {"swa",
       [](Optimizer& o) -> Schedules {
         return {make<SWALR>(o, {.swa_lr = {0.05}, .anneal_epochs = 20})};
       }},
      {"swa_linear",
       [](Optimizer& o) -> Schedules {
         return {make<SWALR>(
             o, {.swa_lr = {0.05, 0.5}, .anneal_epochs = 30, .anneal_strategy = Anneal::linear})};
       }},
      {"swa_at_once",
       [](Optimizer& o) -> Schedules {
         return {make<SWALR>(o, {.swa_lr = {0.05}, .anneal_epochs = 0})};
       }},
      {"chained",
       [](Optimizer& o) -> Schedules {
         const auto constant = make<ConstantLR>(o, {.factor = 0.1, .total_iters = 20});
         const auto exponential = make<ExponentialLR>(o, {.gamma = 0.99});
         return {std::make_shared<ChainedScheduler>(Schedules{constant, exponential})};
       }},
      {"chained_cosine",
       [](Optimizer& o) -> Schedules {
         const auto linear = make<LinearLR>(o, {.start_factor = 0.1, .total_iters = 30});
         const auto cosine = make<CosineAnnealingLR>(o, {.T_max = 200});
         return {std::make_shared<ChainedScheduler>(Schedules{linear, cosine})};
       }},
      {"two_at_once",
       [](Optimizer& o) -> Schedules {
         const auto step = make<StepLR>(o, {.step_size = 50});
         return {step, make<ExponentialLR>(o, {.gamma = 0.99})};
       }},
      {"sequential",
       [](Optimizer& o) -> Schedules {
         const auto linear = make<LinearLR>(o, {.start_factor = 0.1, .total_iters = 20});
         const auto cosine = make<CosineAnnealingLR>(o, {.T_max = 180});
         return {std::make_shared<SequentialLR>(o, Schedules{linear, cosine},
                                                std::vector<int64_t>{20})};
       }},
      {"sequential_three",
       [](Optimizer& o) -> Schedules {
         const auto constant = make<ConstantLR>(o, {.factor = 0.1, .total_iters = 10});
         const auto exponential = make<ExponentialLR>(o, {.gamma = 0.95});
         const auto step = make<StepLR>(o, {.step_size = 15, .gamma = 0.5});
         return {std::make_shared<SequentialLR>(o, Schedules{constant, exponential, step},
                                                std::vector<int64_t>{15, 80})};
       }},
      {"sequential_restarts",
       [](Optimizer& o) -> Schedules {
         const auto constant = make<ConstantLR>(o, {.factor = 0.5, .total_iters = 300});
         const auto restarts = make<CosineAnnealingWarmRestarts>(o, {.T_0 = 25});
         const auto polynomial = make<PolynomialLR>(o, {.total_iters = 60, .power = 2});
         return {std::make_shared<SequentialLR>(o, Schedules{constant, restarts, polynomial},
                                                std::vector<int64_t>{12, 90})};
       }},
      {"sequential_cyclic",
       [](Optimizer& o) -> Schedules {
         const auto linear = make<LinearLR>(o, {.start_factor = 0.1, .total_iters = 20});
         const auto cyclic =
             make<CyclicLR>(o, {.base_lr = {0.01}, .max_lr = {0.5}, .step_size_up = 13});
         const auto exponential = make<ExponentialLR>(o, {.gamma = 0.97});
         return {std::make_shared<SequentialLR>(o, Schedules{linear, cyclic, exponential},
                                                std::vector<int64_t>{20, 100})};
       }},
      {"sequential_multiplicative",
       [](Optimizer& o) -> Schedules {
         const auto constant = make<ConstantLR>(o, {.factor = 0.5, .total_iters = 300});
         const auto multiplicative =
             std::make_shared<MultiplicativeLR>(o, [](int64_t t) { return t > 0 ? 0.9 : 0.8; });
         return {std::make_shared<SequentialLR>(o, Schedules{constant, multiplicative},
                                                std::vector<int64_t>{20})};
       }},
  };
  return map;
}

using Plateau = ReduceLROnPlateau;
const std::map<std::string, Plateau::Options> kPlateaus = {
    {"plateau", {.factor = 0.5, .patience = 5, .cooldown = 3, .min_lr = {0.01, 0}}},
    {"plateau_max",
     {.mode = Plateau::Mode::max,
      .patience = 2,
      .threshold = 0.01,
      .threshold_mode = Plateau::Threshold::abs}},
};

void expect_row(const SGD& o, const std::vector<double>& curve, int64_t t,
                const std::string& name) {
  const double got[] = {o.lr(0), o.lr(1), o.options(0).momentum, o.options(1).momentum};
  for (size_t k = 0; k < 4; ++k) {
    const double wanted = curve[static_cast<size_t>(4 * t) + k];
    ASSERT_NEAR(got[k], wanted, 1e-13 * std::max(1.0, std::fabs(wanted)))
        << name << " at " << t << ", column " << k;
  }
}

TEST(Schedules, ArePyTorchs) {
  size_t count = 0;
  for (const auto& [name, expected] : load("tests/fixtures/optim/schedules.npz")) {
    ++count;
    const std::vector<double> curve = expected.to_vector<double>();
    const auto optimizer = two_groups();
    if (kPlateaus.contains(name)) {
      Plateau plateau(*optimizer, kPlateaus.at(name));
      for (int64_t t = 0; t <= 200; ++t) {
        expect_row(*optimizer, curve, t, name);
        const double x = static_cast<double>(t);
        plateau.step(std::exp(-0.05 * x) + 0.2 * std::sin(0.7 * x));
      }
      continue;
    }
    ASSERT_TRUE(schedules().contains(name)) << name;
    const Schedules made = schedules().at(name)(*optimizer);
    for (int64_t t = 0; t <= 200; ++t) {
      expect_row(*optimizer, curve, t, name);
      if (t == 200) break;
      for (const auto& schedule : made) schedule->step();
      EXPECT_EQ(made.back()->get_last_lr(), (std::vector{optimizer->lr(0), optimizer->lr(1)}));
    }
  }
  EXPECT_EQ(count, schedules().size() + kPlateaus.size());
}

// Saved at any step and restored into new objects, a schedule goes the same way.
TEST(Schedules, ComeBackFromTheirState) {
  for (const auto& [name, make_schedules] : schedules()) {
    for (const int stop : {0, 13, 47}) {
      const auto first = two_groups(), second = two_groups();
      const Schedules before = make_schedules(*first);
      for (int t = 0; t < stop; ++t) {
        for (const auto& schedule : before) schedule->step();
      }
      const Schedules after = make_schedules(*second);
      for (size_t i = 0; i < after.size(); ++i) after[i]->restore(before[i]->state());
      second->restore(first->state());
      for (int t = 0; t < 60; ++t) {
        for (size_t g = 0; g < 2; ++g) ASSERT_EQ(first->lr(g), second->lr(g)) << name << " " << t;
        for (const auto& schedule : before) schedule->step();
        for (const auto& schedule : after) schedule->step();
      }
    }
  }
  const auto first = two_groups(), second = two_groups();
  Plateau before(*first, kPlateaus.at("plateau")), after(*second, kPlateaus.at("plateau"));
  for (int t = 0; t < 20; ++t) before.step(1);
  after.restore(before.state());
  second->restore(first->state());
  for (int t = 0; t < 20; ++t) {
    before.step(1);
    after.step(1);
    EXPECT_EQ(before.get_last_lr(), after.get_last_lr());
  }
}

// Schedules of schedules: each part runs from the base, by its own closed form.
TEST(Schedules, Nest) {
  const double pi = std::acos(-1.0);
  const auto warm_up_and_decay = [&](int64_t t) {  // of the chained ones
    const double x = static_cast<double>(t);
    return (0.1 + 0.9 * std::min(x, 5.0) / 5) * (1 + std::cos(pi * x / 40)) / 2;
  };
  const auto chained = [](Optimizer& o) {
    return std::make_shared<ChainedScheduler>(
        Schedules{make<LinearLR>(o, {.start_factor = 0.1, .total_iters = 5}),
                  make<CosineAnnealingLR>(o, {.T_max = 40})});
  };
  const auto half = [](Optimizer& o) {
    return make<ConstantLR>(o, {.factor = 0.5, .total_iters = 100});
  };
  const auto sequence = [](Optimizer& o, const Schedules& parts, int64_t milestone) {
    return std::make_shared<SequentialLR>(o, parts, std::vector{milestone});
  };
  struct Row {
    const char* name;
    std::function<std::shared_ptr<LRScheduler>(Optimizer& o)> make_schedule;
    std::function<double(int64_t t)> factor;
  };
  const Row rows[] = {
      {"chained second",
       [&](Optimizer& o) {
         return sequence(o, {half(o), chained(o)}, 10);
       },
       [&](int64_t t) { return t < 10 ? 0.5 : warm_up_and_decay(t - 10); }},
      {"chained first",
       [&](Optimizer& o) {
         return sequence(o, {chained(o), half(o)}, 10);
       },
       [&](int64_t t) { return t < 10 ? warm_up_and_decay(t) : 0.5; }},
      {"chained in a sequence in a sequence",
       [&](Optimizer& o) {
         return sequence(o, {half(o), sequence(o, {half(o), chained(o)}, 4)}, 6);
       },
       [&](int64_t t) { return t < 10 ? 0.5 : warm_up_and_decay(t - 10); }},
      {"a sequence chained",
       [&](Optimizer& o) -> std::shared_ptr<LRScheduler> {
         const auto inner = sequence(o, {half(o), chained(o)}, 10);
         return std::make_shared<ChainedScheduler>(Schedules{inner});
       },
       [&](int64_t t) { return t < 10 ? 0.5 : warm_up_and_decay(t - 10); }},
  };
  for (const Row& row : rows) {
    const auto optimizer = two_groups();
    const auto schedule = row.make_schedule(*optimizer);
    for (int64_t t = 0; t <= 30; ++t) {
      EXPECT_NEAR(optimizer->lr(0), 0.1 * row.factor(t), 1e-14) << row.name << " at " << t;
      EXPECT_NEAR(optimizer->lr(1), 0.02 * row.factor(t), 1e-14) << row.name << " at " << t;
      schedule->step();
    }
  }
}

// In 5 steps from a third, rounding takes PyTorch's to -1.5e-18, which no optimizer here takes.
TEST(Schedules, LinearEndsAtZero) {
  const auto o = two_groups();
  LinearLR schedule(*o, {.end_factor = 0});
  for (int t = 0; t < 8; ++t) {
    o->step();
    schedule.step();
  }
  EXPECT_EQ(schedule.get_last_lr(), (std::vector<double>{0, 0}));
}

TEST(Schedules, OneCycleMovesBeta1) {
  Adam adam({zeros({1})}, {.lr = 0.1, .betas = {0.9, 0.99}});
  OneCycleLR schedule(adam, {.max_lr = {0.1}, .total_steps = 10});
  EXPECT_EQ(adam.options().betas[0], 0.95);
  EXPECT_EQ(adam.options().betas[1], 0.99);
  for (int i = 0; i < 2; ++i) schedule.step();
  EXPECT_NEAR(adam.options().betas[0], 0.85, 1e-12);
  EXPECT_NEAR(adam.lr(), 0.1, 1e-12);
}

// The rate and beta1 turn at the top and at the foot of a cycle.
TEST(Schedules, CyclicMovesBeta1) {
  Adam adam({zeros({1})}, {.lr = 0.5, .betas = {0.6, 0.99}});
  CyclicLR schedule(adam, {.base_lr = {0.1}, .max_lr = {0.3}, .step_size_up = 2});
  for (const double height : {0.0, 0.5, 1.0, 0.5, 0.0, 0.5}) {
    EXPECT_NEAR(adam.lr(), 0.1 + 0.2 * height, 1e-12);
    EXPECT_NEAR(adam.options().betas[0], 0.9 - 0.1 * height, 1e-12);
    schedule.step();
  }
  EXPECT_EQ(adam.options().betas[1], 0.99);
  Adagrad none({zeros({1})});
  EXPECT_EQ(error_of([&] { CyclicLR(none, {.base_lr = {0.1}, .max_lr = {0.3}}); }),
            "cyclic_lr: the optimizer must have momentum or betas, or cycle_momentum be off, got "
            "neither");
}

TEST(Schedules, OneCycleHasNoEmptyPhase) {
  const auto o = two_groups();
  EXPECT_EQ(error_of([&] { OneCycleLR(*o, {.max_lr = {1}, .total_steps = 10, .pct_start = 0.1}); }),
            "one_cycle_lr: no phase may be empty, got pct_start 0.1 of 10 steps");
  EXPECT_EQ(o->lr(), 0.1);
  EXPECT_EQ(o->options().momentum, 0.5);
  EXPECT_FALSE(o->initial_lr(0).has_value());
  OneCycleLR rising(*o, {.max_lr = {1}, .total_steps = 3, .pct_start = 1});
  for (int i = 0; i < 2; ++i) rising.step();
  EXPECT_EQ(o->lr(), 1);
  EXPECT_EQ(error_of([&] { rising.step(); }),
            "one_cycle_lr: no phase may be empty, got pct_start 1 of 3 steps");
  EXPECT_EQ(o->lr(), 1);
}

// An optimizer's state of before there was a schedule has no base of one.
TEST(Schedules, OneCycleGoesOnWithAStateThatHasNoBase) {
  const auto plain = two_groups(), o = two_groups(), whole = two_groups();
  const OneCycleLR::Options options{.max_lr = {0.5}, .total_steps = 10};
  OneCycleLR schedule(*o, options), undisturbed(*whole, options);
  o->restore(plain->state());
  for (int i = 0; i < 4; ++i) {
    schedule.step();
    undisturbed.step();
    EXPECT_EQ(o->lr(), whole->lr());
  }
}

// PyTorch's line ends below 0, too, at -0.00714.
TEST(Schedules, AStateOfTheLastStepIsTaken) {
  const auto o = two_groups(), other = two_groups();
  OneCycleLR schedule(*o, {.max_lr = {0.1}, .total_steps = 20, .anneal_strategy = Anneal::linear});
  for (int i = 0; i < 20; ++i) schedule.step();
  EXPECT_NEAR(o->lr(), -0.00714, 1e-5);
  other->restore(o->state());
  EXPECT_EQ(other->lr(), o->lr());
  EXPECT_NE(error_of([&] { other->step(); }), "");
}

TEST(Schedules, KnowTheirLastRatesBeforeTheOptimizerIsRestored) {
  const auto run = [](Optimizer& o) {
    return std::make_unique<SequentialLR>(
        o, Schedules{make<ExponentialLR>(o, {.gamma = 0.5}), make<StepLR>(o, {.step_size = 1})},
        std::vector<int64_t>{3});
  };
  const auto o = two_groups(), other = two_groups();
  const auto schedule = run(*o), restored = run(*other);
  for (int i = 0; i < 4; ++i) schedule->step();
  restored->restore(schedule->state());
  other->restore(o->state());
  EXPECT_EQ(restored->get_last_lr(), schedule->get_last_lr());
  EXPECT_NE(restored->get_last_lr()[0], 0.1);
}

TEST(Schedules, SayWhatIsWrong) {
  const auto o = two_groups();
  EXPECT_EQ(error_of([&] { StepLR(*o, {.step_size = 0}); }),
            "step_lr: step_size must be above 0, got 0");
  EXPECT_EQ(error_of([&] { ConstantLR(*o, {.factor = 0}); }),
            "constant_lr: factor must be in (0, 1], got 0");
  EXPECT_EQ(error_of([&] { LinearLR(*o, {.start_factor = 2}); }),
            "linear_lr: start_factor must be in (0, 1], got 2");
  EXPECT_EQ(
      error_of([&] { LambdaLR(*o, std::vector<LambdaLR::Function>{[](int64_t) { return 1.0; }}); }),
      "lambda_lr: there must be a function for each group, got 1 for 2");
  EXPECT_EQ(error_of([&] {
              OneCycleLR(*o, {.max_lr = {1, 2, 3}, .total_steps = 5});
            }),
            "one_cycle_lr: max_lr must be one, or one for each group, got 3 for 2");
  EXPECT_EQ(error_of([&] { OneCycleLR(*o, {.max_lr = {1}}); }),
            "one_cycle_lr: it must have total_steps, or epochs and steps_per_epoch, got none of "
            "them");
  EXPECT_EQ(error_of([&] { OneCycleLR(*o, {.max_lr = {1}, .epochs = 3}); }),
            "one_cycle_lr: it must have total_steps, or epochs and steps_per_epoch, got epochs "
            "alone");
  EXPECT_EQ(error_of([&] { OneCycleLR(*o, {.max_lr = {1}, .epochs = 3, .steps_per_epoch = 0}); }),
            "one_cycle_lr: steps_per_epoch must be above 0, got 0");
  EXPECT_EQ(error_of([&] { MultiplicativeLR(*o, std::vector<MultiplicativeLR::Function>(1)); }),
            "multiplicative_lr: there must be a function for each group, got 1 for 2");
  EXPECT_EQ(error_of([&] {
              CyclicLR(*o, {.base_lr = {1}, .max_lr = {1, 2, 3}});
            }),
            "cyclic_lr: max_lr must be one, or one for each group, got 3 for 2");
  EXPECT_EQ(error_of([&] { CyclicLR(*o, {.base_lr = {1}, .max_lr = {2}, .step_size_down = 0}); }),
            "cyclic_lr: step_size_up and step_size_down must be above 0, got 2000 and 0");
  EXPECT_EQ(error_of([&] { ChainedScheduler({}); }),
            "chained_scheduler: there must be a schedule, got none");
  EXPECT_EQ(error_of([&] { Plateau(*o, {.factor = 1}); }),
            "reduce_lr_on_plateau: factor must be in [0, 1), got 1");
  const auto other = two_groups();
  const auto step = make<StepLR>(*o, {.step_size = 3});
  EXPECT_EQ(error_of([&] { SequentialLR(*other, {step}, {}); }),
            "sequential_lr: the schedules must be of the optimizer given, got another");
  EXPECT_EQ(error_of([&] { SequentialLR(*o, {step}, {4}); }),
            "sequential_lr: there must be a milestone between each two schedules, got 1 for 1");
  OneCycleLR cycle(*o, {.max_lr = {0.1}, .total_steps = 2});
  for (int i = 0; i < 2; ++i) cycle.step();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(error_of([&] { cycle.step(); }),
              "one_cycle_lr: there must be no more steps than total_steps, got 3 of 2");
  o->add_param_group({zeros({1})}, {});
  EXPECT_EQ(
      error_of([&] { step->step(); }),
      "lr_scheduler: the optimizer must have the groups that the schedule was made for, got 3 "
      "for 2");
  EXPECT_EQ(error_of([&] { step->restore(State()); }),
            "state: names must be the object's, got missing \"base_lrs\", \"last_epoch\", "
            "\"last_lr\", \"step_count\"");
}

}  // namespace
}  // namespace aorta::optim
