// What all optimizers share: groups, state, missing gradients, layouts, dtypes, threads, errors.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/allocator.h>
#include <aorta/core/cpu/update.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include <aorta/tests/error_text.h>
#include <aorta/tests/optim/optimizers.h>

namespace aorta::optim {
namespace {

TEST(Optimizer, ReadsAsPyTorch) {
  const Tensor w = leaf({1, 2}), b = leaf({3});
  Adam adam({w, b}, {.lr = 1e-2});
  EXPECT_EQ(adam.options().lr, 1e-2);
  EXPECT_EQ(adam.options().betas[1], 0.999);
  SGD plain({w, b});
  EXPECT_EQ(plain.lr(), 1e-3);
  SGD groups(std::vector<SGD::Group>{{{w}, {.lr = 0.1}}, {{b}, {.lr = 0.2, .momentum = 0.9}}});
  ASSERT_EQ(groups.group_count(), 2u);
  w.set_grad(ones({2}, {.dtype = f64}));
  b.set_grad(ones({1}, {.dtype = f64}));
  groups.step();
  groups.options(1).lr = 1;  // read and changed between steps
  groups.step();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{1 - 0.1 - 0.1, 2 - 0.1 - 0.1}));
  EXPECT_DOUBLE_EQ(b.item<double>(), 3 - 0.2 - 1.9);
  EXPECT_EQ(Adagrad({w}).options().eps, 1e-10);
  EXPECT_EQ(Adagrad({w}, {.dialect = Dialect::paper}).options().eps, 1e-8);
}

TEST(Optimizer, AGroupWithoutOptionsHasTheFirstOnes) {
  const Tensor w = leaf({1}), b = leaf({2}), c = leaf({3});
  SGD sgd({w}, {.lr = 0.5, .momentum = 0.9});
  sgd.set_lr(0.1);  // by a schedule: a new group starts where the first one did
  sgd.add_param_group({b});
  EXPECT_EQ(sgd.lr(1), 0.5);
  EXPECT_EQ(sgd.options(1).momentum, 0.9);
  SGDOptions slow = sgd.options(1);
  slow.lr = 0.25;
  sgd.add_param_group({c}, slow);
  EXPECT_EQ(sgd.options(2).momentum, 0.9);
  Adagrad paper({w}, {.dialect = Dialect::paper});
  paper.add_param_group({b});
  EXPECT_EQ(paper.options(1).eps, 1e-8);
}

// What a rule says of its options.
template <class Rule>
std::string error_with(const typename Rule::Options& options) {
  return error_of([&] { Rule optimizer({leaf({1, 2})}, options); });
}

