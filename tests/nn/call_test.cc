// Calls: what hooks may and may not do, and modules of several inputs and outputs.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/names.h>

#include <gmock/gmock.h>

#include <cstdlib>
#include <map>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;

// What a hook does to the one tensor of its list, and what comes of it: an error, or none.
struct Deed {
  const char* name;
  std::function<void(Tensors& tensors)> act;
  const char* before;    // as a forward pre-hook of Linear(3, 2), of an input (4, 3)
  const char* after;     // as a forward hook, of an output (4, 2)
  const char* backward;  // as a backward hook, of the gradient of that input
};

std::vector<Deed> deeds() {
  return {
      {"nothing", [](Tensors&) {}, kNoError, kNoError, kNoError},
      {"empty", [](Tensors& t) { t.clear(); }, "module: a hook must leave 1 input, got 0",
       "module: a hook must leave 1 output, got 0", "module: a hook must leave 1 gradient, got 0"},
      {"add", [](Tensors& t) { t.push_back(t[0]); }, "module: a hook must leave 1 input, got 2",
       "module: a hook must leave 1 output, got 2", "module: a hook must leave 1 gradient, got 2"},
      {"swap with nothing", [](Tensors& t) { Tensors().swap(t); },
       "module: a hook must leave 1 input, got 0", "module: a hook must leave 1 output, got 0",
       "module: a hook must leave 1 gradient, got 0"},
      {"undefine", [](Tensors& t) { t[0] = Tensor(); },
       "module: what a hook replaces must be defined, got input 0 undefined",
       "module: what a hook replaces must be defined, got output 0 undefined",
       kNoError},  // as PyTorch's None: no gradient
      {"throw", [](Tensors&) { fail("hook", "no"); }, "hook: no", "hook: no", "hook: no"},
      {"another shape", [](Tensors& t) { t[0] = t[0].slice(0, 0, 1); }, kNoError, kNoError,
       "module_inputs: the gradient of an input must have its shape, got input 0: [1,3] for [4,3]"},
      {"another dtype", [](Tensors& t) { t[0] = t[0].to(DType::f64); },
       "linear: the operands must have one dtype, got f64 and f32", kNoError,
       kNoError},  // converted, as PyTorch does
      {"integers", [](Tensors& t) { t[0] = zeros(t[0].shape(), {.dtype = DType::i64}); },
       "linear: the operands must have one dtype, got i64 and f32", nullptr, kNoError},
  };
}

TEST(Hooks, DoWhatPyTorchAllowsOrSayWhatTheyMayNot) {
  for (const Deed& deed : deeds()) {
    SCOPED_TRACE(deed.name);
    const auto run = [&](const Linear& linear) {
      return error_of([&] {
        const Tensor x = ones({4, 3}).requires_grad_();
        const Tensor y = linear(x);
        if (is_floating(y.dtype())) sum(y).backward();
      });
    };
    Linear before(3, 2), after(3, 2), backward(3, 2), before_of_backward(3, 2);
    HookHandle handles[] = {
        before.register_forward_pre_hook([&](const Module&, Tensors& t) { deed.act(t); }),
        after.register_forward_hook(
            [&](const Module&, const Tensors&, Tensors& t) { deed.act(t); }),
        backward.register_full_backward_hook([&](Tensors& t, const Tensors&) { deed.act(t); })};
    EXPECT_EQ(run(before), deed.before);
    if (deed.after) {
      EXPECT_EQ(run(after), deed.after);
    }
    EXPECT_EQ(run(backward), deed.backward);
    for (HookHandle& handle : handles) handle.remove();
    for (const Linear* linear : {&before, &after, &backward}) EXPECT_EQ(run(*linear), kNoError);
  }
}

TEST(Hooks, OfABackwardPassWithoutInputGradientsKeepTheCountToo) {
  Linear linear(3, 2);
  linear.register_full_backward_hook([](Tensors& t, const Tensors&) { t.clear(); });
  EXPECT_EQ(error_of([&] {
              sum(linear(ones({4, 3}))).backward();
            }),
            "module: a hook must leave 1 gradient, got 0");
}

