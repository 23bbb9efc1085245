#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/forked.h>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace aorta {
namespace {

using Floats = std::vector<float>;

struct Net {
  Tensor w1, w2;
  Tensor loss(const Tensor& x) const { return sum(square(matmul(tanh(matmul(x, w1)), w2))); }
};

Net make_net() {
  Generator generator(7);
  return {randn({6, 8}, {}, &generator).requires_grad_(),
          randn({8, 3}, {}, &generator).requires_grad_()};
}

constexpr int kParts = 16;

// The gradient sums over kParts parts of a batch, computed by `threads` threads.
std::pair<Floats, Floats> gradients_with(int threads) {
  const Net net = make_net();
  Generator generator(11);
  const Tensor batch = randn({kParts, 5, 6}, {}, &generator);
  autograd::OrderedBackward passes;
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int part = next++; part < kParts; part = next++)
      passes.backward(part, net.loss(batch.select(0, part)));
  };
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(passes.finished(), kParts);
  return {net.w1.grad().to_vector<float>(), net.w2.grad().to_vector<float>()};
}

TEST(OrderedBackward, SameBitsForAnyNumberOfThreads) {
  const auto expected = gradients_with(1);
  for (const int threads : {2, 4, 8}) {
    for (int turn = 0; turn < 5; ++turn) EXPECT_EQ(gradients_with(threads), expected) << threads;
  }
}

TEST(OrderedBackward, SumsInTheOrderOfTurns) {
  const Tensor x = full({1}, 1.0F).requires_grad_();
  autograd::OrderedBackward passes;
  passes.backward(2, sum(x * 1.0F));
  passes.backward(1, sum(x * -1e8F));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_EQ(passes.finished(), 0);
  passes.backward(0, sum(x * 1e8F));
  EXPECT_EQ(x.grad().item<float>(), 1.0F) << "(1e8 - 1e8) + 1, in no other order";
  EXPECT_THROW(passes.backward(1, sum(x)), Error);
}

// Plain passes at once: every contribution arrives, in the order in which the passes end.
TEST(Backward, ThreadsShareLeaves) {
  const Tensor x = ones({64}).requires_grad_();
  std::vector<std::thread> pool;
  for (int i = 0; i < 8; ++i) {
    pool.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) sum(x * 2 + x).backward();
    });
  }
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(x.grad().to_vector<float>(), Floats(64, 8 * 50 * 3));
}

// One graph, kept, run by several threads at once.
TEST(Backward, ThreadsShareAGraph) {
  const Tensor x = ones({64}).requires_grad_();
  const Tensor y = exp(x * 0) * 2;
  const Tensor loss = sum(y * y);
  std::vector<std::thread> pool;
  for (int i = 0; i < 8; ++i) {
    pool.emplace_back([&] {
      for (int turn = 0; turn < 50; ++turn) {
        const Tensor gradient = autograd::grad({loss}, {y}, {}, {.retain_graph = true})[0];
        EXPECT_EQ(gradient.select(0, 0).item<float>(), 4);
        loss.backward({}, true);
      }
    });
  }
  for (std::thread& thread : pool) thread.join();
  EXPECT_EQ(x.grad().to_vector<float>(), Floats(64, 0));
}

// The first record on a leaf makes its node: threads may be first together.
TEST(Record, ThreadsMeetALeafAtOnce) {
  for (int turn = 0; turn < 200; ++turn) {
    const Tensor x = ones({4}).requires_grad_();
    std::vector<std::thread> pool;
    for (int i = 0; i < 4; ++i) pool.emplace_back([&] { sum(x * 2).backward(); });
    for (std::thread& thread : pool) thread.join();
    ASSERT_EQ(x.grad().to_vector<float>(), Floats(4, 8));
  }
}

TEST(GradMode, IsOfTheThread) {
  const Tensor x = ones({4}).requires_grad_();
  const NoGradGuard no_grad;
  std::thread([&] { EXPECT_TRUE((x * 2).requires_grad()); }).join();
  EXPECT_FALSE((x * 2).requires_grad());
}

// Forward and backward passes of a child made by fork(), which has none of the parent's threads.
TEST(Forked, Backward) {
  const int before = get_num_threads();
  set_num_threads(3);
  Generator generator(5);
  const Tensor x = randn({512, 512}, {}, &generator), w = randn({512, 512}, {}, &generator);
  const auto gradient = [&] {
    const Tensor leaf = w.clone().requires_grad_();
    mean(square(tanh(matmul(x, leaf)))).backward();
    return leaf.grad();
  };
  const Tensor wanted = gradient();
  EXPECT_EQ(forked([&] { return get_num_threads() == 1 && equal(gradient(), wanted) ? 0 : 1; }), 0);
  EXPECT_EQ(get_num_threads(), 3);
  EXPECT_TRUE(equal(gradient(), wanted));
  set_num_threads(before);
}

}  // namespace
}  // namespace aorta