TEST(Optimizer, RefusesBadParametersAndOptions) {
  const Tensor w = leaf({1, 2});
  const auto message = [](const std::vector<Tensor>& parameters) {
    return error_of([&] { SGD optimizer(parameters); });
  };
  EXPECT_EQ(message({}), "optimizer: a group must have parameters, got none");
  EXPECT_EQ(message({w, Tensor()}),
            "optimizer: parameters[1] must be defined, got an undefined tensor");
  EXPECT_EQ(message({zeros({2}, {.dtype = i64})}),
            "optimizer: parameters must be of a floating dtype, got i64");
  EXPECT_EQ(message({w * 2}), "optimizer: parameters must be leaves, got the result of mul");
  EXPECT_EQ(message({w, w}),
            "optimizer: a parameter must be given once, got parameter 1 again, of shape [2]");
  SGD sgd({w});
  EXPECT_EQ(error_of([&] { sgd.add_param_group({w}, {}); }),
            "optimizer: a parameter must be given once, got parameter 1 again, of shape [2]");
  EXPECT_EQ(sgd.group_count(), 1u);
  EXPECT_NE(message({zeros({1}).expand({3})}).find("optimizer:"), std::string::npos);

  EXPECT_EQ(error_with<SGD>({.lr = -1}), "sgd: lr must be at least 0, got -1");
  EXPECT_EQ(error_with<SGD>({.lr = std::nan("")}), "sgd: lr must be at least 0, got nan");
  EXPECT_EQ(error_with<SGD>({.momentum = -1}), "sgd: momentum must be at least 0, got -1");
  EXPECT_EQ(error_with<SGD>({.nesterov = true}),
            "sgd: nesterov needs momentum above 0 and no dampening, got momentum 0, dampening 0");
  EXPECT_EQ(error_with<SGD>({.dampening = 0.1, .dialect = Dialect::paper}),
            "sgd: the paper's rule has no dampening, got 0.1");
  EXPECT_EQ(error_with<Adam>({.betas = {0.9, 1}}), "adam: betas must be in [0, 1), got 1");
  EXPECT_EQ(error_with<Adam>({.eps = -1}), "adam: eps must be at least 0, got -1");
  EXPECT_EQ(error_with<AdamW>({.weight_decay = -1}),
            "adamw: weight_decay must be at least 0, got -1");
  EXPECT_EQ(error_with<Adadelta>({.rho = 1.5}), "adadelta: rho must be in [0, 1], got 1.5");
  EXPECT_EQ(error_with<Adadelta>({.lr = 0.5, .dialect = Dialect::paper}),
            "adadelta: the paper's rule has no lr, got 0.5");
  EXPECT_EQ(error_with<Adagrad>({.lr_decay = -1}), "adagrad: lr_decay must be at least 0, got -1");
  EXPECT_EQ(error_with<RMSprop>({.alpha = -1}), "rmsprop: alpha must be at least 0, got -1");
  EXPECT_EQ(error_with<Adamax>({.betas = {-1, 0.5}}), "adamax: betas must be in [0, 1), got -1");
  EXPECT_EQ(error_with<NAdam>({.momentum_decay = -1}),
            "nadam: momentum_decay must be at least 0, got -1");
  // Options that were changed are checked at the next step, before anything moves.
  w.set_grad(ones({2}, {.dtype = f64}));
  sgd.options().momentum = -2;
  EXPECT_EQ(error_of([&] { sgd.step(); }), "sgd: momentum must be at least 0, got -2");
  EXPECT_EQ(w.to_vector<double>(), (std::vector{1.0, 2.0}));
}

TEST(Optimizer, StateGoesThroughAFileBitForBit) {
  for (const auto& [name, make] : runs()) {
    for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
      const Problem first(dtype), second(dtype);
      const auto before = make(first.groups()), after = make(second.groups());
      int64_t t = 1;
      for (; t <= 23; ++t) {
        first.set_gradients(t);
        before->step();
      }
      const std::string path = testing::TempDir() + "/optimizer.safetensors";
      before->state_dict().save(path);
      after->load_state_dict(State::load(path));
      {
        const NoGradGuard no_grad;
        for (size_t i = 0; i < 2; ++i) second.parameter(i).copy_(first.parameter(i));
      }
      for (; t <= 40; ++t) {
        first.set_gradients(t);
        second.set_gradients(t);
        before->step();
        after->step();
      }
      for (size_t i = 0; i < 2; ++i)
        expect_same_bits(first.parameter(i), second.parameter(i), name);
    }
  }
}

TEST(Optimizer, StateHasPyTorchsNames) {
  const Tensor w = leaf({1, 2}), b = leaf({3});
  Adam adam({w, b}, {.amsgrad = true});
  w.set_grad(ones({2}, {.dtype = f64}));
  adam.step();
  EXPECT_EQ(
      adam.state().names(),
      (std::vector<std::string>{
          "param_groups.0.amsgrad", "param_groups.0.betas", "param_groups.0.decoupled_weight_decay",
          "param_groups.0.eps", "param_groups.0.lr", "param_groups.0.maximize",
          "param_groups.0.params", "param_groups.0.weight_decay", "state.0.exp_avg",
          "state.0.exp_avg_sq", "state.0.max_exp_avg_sq", "state.0.step"}));
  EXPECT_NEAR(adam.state().tensor("state.0.exp_avg").at<double>({0}), 0.1, 1e-16);
}