TEST(Hooks, OfSeveralOutputsKeepTheirCount) {
  LSTM lstm(3, 2);
  HookHandle handle = lstm.register_forward_hook(
      [](const Module&, const Tensors&, Tensors& outputs) { outputs.resize(1); });
  EXPECT_EQ(error_of([&] { lstm(ones({4, 3})); }), "module: a hook must leave 3 outputs, got 1");
  handle.remove();
  // An undefined input stays one unless a hook gives it a value.
  lstm.register_forward_pre_hook([](const Module&, Tensors& inputs) {
    EXPECT_FALSE(inputs[1].defined());
    inputs[1] = inputs[2] = zeros({1, 2});
  });
  EXPECT_EQ(error_of([&] { lstm(ones({4, 3})); }), kNoError);
}

// A pass that no output is part of calls no hook, as in PyTorch, and none sees another pass.
TEST(Hooks, OfABackwardPassBelongToThatPass) {
  Linear linear(3, 2);
  int calls = 0;
  linear.register_full_backward_hook([&](Tensors&, const Tensors&) { ++calls; });
  const Tensor x = randn({4, 3}).requires_grad_();
  const Tensor y = linear(x);
  autograd::grad({sum(y)}, {x}, {}, {.retain_graph = true});
  EXPECT_EQ(calls, 1);
  autograd::grad({sum(y)}, {linear.weight}, {}, {.retain_graph = true});
  autograd::grad({sum(y)}, {x}, {}, {.retain_graph = true});
  EXPECT_EQ(calls, 2);
}

TEST(Hooks, OfABackwardPassKeepNoGraphAlive) {
  const auto alive = std::make_shared<int>(0);
  {
    Linear linear(3, 2);
    linear.register_full_backward_hook([](Tensors&, const Tensors&) {});
    const Tensor x = randn({4, 3}).requires_grad_();
    const Tensor y = tanh(linear(x));
    y.register_hook([alive](const Tensor&) { return Tensor(); });
    autograd::grad({sum(y * y)}, {x}, {}, {.create_graph = true});
  }
  EXPECT_EQ(alive.use_count(), 1);
}

struct Forgetful : Module {
  Linear known{*this, "known", 3, 3};
  Linear unknown{3, 3};
  Tensor forward(const Tensor& x) const override { return unknown(known(x)); }
};

// Nothing fails, and nothing trains it.
TEST(Call, OfALayerThatIsNoMemberIsSaidOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program of its own
  const auto run = [] {
    Sequential(Linear(3, 3), ReLU())(ones({3}));
    const auto net = Sequential(Forgetful());
    {
      const NoGradGuard no_grad;
      net(ones({3}));
    }
    struct Critic : Forgetful {
    } critic;  // its layer is another network's, and stays as it is
    critic.unknown.requires_grad_(false);
    critic(ones({3}));
    net(ones({3}));
    net(ones({3}));
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0),
              testing::StrEq("aorta: Forgetful: runs a Linear that is no part of it, so that no "
                             "optimizer, to() or state_dict() sees its parameters; declare it with "
                             "owner and name, Linear layer{*this, \"layer\", ...}, or in a "
                             "ModuleList\n"));
}

TEST(Hooks, MustBeFunctions) {
  Linear linear(3, 2);
  EXPECT_EQ(error_of([&] { linear.register_forward_pre_hook({}); }),
            "register_forward_pre_hook: the hook must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { linear.register_forward_hook({}); }),
            "register_forward_hook: the hook must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { linear.register_full_backward_hook({}); }),
            "register_full_backward_hook: the hook must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { linear.weight.register_hook({}); }),
            "register_hook: the hook must be a function, got an empty one");
  EXPECT_EQ(error_of([&] { linear.weight.register_post_accumulate_grad_hook({}); }),
            "register_post_accumulate_grad_hook: the hook must be a function, got an empty one");
}

TEST(Hooks, MayRegisterAndRemoveHooksWhileTheyRun) {
  Linear linear(3, 2);
  int late = 0;
  HookHandle first, second;
  first = linear.register_forward_pre_hook([&](const Module&, Tensors&) {
    first.remove();
    second.remove();
    linear.register_full_backward_hook([&](Tensors&, const Tensors&) { ++late; });
  });
  second = linear.register_forward_hook([](const Module&, const Tensors&, Tensors&) {});
  sum(linear(ones({4, 3}))).backward();
  EXPECT_EQ(late, 0);  // a call has the hooks that it began with
  sum(linear(ones({4, 3}))).backward();
  EXPECT_EQ(late, 1);
}

