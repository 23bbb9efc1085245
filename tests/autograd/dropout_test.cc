#include <aorta/autograd/backward.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <gtest/gtest.h>

namespace {

using namespace aorta;

Tensor waves(const Shape& shape) {
  return sin(arange(shape.numel(), {.dtype = f64}) * 12.9898).view(shape);
}

using Function = Tensor (*)(const Tensor&, Generator*);

// Each call with the same elements, so that differences say something.
void expect_gradients(Function f, const Shape& shape) {
  const auto same = [f](const Tensor& x) {
    Generator generator(3);
    return f(x * x, &generator);
  };
  EXPECT_GRADIENTS(same, {waves(shape).requires_grad_()});
  EXPECT_SECOND_GRADIENTS(same, {waves(shape).requires_grad_()});
}

TEST(DropoutGradients, AgreeWithFiniteDifferences) {
  expect_gradients([](const Tensor& x, Generator* g) { return dropout(x, 0.3, true, g); }, {4, 9});
  expect_gradients(
      [](const Tensor& x, Generator* g) {
        dropout_(x, 0.3, true, g);
        return x * 2;
      },
      {4, 9});
  expect_gradients([](const Tensor& x, Generator* g) { return dropout2d(x, 0.5, true, g); },
                   {3, 4, 2, 2});
}

// What stays has 1 / (1 - p) as its gradient, whatever the layouts; what is dropped has 0.
TEST(DropoutGradients, AreTheScaleOfWhatStays) {
  for (const bool last : {false, true}) {
    Tensor x = waves({3, 4, 5, 6}).to(f32) + 2;
    if (last) x = x.contiguous(MemoryFormat::channels_last);
    x.requires_grad_();
    const Tensor y = dropout(x, 0.5);
    y.backward(ones_like(y.detach()));
    EXPECT_EQ(x.grad().to_vector<float>(), (ne(y.detach(), 0).to(f32) * 2).to_vector<float>());
    EXPECT_EQ(y.detach().to_vector<float>(), (x.detach() * x.grad()).to_vector<float>());
  }
}

TEST(DropoutGradients, CheckpointDropsTheSameElements) {
  const Tensor x = waves({64}).to(f32).requires_grad_();
  Tensor seen[2];
  int runs = 0;
  const Tensor y = autograd::checkpoint(
      [&](const Tensor& t) {
        const Tensor r = dropout(exp(t), 0.5);
        seen[runs++ % 2] = r.detach();
        return r;
      },
      x);
  sum(y).backward();
  ASSERT_EQ(runs, 2);
  EXPECT_EQ(seen[0].to_vector<float>(), seen[1].to_vector<float>());
  const std::vector<float> gradient = x.grad().to_vector<float>(),
                           kept = seen[0].to_vector<float>();
  for (size_t i = 0; i < gradient.size(); ++i) EXPECT_FLOAT_EQ(gradient[i], kept[i]);
}

TEST(DropoutGradients, InPlaceOnALeafIsRefused) {
  const Tensor x = ones({3}).requires_grad_();
  EXPECT_THROW(dropout_(x), Error);
}

}  // namespace
