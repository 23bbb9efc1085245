#include <aorta/autograd/backward.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace {

using namespace aorta;

Tensor sines(const Shape& shape, DType dtype = f32) {
  return sin(arange(shape.numel(), {.dtype = f64}) * 12.9898).view(shape).to(dtype);
}

// The fused kernel and what a pass that records itself composes are one gradient.
TEST(LossGradients, FusedIsComposed) {
  const Tensor x = sines({2, 5, 3, 4}, f64).requires_grad_();
  const Tensor target = remainder(arange(24) * 7919, 6).view({2, 3, 4}) - 1;
  const Tensor t = abs(sines({2, 5, 3, 4}, f64)), p = abs(sines({4}, f64)) + 0.5;
  const auto expect_same = [&](const Tensor& loss) {
    const Tensor fused = autograd::grad({loss}, {x}, {}, {.retain_graph = true})[0];
    const Tensor composed = autograd::grad({loss}, {x}, {}, {.create_graph = true})[0];
    EXPECT_FALSE(fused.requires_grad());
    EXPECT_TRUE(composed.requires_grad());
    const std::vector<double> a = fused.to_vector<double>(), b = composed.to_vector<double>();
    for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-15) << i;
  };
  expect_same(cross_entropy(
      x, target, {.weight = abs(sines({5})), .ignore_index = -1, .label_smoothing = 0.1}));
  expect_same(cross_entropy(x, t));
  expect_same(binary_cross_entropy_with_logits(x, t, {.weight = t, .pos_weight = p}));
  expect_same(huber_loss(x, t, Reduction::sum, 0.3));
}

// d cos / dx = (y / |y| - cos x / |x|) / |x|, of lines along the last dimension, of fewer and of
// more elements than a block of the kernel's, and along others, side by side.
TEST(LossGradients, OfCosinesAreTheClosedForm) {
  for (const auto& [dtype, near] : std::vector<std::pair<DType, double>>{
           {f64, 1e-14}, {f32, 2e-7}, {f16, 5e-4}, {bf16, 4e-3}}) {
    for (const auto& [shape, dim] : std::vector<std::pair<Shape, int64_t>>{{{5, 3}, 1},
                                                                           {{4, 8}, 1},
                                                                           {{4, 9}, 1},
                                                                           {{3, 16}, 1},
                                                                           {{3, 100}, 1},
                                                                           {{37, 5}, 0},
                                                                           {{2, 6, 16}, 1},
                                                                           {{2, 7, 39}, 1},
                                                                           {{11}, 0}}) {
      const Tensor x = sines(shape, dtype), y = sines(shape, dtype).flip({0}) + x * x;
      const Tensor a = x.to(f64), b = y.to(f64);
      const auto length = [&](const Tensor& t) { return sqrt(sum(t * t, dim, true)); };
      const Tensor cosine = sum(a * b, dim, true) / (length(a) * length(b));
      const Tensor of_x = (b / length(b) - cosine * a / length(a)) / length(a);
      const Tensor of_y = (a / length(a) - cosine * b / length(b)) / length(b);
      for (const int wanted : {1, 2, 3}) {
        const Tensor p = x.clone().requires_grad_((wanted & 1) != 0);
        const Tensor q = y.clone().requires_grad_((wanted & 2) != 0);
        cosine_similarity(p, q, dim).sum().backward();
        for (const auto& [got, closed] : {std::pair{p.grad(), of_x}, std::pair{q.grad(), of_y}}) {
          if (!got.defined()) continue;
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_LE(amax(abs(got.to(f64) - closed)).item<double>(),
                    near * amax(abs(closed)).item<double>())
              << to_string(dtype) << " " << to_string(shape) << " " << wanted;
        }
        EXPECT_EQ(p.grad().defined(), (wanted & 1) != 0);
        EXPECT_EQ(q.grad().defined(), (wanted & 2) != 0);
      }
    }
  }
}

// A row that is ignored has no gradient, whatever it holds.
TEST(LossGradients, IgnoredRowsWithNaN) {
  for (const Shape& shape : {Shape{4, 3}, Shape{4, 200}, Shape{4, 3, 2}}) {
    const Tensor x = sines(shape).clone();
    x.select(0, 2).fill_(std::numeric_limits<double>::quiet_NaN());
    x.requires_grad_();
    Shape lines = shape;
    lines.erase(1);
    const Tensor target = zeros(lines, {.dtype = i64});
    target.select(0, 2).fill_(-100);
    cross_entropy(x, target).backward();
    EXPECT_EQ(amax(abs(x.grad().select(0, 2))).item<float>(), 0);
    EXPECT_GT(amax(abs(x.grad().select(0, 1))).item<float>(), 0);
  }
}

