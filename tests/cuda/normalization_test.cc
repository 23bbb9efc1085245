// Normalisation on a GPU against the CPU, whose own tests have references that aren't Aorta: shapes
// whose work is divided in every way that there is, in both layouts and every dtype.
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/tests/cuda/gpu.h>

#include <cstring>

using namespace aorta;
using gpu_test::difference;
using gpu_test::random_values;
using gpu_test::tolerance;

namespace {

using CudaNormalization = gpu_test::Gpu;

constexpr DType kFloating[] = {f32, f64, f16, bf16};

Tensor on_gpu(const Tensor& x) { return x.defined() ? x.cuda() : Tensor(); }

/// Sums of many terms: what rounds off grows with their number.
void expect_near(const Tensor& result, const Tensor& wanted, DType dtype, const char* what) {
  const double unit = tolerance(dtype);
  const double scale = wanted.numel() ? amax(abs(wanted.to(f64))).item<double>() : 0;
  EXPECT_EQ(difference(result, wanted, 8 * unit, 8 * unit * (1 + scale)), "")
      << what << " of " << name(dtype);
}

struct ChannelCase {
  Shape shape;
  int64_t groups = 1, width = 1;
};

/// batch_norm's and channel_norm_backward's results on both devices.
void compare_channels(const ChannelCase& c, DType dtype, bool last, bool relu, bool given) {
  const MemoryFormat format = last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
  const int64_t channels = c.shape[1];
  const Tensor x = random_values(c.shape, dtype, 1, false).contiguous(format);
  const Tensor g = random_values(c.shape, dtype, 2, false).contiguous(format);
  const Tensor weight = random_values({channels}, dtype, 3, false);
  const Tensor bias = random_values({channels}, dtype, 4, false);
  const Shape units{c.groups, channels / c.width};
  const Tensor mean = random_values(units, f64, 5, false);
  const Tensor var = square(random_values(units, f64, 6, false)) + 1;
  const kernel::ChannelNormPlan plan{
      .groups = c.groups, .width = c.width, .given = given, .relu = relu};
  const kernel::NormWanted wanted{true, true, true};
  const auto backward = [&](bool gpu) {
    const auto at = [&](const Tensor& t) { return gpu ? t.cuda() : t; };
    return kernel::channel_norm_backward(
        at(g), {at(x), at(weight), at(bias), {}, at(mean), at(var)}, plan, wanted);
  };
  const kernel::NormGradients there = backward(true), here = backward(false);
  expect_near(there.input, here.input, dtype, "the input's gradient");
  const DType sums = dtype == f64 ? f64 : f32;
  expect_near(there.weight, here.weight, sums, "the weight's gradient");
  expect_near(there.bias, here.bias, sums, "the bias's gradient");
  if (given) return;
  const Tensor residual = relu ? g : Tensor();
  const auto forward = [&](bool gpu) {
    const auto at = [&](const Tensor& t) { return gpu ? on_gpu(t) : t; };
    if (c.width > 1 && !relu) return group_norm(at(x), channels / c.width, at(weight), at(bias));
    return batch_norm(
        at(x), {}, {}, at(weight), at(bias),
        {.training = true, .statistic_groups = c.groups, .relu = relu, .residual = at(residual)});
  };
  const Tensor wanted_y = forward(false);
  gpu_test::poison(wanted_y.nbytes());
  const Tensor y = forward(true);
  EXPECT_EQ(y.strides(), wanted_y.strides());
  expect_near(y, wanted_y, dtype, "the output");
}

}  // namespace

TEST_F(CudaNormalization, ChannelsOfEveryShape) {
  const ChannelCase cases[] = {
      {{4, 3, 5, 7}},            // nothing is a whole block
      {{4, 8, 4, 8}, 2},         // aligned; two groups of samples
      {{1, 2, 72, 64}},          // pieces of planes
      {{6, 16, 3, 3}, 6, 4},     // groups of channels
      {{700, 33}, 1},            // rows of channels alone
      {{2, 300, 2, 2}, 2, 300},  // one unit a sample, many channels
      {{1, 2, 1, 9}},
  };
  for (DType dtype : kFloating) {
    for (const ChannelCase& c : cases) {
      if (dtype != f32 && c.shape.numel() > 2000) continue;
      for (const bool last : {false, true}) {
        if (last && c.shape.size() != 4) continue;
        SCOPED_TRACE(to_string(c.shape) + (last ? " channels_last" : ""));
        compare_channels(c, dtype, last, false, false);
        if (dtype != f32) continue;
        compare_channels(c, dtype, last, true, false);
        compare_channels(c, dtype, last, false, true);
        compare_channels(c, dtype, last, true, true);
      }
    }
  }
}

