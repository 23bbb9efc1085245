// L-BFGS: PyTorch's evaluations (tests/fixtures/make_optim_lbfgs.py), its state, its errors.
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/history.h>
#include <aorta/core/io/load_save.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/lbfgs.h>
#include <aorta/optim/schedules.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

using Parameters = std::vector<Tensor>;
using Loss = std::function<Tensor(const Parameters&)>;

Tensor rosenbrock(const Parameters& p) {
  const Tensor& x = p[0];
  const int64_t n = x.numel() - 1;
  const Tensor left = x.narrow(0, 0, n), right = x.narrow(0, 1, n);
  return sum(100 * square(right - square(left)) + square(1 - left));
}

Tensor quadratic(const Parameters& p) {
  const Tensor i = arange(6, {.dtype = f64});
  return 0.5 * sum((1 + 3 * i) * square(p[0] - 1 + 0.3 * i)) + 0.5 * square(sum(p[0]));
}

Tensor logistic(const Parameters& p) {
  const Tensor i = arange(60, {.dtype = f64}).view({20, 3});
  const Tensor features = sin(7 * i) + 0.2 * cos(i);
  const Tensor side = sin(arange(20, {.dtype = f64}) * 5) + features.select(1, 0);
  const Tensor sign = where(side > 0, 1.0, -ones({20}, {.dtype = f64}));
  return mean(softplus(-sign * (matmul(features, p[0]) + p[1]))) + 0.01 * sum(square(p[0]));
}

struct Run {
  Loss loss;
  std::vector<std::vector<double>> start;
  LBFGSOptions options;
};

const std::map<std::string, Run>& runs_of_lbfgs() {
  const std::vector<std::vector<double>> two = {{-1.2, 1}},
                                         ten = {{-1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1, -1.2, 1}},
                                         six = {std::vector<double>(6)}, four = {{0, 0, 0}, {0}};
  const char* wolfe = "strong_wolfe";
  static const std::map<std::string, Run> map = {
      {"rosenbrock2_wolfe", {rosenbrock, two, {.line_search_fn = wolfe}}},
      {"rosenbrock2", {rosenbrock, two, {.lr = 0.1, .max_iter = 10}}},
      {"rosenbrock2_short",
       {rosenbrock, two, {.max_iter = 4, .history_size = 2, .line_search_fn = wolfe}}},
      {"rosenbrock2_starved",
       {rosenbrock, two, {.lr = 3, .max_iter = 3, .max_eval = 4, .line_search_fn = wolfe}}},
      {"rosenbrock10_wolfe", {rosenbrock, ten, {.line_search_fn = wolfe}}},
      {"rosenbrock10", {rosenbrock, ten, {.lr = 0.1, .max_iter = 10}}},
      {"rosenbrock10_short",
       {rosenbrock, ten, {.max_iter = 5, .history_size = 3, .line_search_fn = wolfe}}},
      {"quadratic_wolfe", {quadratic, six, {.line_search_fn = wolfe}}},
      {"quadratic", {quadratic, six, {.max_iter = 8}}},
      {"quadratic_far", {quadratic, six, {.lr = 1e4, .max_iter = 5, .line_search_fn = wolfe}}},
      {"quadratic_near", {quadratic, six, {.lr = 1e-4, .max_iter = 5, .line_search_fn = wolfe}}},
      {"quadratic_maximize",
       {[](const Parameters& p) { return -quadratic(p); },
        six,
        {.max_iter = 8, .line_search_fn = wolfe, .maximize = true}}},
      {"logistic_wolfe", {logistic, four, {.max_iter = 4, .line_search_fn = wolfe}}},
      {"logistic", {logistic, four, {.lr = 0.5, .max_iter = 4}}},
  };
  return map;
}

// An optimizer with its parameters, and how often its loss was computed.
struct Training {
  Training(const std::vector<std::vector<double>>& start, Loss loss_of, const LBFGSOptions& options,
           DType dtype = f64)
      : parameters(leaves(start, dtype)),
        loss(std::move(loss_of)),
        optimizer(parameters, options) {}

  double step() {
    return optimizer
        .step([&] {
          ++evaluations;
          optimizer.zero_grad();
          const Tensor value = loss(parameters);
          value.backward();
          return value;
        })
        .item<double>();
  }
  static Parameters leaves(const std::vector<std::vector<double>>& start, DType dtype) {
    Parameters result;
    for (const auto& values : start) result.push_back(leaf(values, dtype));
    return result;
  }

  Parameters parameters;
  Loss loss;
  LBFGS optimizer;
  int64_t evaluations = 0;
};

Training training_of(const std::string& name, DType dtype = f64) {
  const Run& run = runs_of_lbfgs().at(name);
  return {run.start, run.loss, run.options, dtype};
}