// 70,000 lines are more than the largest f16.
TEST(LossGradients, OfMoreLinesThanAHalfTypeCounts) {
  const Tensor x = zeros({70000, 2}, {.dtype = f16}).requires_grad_();
  const Tensor classes = zeros({70000}, {.dtype = i64});
  const Tensor shares = full({70000, 2}, 0.5, {.dtype = f16}).requires_grad_();
  const auto expect = [](const Tensor& gradient, double value) {
    EXPECT_NEAR(gradient[0][1].item<double>(), value, 1e-7);  // f16 has steps of 6e-8 there
  };
  for (const bool create_graph : {false, true}) {
    const autograd::GradOptions options{.create_graph = create_graph};
    expect(autograd::grad({cross_entropy(x, classes)}, {x}, {}, options)[0], 0.5 / 70000);
    expect(autograd::grad({cross_entropy(x, shares)}, {shares}, {}, options)[0], 0.6931472 / 70000);
    expect(autograd::grad({nll_loss(x, classes + 1)}, {x}, {}, options)[0], -1. / 70000);
  }
}

// As PyTorch: 0 / 0 for a line that counts, and 0 for one that is ignored.
TEST(LossGradients, WeightsThatSumToNothing) {
  const Tensor x = zeros({2, 2}, {.dtype = f64}).requires_grad_();
  const Tensor weight = tensor({0.0, 1.0}, {.dtype = f64});
  const Tensor target = tensor({0, -100});
  for (const bool create_graph : {false, true}) {
    const autograd::GradOptions options{.create_graph = create_graph};
    for (const Tensor& loss :
         {cross_entropy(x, target, {.weight = weight}), nll_loss(x, target, {.weight = weight})}) {
      const std::vector<double> g = autograd::grad({loss}, {x}, {}, options)[0].to_vector<double>();
      EXPECT_TRUE(std::isnan(g[0])) << create_graph;
      EXPECT_EQ(g[2], 0);
      EXPECT_EQ(g[3], 0);
    }
  }
}

TEST(LossGradients, SameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  const Tensor target = remainder(arange(8 * 61 * 63) * 7919, 21).view({8, 61, 63});
  std::vector<float> first;
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    const Tensor x = sines({8, 21, 61, 63}).requires_grad_();
    const Tensor loss = cross_entropy(x, target) + mse_loss(x, zeros(x.shape())) +
                        binary_cross_entropy_with_logits(x, zeros(x.shape()));
    loss.backward();
    std::vector<float> bits = x.grad().to_vector<float>();
    bits.push_back(loss.item<float>());
    if (threads == 1) first = bits;
    EXPECT_TRUE(bits == first);
  }
  set_num_threads(before);
}

TEST(LossGradients, ChangedTargetsAreNoticed) {
  const Tensor x = sines({3, 4}).requires_grad_(), target = zeros({3}, {.dtype = i64});
  const Tensor loss = cross_entropy(x, target);
  target.fill_(1);
  EXPECT_THROW(loss.backward(), Error);
}

// A batch that came to nothing.
TEST(LossGradients, OfNothingThatIsRepeated) {
  const Tensor x = zeros({1, 3}).narrow(0, 0, 0).expand({0, 3}).requires_grad_();
  const Tensor y = zeros({0, 1}).expand({0, 3});
  for (const Tensor& loss : {mse_loss(x, y, Reduction::sum),
                             binary_cross_entropy_with_logits(x, y, {.reduction = Reduction::sum}),
                             l1_loss(x, y, Reduction::sum)}) {
    EXPECT_EQ(loss.item<double>(), 0);
    loss.backward();
  }
  EXPECT_EQ(x.grad().shape(), (Shape{0, 3}));
}

// PyTorch gives zeros of the operands' shapes.
TEST(LinearGradients, OfNoFeatures) {
  for (const auto& [in, out] : {std::pair(0, 3), std::pair(3, 0)}) {
    const Tensor x = ones({2, 4, in}, {.requires_grad = true});
    const Tensor w = ones({out, in}, {.requires_grad = true});
    const Tensor b = ones({out}, {.requires_grad = true});
    sum(linear(x, w, b)).backward();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(static_cast<size_t>(8 * in), 0));
    EXPECT_EQ(w.grad().shape(), (Shape{out, in}));
    EXPECT_EQ(b.grad().to_vector<float>(), std::vector<float>(static_cast<size_t>(out), 8));
  }
}

}  // namespace
