// What optimizers, schedules and averages say to a user who means them ill.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/composed_schedules.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/plateau.h>
#include <aorta/optim/schedules.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

TEST(Misuse, OfGroupsThatAreNotThere) {
  SGD sgd({leaf({1})});
  const char* wanted = "optimizer: the group must exist, got 5 of 1";
  EXPECT_EQ(error_of([&] { sgd.options(5); }), wanted);
  EXPECT_EQ(error_of([&] { std::as_const(sgd).options(5); }), wanted);
  EXPECT_EQ(error_of([&] { sgd.initial_lr(5); }), wanted);
  EXPECT_EQ(error_of([&] { sgd.set_lr(1, 5); }), wanted);
  EXPECT_EQ(error_of([&] { sgd.fields(5); }), wanted);
}

TEST(Misuse, OfParametersThatAreUndefined) {
  const std::vector<Tensor> parameters{leaf({1, 2}), Tensor()};
  const char* wanted = "optimizer: parameters[1] must be defined, got an undefined tensor";
  for (const auto& [name, make] : runs()) {
    const Make& makes = make;
    EXPECT_EQ(error_of([&] { makes({{parameters}}); }), wanted) << name;
    Tensor moved = leaf({2});
    const Tensor taken = std::move(moved);
    EXPECT_EQ(error_of([&] { makes({{{taken, moved}}}); }), wanted) << name;
  }
  EXPECT_EQ(error_of([&] { LBFGS optimizer(parameters); }), wanted);
  EXPECT_EQ(error_of([&] { Muon optimizer(parameters); }), wanted);
}

TEST(Misuse, OfEmptyFunctions) {
  SGD sgd({leaf({1})});
  EXPECT_EQ(error_of([&] { sgd.step({}); }),
            "optimizer: the closure must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { LambdaLR schedule(sgd, LambdaLR::Function{}); }),
            "lambda_lr: the functions must be functions, got an empty one");
}

TEST(Misuse, OfALossThatIsNone) {
  SGD sgd({leaf({1})});
  EXPECT_EQ(error_of([&] { sgd.step_if_finite(Tensor()); }),
            "optimizer: loss must be defined, got an undefined tensor");
  EXPECT_EQ(error_of([&] { sgd.step_if_finite(ones({2})); }),
            "optimizer: the loss must be one number, got [2]");
  EXPECT_EQ(error_of([&] { sgd.step_if_finite(ones({}, {.dtype = DType::i64})); }),
            "optimizer: the loss must be of a float dtype, got i64");
}

TEST(Misuse, OfAnOptimizerThatIsGone) {
  const char* wanted =
      "lr_scheduler: the optimizer must live longer than its schedule, got one that is gone";
  std::shared_ptr<LRScheduler> step, chained;
  std::unique_ptr<ReduceLROnPlateau> plateau;
  {
    SGD sgd({leaf({1})});
    step = std::make_shared<StepLR>(sgd, StepLR::Options{.step_size = 1});
    chained = std::make_shared<ChainedScheduler>(Schedules{step});
    plateau = std::make_unique<ReduceLROnPlateau>(sgd);
    step->step();
    plateau->step(1);
  }
  EXPECT_EQ(error_of([&] { step->step(); }), wanted);
  EXPECT_EQ(error_of([&] { chained->step(); }), wanted);
  EXPECT_EQ(error_of([&] { plateau->step(1); }), wanted);
  EXPECT_EQ(error_of([&] { plateau->get_last_lr(); }), wanted);
  EXPECT_EQ(error_of([&] { ChainedScheduler another({step}); }), wanted);
}

TEST(Misuse, OfScheduleLengthsAndFactors) {
  SGD sgd({leaf({1})});
  EXPECT_EQ(error_of([&] { LinearLR schedule(sgd, {.total_iters = -5}); }),
            "linear_lr: total_iters must be at least 0, got -5");
  EXPECT_EQ(error_of([&] { ConstantLR schedule(sgd, {.total_iters = -5}); }),
            "constant_lr: total_iters must be at least 0, got -5");
  EXPECT_EQ(error_of([&] { ReduceLROnPlateau schedule(sgd, {.factor = -1}); }),
            "reduce_lr_on_plateau: factor must be in [0, 1), got -1");
  EXPECT_EQ(error_of([&] {
              OneCycleLR schedule(sgd, {.max_lr = {1}, .total_steps = 10, .div_factor = 0});
            }),
            "one_cycle_lr: div_factor and final_div_factor must be above 0, got 0 and 10000");
  // A period that nobody lives to see is one.
  CosineAnnealingLR endless(sgd, {.T_max = INT64_MAX});
  endless.step();
  EXPECT_EQ(sgd.options(0).lr, 1e-3);
  // A rate that isn't a number is found by the step that would use it.
  StepLR nan(sgd, {.step_size = 1, .gamma = std::nan("")});
  nan.step();
  EXPECT_EQ(error_of([&] { sgd.step(); }), "sgd: lr must be at least 0, got nan");
}

}  // namespace
}  // namespace aorta::optim