TEST(Lbfgs, EvaluatesWherePyTorchDoes) {
  size_t count = 0;
  std::map<std::string, Tensor> arrays;
  for (const auto& [name, array] : load("tests/fixtures/optim/lbfgs.npz")) arrays[name] = array;
  for (const auto& [name, expected] : arrays) {
    if (name.ends_with(".ulp")) continue;
    ASSERT_TRUE(runs_of_lbfgs().contains(name)) << name;
    Training training = training_of(name);
    const std::vector<double> of_ulps = arrays.at(name + ".ulp").to_vector<double>();
    for (int64_t row = 0; row < expected.size(0); ++row) {
      const std::vector<double> wanted = expected[row].to_vector<double>();
      std::vector<double> got = {training.step(), static_cast<double>(training.evaluations)};
      for (const Tensor& p : training.parameters)
        for (double value : p.detach().to_vector<double>()) got.push_back(value);
      ASSERT_EQ(got.size(), wanted.size()) << name;
      ASSERT_EQ(got[1], wanted[1]) << name << ", evaluations of step " << row + 1;
      for (size_t i = 0; i < got.size(); ++i) {
        // Where PyTorch's own run moves further for an ulp of its start, so may this one.
        const double tolerance = std::max(1e-10 * std::max(1.0, std::fabs(wanted[i])),
                                          4 * of_ulps[static_cast<size_t>(row)]);
        EXPECT_NEAR(got[i], wanted[i], tolerance)
            << name << ", step " << row + 1 << ", number " << i;
      }
    }
    ++count;
  }
  EXPECT_EQ(count, runs_of_lbfgs().size());
}

// With pairs that span everything, the inverse Hessian of a quadratic is exact.
TEST(Lbfgs, FindsTheMinimumOfAQuadraticInF32) {
  for (const DType dtype : {f32, f64}) {
    const Tensor a = tensor({1.0, 4.0, 9.0}).to(dtype);
    Training training(
        {{1, -2}, {0.5}},
        [&](const Parameters& p) {
          return sum(a.narrow(0, 0, 2) * square(p[0] - 3)) +
                 sum(a.narrow(0, 2, 1) * square(p[1] + 1));
        },
        {.line_search_fn = "strong_wolfe"}, dtype);
    training.step();
    training.step();
    const double tolerance = 1e-5;  // tolerance_change is of the loss
    EXPECT_LT(max(abs(training.parameters[0].detach() - 3)).item<double>(), tolerance);
    EXPECT_LT(max(abs(training.parameters[1].detach() + 1)).item<double>(), tolerance);
    EXPECT_EQ(training.optimizer.state().tensor("state.0.d").dtype(), dtype);
  }
}

TEST(Lbfgs, TakesHalfTypesInF32AndAnyLayout) {
  Training training(
      {{4, -6, 2}}, [](const Parameters& p) { return sum(square(p[0] - 1)); }, {}, DType::bf16);
  training.step();
  EXPECT_EQ(training.parameters[0].detach().to_vector<double>(), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(training.optimizer.state().tensor("state.0.d").dtype(), f32);

  const Tensor start = sin(arange(6, {.dtype = f64})).view({2, 3}), a = exp(start);
  const Tensor plain = start.clone().requires_grad_(),
               transposed = start.t().contiguous().t().requires_grad_();
  LBFGS first({plain}), second({transposed});
  const auto step = [&](LBFGS& optimizer, const Tensor& p) {
    optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor loss = sum(a * square(square(p) - 2));
      loss.backward();
      return loss;
    });
  };
  for (int i = 0; i < 3; ++i) step(first, plain), step(second, transposed);
  EXPECT_LT(max(abs(plain.detach() - transposed.detach())).item<double>(), 1e-13);
}

TEST(Lbfgs, StateGoesThroughAFileBitForBit) {
  for (const char* name : {"rosenbrock10_short", "rosenbrock10", "logistic_wolfe"}) {
    Training before = training_of(name), after = training_of(name);
    before.step();
    before.step();
    const std::string path = testing::TempDir() + "/lbfgs.safetensors";
    before.optimizer.state_dict().save(path);
    after.step();  // what was there before is gone
    Optimizer& restored = after.optimizer;
    restored.load_state_dict(State::load(path));
    const NoGradGuard no_grad;
    for (size_t i = 0; i < before.parameters.size(); ++i)
      after.parameters[i].copy_(before.parameters[i]);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(before.step(), after.step()) << name;
    for (size_t i = 0; i < before.parameters.size(); ++i)
      expect_same_bits(before.parameters[i], after.parameters[i], name);
  }
}

