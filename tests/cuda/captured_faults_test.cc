// What a captured step may not do, what becomes of bad values and of calls that throw, and what
// other threads do meanwhile.
#include <aorta/autograd/backward.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/nn/linear.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/averaging.h>
#include <aorta/optim/grad_scaler.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/cuda/captured_step.h>
#include <aorta/tests/error_text.h>

#include <thread>

using namespace aorta;
using namespace aorta::gpu_test;

namespace {

TEST_F(CapturedStep, WhatCannotBeCapturedIsSaid) {
  const Tensor x = numbers({6}, 1), p = numbers({6}, 2).requires_grad_();
  const auto error_at_capture = [&](const std::function<void(const Tensor&)>& step) {
    auto captured = capture(step);
    captured(x);
    captured(x);
    const std::string text = error_of([&] { captured(x); });
    EXPECT_EQ(captured.graphs(), 0);
    EXPECT_EQ(error_of([&] { captured(x); }), text) << "at each call";
    return text;
  };
  const std::string wait =
      ": a captured step must not wait for its device or the host's memory, got a value or a copy "
      "of the host's";
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { sum(in).item<float>(); }), "item" + wait);
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { in.cpu(); }), "cpu" + wait);
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { in + ones({6}).cuda(); }), "cuda" + wait);
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { nonzero(in); }), "nonzero" + wait);
  EXPECT_EQ(error_at_capture([&](const Tensor&) { synchronize("cuda:0"); }), "synchronize" + wait);
  const Tensor number = full({}, 2.0);
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { in* number; }),
            "mul: a captured step must take its numbers from its device or C++, got a tensor on "
            "cpu");
  EXPECT_EQ(error_at_capture([&](const Tensor& in) { Tensor(in).mul_(0.9); }),
            "capture: a step must not write its inputs, got input 0 written");
  EXPECT_EQ(error_at_capture([&](const Tensor&) { rand({3}); }),
            "rand: a captured step draws its random numbers on its device, got cpu for cuda:0");
  EXPECT_EQ(error_at_capture([&](const Tensor&) { default_generator().next_uniform(); }),
            "random: a captured step draws its random numbers on its device, got a number for the "
            "host");
  optim::AveragedModel average({p});
  EXPECT_EQ(
      error_at_capture([&](const Tensor&) { average.update_parameters({p}); }),
      "averaged_model: averages are updated outside of a captured step, got an update within");
  std::optional<optim::SGD> late;
  int calls = 0;
  EXPECT_EQ(error_at_capture([&](const Tensor& in) {
              if (++calls < 3) return;
              if (!late) late.emplace(std::vector<Tensor>{p}, optim::SGDOptions{.momentum = 0.9});
              late->zero_grad();
              sum(p * in).backward();
              late->step();
            }),
            "optimizer: state must be there before a step is captured, got a parameter whose first "
            "step it is");
  p.set_grad({});
  auto nested = capture([&](const Tensor& in) {
    auto inner = capture([](const Tensor& y) { return y * 2.0; });
    for (int i = 0; i < 3; ++i) inner(in);
  });
  nested(x);
  nested(x);
  EXPECT_NE(error_of([&] { nested(x); }), kNoError);
  // Afterwards all is as it was.
  auto right = capture([](const Tensor& in) { return in * 3.0; });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_same(right(x), x * 3.0));
  EXPECT_EQ(right.graphs(), 1);
}

TEST_F(CapturedStep, WhatItTakesIsChecked) {
  const Tensor x = numbers({6}, 1);
  auto step = capture([](const Tensor& a, const Tensor& b) { return a + b.to(a.device()); });
  EXPECT_EQ(error_of([&] { step(x, ones({6})); }),
            "capture: a step's inputs must be on one device, got cpu and cuda:0");
  EXPECT_EQ(error_of([&] { step(x, x.clone().requires_grad_()); }),
            "capture: a step's inputs must not require a gradient, got [6]");
  EXPECT_EQ(error_of([&] { step(x, Tensor()); }).substr(0, 9), "capture: ");
}