TEST_F(CudaNormalization, LinesOfEveryLength) {
  for (DType dtype : kFloating) {
    for (const Shape& shape : {Shape{1, 1}, Shape{9, 7}, Shape{30, 64}, Shape{300, 12},
                               Shape{2, 2003}, Shape{1, 2048}}) {
      if (dtype != f32 && shape.numel() > 2000) continue;
      SCOPED_TRACE(to_string(shape));
      const Shape line{shape[1]};
      const Tensor x = random_values(shape, dtype, 1, false);
      const Tensor g = random_values(shape, dtype, 2, false);
      const Tensor weight = random_values(line, dtype, 3, false);
      const Tensor bias = random_values(line, dtype, 4, false);
      expect_near(layer_norm(x.cuda(), line, weight.cuda(), bias.cuda()),
                  layer_norm(x, line, weight, bias), dtype, "layer_norm");
      expect_near(layer_norm(x.cuda(), line), layer_norm(x, line), dtype, "layer_norm");
      expect_near(rms_norm(x.cuda(), line, weight.cuda()), rms_norm(x, line, weight), dtype,
                  "rms_norm");
      const Tensor mean = random_values({shape[0]}, f64, 5, false);
      const Tensor var = square(random_values({shape[0]}, f64, 6, false)) + 1;
      for (const bool centered : {true, false}) {
        const kernel::LineNormPlan plan{.length = shape[1], .centered = centered};
        const kernel::NormWanted wanted{true, true, true};
        const kernel::NormGradients here =
            kernel::line_norm_backward(g, {x, weight, {}, {}, mean, var}, plan, wanted);
        const kernel::NormGradients there = kernel::line_norm_backward(
            g.cuda(), {x.cuda(), weight.cuda(), {}, {}, mean.cuda(), var.cuda()}, plan, wanted);
        expect_near(there.input, here.input, dtype, "the input's gradient");
        const DType sums = dtype == f64 ? f64 : f32;
        expect_near(there.weight, here.weight, sums, "the weight's gradient");
        expect_near(there.bias, here.bias, sums, "the bias's gradient");
      }
    }
  }
}

// Values that are far from 0 beside their differences, the first of them further still.
TEST_F(CudaNormalization, StatisticsDoNotCancel) {
  for (const bool last : {false, true}) {
    Tensor x = random_values({2, 3, 40, 50}, f32, 1, false) * 1e-2 + 3000;
    x.narrow(0, 0, 1).narrow(2, 0, 1).narrow(3, 0, 1).fill_(-5000);
    x = x.contiguous(last ? MemoryFormat::channels_last : MemoryFormat::contiguous);
    const Tensor mean = zeros({3}, {.device = "cuda"}), var = ones({3}, {.device = "cuda"});
    batch_norm(x.cuda(), mean, var, {}, {}, {.training = true, .momentum = 1});
    const Tensor exact = x.to(f64);
    EXPECT_EQ(difference(mean, aorta::mean(exact, {0, 2, 3}).to(f32), 1e-7, 0), "");
    EXPECT_EQ(difference(var, aorta::var(exact, {0, 2, 3}).to(f32), 2e-7, 0), "");
  }
}

// Running statistics and their counter, of every dtype, as the CPU moves them and goes by them.
TEST_F(CudaNormalization, RunningStatistics) {
  for (DType dtype : kFloating) {
    const Tensor x = random_values({6, 5, 4, 3}, dtype, 1, false);
    const Tensor weight = random_values({5}, dtype, 2, false);
    for (const int64_t groups : {1, 3}) {
      const auto run = [&](const Tensor& input, const Tensor& scale) {
        const TensorOptions options{.dtype = dtype, .device = input.device()};
        const Tensor mean = zeros({5, 2}, options).select(1, 1), var = ones({5}, options);
        const Tensor batches = zeros({}, {.dtype = i64, .device = input.device()});
        batch_norm(input, mean, var, scale, {},
                   {.training = true,
                    .momentum = 0.3,
                    .statistic_groups = groups,
                    .num_batches_tracked = batches});
        return std::vector<Tensor>{mean, var, batches, batch_norm(input, mean, var, scale)};
      };
      const std::vector<Tensor> here = run(x, weight), there = run(x.cuda(), weight.cuda());
      expect_near(there[0], here[0], dtype, "the running mean");
      expect_near(there[1], here[1], dtype, "the running variance");
      EXPECT_EQ(there[2].item<int64_t>(), groups);
      expect_near(there[3], here[3], dtype, "the output");
    }
  }
}

TEST_F(CudaNormalization, TheSameBitsEveryTime) {
  const Tensor x = random_values({2, 2, 50, 60}, f32, 1, false).cuda();
  const Tensor mean = zeros({1, 2}, {.dtype = f64, .device = "cuda"});
  const Tensor var = ones({1, 2}, {.dtype = f64, .device = "cuda"});
  const auto run = [&] {
    const kernel::NormGradients g =
        kernel::channel_norm_backward(x, {x, {}, {}, {}, mean, var}, {}, {true, true, true});
    return g.weight.to_vector<float>();
  };
  const std::vector<float> once = run();
  for (int i = 0; i < 3; ++i) {
    const std::vector<float> again = run();
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
  }
}

TEST_F(CudaNormalization, NothingToNormalise) {
  const TensorOptions gpu{.device = "cuda"};
  EXPECT_EQ(batch_norm(empty({0, 3, 2, 2}, gpu), {}, {}, {}, {}, {.training = true}).numel(), 0);
  EXPECT_EQ(layer_norm(empty({0, 3}, gpu), {3}).numel(), 0);
  EXPECT_EQ(layer_norm(empty({3, 0}, gpu), {0}).numel(), 0);
}