TEST(Optimizer, RestoreChecksEverythingFirst) {
  const Tensor w = leaf({1, 2}), b = leaf({3});
  const auto set_gradients = [&] {
    w.set_grad(ones({2}, {.dtype = f64}));
    b.set_grad(ones({1}, {.dtype = f64}));
  };
  Adam adam({w, b}, {.lr = 0.5});
  set_gradients();
  adam.step();
  const State good = adam.state();
  const auto message = [&](const State& state) {
    const std::string text = error_of([&] { adam.restore(state); });
    EXPECT_EQ(adam.lr(), 0.5);
    EXPECT_EQ(adam.state().names(), good.names());
    return text;
  };
  const auto changed = [&](const std::string& name, auto value) {
    State state;
    for (const auto& [key, tensor] : good.tensors())
      if (key != name) state.set(key, tensor);
    for (const auto& [key, old] : good.values())
      if (key != name) state.set(key, old);
    if constexpr (!std::is_same_v<decltype(value), std::nullptr_t>) state.set(name, value);
    return state;
  };
  EXPECT_EQ(
      message(State()),
      "load_state_dict: the state must have as many groups as the optimizer, got only 0 for 1");
  EXPECT_EQ(message(SGD({leaf({1, 2}), leaf({3})}).state()),
            "state: names must be the object's, got missing \"amsgrad\", \"betas\", \"eps\"; "
            "unexpected \"dampening\", \"dialect\", \"momentum\", \"nesterov\"");
  EXPECT_EQ(message(Adam({leaf({1, 2})}).state()),
            "load_state_dict: a group must have the same parameters, by position, got 1 for 2");
  EXPECT_EQ(message(changed("state.1.exp_avg", nullptr)),
            "load_state_dict: the state must have every tensor of the rule, got no "
            "\"state.1.exp_avg\"");
  EXPECT_EQ(
      message(changed("state.1.exp_avg", zeros({4}))),
      "load_state_dict: state must have its parameter's shape, got \"state.1.exp_avg\" of [4] "
      "for [1]");
  EXPECT_EQ(message(changed("state.1.exp_avg", zeros({1}, {.dtype = i64}))),
            "load_state_dict: state must be of a floating dtype, got \"state.1.exp_avg\" of i64");
  EXPECT_EQ(message(changed("state.0.other", zeros({2}))),
            "load_state_dict: the state must be of this rule, got an unknown \"state.0.other\"");
  EXPECT_EQ(message(changed("state.7.step", State::Value(int64_t{1}))),
            "load_state_dict: the state must hold nothing but the optimizer's groups and "
            "parameters, got 1 other entries");
  EXPECT_EQ(message(changed("param_groups.0.lr", State::Value(-3.0))),
            "adam: lr must be at least 0, got -3");
  EXPECT_EQ(message(changed("param_groups.0.betas", State::Value(std::vector{0.1}))),
            "load_state_dict: a pair of numbers must be two, got \"betas\" with 1");
  EXPECT_EQ(message(changed("param_groups.0.lr", State::Value(std::string("fast")))),
            "state: value must be a double, got \"lr\" as text");
  EXPECT_EQ(message(changed("state.0.step", State::Value(int64_t{0}))),
            "load_state_dict: a parameter's steps must be at least 1, got 0");
  State two = good;
  two.set("param_groups.1.lr", State::Value(1.0));
  EXPECT_EQ(
      message(two),
      "load_state_dict: the state must have as many groups as the optimizer, got more than 1");
  adam.restore(changed("param_groups.0.lr", State::Value(0.25)));
  EXPECT_EQ(adam.lr(), 0.25);
}

TEST(Optimizer, WithoutEpsAZeroGradientGivesNaN) {
  const auto step = [](auto make) {
    const Tensor w = leaf({1, 2});
    w.set_grad(tensor({0.0, 1.0}, {.dtype = f64}));
    make(w)->step();
    EXPECT_TRUE(std::isnan(w.at<double>({0})));
    EXPECT_TRUE(std::isfinite(w.at<double>({1})));
  };
  step([](const Tensor& w) {
    return std::make_unique<Adam>(std::vector{w}, AdamOptions{.eps = 0});
  });
  step([](const Tensor& w) {
    return std::make_unique<RMSprop>(std::vector{w}, RMSpropOptions{.eps = 0});
  });
  step([](const Tensor& w) {
    return std::make_unique<Adagrad>(std::vector{w}, AdagradOptions{.eps = 0});
  });
  step([](const Tensor& w) {
    return std::make_unique<Adamax>(std::vector{w}, AdamaxOptions{.eps = 0});
  });
}

