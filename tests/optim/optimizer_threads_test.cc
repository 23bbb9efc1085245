// Optimizers of several threads at once: each has its own, and the pool is one.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/optim/optimizers.h>

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

namespace aorta::optim {
namespace {

std::vector<float> train(double seed) {
  const Tensor p = sin(arange(70000, {.dtype = f32}) + seed).requires_grad_();
  Adam optimizer({p}, {.lr = 0.01});
  for (int t = 0; t < 3; ++t) {
    optimizer.zero_grad();
    sum(square(p)).backward();
    optimizer.step();
  }
  return p.to_vector<float>();
}

TEST(OptimizerThreads, TrainSideBySide) {
  constexpr int kThreads = 3;
  std::vector<std::vector<float>> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { results[static_cast<size_t>(i)] = train(i); });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(results[static_cast<size_t>(i)], train(i));
}

}  // namespace
}  // namespace aorta::optim
