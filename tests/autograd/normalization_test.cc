#include <aorta/autograd/backward.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/allocator.h>
#include <aorta/core/ops/convolution.h>
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

// Returns the gradients of sum(y * weights).
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
      std::vector<Tensor> results = {
          batch_norm(x, {}, {}, w, b, {.training = true, .statistic_groups = 2}),
          group_norm(x, 2, w, b),
          batch_norm(x, w.detach(), w.detach() * w.detach(), w, b),
          batch_norm(x, {}, {}, w, b, {.training = true, .statistic_groups = 2, .relu = true}),
          batch_norm(x, w.detach(), w.detach() * w.detach(), w, b, {.relu = true}),
          batch_norm(x, {}, {}, w, b,
                     {.training = true, .statistic_groups = 2, .relu = true, .residual = weights})};
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

// With relu inside, the gradients of relu behind it, in training and out of it.
TEST(NormGradients, ReluInside) {
  Generator generator(9);
  for (const DType dtype : {f32, f64, bf16}) {
    for (const Shape& shape : {Shape{4, 2, 70, 90}, Shape{4, 36, 20, 31}}) {
      for (const bool last : {false, true}) {
        const TensorOptions options{.dtype = dtype};
        const Tensor x = in_format(randn(shape, options, &generator), last).requires_grad_();
        const Tensor weights = in_format(randn(shape, options, &generator), last);
        const Tensor w = randn({shape[1]}, options, &generator).requires_grad_();
        const Tensor b = randn({shape[1]}, options, &generator).requires_grad_();
        const Tensor m = randn({shape[1]}, options, &generator), v = ones({shape[1]}, options);
        for (const bool training : {true, false}) {
          const auto normed = [&](bool inside) {
            return batch_norm(x, m.clone(), v.clone(), w, b,
                              {.training = training, .relu = inside});
          };
          const std::vector<Tensor> found = gradients(normed(true), weights, {x, w, b});
          const std::vector<Tensor> wanted = gradients(relu(normed(false)), weights, {x, w, b});
          const double tolerance = dtype == f64 ? 1e-11 : dtype == f32 ? 1e-5 : 0.02;
          for (size_t i = 0; i < 3; ++i) {
            const double scale = amax(abs(wanted[i])).item<double>();
            EXPECT_LT(distance(found[i], wanted[i]), tolerance * scale) << name(dtype) << i;
          }
          if (dtype == bf16) continue;  // whose sum is rounded before relu looks at it
          const Tensor r = in_format(randn(shape, options, &generator), !last).requires_grad_();
          const Tensor joined = batch_norm(x, m.clone(), v.clone(), w, b,
                                           {.training = training, .relu = true, .residual = r});
          const std::vector<Tensor> with = gradients(joined, weights, {x, w, b, r});
          const std::vector<Tensor> apart =
              gradients(relu(normed(false) + r), weights, {x, w, b, r});
          for (size_t i = 0; i < 4; ++i) {
            const double scale = amax(abs(apart[i])).item<double>();
            EXPECT_LT(distance(with[i], apart[i]), tolerance * scale) << name(dtype) << i;
          }
        }
      }
    }
  }
}

// What saves the output of a batch norm with relu keeps its input instead: the output's memory is
// free once nobody holds it, and gradients are what they were.
TEST(NormGradients, OutputWithReluIsComputedAnew) {
  Generator generator(10);
  const Tensor x = randn({2, 4, 64, 64}, {}, &generator).requires_grad_();
  const Tensor kernel = randn({4, 4, 1, 1}, {}, &generator).requires_grad_();
  const auto normed = [&] {
    return batch_norm(x, {}, {}, {}, {}, {.training = true, .relu = true});
  };
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  Tensor y = normed();
  const Tensor z = conv2d(y, kernel);
  const int64_t with_y = cpu::allocator_stats().bytes_in_use;
  y = Tensor();
  EXPECT_LE(cpu::allocator_stats().bytes_in_use, with_y - x.numel() * 4);
  EXPECT_LT(cpu::allocator_stats().bytes_in_use, before + x.numel() * 4 + 20000);  // z alone
  const Tensor weights = randn({2, 4, 64, 64}, {}, &generator);
  const std::vector<Tensor> found = gradients(z, weights, {x, kernel});
  const Tensor plain = relu(batch_norm(x, {}, {}, {}, {}, {.training = true}));
  const std::vector<Tensor> wanted = gradients(conv2d(plain, kernel), weights, {x, kernel});
  EXPECT_EQ(found[1].to_vector<float>(), wanted[1].to_vector<float>());
  EXPECT_LT(distance(found[0], wanted[0]), 1e-4);

  // Written before it is saved: what was written counts.
  const Tensor doubled = normed();
  {
    const NoGradGuard no_grad;
    mul_(doubled, 2);
  }
  const Tensor of_doubled = gradients(conv2d(doubled, kernel), weights, {kernel})[0];
  EXPECT_LT(distance(of_doubled, 2 * wanted[1]), 1e-2);

  // Its input written after: an error, not another gradient.
  const Tensor h = x * 1,
               last =
                   conv2d(batch_norm(h, {}, {}, {}, {}, {.training = true, .relu = true}), kernel);
  h.detach().zero_();
  EXPECT_THROW(gradients(last, weights, {kernel}), Error);
}

