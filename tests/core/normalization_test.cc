#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/parallel_for.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

using namespace aorta;

// The i-th of a sequence of numbers in (-1, 1).
double number(int64_t i) {
  return 2 * std::fmod(0.6180339887498949 * static_cast<double>(i + 1), 1) - 1;
}

Tensor scaled_numbers(const Shape& shape, DType dtype = f32, double offset = 0, double scale = 1) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = offset + scale * number(static_cast<int64_t>(i));
  return tensor(values, shape).to(dtype);
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << i;
}

void expect_same(const Tensor& a, const Tensor& b) {
  ASSERT_TRUE(a.defined() && b.defined());
  ASSERT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.to_vector<double>(), b.to_vector<double>());
}

Tensor in_format(const Tensor& x, bool last) {
  return x.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
}

// Values 1e4 away from zero lose nothing but what their own rounding took.
TEST(BatchNorm, FarFromZero) {
  for (const bool last : {false, true}) {
    for (const Shape& shape : {Shape{8, 20, 25, 40}, Shape{2, 3, 150, 200}}) {
      const Tensor x = in_format(scaled_numbers(shape, f32, 1e4, std::sqrt(3.0)), last);
      const Tensor exact = batch_norm(x.to(f64), {}, {}, {}, {}, {.training = true});
      expect_near(batch_norm(x, {}, {}, {}, {}, {.training = true}), exact, 2e-6);
      // f64 numbers lie just as far off, relative to their precision.
      const Tensor near = in_format(scaled_numbers(shape, f64), last);
      expect_near(batch_norm(near + 1e10, {}, {}, {}, {}, {.training = true}),
                  batch_norm(near, {}, {}, {}, {}, {.training = true}), 1e-4);
    }
  }
  const Tensor x = scaled_numbers({40, 999}, f32, 1e4, std::sqrt(3.0));
  expect_near(layer_norm(x, {999}), layer_norm(x.to(f64), {999}), 2e-6);
}

// Sums are about the first value of a piece: one that lies far from the others, or squares beyond
// f32, must not cost the digits of the rest.
TEST(BatchNorm, FirstValueFarOff) {
  for (const bool last : {false, true}) {
    for (const double outlier : {1e3, 1e7}) {
      const Tensor x = in_format(scaled_numbers({4, 20, 30, 40}), last);
      x.narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).fill_(outlier);
      const Tensor exact = batch_norm(x.to(f64), {}, {}, {}, {}, {.training = true});
      expect_near(batch_norm(x, {}, {}, {}, {}, {.training = true}), exact, 1e-7 * std::sqrt(4800));
    }
    // A piece that holds nothing but the outlier's neighbours keeps its own digits.
    const Tensor mean = zeros({20}), var = zeros({20});
    const Tensor wide_mean = zeros({20}, {.dtype = f64}), wide_var = zeros({20}, {.dtype = f64});
    const Tensor x = in_format(scaled_numbers({4, 20, 30, 40}), last);
    x.narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).fill_(300);
    batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 1});
    batch_norm(x.to(f64), wide_mean, wide_var, {}, {}, {.training = true, .momentum = 1});
    expect_near(mean, wide_mean, 1e-7);
    expect_near(var / wide_var, ones({20}), 2e-7);
    const Tensor large = in_format(scaled_numbers({4, 20, 30, 40}, f32, 0, 1e30), last);
    expect_near(batch_norm(large, {}, {}, {}, {}, {.training = true}),
                batch_norm(large.to(f64), {}, {}, {}, {}, {.training = true}), 1e-6);
  }
}