// A class that isn't one is found by a launch, and said by a wait or before a later one.
TEST_F(CapturedStep, ABadValueIsSaidLater) {
  const Tensor w = numbers({5, 12}, 1);
  auto step =
      capture([&](const Tensor& x, const Tensor& y) { return cross_entropy(linear(x, w), y); });
  const Tensor x = numbers({9, 12}, 2), good = classes(9, 5, 3), bad = good.clone();
  bad.narrow(0, 4, 1).fill_(5);
  for (int i = 0; i < 4; ++i) step(x, good);
  step(x, bad);
  EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), bad_value_text("cross_entropy", 4));
  EXPECT_EQ(error_of([&] { step(x, good); }), kNoError);
  step(x, bad);
  backend(DeviceType::cuda).synchronize_device(0);
  EXPECT_EQ(error_of([&] { step(x, good); }), bad_value_text("cross_entropy", 4));
  EXPECT_EQ(error_of([&] { step(x, good); }), kNoError);

  auto look_up = capture([&](const Tensor& index) { return embedding(index, w); });
  const Tensor inside = classes(9, 5, 4), outside = inside.clone();
  outside.narrow(0, 2, 1).fill_(-1);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_same(look_up(inside), embedding(inside, w)));
  const Tensor within = look_up(outside);  // what is read lies in the table
  EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), bad_value_text("embedding", 2));
  EXPECT_TRUE(is_same(within.narrow(0, 3, 6), embedding(inside, w).narrow(0, 3, 6)));
  EXPECT_EQ(error_of([&] { look_up(inside); }), kNoError);
}

// As many ops look for bad values as a step has.
TEST_F(CapturedStep, ManyOpsLookForBadValues) {
  const Tensor w = numbers({5, 2}, 1);
  auto step = capture([&](const Tensor& index) {
    Tensor last;
    for (int i = 0; i < 1100; ++i) last = embedding(index, w);
    return last;
  });
  const Tensor good = classes(3, 5, 4), bad = good.clone();
  bad.narrow(0, 1, 1).fill_(5);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_same(step(good), embedding(good, w)));
  EXPECT_EQ(step.graphs(), 1);
  step(bad);
  for (int i = 0; i < 1100; ++i)  // each is said by a wait
    ASSERT_EQ(error_of([] { synchronize("cuda:0"); }), bad_value_text("embedding", 1));
  EXPECT_EQ(error_of([&] { step(good), synchronize("cuda:0"); }), kNoError);
}

// Nor is anything outside of a gradient written, or of the weights read.
TEST_F(CapturedStep, ABadValueLeavesTheRestAlone) {
  const Tensor w = numbers({5, 12}, 1).requires_grad_(), weight = numbers({5}, 2).abs_();
  auto look_up = capture([&](const Tensor& index) {
    w.set_grad({});
    const Tensor loss = sum(embedding(index, w));
    loss.backward();
    return loss;
  });
  const Tensor x = numbers({9, 5}, 3).requires_grad_();
  auto classify = capture([&](const Tensor& y) {
    x.set_grad({});
    const Tensor loss = cross_entropy(x, y, {.weight = weight, .reduction = Reduction::sum});
    loss.backward();
    return loss;
  });
  const Tensor good = classes(9, 5, 4);
  for (int i = 0; i < 4; ++i) look_up(good), classify(good);
  const Tensor rows = x.grad().clone();
  for (const int64_t far : {int64_t{5}, int64_t{-1}, int64_t{1} << 40}) {
    const Tensor bad = good.clone();
    bad.narrow(0, 2, 1).fill_(far);
    look_up(bad);
    EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), bad_value_text("embedding", 2));
    classify(bad);
    EXPECT_EQ(error_of([] { synchronize("cuda:0"); }), bad_value_text("cross_entropy", 2));
    EXPECT_EQ(sum(w.grad()).item<float>(), 9 * 12) << far;  // a row for each
    EXPECT_TRUE(is_same(x.grad().narrow(0, 3, 6), rows.narrow(0, 3, 6))) << far;
    EXPECT_TRUE(is_same(x.grad()[2], zeros({5}))) << far;
    EXPECT_EQ(error_of([&] { look_up(good), classify(good), synchronize("cuda:0"); }), kNoError);
  }
}

TEST_F(CapturedStep, NegativeIndicesAreThoseOfAStepWithoutAGraph) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor table = numbers({5, 3}, 1);
    auto step = maybe_captured(graphs, [&](const Tensor& index) {
      const Tensor copy = table.clone();
      index_fill_(copy, 0, index, 7);
      index_put_(copy, {index, Tensor(index)}, ones({}, {.device = "cuda"}));
      return sum(table.index({index})) + sum(take(table, index)) + sum(copy * table);
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      Tensor index = tensor({int64_t{-1}, int64_t{i % 3}, int64_t{-3}}).cuda();
      results.push_back(step(index));
    }
    return results;
  });
}

