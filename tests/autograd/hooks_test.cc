#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/autograd/hooks.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/autograd/leaves.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

namespace aorta {
namespace {

TEST(RetainGrad, KeepsTheGradientOfAResult) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.retain_grad();
  EXPECT_FALSE(y.grad().defined());
  sum(y * y).backward();
  EXPECT_EQ(list(y.grad()), (Doubles{6, 12}));
  EXPECT_EQ(list(x.grad()), (Doubles{18, 36}));
}

TEST(RetainGrad, FollowsWritesInPlace) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.retain_grad();
  mul_(y, 2);
  sum(y * y).backward();
  EXPECT_EQ(list(y.grad()), (Doubles{12, 24})) << "of what y is now";
}

TEST(RetainGrad, KeepsWhatAllHooksLeave) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.register_hook([](const Tensor& g) { return g * 2; });
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 10; });
  sum(y).backward();
  EXPECT_EQ(list(y.grad()), (Doubles{20, 20}));
}

// PyTorch 2.15 gives 1 for each.
TEST(RetainGrad, OfAViewIsOfWhatItIsWhenItIsUsed) {
  for (const bool whole : {false, true}) {
    const Tensor x = leaf({1, 2});
    const Tensor y = x * 3;
    const Tensor v = y.narrow(0, 0, 1);
    v.retain_grad();
    mul_(whole ? y : v, 3);
    sum(v).backward();
    EXPECT_EQ(list(v.grad()), Doubles{1}) << whole;
    EXPECT_EQ(list(x.grad()), (Doubles{9, 0})) << whole;
  }
}

TEST(RetainGrad, AddsUpOverPasses) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  y.retain_grad();
  const Tensor loss = sum(y * y);
  loss.backward({}, true);
  const Tensor first = y.grad();
  loss.backward({}, true);
  EXPECT_EQ(list(y.grad()), (Doubles{12, 24}));
  EXPECT_EQ(list(first), (Doubles{6, 12})) << "as PyTorch, which makes a new sum";
}

TEST(RetainGrad, KeepsACopy) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 1, z = y + leaf({0, 0});
  y.retain_grad();
  z.retain_grad();
  sum(z).backward();
  y.grad().fill_(7);
  EXPECT_EQ(list(z.grad()), (Doubles{1, 1}));
  EXPECT_EQ(list(x.grad()), (Doubles{1, 1}));
}

TEST(RetainGrad, WithoutItAResultHasNone) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  sum(y).backward();
  EXPECT_FALSE(y.grad().defined());
}

TEST(TensorHook, SeesAndReplacesTheWholeGradient) {
  const Tensor x = leaf({1, 2});
  const Tensor y = x * 2;
  std::vector<Doubles> seen;
  y.register_hook([&](const Tensor& g) {
    seen.push_back(list(g));
    return g * 10;
  });
  y.register_hook([&](const Tensor& g) {
    seen.push_back(list(g));
    return Tensor();
  });
  sum(y + y).backward();  // both uses together
  EXPECT_EQ(seen, (std::vector<Doubles>{{2, 2}, {20, 20}}));
  EXPECT_EQ(list(x.grad()), (Doubles{40, 40}));
}

TEST(TensorHook, OnALeafRunsBeforeAccumulation) {
  const Tensor x = leaf({1, 2});
  x.set_grad(tensor({100.0, 100.0}, {.dtype = DType::f64}));
  HookHandle handle = x.register_hook([](const Tensor& g) { return -g; });
  sum(x * 3).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{97, 97}));
  handle.remove();
  handle.remove();
  sum(x * 3).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{100, 100}));
}

TEST(TensorHook, MayRemoveItself) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  HookHandle handle;
  handle = x.register_hook([&](const Tensor&) {
    ++calls;
    handle.remove();
    return Tensor();
  });
  for (int i = 0; i < 3; ++i) sum(x).backward();
  EXPECT_EQ(calls, 1);
}

TEST(TensorHook, IsSeenByGrad) {
  const Tensor x = leaf({1, 2});
  x.register_hook([](const Tensor& g) { return g * 5; });
  EXPECT_EQ(list(autograd::grad({sum(x * x)}, {x})[0]), (Doubles{10, 20}));
}