TEST(Optimizer, HalfTypesAreSteppedInF32) {
  for (const auto& [name, make] : runs()) {
    for (const DType dtype : {DType::f16, DType::bf16}) {
      const Problem half(dtype), single(DType::f32);
      const auto optimizer = make(half.groups()), reference = make(single.groups());
      for (int64_t t = 1; t <= 30; ++t) {
        half.set_gradients(t);
        const NoGradGuard no_grad;
        for (size_t i = 0; i < 2; ++i) {
          single.parameter(i).copy_(half.parameter(i));
          const Tensor gradient = half.parameter(i).grad();
          single.parameter(i).set_grad(gradient.defined() ? gradient.to(DType::f32) : Tensor());
        }
        optimizer->step();
        reference->step();
        for (size_t i = 0; i < 2; ++i)
          expect_same_bits(half.parameter(i), single.parameter(i).detach().to(dtype), name);
      }
    }
  }
}

TEST(Optimizer, TakesAnyLayout) {
  const auto contiguous = [](const Tensor& x) { return x.contiguous(); };
  const auto transposed = [](const Tensor& x) {
    return x.dim() == 2 ? x.t().contiguous().t() : x.contiguous();
  };
  const auto strided = [](const Tensor& x) {
    Shape twice = x.shape();
    twice[x.dim() - 1] *= 2;
    const Tensor room = full(twice, 7, {.dtype = x.dtype()});
    const Tensor view = room.slice(x.dim() - 1, 0, {}, 2);
    view.copy_(x);
    return view;
  };
  const std::vector<std::function<Tensor(const Tensor&)>> layouts = {contiguous, transposed,
                                                                     strided};
  for (const auto& [name, make] : runs()) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Problem expected(dtype);
      const auto reference = make(expected.groups());
      for (int64_t t = 1; t <= 12; ++t) {
        expected.set_gradients(t);
        reference->step();
      }
      for (size_t of_parameter = 0; of_parameter < layouts.size(); ++of_parameter) {
        for (size_t of_gradient = 0; of_gradient < layouts.size(); ++of_gradient) {
          const Problem problem(dtype, layouts[of_parameter]);
          const auto optimizer = make(problem.groups());
          for (int64_t t = 1; t <= 12; ++t) {
            problem.set_gradients(t, layouts[of_gradient]);
            optimizer->step();
          }
          for (size_t i = 0; i < 2; ++i)
            expect_same_bits(problem.parameter(i), expected.parameter(i), name);
          // The state has the parameter's shape, whatever the layout, and fits another one.
          const auto other = make(expected.groups());
          other->restore(optimizer->state());
        }
      }
    }
  }
}

TEST(Optimizer, LeavesWhatLiesBetweenAlone) {
  const Tensor room = full({4, 6}, 5, {.dtype = f64});
  const Tensor view = room.slice(1, 1, 5, 2).detach().requires_grad_();
  Adam adam({view}, {.lr = 1});
  view.set_grad(ones({4, 2}, {.dtype = f64}));
  adam.step();
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 6; ++j)
      EXPECT_NEAR(room.at<double>({i, j}), j == 1 || j == 3 ? 4 : 5, 1e-6);
}

// One arena for several dtypes, shapes without elements, 0-d, and many small tensors.
TEST(Optimizer, TakesMixedLists) {
  std::vector<Tensor> mixed;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f32}) {
    for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{0, 4}, Shape{17}})
      mixed.push_back(full(shape, 1, {.dtype = dtype}).requires_grad_());
  }
  Adam adam(mixed, {.lr = 0.25, .eps = 0});
  for (const Tensor& p : mixed) p.set_grad(full_like(p.detach(), 2));
  adam.step();
  for (const Tensor& p : mixed) {
    for (double x : p.to_vector<double>()) EXPECT_NEAR(x, 0.75, 1e-6) << to_string(p.dtype());
  }
  std::vector<Tensor> many;
  for (int i = 0; i < 1000; ++i) many.push_back(full({i % 97}, i, {.dtype = f64}).requires_grad_());
  SGD sgd(many, {.lr = 0.5, .momentum = 0.5});
  for (int i = 0; i < 1000; ++i)
    many[static_cast<size_t>(i)].set_grad(full({i % 97}, 2 * i, {.dtype = f64}));
  sgd.step();
  sgd.step();
  for (int i = 0; i < 1000; ++i)
    for (double x : many[static_cast<size_t>(i)].to_vector<double>())
      ASSERT_EQ(x, i - 2.5 * i) << i;
}