struct Vae : ModuleOf<Vae> {
  using ModuleOf::ModuleOf;
  struct Output {
    Tensor image, mean;
  };
  Output forward(const Tensor& x, const Tensor& noise) const {
    const Tensor mean = inner(x);
    return {mean + noise, mean};
  }
  Linear inner{*this, "inner", 3, 3};
};

TEST(ModuleOf, IsCalledWithSeveralTensorsThroughHooksAndNames) {
  struct Outer : Module {
    Vae vae{*this, "vae"};
  } outer;
  const Tensor x = randn({2, 3}), noise = randn({2, 3});
  const auto [image, mean] = outer.vae(x, noise);
  EXPECT_TRUE(near(mean, linear(x, outer.vae.inner.weight, outer.vae.inner.bias), 1e-6));
  EXPECT_TRUE(near(image, mean + noise, 1e-6));
  EXPECT_EQ(error_of([&] { outer.vae(ones({2, 2}), noise); }).substr(0, 11), "vae.inner: ");
  EXPECT_EQ(error_of([&] { outer.vae(x, ones({7})); }).substr(0, 5), "vae: ");

  Names seen;
  outer.vae.register_forward_pre_hook([&](const Module& module, Tensors& inputs) {
    seen.push_back(module.name() + " " + std::to_string(inputs.size()));
    inputs[1] = zeros({2, 3});
  });
  outer.vae.register_forward_hook([&](const Module&, const Tensors& inputs, Tensors& outputs) {
    seen.push_back(std::to_string(inputs.size()) + " " + std::to_string(outputs.size()));
    outputs[1] = outputs[1] * 2;
  });
  const Vae::Output hooked = outer.vae(x, noise);
  EXPECT_EQ(seen, (Names{"vae 2", "2 2"}));
  EXPECT_TRUE(near(hooked.image, mean, 1e-6));
  EXPECT_TRUE(near(hooked.mean, mean * 2, 1e-6));
  EXPECT_TRUE(near(noise, noise.clone(), 0));
}

TEST(ModuleOf, BackwardHooksSeeTheGradientsOfAllInputs) {
  Vae vae;
  const Tensor x = randn({2, 3}).requires_grad_(), noise = randn({2, 3}).requires_grad_();
  vae.register_full_backward_hook([](Tensors& grad_inputs, const Tensors& grad_outputs) {
    EXPECT_EQ(grad_outputs.size(), 2u);
    EXPECT_FALSE(grad_outputs[1].defined());
    grad_inputs[1] = grad_inputs[1] * 5;
  });
  sum(vae(x, noise).image).backward();
  EXPECT_TRUE(near(noise.grad(), 5 * ones({2, 3}), 0));
}

// What needs no gradient stays so within a call that has a hook.
TEST(ModuleOf, BackwardHooksLeaveWhatNeedsNoGradient) {
  struct Weighted : ModuleOf<Weighted> {
    std::pair<Tensor, Tensor> forward(const Tensor& x, const Tensor& w) const {
      EXPECT_FALSE(w.requires_grad());
      return {cross_entropy(x, tensor({int64_t{0}, int64_t{1}}), {.weight = w}), x.detach()};
    }
  };
  Weighted net;
  net.register_full_backward_hook([](Tensors&, const Tensors&) {});
  const Tensor x = randn({2, 2}).requires_grad_();
  const auto [loss, state] = net(x, ones({2}));
  EXPECT_FALSE(state.requires_grad());
  loss.backward();
  const Tensor with = x.grad();
  x.set_grad({});
  cross_entropy(x, tensor({int64_t{0}, int64_t{1}})).backward();
  EXPECT_TRUE(near(with, x.grad(), 0));
}

