// What hooks leave to be done at the end of a backward pass.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/engine.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <exception>
#include <string>
#include <vector>

namespace aorta::autograd {
namespace {

TEST(AfterBackward, RunsWhenAllGradientsAreThere) {
  const Tensor x = ones({2}, {.requires_grad = true}), y = ones({2}, {.requires_grad = true});
  std::vector<std::string> order;
  // y's gradient comes after x's.
  x.register_post_accumulate_grad_hook([&](const Tensor&) {
    order.push_back("x");
    after_backward([&](const std::exception_ptr& error) {
      EXPECT_FALSE(error);
      EXPECT_TRUE(y.grad().defined());
      order.push_back("end");
    });
  });
  y.register_post_accumulate_grad_hook([&](const Tensor&) { order.push_back("y"); });
  const Tensor early = y * 2;
  sum(early * x).backward();
  EXPECT_EQ(order.back(), "end");
  EXPECT_EQ(order.size(), 3u);
  EXPECT_EQ(error_of([] { after_backward([](const std::exception_ptr&) {}); }),
            "after_backward: a backward pass must be running, got none");
}

TEST(AfterBackward, RunsWhereLeavesAreNamed) {
  const Tensor x = ones({2}, {.requires_grad = true});
  int ends = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor& leaf) {
    after_backward([&, leaf](const std::exception_ptr& error) {
      EXPECT_FALSE(error);
      EXPECT_TRUE(leaf.grad().defined());
      ++ends;
    });
  });
  const Tensor loss = sum(x * 2);
  backward({&loss, 1}, {}, {.inputs = {&x, 1}});
  EXPECT_EQ(ends, 1);
}

TEST(AfterBackward, KnowsTheErrorOfThePass) {
  const Tensor x = ones({2}, {.requires_grad = true});
  const Tensor early = x * 2, late = early * 2;
  std::string seen;
  late.register_hook([&](const Tensor&) {
    after_backward([&](const std::exception_ptr& error) {
      seen = error_of([&] { std::rethrow_exception(error); });
    });
    return Tensor();
  });
  early.register_hook([](const Tensor&) -> Tensor { fail("hook", "must go well", "this one"); });
  EXPECT_EQ(error_of([&] { sum(late).backward(); }), "hook: must go well, got this one");
  EXPECT_EQ(seen, "hook: must go well, got this one");
}

TEST(AfterBackward, WhatItThrowsEndsThePass) {
  const Tensor x = ones({2}, {.requires_grad = true});
  x.register_hook([](const Tensor&) {
    after_backward([](const std::exception_ptr&) { fail("end", "must go well", "this one"); });
    return Tensor();
  });
  EXPECT_EQ(error_of([&] { sum(x).backward(); }), "end: must go well, got this one");
  EXPECT_TRUE(x.grad().defined());
}

TEST(AfterBackward, AllRunThoughOneThrows) {
  const Tensor x = ones({2}, {.requires_grad = true});
  int ends = 0;
  x.register_hook([&](const Tensor&) {
    after_backward([&](const std::exception_ptr&) { ++ends; });
    after_backward([](const std::exception_ptr&) { fail("end", "must go well", "the second"); });
    after_backward([&](const std::exception_ptr& error) {
      EXPECT_FALSE(error);  // the pass itself went well
      ++ends;
      fail("end", "must go well", "the third");
    });
    after_backward([&](const std::exception_ptr&) { ++ends; });
    return Tensor();
  });
  EXPECT_EQ(error_of([&] { sum(x).backward(); }), "end: must go well, got the second");
  EXPECT_EQ(ends, 3);
}

// A pass inside of a hook has an end of its own.
TEST(AfterBackward, BelongsToTheInnermostPass) {
  const Tensor x = ones({1}, {.requires_grad = true}), inner = ones({1}, {.requires_grad = true});
  std::vector<std::string> order;
  inner.register_hook([&](const Tensor&) {
    after_backward([&](const std::exception_ptr&) { order.push_back("inner"); });
    return Tensor();
  });
  x.register_hook([&](const Tensor&) {
    const EnableGradGuard recording;
    (inner * 2).backward();
    order.push_back("hook");
    after_backward([&](const std::exception_ptr&) { order.push_back("outer"); });
    return Tensor();
  });
  (x * 2).backward();
  EXPECT_EQ(order, (std::vector<std::string>{"inner", "hook", "outer"}));
}

}  // namespace
}  // namespace aorta::autograd