TEST(Optimizer, AnotherNumberOfThreadsGivesTheSameBits) {
  const int threads = get_num_threads();
  for (const auto& [name, make] : runs()) {
    std::vector<Tensor> results;
    for (const int count : {1, 2}) {
      set_num_threads(count);
      const Tensor p = sin(arange(100003, {.dtype = f32})).requires_grad_(),
                   q = cos(arange(70001, {.dtype = f32})).requires_grad_();
      const auto optimizer = make({{{p, q}, 1}});
      for (int t = 0; t < 3; ++t) {
        p.set_grad(sin(p.detach() * 3));
        q.set_grad(cos(q.detach() * 5));
        optimizer->step();
      }
      results.push_back(p);
      results.push_back(q);
    }
    expect_same_bits(results[0], results[2], name);
    expect_same_bits(results[1], results[3], name);
  }
  set_num_threads(threads);
}

TEST(Optimizer, EveryInstructionSetGivesTheSameBits) {
  using namespace cpu;
  constexpr int64_t kCount = 1003;
  for (int rule = 0; rule < kUpdateRules; ++rule) {
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      std::vector<Tensor> results;
      for (const Isa set : {Isa::v2, Isa::v3, Isa::v4}) {
        if (set > isa()) continue;
        const auto function = set == Isa::v2   ? v2::update_function
                              : set == Isa::v3 ? v3::update_function
                                               : v4::update_function;
        const Tensor p = sin(arange(kCount, {.dtype = f64})).to(dtype);
        const Tensor g = cos(arange(kCount, {.dtype = f64}) * 2).to(dtype);
        std::vector<Tensor> states;
        kernel::UpdateTensor tensor{p.data(), g.data(), {}, kCount, 0, 0};
        for (int k = 0; k < kMaxUpdateStates; ++k) {
          states.push_back(
              square(sin(arange(kCount, {.dtype = f64}) + k)).to(compute_dtype(dtype)));
          tensor.states[k] = states.back().data();
        }
        UpdateNumbers<double> n;
        n.step_size = n.gradient_step = 0.1;
        n.weight_decay = 0.01;
        n.shrink = 0.99;
        n.momentum = n.decay = 0.9;
        n.mix = n.square_mix = 0.1;
        n.eps = 1e-3;
        n.root_scale = 0.5;
        function(static_cast<UpdateRule>(rule), dtype)(tensor, n, 0, 501);
        function(static_cast<UpdateRule>(rule), dtype)(tensor, n, 501, kCount);
        results.push_back(p);
        if (results.size() > 1) {
          expect_same_bits(results[0], p, "rule " + std::to_string(rule));
        }
      }
      EXPECT_FALSE(results.empty());
    }
  }
}

TEST(Optimizer, AStepTakesNoMemoryAfterTheFirst) {
  for (const auto& [name, make] : runs()) {
    const Problem problem(DType::f32);
    const auto optimizer = make(problem.groups());
    problem.set_gradients(1);
    optimizer->step();
    problem.set_gradients(2);
    cpu::reset_peak_bytes();
    const int64_t before = cpu::allocator_stats().bytes_in_use;
    optimizer->step();
    EXPECT_EQ(cpu::allocator_stats().peak_bytes, before) << name;
  }
}