// What is made at first use is there when a graph is captured, also where the first calls threw.
TEST_F(CapturedStep, CallsThatThrowDontCount) {
  const Tensor w = numbers({5, 12}, 1).requires_grad_(), x = numbers({9, 12}, 2);
  optim::Adam optimizer({w}, {.lr = 0.1});
  bool throws = true;
  auto step = capture([&](const Tensor& y) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(linear(x, w), y);
    loss.backward();
    check(!throws, "step", "it must not throw");
    optimizer.step();
    return loss;
  });
  const Tensor y = classes(9, 5, 3);
  for (int i = 0; i < 2; ++i) EXPECT_NE(error_of([&] { step(y); }), kNoError);
  throws = false;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(error_of([&] { step(y); }), kNoError) << i;
  EXPECT_EQ(step.graphs(), 1);
}

// Nothing has happened: not to the optimizer's count of steps, random numbers or gradients.
TEST_F(CapturedStep, ACaptureThatFailsIsTakenBack) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor w = numbers({40, 40}, 1).mul_(0.1).requires_grad_();
    optim::Adam optimizer({w}, {.lr = 0.1});
    const auto plain = [&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor loss = sum(square(dropout(linear(x, w), 0.5)));
      loss.backward();
      optimizer.step();
      return loss;
    };
    auto failing = capture([&](const Tensor& x) {
      const Tensor loss = plain(x);
      loss.item<float>();
      return loss;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < 5; ++i) {
      const Tensor x = numbers({6, 40}, static_cast<uint64_t>(10 + i));
      if (graphs && i < 2) {
        results.push_back(failing(x));
        continue;
      }
      if (graphs && i == 2) {
        const Tensor gradient = w.grad();
        EXPECT_NE(error_of([&] { failing(x); }), kNoError);
        EXPECT_TRUE(is_same(w.grad(), gradient));
      }
      results.push_back(plain(x));
    }
    results.insert(results.end(), {w, rand({4}, {.device = "cuda"})});
    EXPECT_EQ(optimizer.state().get<int64_t>("state.0.step"), 5);
    return results;
  });
}

TEST_F(CapturedStep, AScaleOfACaptureThatFailsGoesOn) {
  const Tensor w = numbers({40}, 1).requires_grad_();
  optim::SGD optimizer({w}, {.lr = 0.1});
  optim::GradScaler scaler;
  const auto half = [&](const Tensor& x) {
    optimizer.zero_grad();
    scaler.scale(sum(w * x)).backward();
    scaler.unscale_(optimizer);
  };
  const auto whole = [&](const Tensor& x, bool fails) {
    half(x);
    if (fails) w.item<float>();
    scaler.step(optimizer);
    scaler.update();
    return w * 1;
  };
  bool fails = false;
  auto step = capture([&](const Tensor& x) { return whole(x, fails); });
  const Tensor x = numbers({40}, 2);
  step(x);
  step(x);
  fails = true;
  EXPECT_NE(error_of([&] { step(x); }), kNoError);
  EXPECT_EQ(error_of([&] { whole(x, false); }), kNoError);
  EXPECT_EQ(scaler.state().get<int64_t>("growth_tracker"), 3);
}

// Its graph writes where they were.
TEST_F(CapturedStep, ParametersThatHaveMovedAreSaid) {
  nn::Linear net(4, 3);
  net.to("cuda");
  optim::SGD optimizer(net.parameters(), {.lr = 0.1, .momentum = 0.9});
  auto step = capture([&](const Tensor& x) {
    optimizer.zero_grad();
    const Tensor loss = sum(square(net(x)));
    loss.backward();
    optimizer.step();
    return loss;
  });
  const Tensor x = numbers({9, 4}, 1);
  for (int i = 0; i < 4; ++i) step(x);
  const Tensor weight = net.weight.detach(), bias = net.bias.detach();  // in their place
  net.to("cpu");
  net.to("cuda");
  EXPECT_EQ(error_of([&] { step(x); }),
            "optimizer: rule and parameters must be those that the captured step had, got others");
}

// Another thread that is short of memory frees later, and one that waits for the GPU waits for the
// capture.
TEST_F(CapturedStep, OtherThreadsDontEndIt) {
  std::thread waiting;
  int calls = 0;
  auto step = capture([&](const Tensor& x) {
    if (++calls == 3) {
      std::thread([] {
        ones({1 << 18}, {.device = "cuda"});
        device().empty_cache();
      }).join();
      waiting = std::thread([] { synchronize("cuda:0"); });
    }
    return x * 2.0;
  });
  const Tensor x = numbers({6}, 1);
  for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(is_same(step(x), x * 2.0));
  EXPECT_EQ(step.graphs(), 1);
  waiting.join();
}

}  // namespace