// A hook that fails leaves the pass as if it had not begun: another one may run.
TEST(TensorHook, MustKeepShapeAndDtypeOrSaysWhatItGave) {
  struct Case {
    std::function<Tensor(const Tensor& g)> hook;
    const char* of_result;
    const char* of_leaf;
  };
  const Case cases[] = {
      {[](const Tensor& g) { return sum(g); },
       "mul: a hook must return a gradient of the same shape, got [] for [2]",
       "leaf: a hook must return a gradient of the same shape, got [] for [2]"},
      {[](const Tensor& g) { return g.to(DType::f32); },
       "mul: a hook must return a gradient of the same dtype and device, got f32 on cpu for f64 on "
       "cpu",
       "leaf: a hook must return a gradient of the same dtype and device, got f32 on cpu for f64 "
       "on cpu"},
      {[](const Tensor& g) { return zeros(g.shape(), {.dtype = DType::i64}); },
       "mul: a hook must return a gradient of the same dtype and device, got i64 on cpu for f64 on "
       "cpu",
       "leaf: a hook must return a gradient of the same dtype and device, got i64 on cpu for f64 "
       "on cpu"},
      {[](const Tensor&) -> Tensor { fail("hook", "no"); }, "hook: no", "hook: no"},
      {[](const Tensor&) { return Tensor(); }, kNoError, kNoError},  // as it is
  };
  for (const Case& one : cases) {
    const Tensor x = leaf({1, 2}), y = x * 2;
    HookHandle handle = y.register_hook(one.hook);
    EXPECT_EQ(error_of([&] { sum(y).backward({}, true); }), one.of_result);
    handle.remove();
    handle = x.register_hook(one.hook);
    EXPECT_EQ(error_of([&] { sum(y).backward({}, true); }), one.of_leaf);
    handle.remove();
    x.set_grad({});
    sum(y).backward();
    EXPECT_EQ(list(x.grad()), (Doubles{2, 2}));
  }
}

TEST(TensorHook, MayRunABackwardPassOfItsOwn) {
  const Tensor x = leaf({1, 2}), other = leaf({3});
  const Tensor y = x * 2;
  y.register_hook([&](const Tensor&) {
    const EnableGradGuard
        recording;  // hooks run as the pass does: recording with create_graph alone
    sum(other * other).backward();
    return Tensor();
  });
  sum(y).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{2, 2}));
  EXPECT_EQ(list(other.grad()), (Doubles{6}));
}

// An optimizer in the backward pass: the gradient is used and freed as soon as it is whole.
TEST(PostAccumulateHook, StepsTheLeafWhenItsGradientIsThere) {
  const Tensor x = leaf({1, 2});
  int calls = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor& leaf_again) {
    ++calls;
    EXPECT_TRUE(leaf_again.requires_grad());
    sub_(leaf_again, leaf_again.grad());
    leaf_again.set_grad({});
  });
  sum(x * 0.5 + x * 0.25).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(list(x), (Doubles{0.25, 1.25}));
  EXPECT_FALSE(x.grad().defined());
  const Tensor named = sum(x), ordered = sum(x);
  autograd::backward({&named, 1}, {}, {.inputs = {&x, 1}});
  EXPECT_EQ(list(x), (Doubles{-0.75, 0.25}));
  autograd::OrderedBackward().backward(0, ordered);
  EXPECT_EQ(list(x), (Doubles{-1.75, -0.75}));
  EXPECT_EQ(calls, 3);
  EXPECT_THROW((x * 1).register_post_accumulate_grad_hook([](const Tensor&) {}), Error);
}

TEST(PostAccumulateHook, MayThrowAndTakeItselfAway) {
  const Tensor x = leaf({1, 2});
  HookHandle handle;
  handle = x.register_post_accumulate_grad_hook([&](const Tensor& leaf_again) {
    handle.remove();
    leaf_again.set_grad({});
    fail("hook", "no");
  });
  EXPECT_EQ(error_of([&] { sum(x).backward(); }), "hook: no");
  EXPECT_FALSE(x.grad().defined());
  sum(x).backward();
  EXPECT_EQ(list(x.grad()), (Doubles{1, 1}));
}

TEST(Hooks, LetGoWithTheTensor) {
  std::weak_ptr<int> watched;
  {
    const Tensor x = leaf({1, 2});
    const auto captured = std::make_shared<int>(1);
    watched = captured;
    x.register_hook([captured](const Tensor&) { return Tensor(); });
    x.register_post_accumulate_grad_hook([captured](const Tensor&) {});
    sum(x).backward();
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace aorta
