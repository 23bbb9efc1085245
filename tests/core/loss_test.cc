#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace {

using namespace aorta;

// Numbers in [-1, 1] that differ.
Tensor sines(const Shape& shape, DType dtype = f32) {
  return sin(arange(shape.numel(), {.dtype = f64}) * 12.9898).view(shape).to(dtype);
}

// A scalar loop in f64 over the definition.
double entropy_of(const std::vector<double>& x, int64_t classes, int64_t inner, int64_t line,
                  int64_t target) {
  const int64_t first = line / inner * classes * inner + line % inner;
  const auto at = [&](int64_t c) { return x[static_cast<size_t>(first + c * inner)]; };
  double sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += std::exp(at(c));
  return std::log(sum) - at(target);
}

// Few and many classes, side by side and one after another, through every way that lines are taken.
TEST(CrossEntropy, EveryWayThroughTheKernel) {
  for (const int64_t classes : {1, 2, 21, 128, 129, 1000}) {
    for (const Shape& rest : {Shape{}, Shape{1}, Shape{7}, Shape{5, 13}, Shape{9, 15}}) {
      for (const DType dtype : {f32, f64, bf16}) {
        Shape shape{3, classes}, lines{3};
        for (int64_t size : rest) {
          shape.push_back(size);
          lines.push_back(size);
        }
        const Tensor x = sines(shape, dtype) * 8;
        const Tensor target = remainder(arange(lines.numel()) * 7919, classes).view(lines);
        const std::vector<double> values = x.to_vector<double>();
        const std::vector<int64_t> picked = target.to_vector<int64_t>();
        double sum = 0;
        for (int64_t i = 0; i < lines.numel(); ++i)
          sum += entropy_of(values, classes, rest.numel(), i, picked[static_cast<size_t>(i)]);
        const double wanted = sum / static_cast<double>(lines.numel());
        const double unit = dtype == bf16 ? 0x1p-8 : dtype == f32 ? 1e-6 : 1e-14;
        EXPECT_NEAR(cross_entropy(x, target).item<double>(), wanted, unit * (wanted + 1))
            << to_string(shape) << name(dtype);
      }
    }
  }
}

TEST(CrossEntropy, ChannelsLastIsReadAsItLies) {
  const Tensor x = sines({2, 5, 6, 7}) * 4, last = x.contiguous(MemoryFormat::channels_last);
  const Tensor target = remainder(arange(84) * 7919, 5).view({2, 6, 7});
  const Tensor a = cross_entropy(x, target, {.reduction = Reduction::none});
  const Tensor b = cross_entropy(last, target, {.reduction = Reduction::none});
  for (int64_t i = 0; i < 84; ++i)
    EXPECT_NEAR(a.to_vector<float>()[static_cast<size_t>(i)],
                b.to_vector<float>()[static_cast<size_t>(i)], 1e-6);
}

// log(sum of exp) of sines whose exponentials overflow.
TEST(CrossEntropy, OfLargeNumbers) {
  const Tensor x = tensor({{10000.0, 10001.0}, {-10000.0, -10001.0}});
  const Tensor losses = cross_entropy(x, tensor({0, 0}), {.reduction = Reduction::none});
  EXPECT_NEAR(losses.at<float>({0}), std::log(1 + std::exp(1.0)), 1e-6);
  EXPECT_NEAR(losses.at<float>({1}), std::log(1 + std::exp(-1.0)), 1e-6);
}

// No pixel counts twice, none is left out: a sum over an image that threads share.
TEST(Losses, LargeMaps) {
  const Tensor x = full({20, 1, 112, 112}, 0.5), zero = zeros({20, 1, 112, 112});
  const double count = 20 * 112 * 112;
  EXPECT_EQ(mse_loss(x, zero, Reduction::sum).item<double>(), 0.25 * count);
  EXPECT_EQ(l1_loss(x, zero, Reduction::sum).item<double>(), 0.5 * count);
  EXPECT_EQ(huber_loss(x, zero, Reduction::sum, 0.25).item<double>(), 0.25 * (0.5 - 0.125) * count);
  EXPECT_EQ(smooth_l1_loss(x, zero, Reduction::sum, 0.25).item<double>(), 0.375 * count);
  const double logit = std::log1p(std::exp(0.5));
  EXPECT_NEAR(binary_cross_entropy_with_logits(x, zero).item<double>(), logit, 1e-6);
}

// Where every pixel is, and isn't, of the positive class, the loss is -log of a sigmoid.
TEST(Losses, BceWithLogitsKeepsItsDigits) {
  const Tensor x = tensor({-30.0, -3.0, 0.0, 3.0, 30.0});
  const Tensor loss = binary_cross_entropy_with_logits(
      x, ones({5}), {.reduction = Reduction::none, .pos_weight = full({}, 3)});
  for (int64_t i = 0; i < 5; ++i) {
    const double wanted = 3 * std::log1p(std::exp(-static_cast<double>(x.at<float>({i}))));
    EXPECT_NEAR(loss.at<float>({i}) / wanted, 1, 5e-7);
  }
}

