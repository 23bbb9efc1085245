#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace aorta;

// The i-th of a sequence of numbers in (-8, 8).
double number(int64_t i) {
  return 16 * std::fmod(0.6180339887498949 * static_cast<double>(i + 1), 1) - 8;
}

Tensor numbers(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = number(static_cast<int64_t>(i));
  return tensor(values, shape).to(dtype);
}

// By definition, in double: result by row-major position.
std::vector<double> softmax_of(const Tensor& x, int dim, bool log) {
  std::vector<double> values = x.to_vector<double>();
  const int64_t length = x.shape()[dim];
  int64_t inner = 1;
  for (int d = dim + 1; d < x.dim(); ++d) inner *= x.shape()[d];
  std::vector<double> sums(values.size(), 0.0);
  const auto line = [&](size_t i) {
    const int64_t n = static_cast<int64_t>(i);
    return static_cast<size_t>(n / (length * inner) * inner + n % inner);
  };
  for (size_t i = 0; i < values.size(); ++i) sums[line(i)] += std::exp(values[i]);
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = values[i] - std::log(sums[line(i)]);
    result[i] = log ? p : std::exp(p);
  }
  return result;
}

void expect_as_defined(const Tensor& x, int dim) {
  const double unit = x.dtype() == f64   ? 1e-14
                      : x.dtype() == f32 ? 1e-6
                      : x.dtype() == f16 ? 1e-3
                                         : 8e-3;
  const std::vector<double> soft = softmax(x, dim).to_vector<double>();
  const std::vector<double> log_soft = log_softmax(x, dim).to_vector<double>();
  const std::vector<double> want = softmax_of(x, dim, false), log_want = softmax_of(x, dim, true);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(soft[i], want[i], unit * want[i] + 1e-7 * (x.dtype() == f16)) << i;
    ASSERT_NEAR(log_soft[i], log_want[i], unit * std::max(1.0, std::abs(log_want[i]))) << i;
  }
}

TEST(Softmax, IsAsDefinedForEveryDTypeAndLayout) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = numbers({3, 70, 5, 37}, dtype);
    const Tensor layouts[] = {x, x.permute({2, 0, 3, 1}), x.contiguous(MemoryFormat::channels_last),
                              x.slice(3, 0, 37, 2), x.slice(2, 1, 2).expand({3, 70, 5, 37})};
    for (const Tensor& layout : layouts) {
      for (int dim = 0; dim < 4; ++dim) ASSERT_NO_FATAL_FAILURE(expect_as_defined(layout, dim));
    }
  }
  ASSERT_NO_FATAL_FAILURE(expect_as_defined(numbers({2, 100003}, f32), 1));
  ASSERT_NO_FATAL_FAILURE(expect_as_defined(numbers({20003, 3}, bf16), 0));
}

TEST(Softmax, LargeNumbersAreStable) {
  const Tensor x = tensor({{1e30, 1e30, -1e30}, {-1e4, -1e4, -2e4}});
  EXPECT_EQ(softmax(x, 1).to_vector<double>(), (std::vector<double>{0.5, 0.5, 0, 0.5, 0.5, 0}));
  EXPECT_EQ(softmax(x.t(), 0).to_vector<double>()[2], 0.5);
  EXPECT_NEAR(log_softmax(tensor({0.0, 200.0}), 0).to_vector<double>()[0], -200, 1e-4);
}

TEST(Softmax, InfinitiesAreAsInPyTorch) {
  for (const bool columns : {false, true}) {
    const auto run = [&](const TensorData& data, bool log) {
      const Tensor x = tensor(data);
      const Tensor in = columns ? x.view({x.numel(), 1}).expand({x.numel(), 3}) : x;
      const Tensor out = log ? log_softmax(in, 0) : softmax(in, 0);
      return (columns ? out.select(1, 2) : out).to_vector<double>();
    };
    EXPECT_EQ(run({-kInf, 0.0}, false), (std::vector<double>{0, 1}));
    EXPECT_EQ(run({-kInf, 0.0}, true), (std::vector<double>{-kInf, 0}));
    for (const bool log : {false, true}) {
      for (const double p : run({-kInf, -kInf, -kInf}, log)) EXPECT_TRUE(std::isnan(p));
      for (const double p : run({std::nan(""), 0.0, 1.0}, log)) EXPECT_TRUE(std::isnan(p));
      EXPECT_TRUE(std::isnan(run({kInf, 0.0}, log)[0]));
    }
  }
}

// y (g - sum of g y), and of the logarithm g - exp(y) (sum of g), in double.
void expect_gradients_as_defined(const Tensor& x, const Tensor& gradient, int dim) {
  const double unit = x.dtype() == f64   ? 1e-13
                      : x.dtype() == f32 ? 1e-5
                      : x.dtype() == f16 ? 4e-3
                                         : 3e-2;
  for (const bool log : {false, true}) {
    const Tensor y = log ? log_softmax(x, dim) : softmax(x, dim);
    const Tensor got = log ? kernel::log_softmax_backward(gradient, y, dim)
                           : kernel::softmax_backward(gradient, y, dim);
    const Tensor wide = gradient.to(f64), result = y.to(f64);
    const Tensor total = log ? sum(wide, {dim}, true) : sum(wide * result, {dim}, true);
    const std::vector<double> want =
        (log ? wide - exp(result) * total : result * (wide - total)).to_vector<double>();
    const std::vector<double> values = got.to_vector<double>();
    EXPECT_EQ(got.dtype(), x.dtype());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(values[i], want[i], unit * std::max(1.0, std::abs(want[i]))) << i;
  }
}

TEST(Softmax, GradientsAreAsDefinedForEveryDTypeAndLayout) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor x = numbers({3, 70, 5, 37}, dtype);
    const Tensor g = flip(numbers({3, 70, 5, 37}, dtype), {0, 1, 2, 3});
    for (int dim = 0; dim < 4; ++dim) {
      expect_gradients_as_defined(x, g, dim);
      expect_gradients_as_defined(x.contiguous(MemoryFormat::channels_last), g, dim);
      expect_gradients_as_defined(x, g.slice(2, 1, 2).expand({3, 70, 5, 37}), dim);
    }
  }
  expect_gradients_as_defined(numbers({2, 100003}, f32) / 8, numbers({2, 100003}, f32), 1);
  EXPECT_EQ(kernel::softmax_backward(empty({0, 3}), empty({0, 3}), 1).shape(), Shape({0, 3}));
}

TEST(Softmax, DTypeArgumentAndEmptyOnes) {
  EXPECT_EQ(softmax(tensor({1, 1}), 0, f32).to_vector<double>(), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(softmax(numbers({4}, f16), 0, f64).dtype(), f64);
  EXPECT_EQ(softmax(tensor(TensorData(3.0)), 0).item<double>(), 1);
  EXPECT_EQ(log_softmax(tensor(TensorData(3.0)), -1).item<double>(), 0);
  EXPECT_EQ(softmax(empty({0, 3}), 1).shape(), Shape({0, 3}));
  EXPECT_EQ(softmax(empty({3, 0}), 1).shape(), Shape({3, 0}));
  EXPECT_TRUE(softmax(numbers({2, 3, 4, 5}, f32).contiguous(MemoryFormat::channels_last), 1)
                  .is_contiguous(MemoryFormat::channels_last));
}

}  // namespace