// Outputs of blocks with residuals are kept and computed anew in turns; a norm without relu too.
TEST(NormGradients, ChainOfResiduals) {
  Generator generator(11);
  const Tensor x = randn({2, 4, 64, 64}, {}, &generator).requires_grad_();
  const Tensor weights = randn({2, 4, 64, 64}, {}, &generator);
  std::vector<Tensor> kernels;
  for (int i = 0; i < 8; ++i)
    kernels.push_back((randn({4, 4, 1, 1}, {}, &generator) / 2).detach().requires_grad_());
  const auto chain = [&](bool inside) {
    Tensor y = batch_norm(conv2d(x, kernels[0]), {}, {}, {}, {}, {.training = true});
    for (size_t i = 1; i < kernels.size(); ++i) {
      const Tensor next = conv2d(y, kernels[i]);
      y = inside ? batch_norm(next, {}, {}, {}, {}, {.training = true, .relu = true, .residual = y})
                 : relu(batch_norm(next, {}, {}, {}, {}, {.training = true}) + y);
    }
    return y;
  };
  std::vector<Tensor> inputs = kernels;
  inputs.push_back(x);
  const int64_t before = cpu::allocator_stats().bytes_in_use;
  const Tensor y = chain(true);
  // The outputs of 8 convolutions, of 3 of the 7 blocks, and y itself.
  EXPECT_LT(cpu::allocator_stats().bytes_in_use - before, 12 * x.numel() * 4 + 100000);
  const std::vector<Tensor> found = gradients(y, weights, inputs);
  const std::vector<Tensor> wanted = gradients(chain(false), weights, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const double scale = amax(abs(wanted[i])).item<double>();
    EXPECT_LT(distance(found[i], wanted[i]), 1e-4 * scale) << i;
  }
}

TEST(NormGradients, GroupsAreCalls) {
  Generator generator(6);
  const Tensor x = randn({6, 20, 7, 9}, {}, &generator).requires_grad_();
  const Tensor weights = randn({6, 20, 7, 9}, {}, &generator);
  const Tensor w = randn({20}, {}, &generator).requires_grad_();
  const Tensor whole = batch_norm(x, {}, {}, w, {}, {.training = true, .statistic_groups = 3});
  std::vector<Tensor> parts;
  for (int64_t g = 0; g < 3; ++g)
    parts.push_back(batch_norm(x.narrow(0, 2 * g, 2), {}, {}, w, {}, {.training = true}));
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
    const Tensor a =
        gradients(batch_norm(narrow, {}, {}, {}, {}, {.training = true}), weights, {narrow})[0];
    const Tensor b =
        gradients(batch_norm(wide, {}, {}, {}, {}, {.training = true}), weights.to(f64), {wide})[0];
    EXPECT_LT(distance(a, b), 4e-6);
  }
}

TEST(NormGradients, MixedDtypes) {
  Generator generator(8);
  const Tensor x = randn({4, 6, 9, 9}, {.dtype = bf16}, &generator).requires_grad_();
  const Tensor w = randn({6}, {}, &generator).requires_grad_(), b = ones({6}).requires_grad_();
  const Tensor weights = randn({4, 6, 9, 9}, {.dtype = bf16}, &generator);
  const Tensor y = batch_norm(x, zeros({6}), ones({6}), w, b, {.training = true});
  const std::vector<Tensor> found = gradients(y, weights, {x, w, b});
  EXPECT_EQ(found[0].dtype(), bf16);
  EXPECT_EQ(found[1].dtype(), f32);
  const Tensor wide = x.detach().to(f32).requires_grad_();
  const std::vector<Tensor> exact =
      gradients(batch_norm(wide, {}, {}, w, b, {.training = true}), weights.to(f32), {wide, w, b});
  EXPECT_LT(distance(found[0], exact[0]), 0.05);
  EXPECT_LT(distance(found[1], exact[1]), 1e-3);
  EXPECT_LT(distance(found[2], exact[2]), 1e-3);
}

// Out of training the input's gradient needs neither the input nor the running statistics as they
// were: both may be written between the passes.
TEST(NormGradients, FrozenStatisticsKeepNoInput) {
  const Tensor x = ones({2, 3, 4}).requires_grad_(), mean = zeros({3}), var = ones({3}) * 4;
  const Tensor h = x * 2, w = ones({3}) * 3;
  const Tensor y = batch_norm(h, mean, var, w, {}, {.eps = 0});
  h.detach().zero_();
  var.zero_();
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(24, 3));
}

// Running statistics of a graph are moved by ops that it records, and none of what they were is
// left in them where momentum is 1.
TEST(NormGradients, RunningStatisticsOfAGraph) {
  const Tensor start = ones({3}).requires_grad_(), var = start * 2, mean = zeros({3});
  batch_norm(ones({2, 3, 4}), mean, var, {}, {}, {.training = true, .momentum = 1});
  EXPECT_EQ(mean.to_vector<float>(), std::vector<float>(3, 1));
  sum(var).backward();
  EXPECT_FALSE(start.grad().defined());
}

TEST(NormGradients, OfNothing) {
  const Tensor x = empty({0, 4, 3}).requires_grad_(), w = ones({4}).requires_grad_();
  const Tensor v = ones({3}).requires_grad_();
  const Tensor total = sum(batch_norm(x, {}, {}, w, {}, {.training = true})) +
                       sum(group_norm(x, 2, w)) + sum(layer_norm(x, {3}, v));
  total.backward();
  EXPECT_EQ(x.grad().shape(), x.shape());
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(v.grad().to_vector<float>(), std::vector<float>(3, 0));
}

}  // namespace
}  // namespace aorta
