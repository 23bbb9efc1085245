#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/recurrent.h>
#include <aorta/core/ops/reduction.h>
#include <gtest/gtest.h>

// Gradients of recurrent cells through several steps, one output or both.
namespace aorta {
namespace {

Tensor random(const Shape& shape, Generator& generator) {
  return mul(randn(shape, {.dtype = f64}, &generator), 0.5).detach();
}

TEST(Recurrent, LstmThroughTime) {
  Generator generator(11);
  std::vector<Tensor> inputs = {random({3, 2, 4}, generator), random({12, 4}, generator),
                                random({12, 3}, generator), random({12}, generator)};
  for (const Tensor& t : inputs) t.requires_grad_();
  const auto run = [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    LstmState state{zeros({2, 3}, {.dtype = f64}), zeros({2, 3}, {.dtype = f64})};
    Tensor total;
    for (int64_t t = 0; t < 3; ++t) {
      state = lstm_cell(x[0].select(0, t), state, x[1], x[2], x[3]);
      total = total.defined() ? total + state.h : state.h;
    }
    return {total};
  };
  EXPECT_GRADIENTS(run, inputs);
  EXPECT_SECOND_GRADIENTS(run, inputs);
}

TEST(Recurrent, GruThroughTime) {
  Generator generator(12);
  std::vector<Tensor> inputs = {random({3, 2, 4}, generator), random({9, 4}, generator),
                                random({9, 3}, generator), random({9}, generator)};
  for (const Tensor& t : inputs) t.requires_grad_();
  const auto run = [](const std::vector<Tensor>& x) -> std::vector<Tensor> {
    Tensor h = zeros({2, 3}, {.dtype = f64});
    for (int64_t t = 0; t < 3; ++t) h = gru_cell(x[0].select(0, t), h, x[1], x[2], {}, x[3]);
    return {h};
  };
  EXPECT_GRADIENTS(run, inputs);
  EXPECT_SECOND_GRADIENTS(run, inputs);
}

// One of the two outputs alone: the other's gradient counts as zero.
TEST(Recurrent, OneOutput) {
  Generator generator(13);
  const Tensor x = random({2, 4}, generator).requires_grad_(), h = random({2, 3}, generator);
  const Tensor w = random({12, 4}, generator), u = random({12, 3}, generator);
  const LstmState next = lstm_cell(x, {h, h}, w, u);
  const Tensor both =
      autograd::grad({sum(next.h) + sum(next.c)}, {x}, {}, {.retain_graph = true})[0];
  const Tensor of_h = autograd::grad({sum(next.h)}, {x}, {}, {.retain_graph = true})[0];
  const Tensor of_c = autograd::grad({sum(next.c)}, {x}, {}, {.retain_graph = true})[0];
  EXPECT_LT(amax(abs(both - of_h - of_c)).item<double>(), 1e-15);
}

// Third derivatives: the passes are composed of ops all the way.
TEST(Recurrent, ThirdDerivative) {
  const Tensor x = full({1, 1}, 0.3, {.dtype = f64}).requires_grad_();
  const Tensor none = zeros({1, 1}, {.dtype = f64});
  const Tensor w = ones({4, 1}, {.dtype = f64}), u = zeros({4, 1}, {.dtype = f64});
  // c' = sigmoid(x) tanh(x).
  Tensor y = lstm_cell(x, {none, none}, w, u).c, z = sigmoid(x) * tanh(x);
  for (int order = 1; order <= 3; ++order) {
    y = autograd::grad({sum(y)}, {x}, {}, {.create_graph = true})[0];
    z = autograd::grad({sum(z)}, {x}, {}, {.create_graph = true})[0];
    EXPECT_NEAR(y.item<double>(), z.item<double>(), 1e-13) << order;
  }
}

}  // namespace
}  // namespace aorta