// A write would reach the caller's tensor and not its history.
TEST(Hooks, OfABackwardPassRefuseWritesIntoWhatTheModuleIsGiven) {
  ReLU relu(true);
  Linear linear(2, 2);
  const auto none = [](Tensors&, const Tensors&) {};
  relu.register_full_backward_hook(none);
  linear.register_full_backward_hook(none);
  const Tensor x = tensor({-1.0f, 2.0f}).requires_grad_(), h = x * 1;
  EXPECT_NE(error_of([&] { relu(h); }), kNoError);
  EXPECT_EQ(h.to_vector<float>(), (std::vector<float>{-1, 2}));
  EXPECT_NE(error_of([&] { relu(x); }), kNoError);
  EXPECT_EQ(x.detach().to_vector<float>(), (std::vector<float>{-1, 2}));
  EXPECT_NE(error_of([&] { add_(linear(x), 1); }), kNoError);
  const Tensor view = linear(x).view({2, 1});  // which has a gradient all the same
  sum(view).backward();
  EXPECT_TRUE(near(x.grad(), sum(linear.weight.detach(), {0}), 1e-6));
}

// Arguments and results of every kind that forward may have.
struct Kinds : ModuleOf<Kinds> {
  struct State {
    Tensor h;
    std::optional<Tensor> c;
    int steps;
  };
  std::map<std::string, Tensor> forward(const std::vector<Tensor>& list,
                                        const std::pair<Tensor, State>& pair, int64_t factor,
                                        std::string& log, double scale = 1) const {
    log += "called";
    EXPECT_EQ(pair.second.steps, 7);
    return {{"list", (list.at(0) + list.at(1)) * factor},
            {"state", (pair.first + pair.second.h + pair.second.c.value()) * scale}};
  }
};
struct Count : ModuleOf<Count> {
  int64_t forward(Tensor x) const { return x.numel(); }
};
struct Nothing : ModuleOf<Nothing> {
  std::array<Tensor, 2> forward() const { return {ones({1}), ones({2})}; }
};

TEST(ModuleOf, TakesAndGivesTensorsInAnyStructure) {
  Kinds net;
  std::string log;
  const std::vector<Tensor> list{full({1}, 1), full({1}, 2)};
  const std::pair<Tensor, Kinds::State> pair{full({1}, 10), {full({1}, 20), full({1}, 30), 7}};
  auto plain = net(list, pair, 3, log);
  EXPECT_EQ(plain.at("list").item<float>(), 9);
  EXPECT_EQ(plain.at("state").item<float>(), 60);
  net.register_forward_pre_hook([](const Module&, Tensors& inputs) {
    ASSERT_EQ(inputs.size(), 5u);
    for (Tensor& input : inputs) input = input * 2;
  });
  net.register_forward_hook([](const Module&, const Tensors&, Tensors& outputs) {
    ASSERT_EQ(outputs.size(), 2u);
    outputs[0] = -outputs[0];
  });
  auto hooked = net(list, pair, 3, log, 10);
  EXPECT_EQ(hooked.at("list").item<float>(), -18);
  EXPECT_EQ(hooked.at("state").item<float>(), 1200);
  EXPECT_EQ(list[0].item<float>(), 1);  // the caller's stay
  EXPECT_EQ(log, "calledcalled");

  Count count;
  Nothing nothing;
  for (const bool with_hook : {false, true}) {
    EXPECT_EQ(count(ones({2, 3})), 6);
    EXPECT_EQ(nothing()[1].numel(), 2);
    if (with_hook) break;
    count.register_forward_hook([](const Module&, const Tensors& inputs, Tensors& outputs) {
      EXPECT_EQ(inputs.size(), 1u);
      EXPECT_TRUE(outputs.empty());
    });
    nothing.register_forward_pre_hook(
        [](const Module&, Tensors& inputs) { EXPECT_TRUE(inputs.empty()); });
  }
}

TEST(ModuleOf, InAContainerSaysWhatItLacks) {
  const AnyModule any = Vae();
  EXPECT_EQ(error_of([&] {
              any(ones({1, 3}));
            }),
            "forward: the module must define `Tensor forward(const Tensor&) const`, got Vae");
  EXPECT_EQ(any.as<Vae>()(ones({1, 3}), ones({3})).image.shape(), Shape({1, 3}));
}

}  // namespace
}  // namespace aorta::nn