// The closed form for 0, 1, ..., n - 1: mean (n - 1) / 2, variance (n^2 - 1) / 12.
TEST(BatchNorm, OfARampInEveryCut) {
  for (const int64_t n : {2, 7, 63, 64, 8191, 8192, 8193, 70001}) {
    const Tensor ramp = arange(n, {.dtype = f32});
    const double mean = static_cast<double>(n - 1) / 2;
    const double spread = std::sqrt((static_cast<double>(n) * static_cast<double>(n) - 1) / 12);
    const Tensor wanted = (ramp.to(f64) - mean) / spread;
    for (const int64_t channels : {1, 3, 17, 300}) {
      if (n * channels > 2000000) continue;
      const Tensor planes = ramp.view({1, 1, n}).expand({1, channels, n}).contiguous();
      const Tensor y = batch_norm(planes, {}, {}, {}, {}, {.training = true, .eps = 0});
      const Tensor rows = ramp.view({n, 1}).expand({n, channels}).contiguous();
      const Tensor z = batch_norm(rows, {}, {}, {}, {}, {.training = true, .eps = 0});
      for (const int64_t c : {int64_t{0}, channels / 2, channels - 1}) {
        expect_near(y.select(1, c).select(0, 0), wanted, 1e-6);
        expect_near(z.select(1, c), wanted, 1e-6);
      }
    }
    expect_near(layer_norm(ramp, {n}, {}, {}, 0), wanted, 1e-6);
  }
}

TEST(BatchNorm, KeepsChannelsLast) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = scaled_numbers({3, 6, 5, 7}, dtype), weight = scaled_numbers({6}, dtype);
    const Tensor last = in_format(x, true);
    const double tolerance = dtype == f64 ? 1e-14 : dtype == f32 ? 1e-6 : 1e-2;
    const auto both = [&](auto norm) {
      const Tensor y = norm(last), plain = norm(x);
      EXPECT_TRUE(y.is_contiguous(MemoryFormat::channels_last));
      EXPECT_TRUE(plain.is_contiguous());
      EXPECT_EQ(y.dtype(), dtype);
      expect_near(y, plain, tolerance);
    };
    both([&](const Tensor& t) { return batch_norm(t, {}, {}, weight, {}, {.training = true}); });
    both([&](const Tensor& t) {
      return batch_norm(t, {}, {}, weight, {}, {.training = true, .statistic_groups = 3});
    });
    both([&](const Tensor& t) { return instance_norm(t, {}, {}, weight); });
    both([&](const Tensor& t) { return group_norm(t, 3, weight); });
    both([&](const Tensor& t) { return batch_norm(t, weight, weight * weight, weight); });
  }
}

// Groups are as many calls, to the bit, running statistics included.
TEST(BatchNorm, GroupsAreCalls) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool last : {false, true}) {
      const Tensor x = in_format(scaled_numbers({12, 20, 9, 11}, dtype), last);
      const Tensor mean = zeros({20}), var = ones({20}), weight = scaled_numbers({20});
      const Tensor part_mean = zeros({20}), part_var = ones({20});
      const Tensor y = batch_norm(x, mean, var, weight, {},
                                  {.training = true, .momentum = 0.3, .statistic_groups = 4});
      std::vector<Tensor> parts;
      for (int64_t g = 0; g < 4; ++g) {
        parts.push_back(batch_norm(x.narrow(0, 3 * g, 3), part_mean, part_var, weight, {},
                                   {.training = true, .momentum = 0.3}));
      }
      expect_same(y, cat(parts, 0));
      expect_same(mean, part_mean);
      expect_same(var, part_var);
    }
  }
}

// A group is one value short of a variance; momentum 1 replaces; the version says what was written.
TEST(BatchNorm, MovesRunningStatistics) {
  const Tensor x = tensor(std::vector<float>{1, 2, 3, 4}, {4, 1});
  const Tensor mean = zeros({1}), var = ones({1});
  const uint32_t version = mean.version();
  batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 1});
  EXPECT_EQ(mean.item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(var.item<float>(), 5.0f / 3);
  EXPECT_EQ(mean.version(), version + 1);
  batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.0});
  EXPECT_EQ(mean.item<float>(), 2.5f);
  batch_norm(x, mean, var);
  EXPECT_EQ(mean.version(), version + 2);
  batch_norm(empty({0, 1}), mean, var, {}, {}, {.training = true});
  EXPECT_EQ(mean.version(), version + 2);
  // In two groups, one after the other: 0.5 * 2.5 + 0.5 * 1.5, then half of that and half of 3.5.
  batch_norm(x, mean, var, {}, {}, {.training = true, .momentum = 0.5, .statistic_groups = 2});
  EXPECT_EQ(mean.item<float>(), 2.75f);
}