TEST(Lbfgs, StateHasPyTorchsNames) {
  Training training = training_of("rosenbrock10_short");
  EXPECT_FALSE(training.optimizer.state().contains("state.0.n_iter"));
  training.step();
  const State state = training.optimizer.state().with_prefix("state.0.");
  EXPECT_EQ(state.names(),
            (std::vector<std::string>{"H_diag", "d", "func_evals", "n_iter", "old_dirs", "old_stps",
                                      "prev_flat_grad", "prev_loss", "ro", "t"}));
  EXPECT_EQ(state.tensor("old_dirs").shape(), (Shape{3, 10}));
  EXPECT_EQ(state.get<int64_t>("n_iter"), 5);
  EXPECT_EQ(state.get<int64_t>("func_evals"), training.evaluations);
  const auto ro = state.get<std::vector<double>>("ro");
  for (int64_t i = 0; i < 3; ++i) {
    const double curvature =
        dot(state.tensor("old_dirs")[i], state.tensor("old_stps")[i]).item<double>();
    EXPECT_NEAR(ro[static_cast<size_t>(i)] * curvature, 1, 1e-14);
  }
}

TEST(Lbfgs, RefusesStatesThatArentItsOwn) {
  Training training = training_of("rosenbrock10_short");
  training.step();
  const State state = training.optimizer.state();
  const auto changed = [&](const std::string& name, const Tensor& value) {
    State other;
    for (const auto& [key, tensor] : state.tensors())
      if (key != name) other.set(key, tensor);
    for (const auto& [key, old] : state.values()) other.set(key, old);
    if (value.defined()) other.set(name, value);
    return error_of([&] { training.optimizer.restore(other); });
  };
  EXPECT_EQ(changed("state.0.d", ones({3})),
            "load_state_dict: state must have the shape that the rule gives it, got \"state.0.d\" "
            "of [3] for [10]");
  EXPECT_EQ(changed("state.0.old_stps", ones({2, 10})),
            "load_state_dict: state must have the shape that the rule gives it, got "
            "\"state.0.old_stps\" of [2,10] for [3,10]");
  EXPECT_EQ(changed("state.0.d", {}), "state: tensor must be there, got no \"d\"");
  EXPECT_EQ(changed("state.0.momentum", ones({10})),
            "state: names must be the object's, got unexpected \"momentum\"");
  EXPECT_EQ(changed("state.1.d", ones({10})),
            "load_state_dict: the state must hold nothing but the optimizer's groups and "
            "parameters, got 1 other entries");
  EXPECT_EQ(changed("", {}), "no error");
}

// The parameters and the state of an optimizer, to compare.
void expect_unchanged(Training& training, const std::vector<double>& parameters,
                      const State& state) {
  EXPECT_EQ(training.parameters[0].detach().to_vector<double>(), parameters);
  const State now = training.optimizer.state();
  EXPECT_EQ(now.names(), state.names());
  EXPECT_EQ(now.values(), state.values());
  for (const auto& [name, tensor] : state.tensors())
    expect_same_bits(now.tensor(name), tensor, name);
}

TEST(Lbfgs, AStepThatThrowsChangesNothing) {
  Training training = training_of("rosenbrock10_short");
  training.step();
  const Loss loss = training.loss;
  const std::vector<double> at = training.parameters[0].detach().to_vector<double>();
  const State state = training.optimizer.state();
  for (int64_t last : {0, 1, 3}) {
    const int64_t until = training.evaluations + last;
    training.loss = [&](const Parameters& p) {
      if (training.evaluations > until) throw std::runtime_error("no more");
      return loss(p);
    };
    EXPECT_THROW(training.step(), std::runtime_error);
    expect_unchanged(training, at, state);
  }
  training.loss = [&](const Parameters& p) { return loss(p) * std::nan(""); };
  EXPECT_EQ(error_of([&] { training.step(); }),
            "lbfgs: the loss and its gradient must be finite, got nan with a gradient of up to nan "
            "in evaluation 1");
  expect_unchanged(training, at, state);
}

// log(x) has no value where the first trial of the search ends.
TEST(Lbfgs, TheSearchTurnsBackFromWhatIsntFinite) {
  const Loss barrier = [](const Parameters& p) { return sum(square(p[0]) - log(p[0])); };
  for (const double lr : {1.0, 20.0, 1e6}) {
    Training training({{0.05, 3}}, barrier, {.lr = lr, .line_search_fn = "strong_wolfe"});
    for (int i = 0; i < 12; ++i) training.step();
    for (double x : training.parameters[0].detach().to_vector<double>())
      EXPECT_NEAR(x, std::sqrt(0.5), 1e-4) << lr;  // tolerance_change is of the loss
  }
  Training training({{0.05, 3}}, barrier, {.lr = 20});
  EXPECT_NE(error_of([&] { training.step(); }).find("lbfgs: the loss and its gradient must be"),
            std::string::npos);
  EXPECT_EQ(training.parameters[0].detach().to_vector<double>(), (std::vector<double>{0.05, 3}));
}

