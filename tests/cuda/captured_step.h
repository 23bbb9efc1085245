#pragma once

// What tests of captured steps share: inputs, and a training with graphs beside one without.

#include <aorta/core/dispatch/capture.h>
#include <aorta/core/ops/random.h>
#include <aorta/tests/cuda/gpu.h>

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

namespace aorta::gpu_test {

inline constexpr int kCalls = 7;  // two as they are, the capture, four launches

class CapturedStep : public Gpu {
 protected:
  void SetUp() override {
    Gpu::SetUp();
    manual_seed(5);
  }
};

inline Tensor numbers(const Shape& shape, uint64_t seed) {
  Generator generator(seed);
  return randn(shape, {.device = "cuda"}, &generator);
}

inline Tensor classes(int64_t count, int64_t size, uint64_t seed) {
  Generator generator(seed);
  return randint(0, size, {count}, {.device = "cuda"}, &generator);
}

inline bool is_same(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().cpu().contiguous(), y = b.detach().cpu().contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())) == 0;
}

inline void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(is_same(got[i], wanted[i])) << "tensor " << i;
}

/// What a training gives: losses, then what is trained.
template <class Train>
std::vector<Tensor> with_graphs(bool graphs, const Train& train) {
  manual_seed(7);
  return train(graphs);
}

/// step(inputs...), with or without graphs.
template <class Step>
auto maybe_captured(bool graphs, Step step) {
  return [graphs, step,
          captured = std::make_shared<Captured<Step>>(step)](const auto&... inputs) mutable {
    return graphs ? (*captured)(inputs...) : step(inputs...);
  };
}

template <class Train>
void expect_the_same_with_graphs(const Train& train) {
  const std::vector<Tensor> wanted = with_graphs(false, train);
  expect_same(with_graphs(true, train), wanted);
}

}  // namespace aorta::gpu_test
