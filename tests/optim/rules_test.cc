// What is special to RAdam, Rprop, ASGD, Adafactor and Muon: their options, and steps by hand.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

// What a rule says of its options.
template <class Rule>
std::string message_with(const typename Rule::Options& options) {
  return error_of([&] { Rule optimizer({leaf({1, 2})}, options); });
}

TEST(Rules, RefuseBadOptions) {
  EXPECT_EQ(message_with<RAdam>({.betas = {0.9, 1.5}}), "radam: betas must be in [0, 1), got 1.5");
  EXPECT_EQ(message_with<Rprop>({.etas = {1.2, 0.5}}),
            "rprop: etas must be between 0 and 1, and above 1, got 1.2 and 0.5");
  EXPECT_EQ(message_with<Rprop>({.step_sizes = {2, 1}}),
            "rprop: step_sizes must be at least 0, and the smallest first, got 2 and 1");
  EXPECT_EQ(message_with<ASGD>({.lambd = -1}), "asgd: lambd must be at least 0, got -1");
  EXPECT_EQ(message_with<Adafactor>({.beta2_decay = 1}),
            "adafactor: beta2_decay must be at most 0, got 1");
  EXPECT_EQ(message_with<Adafactor>({.eps = {-2, 0}}),
            "adafactor: eps must be at least 0, or kMachineEpsilon, got -2");
  EXPECT_EQ(message_with<Adafactor>({.d = 0.5}), "adafactor: d must be at least 1, got 0.5");
  EXPECT_EQ(message_with<Muon>({.ns_steps = 100}), "muon: ns_steps must be from 0 to 99, got 100");
  EXPECT_EQ(message_with<Muon>({.adjust_lr_fn = "spectral"}),
            "muon: adjust_lr_fn must be original, match_rms_adamw or spectral_unclamped, got "
            "\"spectral\"");
  EXPECT_EQ(message_with<Muon>({}), "muon: parameters must be matrices, got [2]");
}

// With gradients that lie otherwise than their parameters, and parameters with gaps.
TEST(Rules, AStepIsLeftOutWhereTheLossIsNotFinite) {
  std::map<std::string, Make> all = runs();
  all.insert(matrix_runs().begin(), matrix_runs().end());
  const auto lay_out = [](const Tensor& x) { return stack({x, x}, -1).select(-1, 0); };
  const auto everything = [](const Problem& problem, const Optimizer& optimizer) {
    std::map<std::string, Tensor> found = optimizer.state().tensors();
    for (auto& [name, tensor] : found) tensor = tensor.clone();
    for (size_t i = 0; i < 2; ++i)
      found["parameter " + std::to_string(i)] = problem.parameter(i).detach().clone();
    return found;
  };
  for (const auto& [name, make] : all) {
    const Problem problem(f64, lay_out, {2, 5}), other(f64, lay_out, {2, 5});
    const auto optimizer = make(problem.groups()), steps = make(other.groups());
    for (int64_t t = 1; t <= 3; ++t) {
      problem.set_gradients(t);
      other.set_gradients(t);
      optimizer->step_if_finite(tensor(0.5f));
      steps->step();
    }
    const auto before = everything(problem, *optimizer), stepped = everything(other, *steps);
    ASSERT_EQ(before.size(), stepped.size()) << name;
    for (const auto& [what, tensor] : before) expect_same_bits(tensor, stepped.at(what), name);
    for (const double loss : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
      problem.set_gradients(4);
      optimizer->step_if_finite(tensor(loss));
      for (const auto& [what, tensor] : everything(problem, *optimizer))
        expect_same_bits(tensor, before.at(what), name + ": " + what);
    }
  }
}

TEST(Rules, RpropOfNaNAndOfTurns) {
  const Tensor w = leaf({1, 1, 1});
  Rprop rprop({w}, {.lr = 0.5});
  w.set_grad(tensor({2.0, -3.0, 0.0}, {.dtype = f64}));
  rprop.step();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{0.5, 1.5, 1.0}));
  rprop.set_lr(7);  // only the first step size
  w.set_grad(tensor({1e-9, 3.0, 0.0}, {.dtype = f64}));
  rprop.step();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{0.5 - 0.5 * 1.2, 1.5, 1.0}));
  const State state = rprop.state();
  EXPECT_EQ(state.tensor("state.0.prev").to_vector<double>(), (std::vector{1e-9, 0.0, 0.0}));
  EXPECT_EQ(state.tensor("state.0.step_size").to_vector<double>(),
            (std::vector{0.5 * 1.2, 0.25, 0.5}));
  w.set_grad(tensor({std::nan(""), 3.0, 0.0}, {.dtype = f64}));
  rprop.step();
  EXPECT_TRUE(std::isnan(w.at<double>({0})));
  EXPECT_EQ(w.at<double>({1}), 1.25);
}

TEST(Rules, AsgdAverages) {
  const Tensor w = leaf({4});
  ASGD asgd({w}, {.lr = 1, .lambd = 0, .t0 = 2});
  std::vector<double> averages;
  for (int t = 1; t <= 6; ++t) {
    w.set_grad(ones({1}, {.dtype = f64}));
    asgd.step();  // 3, 2, 1, 0, -1, -2
    averages.push_back(asgd.state().tensor("state.0.ax").item<double>());
  }
  // The parameter itself up to step 4, then a mean that gains a half, a third, ...
  EXPECT_EQ(averages[3], 0);
  EXPECT_EQ(averages[4], -0.5);
  EXPECT_DOUBLE_EQ(averages[5], -0.5 - 1.5 / 3);
}

}  // namespace
}  // namespace aorta::optim
