#pragma once

// GoogleTest assertions around the oracle, for the tests of optimizers of one's own:
//
//     TEST(MySgd, FollowsItsRule) {
//       const auto make = optim::oracle::maker<MySgd>({.lr = 0.1, .momentum = 0.9});
//       EXPECT_OPTIMIZER_RULE(make, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
//       EXPECT_OPTIMIZER_CONDUCT(make);
//     }
//     TEST(MyStepLR, FollowsItsForm) {
//       const auto make = optim::oracle::schedule_maker<MyStepLR>(MyStepLR::Options{30});
//       EXPECT_SCHEDULE_FORM(make, optim::StepLR::Options{30});
//     }

#include <aorta/optim/oracle.h>
#include <aorta/optim/oracle_schedules.h>

#include <gtest/gtest.h>

namespace aorta::optim::oracle {

inline testing::AssertionResult as_assertion(const Result& result) {
  return result ? testing::AssertionSuccess() : testing::AssertionFailure() << result.message;
}

}  // namespace aorta::optim::oracle

/// EXPECT_OPTIMIZER_RULE(make, options): the optimizer follows the rule that the options stand for;
/// a tolerance and a device may follow. EXPECT_OPTIMIZER_TRAJECTORY(make, trajectory): one
/// trajectory, of the oracle or of your own. EXPECT_OPTIMIZER_CONDUCT(make): what every optimizer
/// must keep; a device may follow.
#define EXPECT_OPTIMIZER_RULE(make, ...) \
  EXPECT_TRUE(                           \
      ::aorta::optim::oracle::as_assertion(::aorta::optim::oracle::check_rule(make, __VA_ARGS__)))
#define EXPECT_OPTIMIZER_TRAJECTORY(make, ...)      \
  EXPECT_TRUE(::aorta::optim::oracle::as_assertion( \
      ::aorta::optim::oracle::check_trajectory(make, __VA_ARGS__)))
#define EXPECT_OPTIMIZER_CONDUCT(...) \
  EXPECT_TRUE(                        \
      ::aorta::optim::oracle::as_assertion(::aorta::optim::oracle::check_conduct(__VA_ARGS__)))
/// EXPECT_SCHEDULE_FORM(make, form): a schedule of learning rates follows the form that the options
/// of one of Aorta's stand for, or one of your own; a tolerance may follow.
#define EXPECT_SCHEDULE_FORM(make, ...)             \
  EXPECT_TRUE(::aorta::optim::oracle::as_assertion( \
      ::aorta::optim::oracle::check_schedule(make, __VA_ARGS__)))