TEST(Optimizer, AGraphThatNeedsOldValuesSaysSo) {
  const Tensor w = leaf({1, 2});
  const Tensor loss = sum(square(w));
  w.set_grad(ones({2}, {.dtype = f64}));
  SGD sgd({w}, {.lr = 0.5});
  const uint32_t version = w.version();
  sgd.step();
  EXPECT_EQ(w.version(), version + 1);
  EXPECT_NE(error_of([&] { loss.backward(); }).find("square"), std::string::npos);
  // And a gradient that has a history of its own is read all the same.
  const Tensor v = leaf({2});
  sum(square(v)).backward({}, {}, true);
  ASSERT_TRUE(v.grad().requires_grad());
  SGD({v}, {.lr = 0.5}).step();
  EXPECT_EQ(v.item<double>(), 0);
  v.set_grad({});  // the gradient's graph holds v, and v the gradient
}

TEST(Optimizer, GradientsAddUpUntilZeroGrad) {
  const Tensor x = sin(arange(24, {.dtype = f64})).view({6, 4});
  const auto train = [&](int parts) {
    const Tensor w = leaf({0.5, -1, 2, 0.25});
    Adam adam({w}, {.lr = 0.1});
    for (int step = 0; step < 3; ++step) {
      adam.zero_grad();
      for (int part = 0; part < parts; ++part) {
        const Tensor batch = x.narrow(0, part * 6 / parts, 6 / parts);
        (sum(square(sum(batch * w, 1))) / 6).backward();
      }
      adam.step();
    }
    return w;
  };
  const std::vector<double> whole = train(1).to_vector<double>(),
                            parts = train(3).to_vector<double>();
  for (size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], parts[i], 1e-13);

  const Tensor w = leaf({1});
  SGD sgd({w});
  sgd.zero_grad(false);
  EXPECT_FALSE(w.grad().defined());
  w.set_grad(ones({1}, {.dtype = f64}));
  const Tensor kept = w.grad();
  sgd.zero_grad(false);
  EXPECT_EQ(kept.item<double>(), 0);
  EXPECT_TRUE(w.grad().is_same(kept));
  sgd.zero_grad();
  EXPECT_FALSE(w.grad().defined());
}

TEST(Optimizer, MomentumMayBeTurnedOnAndOff) {
  const Tensor w = leaf({0});
  SGD sgd({w}, {.lr = 1, .dampening = 0.5});
  w.set_grad(ones({1}, {.dtype = f64}));
  sgd.step();  // -1
  sgd.options().momentum = 0.5;
  sgd.step();  // b = 1: -2
  sgd.step();  // b = 0.5 + 0.5: -3
  sgd.options().momentum = 0;
  sgd.step();  // -4
  EXPECT_EQ(w.item<double>(), -4);
}

TEST(Optimizer, PaperNesterovLooksAhead) {
  const SGDOptions options{.lr = 0.1, .momentum = 0.5, .nesterov = true, .dialect = Dialect::paper};
  const Tensor w = leaf({1}), other = leaf({5});
  SGD sgd({w, other}, options);
  w.set_grad(ones({1}, {.dtype = f64}));
  const std::string rule =
      "sgd: the paper's Nesterov takes its gradient at theta - mu v: call look_ahead() before the "
      "forward pass, or step(closure), got group 0";
  EXPECT_EQ(error_of([&] { sgd.step(); }), rule);
  EXPECT_EQ(w.item<double>(), 1);
  sgd.look_ahead();
  sgd.step();  // v = 0.1
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9);
  sgd.look_ahead();
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.85);
  EXPECT_EQ(error_of([&] { sgd.look_ahead(); }),
            "sgd: look_ahead must be followed by step or look_back, got a second look_ahead");
  EXPECT_EQ(
      error_of([&] { sgd.state(); }),
      "state_dict: parameters must be where the last step left them, got a look_ahead without "
      "step or look_back");
  sgd.options().nesterov = false;
  EXPECT_EQ(error_of([&] { sgd.step(); }),
            "sgd: the dialect and nesterov must stay between look_ahead and step, got group 0");
  sgd.options().nesterov = true;
  sgd.look_back();
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9);
  // One that moved ahead and then has no gradient comes back.
  sgd.look_ahead();
  sgd.zero_grad();
  other.set_grad(ones({1}, {.dtype = f64}));
  sgd.step();
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9);
  EXPECT_DOUBLE_EQ(other.item<double>(), 4.9);
  // A closure sees the point ahead; when it throws, nothing has moved.
  EXPECT_EQ(error_of([&] {
              sgd.step([&]() -> Tensor {
                EXPECT_DOUBLE_EQ(w.item<double>(), 0.85);
                fail("closure", "must fail");
              });
            }),
            "closure: must fail");
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9);
  sgd.zero_grad();
  const Tensor loss = sgd.step([&] {
    const Tensor result = sum(square(w)) / 2;
    result.backward();
    return result;
  });
  EXPECT_DOUBLE_EQ(loss.item<double>(), 0.85 * 0.85 / 2);
  EXPECT_DOUBLE_EQ(w.item<double>(), 0.9 - (0.05 + 0.1 * 0.85));
}