TEST(Losses, HalfTypesAreAddedInFullPrecision) {
  const Tensor x = full({100000}, 1, {.dtype = bf16}), t = zeros({100000}, {.dtype = bf16});
  EXPECT_EQ(mse_loss(x, t).item<float>(), 1);
  EXPECT_EQ(mse_loss(x, t, Reduction::sum).item<float>(), 99840) << "100000 as a bf16";
}

TEST(Losses, MeanOfNothing) {
  EXPECT_TRUE(std::isnan(mse_loss(zeros({0, 3}), zeros({0, 3})).item<float>()));
  EXPECT_EQ(mse_loss(zeros({0, 3}), zeros({0, 3}), Reduction::sum).item<float>(), 0);
  EXPECT_TRUE(std::isnan(kl_div(zeros({0}), zeros({0}), Reduction::batchmean).item<float>()));
  const Tensor none = zeros({2}, {.dtype = i64}) - 100;
  EXPECT_TRUE(std::isnan(cross_entropy(zeros({2, 3}), none).item<float>()));
  EXPECT_EQ(cross_entropy(zeros({2, 3}), none, {.reduction = Reduction::sum}).item<float>(), 0);
}

// The batch is the input's, whatever it is broadcast to. PyTorch's values.
TEST(Losses, BatchmeanOfABroadcastInput) {
  const Tensor t = full({3, 2}, 0.5);
  EXPECT_NEAR(kl_div(zeros({1, 2}), t, Reduction::batchmean).item<float>(), -2.0794415, 1e-6);
  EXPECT_NEAR(kl_div(zeros({2}), t, Reduction::batchmean).item<float>(), -1.0397208, 1e-6);
  EXPECT_NEAR(kl_div(zeros({}), t, Reduction::batchmean).item<float>(), -2.0794415, 1e-6);
  EXPECT_NEAR(kl_div(zeros({3, 2}), t, Reduction::batchmean).item<float>(), -0.6931472, 1e-6);
}

TEST(Losses, CosinesOfKnownAngles) {
  const Tensor x = tensor({{3.0, 0.0}, {1.0, 1.0}, {0.0, 0.0}}),
               y = tensor({{0.0, 2.0}, {5.0, 0.0}, {1.0, 1.0}});
  const std::vector<float> cosines = cosine_similarity(x, y).to_vector<float>();
  EXPECT_EQ(cosines[0], 0);
  EXPECT_NEAR(cosines[1], std::sqrt(0.5), 1e-7);
  EXPECT_EQ(cosines[2], 0);
  EXPECT_NEAR(cosine_embedding_loss(x, x, tensor({1, -1, 1})).item<float>(), 2.0 / 3, 1e-6)
      << "0, 1 and, for nothing, 1";
  EXPECT_EQ(cosine_embedding_loss(ones({2, 0}), ones({2, 0}), tensor({1, 1})).item<float>(), 1);
}

// Lines of each length around those that are summed in another way, of numbers that half types
// hold.
TEST(Losses, CosinesOfEachLength) {
  for (const DType dtype : {f16, bf16, f32, f64}) {
    const double unit = dtype == bf16 ? 0x1p-8 : dtype == f16 ? 0x1p-11 : 0x1p-23;
    for (int64_t n = 1; n <= 40; ++n) {
      const Tensor x = remainder(arange(2 * n) * 7, 11).to(f64).view({2, n}) - 4;
      const Tensor y = remainder(arange(2 * n) * 5, 13).to(f64).view({2, n}) - 5;
      const Tensor cosines = cosine_similarity(x.to(dtype), y.to(dtype)).to(f64);
      for (int64_t i = 0; i < 2; ++i) {
        double xy = 0, xx = 0, yy = 0;
        for (int64_t j = 0; j < n; ++j) {
          const double a = x.at<double>({i, j}), b = y.at<double>({i, j});
          xy += a * b, xx += a * a, yy += b * b;
        }
        const double want = xx * yy > 0 ? xy / std::sqrt(xx * yy) : 0;
        EXPECT_NEAR(cosines.at<double>({i}), want, unit) << to_string(dtype) << ", length " << n;
      }
    }
  }
}

// PyTorch warns, too: (N, 1) and (N) are N x N pairs.
TEST(ElementLosses, SayOnceThatShapesDiffer) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a program of its own
  const auto train = [] {
    for (int step = 0; step < 2; ++step) {
      mse_loss(ones({4, 1}), ones({4, 1}));
      mse_loss(ones({4, 1}), ones({4}));
    }
    std::exit(0);
  };
  EXPECT_EXIT(train(), testing::ExitedWithCode(0),
              testing::StrEq("aorta: mse_loss: input [4,1] and target [4] differ and broadcast to "
                             "[4,4]; reshape one of them if its elements belong to the other's\n"));
}

}  // namespace
