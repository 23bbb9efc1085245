// Every schedule follows its closed form, and schedules with known mistakes are told from it.
#include <aorta/optim/oracle_gtest.h>
#include <aorta/optim/oracle_schedules.h>
#include <aorta/tests/error_text.h>

#include <algorithm>
#include <cmath>

namespace aorta::optim {
namespace {

using oracle::ScheduleForm;

template <class T, class Options>
void expect_form(const Options& options, double tolerance = 1e-12) {
  EXPECT_SCHEDULE_FORM(oracle::schedule_maker<T>(options), options, tolerance);
}

TEST(ScheduleOracle, EveryScheduleFollowsItsForm) {
  for (const int64_t size : {1, 3, 30}) expect_form<StepLR>(StepLR::Options{size, 0.7});
  expect_form<MultiStepLR>(MultiStepLR::Options{{2, 5, 5, 11}, 0.5});
  expect_form<ConstantLR>(ConstantLR::Options{});
  expect_form<ConstantLR>(ConstantLR::Options{.factor = 0.2, .total_iters = 9});
  expect_form<LinearLR>(LinearLR::Options{});
  expect_form<LinearLR>(
      LinearLR::Options{.start_factor = 0.1, .end_factor = 0.6, .total_iters = 12});
  expect_form<ExponentialLR>(ExponentialLR::Options{0.9});
  for (const double power : {0.5, 1.0, 2.0})
    expect_form<PolynomialLR>(PolynomialLR::Options{.total_iters = 8, .power = power});
  expect_form<CosineAnnealingLR>(CosineAnnealingLR::Options{.T_max = 7});
  expect_form<CosineAnnealingLR>(CosineAnnealingLR::Options{.T_max = 20, .eta_min = 0.01});
  for (const int64_t times : {1, 2, 3})
    expect_form<CosineAnnealingWarmRestarts>(
        CosineAnnealingWarmRestarts::Options{.T_0 = 4, .T_mult = times, .eta_min = 1e-3});
  expect_form<OneCycleLR>(OneCycleLR::Options{.max_lr = {1.5}, .epochs = 5, .steps_per_epoch = 4});
  for (const Anneal how : {Anneal::cos, Anneal::linear}) {
    for (const bool three : {false, true})
      expect_form<OneCycleLR>(OneCycleLR::Options{.max_lr = {1.5, 0.7},
                                                  .total_steps = 30,
                                                  .anneal_strategy = how,
                                                  .cycle_momentum = three,
                                                  .three_phase = three});
    expect_form<SWALR>(SWALR::Options{.swa_lr = {0.2}, .anneal_epochs = 6, .anneal_strategy = how});
  }
  for (const CyclicMode mode :
       {CyclicMode::triangular, CyclicMode::triangular2, CyclicMode::exp_range})
    expect_form<CyclicLR>(CyclicLR::Options{.base_lr = {0.01, 0.02},
                                            .max_lr = {0.1},
                                            .step_size_up = 4,
                                            .step_size_down = 7,
                                            .mode = mode,
                                            .gamma = 0.95});
  expect_form<CyclicLR>(CyclicLR::Options{
      .base_lr = {0.01},
      .max_lr = {0.1},
      .step_size_up = 5,
      .scale_fn = [](int64_t t) { return 1 / (1 + 0.1 * static_cast<double>(t)); },
      .scale_mode = CyclicScale::iterations});
  const auto function = [](int64_t t) { return 1 - 0.03 * static_cast<double>(t); };
  EXPECT_SCHEDULE_FORM(oracle::schedule_maker<LambdaLR>(LambdaLR::Function(function)),
                       oracle::lambda_form(function));
  EXPECT_SCHEDULE_FORM(
      oracle::schedule_maker<MultiplicativeLR>(MultiplicativeLR::Function(function)),
      oracle::multiplicative_form(function));
}

// A StepLR of one's own, 0.1 a period of 5, with a mistake.
enum class Made { right, late, early, shared, idle, compounded, other };

class OwnStepLR : public LRScheduler {
 public:
  OwnStepLR(Optimizer& optimizer, Made made) : LRScheduler(optimizer), made_(made) { begin(); }

 protected:
  double lr_of(size_t group, double lr) override {
    const int64_t t = last_epoch();
    const auto form = [&](int64_t at) {
      return std::pow(0.1, static_cast<double>(std::max<int64_t>(at, 0) / 5));
    };
    switch (made_) {
      case Made::late:
        return base(group) * form(t - 1);
      case Made::early:
        return base(group) * form(t + 1);
      case Made::shared:
        return base(0) * form(t);
      case Made::idle:
        return base(group);
      case Made::compounded:
        return t == 0 ? lr : lr * form(t);
      case Made::other:
        return base(group) * (form(t) + 0.25 * static_cast<double>(t % 2));
      case Made::right:
        break;
    }
    return base(group) * form(t);
  }

 private:
  Made made_;
};

std::string said_of(Made made) {
  return oracle::check_schedule(oracle::schedule_maker<OwnStepLR>(made), StepLR::Options{5, 0.1})
      .message;
}

TEST(ScheduleOracle, NamesTheMistake) {
  EXPECT_EQ(said_of(Made::right), "");
  for (const auto& [made, what] :
       {std::pair(Made::late, "; the rates come a step late"),
        {Made::early, "; the rates come a step early"},
        {Made::shared, "; each group has the first one's rates"},
        {Made::idle, "; the rate stays"},
        {Made::compounded, "; a factor of the first rate is taken of the one before it"}})
    EXPECT_TRUE(said_of(made).ends_with(what)) << said_of(made);
  EXPECT_EQ(said_of(Made::late).substr(0, 49), "StepLR: step 5, group 0: lr must be 0.03, got 0.3");
  EXPECT_NE(said_of(Made::other), "");
  EXPECT_EQ(said_of(Made::other).find(';'), std::string::npos) << said_of(Made::other);
}

TEST(ScheduleOracle, AFormHasSteps) {
  EXPECT_EQ(error_of([] { oracle::lambda_form([](int64_t) { return 1.0; }, 0); }),
            "schedule_form: there must be a step to look at, got 0");
}

// A schedule whose state leaves something out doesn't go on where it was.
class ForgetfulLR : public LRScheduler {
 public:
  ForgetfulLR(Optimizer& optimizer, double factor) : LRScheduler(optimizer), factor_(factor) {
    begin();
  }

 protected:
  double lr_of(size_t group, double) override {
    if (group == 0) ++calls_;
    return base(group) * std::pow(factor_, calls_ - 1);
  }

 private:
  double factor_;
  int calls_ = 0;  // in no state
};

TEST(ScheduleOracle, AStateMustBeWhole) {
  const std::string said =
      oracle::check_schedule(oracle::schedule_maker<ForgetfulLR>(0.5), ExponentialLR::Options{0.5})
          .message;
  EXPECT_EQ(said.substr(0, 66),
            "ExponentialLR: step 10: a schedule that was restored must give 0.0")
      << said;
}

}  // namespace
}  // namespace aorta::optim
