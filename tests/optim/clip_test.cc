// Clipping and averaging, by hand-computed numbers and PyTorch's.
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/optim/averaging.h>
#include <aorta/optim/clip.h>

#include <gtest/gtest.h>

#include <cmath>

#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>

namespace aorta::optim {
namespace {

Tensor with_gradient(const std::vector<double>& gradient, DType dtype = DType::f64) {
  const Tensor p =
      zeros({static_cast<int64_t>(gradient.size())}, {.dtype = dtype}).requires_grad_();
  p.set_grad(tensor(gradient).to(dtype));
  return p;
}

TEST(Clip, NormOfAllTensors) {
  const std::vector<Tensor> tensors = {tensor({3.0, -4.0}, {.dtype = f64}),
                                       tensor({{12.0}}, {.dtype = f64})};
  EXPECT_DOUBLE_EQ(get_total_norm(tensors).item<double>(), 13);
  EXPECT_DOUBLE_EQ(get_total_norm(tensors, 1).item<double>(), 19);
  EXPECT_DOUBLE_EQ(get_total_norm(tensors, 0).item<double>(), 3);
  EXPECT_DOUBLE_EQ(get_total_norm(tensors, kInf).item<double>(), 12);
  EXPECT_NEAR(get_total_norm(tensors, 3).item<double>(), std::cbrt(27 + 64 + 1728), 1e-12);
  EXPECT_EQ(get_total_norm({}).item<double>(), 0);
  // Half types don't overflow.
  EXPECT_EQ(get_total_norm({full({4}, 60000, {.dtype = f16})}).item<double>(), 120000);
  EXPECT_EQ(get_total_norm(tensors).dtype(), f64);
  const std::vector<Tensor> bad = {tensor({1.0, std::nan("")})};
  EXPECT_TRUE(std::isnan(get_total_norm(bad).item<double>()));
  EXPECT_EQ(error_of([&] { get_total_norm(bad, 2, true); }),
            "get_total_norm: the norm must be finite, got nan");
}

TEST(Clip, ByNorm) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const Tensor a = with_gradient({3, -4}, dtype), b = with_gradient({12}, dtype),
                 none = zeros({2}, {.dtype = dtype, .requires_grad = true});
    const uint32_t version = a.grad().version();
    const Tensor before = a.grad();
    EXPECT_NEAR(clip_grad_norm_({a, none, b}, 6.5).item<double>(), 13, 1e-6);
    const double tolerance = dtype == DType::bf16 ? 0.02 : 1e-6, factor = 6.5 / (13 + 1e-6);
    EXPECT_NEAR(a.grad().to_vector<double>()[0], 3 * factor, tolerance);
    EXPECT_NEAR(a.grad().to_vector<double>()[1], -4 * factor, tolerance);
    EXPECT_NEAR(b.grad().item<double>(), 12 * factor, 4 * tolerance);
    EXPECT_TRUE(a.grad().is_same(before));
    EXPECT_GT(a.grad().version(), version);
    EXPECT_FALSE(none.grad().defined());
  }
  const Tensor small = with_gradient({3, -4});
  EXPECT_DOUBLE_EQ(clip_grad_norm_({small}, 100).item<double>(), 5);  // not blown up
  EXPECT_EQ(small.grad().to_vector<double>(), (std::vector{3.0, -4.0}));
  const Tensor bad = with_gradient({kInf, 1});
  EXPECT_EQ(error_of([&] { clip_grad_norm_({bad}, 1, 2, true); }),
            "clip_grad_norm_: the norm must be finite, got inf");
  clip_grad_norm_({bad}, 1);
  EXPECT_TRUE(std::isnan(bad.grad().to_vector<double>()[0]));  // inf * 0
  EXPECT_EQ(bad.grad().to_vector<double>()[1], 0);
  EXPECT_EQ(error_of([&] { clip_grad_norm_({small}, -1); }),
            "clip_grad_norm_: max_norm must be at least 0, got -1");
  const Tensor wide = zeros({2, 2}, {.dtype = f64, .requires_grad = true});
  const Tensor room = full({2, 4}, 3, {.dtype = f64});
  wide.set_grad(room.slice(1, 0, {}, 2));  // not dense
  clip_grad_norm_({wide}, 3);
  for (double g : wide.grad().to_vector<double>()) EXPECT_NEAR(g, 1.5, 1e-6);
  EXPECT_EQ(room.at<double>({1, 1}), 3);
}

TEST(Clip, ByValue) {
  const Tensor a = with_gradient({3, -4, 0.5, std::nan("")}), b = with_gradient({-kInf});
  clip_grad_value_({a, b}, 2);
  EXPECT_EQ(a.grad().at<double>({0}), 2);
  EXPECT_EQ(a.grad().at<double>({1}), -2);
  EXPECT_EQ(a.grad().at<double>({2}), 0.5);
  EXPECT_TRUE(std::isnan(a.grad().at<double>({3})));
  EXPECT_EQ(b.grad().item<double>(), -2);
  EXPECT_EQ(error_of([&] { clip_grad_value_({a}, -1); }),
            "clip_grad_value_: clip_value must be at least 0, got -1");
}

TEST(Average, EqualAndExponential) {
  const Tensor p = tensor({1.0, 10.0}, {.dtype = f64}), count = tensor({7});
  AveragedModel equal({p, count}), exponential({p, count}, {.ema_decay = 0.75});
  for (const double x : {4.0, 8.0, 0.0}) {
    p.fill_(x);
    count.fill_(x);
    equal.update_parameters({p, count});
    exponential.update_parameters({p, count});
  }
  EXPECT_EQ(equal.n_averaged(), 3);
  EXPECT_EQ(equal.parameters()[0].to_vector<double>(), (std::vector{4.0, 4.0}));
  EXPECT_EQ(equal.parameters()[1].item<int64_t>(), 0);
  EXPECT_EQ(exponential.parameters()[0].at<double>({0}), (4 * 0.75 + 8 * 0.25) * 0.75);
  // A layout of its own, and f32 tensors averaged with f64 ones.
  const Tensor matrix = sin(arange(6, {.dtype = f32})).view({2, 3});
  AveragedModel other({matrix.t(), p});
  other.update_parameters({matrix.t(), p});
  other.update_parameters({matrix.t().contiguous() + 1, p});
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_NEAR(other.parameters()[0].at<float>({i, 1}), matrix.at<float>({1, i}) + 0.5, 1e-6);

  const State state = equal.state();
  AveragedModel restored({p, count});
  restored.restore(state);
  equal.swap({p, count});
  EXPECT_EQ(p.at<double>({0}), 4);
  EXPECT_EQ(equal.parameters()[0].at<double>({0}), 0);
  restored.copy_to({p, count});
  EXPECT_EQ(p.at<double>({1}), 4);
  EXPECT_EQ(restored.n_averaged(), 3);
  EXPECT_EQ(error_of([&] { equal.update_parameters({p}); }),
            "averaged_model: there must be as many tensors as averages, got 1 for 2");
  EXPECT_EQ(error_of([&] {
              equal.update_parameters({count, p});
            }),
            "averaged_model: tensors must have their averages' shapes, got [1] for [2] at 0");
  EXPECT_EQ(error_of([&] { AveragedModel({p}, {.ema_decay = 2}); }),
            "averaged_model: ema_decay must be in [0, 1], got 2");
}

}  // namespace
}  // namespace aorta::optim
