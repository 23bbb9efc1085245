// Tensors that a group has together, and how they lie.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/placement.h>
#include <aorta/tests/nn/parallel/llama.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <tuple>

namespace aorta::nn {
namespace {

// Every pair of placements, of x = (2 rank + i + 1 at row i), and the way back of the gradient.
TEST(Redistribute, ValuesAndGradients) {
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    const double r = end.rank();
    const auto run = [&](const Placement& from, const Placement& to, const Placement& gradient) {
      const Tensor x = (arange(4, {.dtype = f32}) + 1 + 10 * r).view({2, 2}).requires_grad_();
      const Tensor y = redistribute(x, end, from, to, gradient);
      const Tensor g = (arange(y.numel(), {.dtype = f32}) + 100 * (r + 1)).view(y.shape());
      y.backward(g);
      return std::pair(y.detach().flatten().to_vector<float>(),
                       x.grad().flatten().to_vector<float>());
    };
    using Floats = std::vector<float>;
    const auto of_rank = [&](const Floats& first, const Floats& second) {
      return end.rank() == 0 ? first : second;
    };
    const Replicate whole;
    const Partial partial;
    auto [y, g] = run(whole, whole, partial);
    EXPECT_EQ(y, of_rank({1, 2, 3, 4}, {11, 12, 13, 14}));
    EXPECT_EQ(g, (Floats{300, 302, 304, 306}));
    std::tie(y, g) = run(partial, whole, whole);
    EXPECT_EQ(y, (Floats{12, 14, 16, 18}));
    EXPECT_EQ(g, of_rank({100, 101, 102, 103}, {200, 201, 202, 203}));
    std::tie(y, g) = run(Shard(0), whole, whole);
    EXPECT_EQ(y, (Floats{1, 2, 3, 4, 11, 12, 13, 14}));
    EXPECT_EQ(g, of_rank({100, 101, 102, 103}, {204, 205, 206, 207}));
    std::tie(y, g) = run(Shard(-1), whole, partial);
    EXPECT_EQ(y, (Floats{1, 2, 11, 12, 3, 4, 13, 14}));
    EXPECT_EQ(g, of_rank({300, 302, 308, 310}, {304, 306, 312, 314}));
    std::tie(y, g) = run(partial, Shard(1), Shard(1));
    EXPECT_EQ(y, of_rank({12, 16}, {14, 18}));
    EXPECT_EQ(g, (Floats{100, 200, 101, 201}));
    std::tie(y, g) = run(whole, Shard(0), Shard(0));
    EXPECT_EQ(y, of_rank({1, 2}, {13, 14}));
    EXPECT_EQ(g, (Floats{100, 101, 200, 201}));
    std::tie(y, g) = run(Shard(0), Shard(1), Shard(1));
    EXPECT_EQ(y, of_rank({1, 3, 11, 13}, {2, 4, 12, 14}));
    EXPECT_EQ(g, of_rank({100, 200, 101, 201}, {102, 202, 103, 203}));
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A rank's gradient of what it gives to a sum is of all ranks' sums, and what the ranks make of
// their gradients is added up in turn.
TEST(Redistribute, GradientsOfGradients) {
  const auto errors = on_ranks(3, patient(), [](Communicator& end) {
    const Tensor x = full({3}, end.rank() + 1.0).requires_grad_();
    const Tensor sum = redistribute(x, end, Partial(), Replicate());  // 6, 6, 6
    const Tensor first =
        autograd::grad({(sum * sum * sum).sum()}, {x}, {}, {.create_graph = true})[0];
    EXPECT_TRUE(are_near(first, full({3}, 3 * 36.0), 1e-4));
    const Tensor second = autograd::grad({(first * (end.rank() + 1.0)).sum()}, {x})[0];
    EXPECT_TRUE(are_near(second, full({3}, (1 + 2 + 3) * 6 * 6.0), 1e-4));
  });
  EXPECT_EQ(errors, no_errors(3));
}

TEST(Redistribute, WhatCantBe) {
  const auto end = std::move(local_communicators(1)[0]);
  const Tensor x = ones({2, 2});
  const auto error = [&](const Placement& from, const Placement& to, const Placement& gradient) {
    return error_of([&] { redistribute(x, *end, from, to, gradient); });
  };
  EXPECT_EQ(error(Replicate(), Partial(), Partial()),
            "redistribute: a result must be whole or divided, got Partial()");
  EXPECT_EQ(error(Replicate(), Shard(0), Partial()),
            "redistribute: a gradient must lie as the result does, or be partial where that is "
            "whole, got Partial() of Shard(0)");
  EXPECT_EQ(error(Replicate(), Shard(2), Shard(2)),
            "redistribute: a tensor must have the divided dimension, got Shard(2) of [2,2]");
  EXPECT_EQ(error_of([&] { redistribute({}, *end, Replicate(), Shard(0)); }),
            "redistribute: tensor must be defined, got an undefined tensor");
}

TEST(Redistribute, DistributesRank0s) {
  const auto errors = on_ranks(3, patient(), [](Communicator& end) {
    const Tensor mine = arange(7, {.dtype = f32}) + 100 * end.rank();
    const Tensor part = distribute_tensor(mine, end, Shard(0));
    const std::vector<std::vector<float>> wanted = {{0, 1, 2}, {3, 4, 5}, {6}};
    EXPECT_EQ(part.to_vector<float>(), wanted[static_cast<size_t>(end.rank())]);
    EXPECT_EQ(distribute_tensor(mine, end, Replicate()).at<float>({6}), 6);
    EXPECT_EQ(mine.at<float>({0}), 100 * end.rank());
  });
  EXPECT_EQ(errors, no_errors(3));
}

}  // namespace
}  // namespace aorta::nn
