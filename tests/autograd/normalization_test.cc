#include <aorta/autograd/engine.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <gtest/gtest.h>

// Gradients of normalisations beyond the op catalogue's samples.
namespace aorta {
namespace {

Tensor in_format(const Tensor& x, bool last) {
  return x.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
}

double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return amax(abs(a.to(f64) - b.to(f64))).item<double>();
}

// Of sum(y * weights).
std::vector<Tensor> gradients(const Tensor& y, const Tensor& weights,
                              const std::vector<Tensor>& inputs, bool composed = false) {
  const Tensor outputs[] = {y}, given[] = {weights};
  return autograd::grad(outputs, inputs, given, {.create_graph = composed});
}

// The fused pass and the one that records itself, on shapes of several pieces: few channels and
// many, in groups.
TEST(NormGradients, FusedAreComposed) {
  Generator generator(5);
  for (const Shape& shape : {Shape{4, 2, 70, 90}, Shape{4, 36, 20, 31}, Shape{300, 40, 1, 1}}) {
    for (const bool last : {false, true}) {
      const auto random = [&] {
        return in_format(randn(shape, {.dtype = f64}, &generator), last).requires_grad_();
      };
      const Tensor x = random(), weights = random().detach();
      const Tensor w = randn({shape[1]}, {.dtype = f64}, &generator).requires_grad_();
      const Tensor b = randn({shape[1]}, {.dtype = f64}, &generator).requires_grad_();
      std::vector<Tensor> results = {batch_norm(x, {}, {}, w, b, true, 0.1, 1e-5, 2),
                                     group_norm(x, 2, w, b),
                                     batch_norm(x, w.detach(), w.detach() * w.detach(), w, b)};
      if (shape[2] > 1) results.push_back(instance_norm(x, {}, {}, w, b));
      for (const Tensor& y : results) {
        const std::vector<Tensor> plain =
            autograd::grad({y}, {x, w, b}, {weights}, {.retain_graph = true});
        const std::vector<Tensor> recorded = gradients(y, weights, {x, w, b}, true);
        for (size_t i = 0; i < 3; ++i) EXPECT_LT(distance(plain[i], recorded[i]), 1e-9) << i;
        EXPECT_EQ(plain[0].is_contiguous(), y.is_contiguous());
      }
    }
  }
  const Tensor x = randn({700, 90}, {.dtype = f64}, &generator).requires_grad_();
  const Tensor weights = randn({700, 90}, {.dtype = f64}, &generator);
  const Tensor w = randn({90}, {.dtype = f64}, &generator).requires_grad_(), b = w.detach().clone();
  b.requires_grad_();
  for (const Tensor& y : {layer_norm(x, {90}, w, b), rms_norm(x, {90}, w) + b}) {
    const std::vector<Tensor> plain =
        autograd::grad({y}, {x, w, b}, {weights}, {.retain_graph = true});
    const std::vector<Tensor> recorded = gradients(y, weights, {x, w, b}, true);
    for (size_t i = 0; i < 3; ++i) EXPECT_LT(distance(plain[i], recorded[i]), 1e-9) << i;
  }
}

TEST(NormGradients, GroupsAreCalls) {
  Generator generator(6);
  const Tensor x = randn({6, 20, 7, 9}, {}, &generator).requires_grad_();
  const Tensor weights = randn({6, 20, 7, 9}, {}, &generator);
  const Tensor w = randn({20}, {}, &generator).requires_grad_();
  const Tensor whole = batch_norm(x, {}, {}, w, {}, true, 0.1, 1e-5, 3);
  std::vector<Tensor> parts;
  for (int64_t g = 0; g < 3; ++g)
    parts.push_back(batch_norm(x.narrow(0, 2 * g, 2), {}, {}, w, {}, true));
  const std::vector<Tensor> a = gradients(whole, weights, {x, w});
  const std::vector<Tensor> b = gradients(cat(parts, 0), weights, {x, w});
  EXPECT_EQ(a[0].to_vector<float>(), b[0].to_vector<float>());
  EXPECT_LT(distance(a[1], b[1]), 1e-4);
}

// f32 gradients of an input far from zero, as exact as those of the numbers themselves.
TEST(NormGradients, FarFromZero) {
  Generator generator(7);
  for (const bool last : {false, true}) {
    const Tensor x = in_format(randn({8, 20, 12, 13}, {}, &generator) + 1e4, last);
    const Tensor weights = randn({8, 20, 12, 13}, {}, &generator);
    const Tensor narrow = x.detach().requires_grad_(), wide = x.to(f64).requires_grad_();
    const Tensor a = gradients(batch_norm(narrow, {}, {}, {}, {}, true), weights, {narrow})[0];
    const Tensor b = gradients(batch_norm(wide, {}, {}, {}, {}, true), weights.to(f64), {wide})[0];
    EXPECT_LT(distance(a, b), 4e-6);
  }
}

TEST(NormGradients, MixedDtypes) {
  Generator generator(8);
  const Tensor x = randn({4, 6, 9, 9}, {.dtype = bf16}, &generator).requires_grad_();
  const Tensor w = randn({6}, {}, &generator).requires_grad_(), b = ones({6}).requires_grad_();
  const Tensor weights = randn({4, 6, 9, 9}, {.dtype = bf16}, &generator);
  const Tensor y = batch_norm(x, zeros({6}), ones({6}), w, b, true);
  const std::vector<Tensor> found = gradients(y, weights, {x, w, b});
  EXPECT_EQ(found[0].dtype(), bf16);
  EXPECT_EQ(found[1].dtype(), f32);
  const Tensor wide = x.detach().to(f32).requires_grad_();
  const std::vector<Tensor> exact =
      gradients(batch_norm(wide, {}, {}, w, b, true), weights.to(f32), {wide, w, b});
  EXPECT_LT(distance(found[0], exact[0]), 0.05);
  EXPECT_LT(distance(found[1], exact[1]), 1e-3);
  EXPECT_LT(distance(found[2], exact[2]), 1e-3);
}

// Out of training the input's gradient needs neither the input nor the running statistics as they
// were: both may be written between the passes.
TEST(NormGradients, FrozenStatisticsKeepNoInput) {
  const Tensor x = ones({2, 3, 4}).requires_grad_(), mean = zeros({3}), var = ones({3}) * 4;
  const Tensor h = x * 2, w = ones({3}) * 3;
  const Tensor y = batch_norm(h, mean, var, w, {}, false, 0.1, 0);
  h.detach().zero_();
  var.zero_();
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(24, 3));
}

TEST(NormGradients, OfNothing) {
  const Tensor x = empty({0, 4, 3}).requires_grad_(), w = ones({4}).requires_grad_();
  const Tensor v = ones({3}).requires_grad_();
  const Tensor total = sum(batch_norm(x, {}, {}, w, {}, true)) + sum(group_norm(x, 2, w)) +
                       sum(layer_norm(x, {3}, v));
  total.backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(v.grad().to_vector<float>(), std::vector<float>(3, 0));
}

}  // namespace
}  // namespace aorta