// The counter grows by the groups, also where there is nothing to normalise.
TEST(BatchNorm, CountsBatches) {
  const Tensor x = scaled_numbers({6, 2, 3}), batches = zeros({}, {.dtype = i64});
  const Tensor mean = zeros({2, 2}).select(1, 1), var = ones({2});
  const Tensor plain_mean = zeros({2}), plain_var = ones({2});
  const BatchNormFuncOptions options{
      .training = true, .statistic_groups = 3, .num_batches_tracked = batches};
  batch_norm(x, plain_mean, plain_var, {}, {}, options);
  EXPECT_EQ(batches.item<int64_t>(), 3);
  batch_norm(empty({0, 2, 3}), plain_mean, plain_var, {}, {}, options);
  EXPECT_EQ(batches.item<int64_t>(), 6);
  batch_norm(x, {}, {}, {}, {}, options);
  EXPECT_EQ(batches.item<int64_t>(), 6);
  // Statistics that lie between others.
  batch_norm(x, mean, var, {}, {}, options);
  EXPECT_EQ(batches.item<int64_t>(), 9);
  expect_same(mean, plain_mean);
  expect_same(var, plain_var);
}

TEST(BatchNorm, MixedDtypes) {
  const Tensor x = scaled_numbers({4, 3, 6, 6}), weight = scaled_numbers({3}), bias = weight * 0.5;
  for (const DType dtype : {f16, bf16}) {
    const Tensor half = x.to(dtype), mean = zeros({3}), var = ones({3});
    const Tensor y = batch_norm(half, mean, var, weight, bias, {.training = true});
    EXPECT_EQ(y.dtype(), dtype);
    expect_same(y, batch_norm(half.to(f32), {}, {}, weight, bias, {.training = true}).to(dtype));
    EXPECT_EQ(mean.dtype(), f32);
    EXPECT_EQ(layer_norm(half, {6}, ones({6})).dtype(), dtype);
    EXPECT_EQ(group_norm(half, 3, weight, bias.to(dtype)).dtype(), dtype);
  }
}

TEST(BatchNorm, NotFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = ones({2, 3, 4});
  x.select(1, 1).fill_(inf);
  const Tensor y = batch_norm(x, {}, {}, {}, {}, {.training = true});
  EXPECT_TRUE(std::isnan(y.at<float>({0, 1, 0})));
  EXPECT_EQ(y.at<float>({0, 0, 0}), 0);
  const Tensor mean = zeros({3}), var = ones({3});
  mean.fill_(inf);
  EXPECT_EQ(batch_norm(ones({2, 3, 4}), mean, var).at<float>({0, 0, 0}), -inf);
}

TEST(Norms, OfNothing) {
  for (const Shape& shape : {Shape{0, 4, 3}, Shape{2, 0, 3}, Shape{2, 4, 0}}) {
    const Tensor x = empty(shape), c = ones({shape[1]});
    EXPECT_EQ(batch_norm(x, c, c, c, c, {.training = true}).shape(), shape);
    EXPECT_EQ(batch_norm(x, c, c, c, c).shape(), shape);
    EXPECT_EQ(instance_norm(x, c, c, c, c).shape(), shape);
    EXPECT_EQ(group_norm(x, 2, c, c).shape(), shape);
    EXPECT_EQ(layer_norm(x, {shape[2]}).shape(), shape);
    EXPECT_EQ(rms_norm(x, {shape[1], shape[2]}).shape(), shape);
  }
}