struct ScaleOptions {
  Option<double> lr = Default(0.5);
  Option<int64_t> first = Default(10);
  void fields(Fields& f) { f("lr", lr), f("first", first); }
  void check() const { aorta::check(lr >= 0, "scale", "lr must be at least 0", lr); }
};
struct ScaleOptimizer : CustomOptimizer<ScaleOptions> {
  using CustomOptimizer::CustomOptimizer;
  void update(Slot& slot, const ScaleOptions& o) override {
    const Tensor sum = slot.state("sum", 1);
    add_(sum, slot.gradient);
    double& count = slot.value("count", static_cast<double>(o.first));
    count += static_cast<double>(slot.step);
    sub_(slot.parameter, o.lr * sum * count);
  }
};

TEST(Optimizer, ACustomOneHasGroupsStateAndSchedulesToo) {
  const auto make = [](const Tensor& w, const Tensor& b) {
    return std::make_unique<ScaleOptimizer>(
        std::vector<ScaleOptimizer::Group>{{{w}, {}}, {{b}, {.lr = 0.25}}});
  };
  const Tensor w = leaf({0, 0}), b = leaf({0});
  const auto optimizer = make(w, b);
  w.set_grad(ones({2}, {.dtype = f64}));
  optimizer->step();
  EXPECT_EQ(w.to_vector<double>(), (std::vector{-11.0, -11.0}));  // 0.5 (1 + 1) (10 + 1)
  const State state = optimizer->state();
  EXPECT_EQ(state.tensor("state.0.sum").to_vector<double>(), (std::vector{2.0, 2.0}));
  EXPECT_EQ(state.get<double>("state.0.count"), 11);
  EXPECT_EQ(state.get<int64_t>("param_groups.1.first"), 10);
  // Into one that has made no step yet and knows no names.
  const Tensor w2 = leaf({-11, -11}), b2 = leaf({0});
  const auto restored = make(w2, b2);
  restored->restore(state);
  for (const auto& [parameter, other] : {std::pair(w, w2), std::pair(b, b2)}) {
    parameter.set_grad(ones(parameter.shape(), {.dtype = f64}));
    other.set_grad(ones(parameter.shape(), {.dtype = f64}));
  }
  optimizer->step();
  restored->step();
  expect_same_bits(w, w2, "w");
  expect_same_bits(b, b2, "b");
  EXPECT_EQ(b.item<double>(), -5.5);  // its first step: 0.25 (1 + 1) (10 + 1)
}

TEST(Optimizer, LooseEndsOfGroups) {
  const Tensor w = leaf({1});
  SGD sgd({w});
  EXPECT_EQ(error_of([&] { sgd.parameters(1); }), "optimizer: the group must exist, got 1 of 1");
  EXPECT_EQ(error_of([&] { sgd.lr(2); }), "optimizer: the group must exist, got 2 of 1");
  EXPECT_EQ(error_of([&] { SGD(std::vector<SGD::Group>{}); }),
            "optimizer: there must be a group, got none");
  sgd.step();  // nothing to do
  EXPECT_EQ(w.item<double>(), 1);
  const Tensor b = leaf({1});
  sgd.add_param_group({b}, {.lr = 0.5});
  b.set_grad(ones({1}, {.dtype = f64}));
  sgd.step();
  EXPECT_EQ(b.item<double>(), 0.5);
  EXPECT_EQ(sgd.state().get<std::vector<int64_t>>("param_groups.1.params"),
            (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace aorta::optim