TEST(Lbfgs, CountsAMissingGradientAsZeros) {
  Training training({{1, 2}, {3}}, [](const Parameters& p) { return sum(square(p[0])); }, {});
  training.step();
  EXPECT_NEAR(max(abs(training.parameters[0].detach())).item<double>(), 0, 1e-7);
  EXPECT_EQ(training.parameters[1].item<double>(), 3);
  LBFGS nothing({zeros({0}).requires_grad_()});
  EXPECT_EQ(nothing.step([] { return tensor(7.0); }).item<double>(), 7);
}

TEST(Lbfgs, StopsAtAMinimumAndReturnsTheFirstLoss) {
  Training training({{3}}, [](const Parameters& p) { return sum(square(p[0] - 3)) + 5; }, {});
  EXPECT_EQ(training.step(), 5);
  EXPECT_EQ(training.evaluations, 1);
  EXPECT_EQ(training.optimizer.state().get<int64_t>("state.0.func_evals"), 1);
  EXPECT_EQ(training.optimizer.state().get<int64_t>("state.0.n_iter"), 0);
  LBFGS restored({leaf({3})});
  restored.restore(training.optimizer.state());
}

TEST(Lbfgs, FollowsConvertedParametersAndSchedules) {
  Training training = training_of("rosenbrock10_short");
  training.step();
  autograd::set_data(training.parameters[0], training.parameters[0].detach().to(f32));
  training.step();
  EXPECT_EQ(training.optimizer.state().tensor("state.0.old_dirs").dtype(), f32);
  StepLR schedule(training.optimizer, {.step_size = 1, .gamma = 0.5});
  schedule.step();
  EXPECT_EQ(training.optimizer.lr(), 0.5);
  training.optimizer.options().history_size = 1;
  training.step();
  EXPECT_EQ(training.optimizer.state().tensor("state.0.old_dirs").shape(), (Shape{1, 10}));
}

TEST(Lbfgs, SaysWhatItCantDo) {
  const auto error = [](const LBFGSOptions& o) {
    return error_of([&] { LBFGS optimizer({leaf({1})}, o); });
  };
  EXPECT_EQ(error({.lr = 0}), "lbfgs: lr must be above 0 and finite, got 0");
  EXPECT_EQ(error({.lr = std::nan("")}), "lbfgs: lr must be above 0 and finite, got nan");
  EXPECT_EQ(error({.max_iter = 0}), "lbfgs: max_iter must be at least 1, got 0");
  EXPECT_EQ(error({.max_iter = std::numeric_limits<int64_t>::min()}),
            "lbfgs: max_iter must be at least 1, got -9223372036854775808");
  EXPECT_EQ(error({.max_eval = 0}), "lbfgs: max_eval must be at least 1, got 0");
  EXPECT_EQ(error({.tolerance_grad = -1}), "lbfgs: tolerance_grad must be at least 0, got -1");
  EXPECT_EQ(error({.tolerance_change = -1}), "lbfgs: tolerance_change must be at least 0, got -1");
  EXPECT_EQ(error({.history_size = 0}), "lbfgs: history_size must be at least 1, got 0");
  EXPECT_EQ(error({.line_search_fn = "wolfe"}),
            "lbfgs: line_search_fn must be none or strong_wolfe, got \"wolfe\"");
  EXPECT_EQ(
      error_of([] {
        LBFGS optimizer({LBFGS::Group{{leaf({1})}, {}}, LBFGS::Group{{leaf({2})}, {.lr = 0.5}}});
      }),
      "lbfgs: there must be one group, got 2");
  EXPECT_EQ(error_of([] {
              LBFGS optimizer({leaf({1}), leaf({1}, f32)});
            }),
            "lbfgs: parameters must be of one dtype, got f64 and f32");
  const Tensor p = leaf({1, 2});
  LBFGS optimizer({p});
  EXPECT_EQ(optimizer.options().max_eval, 25);
  EXPECT_EQ(LBFGS({leaf({1})}, {.max_iter = 7}).options().max_eval, 8);
  EXPECT_EQ(error_of([&] { optimizer.add_param_group({leaf({1})}); }),
            "lbfgs: there must be one group, got 2");
  EXPECT_EQ(error_of([&] { static_cast<Optimizer&>(optimizer).step(); }),
            "lbfgs: a step must have a closure that computes the loss again, got none");
  EXPECT_EQ(error_of([&] { optimizer.step({}); }),
            "optimizer: the closure must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { optimizer.step([] { return Tensor(); }); }),
            "lbfgs: the closure must return the loss, got nothing");
  EXPECT_EQ(error_of([&] { optimizer.step([&] { return square(p); }); }),
            "lbfgs: the loss must be one number, got [2]");
}

}  // namespace
}  // namespace aorta::optim