// With relu inside, the bits of relu behind it: every dtype, layout and kind of statistics; NaN and
// what lies beyond the last whole vector too.
TEST(BatchNorm, ReluInside) {
  for (const DType dtype : {f32, f64, bf16, f16}) {
    for (const bool last : {false, true}) {
      for (const Shape& shape : {Shape{4, 3, 11, 13}, Shape{2, 37, 7, 9}}) {
        const Tensor x = in_format(scaled_numbers(shape, dtype), last);
        x.select(0, 0).select(0, 1).select(0, 2).fill_(std::nan(""));
        const Tensor w = scaled_numbers({shape[1]}, dtype),
                     b = scaled_numbers({shape[1]}, dtype, 0.1);
        const Tensor m = scaled_numbers({shape[1]}, dtype), v = ones({shape[1]}, {.dtype = dtype});
        const auto expect_equal = [&](const Tensor& found, const Tensor& plain) {
          EXPECT_EQ(found.strides(), plain.strides());
          const std::vector<double> y = found.to_vector<double>();
          const std::vector<double> wanted = relu(plain).to_vector<double>();
          for (size_t i = 0; i < y.size(); ++i)
            ASSERT_TRUE(y[i] == wanted[i] || (std::isnan(y[i]) && std::isnan(wanted[i]))) << i;
        };
        expect_equal(
            batch_norm(x, {}, {}, w, b, {.training = true, .statistic_groups = 2, .relu = true}),
            batch_norm(x, {}, {}, w, b, {.training = true, .statistic_groups = 2}));
        expect_equal(batch_norm(x, m, v, w, b, {.relu = true}), batch_norm(x, m, v, w, b));
        // A residual is added before anything is rounded.
        const Tensor r = in_format(scaled_numbers(shape, dtype, 0.3), !last);
        const Tensor sum = batch_norm(x.to(f64), m.to(f64), v.to(f64), w.to(f64), b.to(f64));
        const Tensor found = batch_norm(x, m, v, w, b, {.relu = true, .residual = r});
        const std::vector<double> y = found.to_vector<double>();
        const std::vector<double> wanted = relu(sum + r.to(f64)).to_vector<double>();
        const double tolerance = dtype == f64   ? 1e-12
                                 : dtype == f32 ? 2e-6
                                 : dtype == f16 ? 4e-3
                                                : 4e-2;
        for (size_t i = 0; i < y.size(); ++i)
          ASSERT_TRUE(std::abs(y[i] - wanted[i]) < tolerance || std::isnan(y[i])) << i;
        EXPECT_EQ(std::count_if(y.begin(), y.end(), [](double a) { return std::isnan(a); }),
                  shape[3]);
      }
    }
  }
}

// Any number of threads gives the same bits: few channels and many, both layouts, both directions.
TEST(Norms, SameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  for (const Shape& shape : {Shape{2, 3, 160, 170}, Shape{6, 40, 40, 41}}) {
    for (const bool last : {false, true}) {
      const Tensor x = in_format(scaled_numbers(shape), last),
                   g = in_format(scaled_numbers(shape) * 3, last);
      const Tensor weight = scaled_numbers({shape[1]});
      std::vector<Tensor> first;
      for (const int threads : {1, 2, 3}) {
        set_num_threads(threads);
        const Tensor mean = empty({2, shape[1]}, {.dtype = f64});
        mean.fill_(0.125);
        std::vector<Tensor> all = {
            batch_norm(x, {}, {}, weight, {}, {.training = true}),
            batch_norm(x, {}, {}, {}, {}, {.training = true, .statistic_groups = 2}),
            batch_norm(x, {}, {}, {}, weight, {.training = true, .relu = true}),
            batch_norm(x, {}, {}, {}, weight,
                       {.training = true, .statistic_groups = 2, .relu = true, .residual = g}),
            group_norm(x, 1),
            instance_norm(x)};
        const kernel::NormGradients found = kernel::channel_norm_backward(
            g, {x, weight, {}, {}, mean, mean}, {.groups = 2, .eps = 1}, {true, true, true});
        all.insert(all.end(), {found.input, found.weight, found.bias});
        if (first.empty()) first = all;
        for (size_t i = 0; i < all.size(); ++i) expect_same(all[i], first[i]);
      }
    }
  }
  set_num_threads(before);
}

}  // namespace
