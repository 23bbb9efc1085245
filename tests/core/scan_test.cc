#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/scan.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <cmath>

namespace {

using namespace aorta;

std::vector<double> scanned(const Tensor& x, int dim, bool product) {
  std::vector<double> values = x.to_vector<double>();
  int64_t inner = 1;
  for (int d = dim + 1; d < x.dim(); ++d) inner *= x.shape()[d];
  for (size_t i = 0; i < values.size(); ++i) {
    const auto n = static_cast<int64_t>(i);
    if (n / inner % x.shape()[dim] == 0) continue;
    const double before = values[static_cast<size_t>(n - inner)];
    values[i] = product ? before * values[i] : before + values[i];
  }
  return values;
}

TEST(Scan, IsAsDefinedForEveryDTypeAndLayout) {
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, u8, boolean}) {
    std::vector<double> values;
    for (int i = 0; i < 4 * 5 * 150; ++i)
      values.push_back(is_floating(dtype) ? 0.75 + 0.5 * ((i * 37) % 64) / 64 : (i * 37) % 64 == 5);
    const Tensor x = tensor(values, {4, 5, 150}).to(dtype);
    const double unit = dtype == bf16 ? 4e-3 : dtype == f16 ? 5e-4 : dtype == f64 ? 1e-13 : 1e-7;
    for (const Tensor& layout : {x, x.permute({2, 0, 1}), x.slice(2, 3, 150, 4)}) {
      for (int dim = 0; dim < 3; ++dim) {
        const Tensor sums = cumsum(layout, dim), products = cumprod(layout, dim);
        ASSERT_EQ(sums.dtype(), is_floating(dtype) ? dtype : DType::i64);
        const std::vector<double> got = sums.to_vector<double>();
        const std::vector<double> got_products = products.to_vector<double>();
        const std::vector<double> want = scanned(layout, dim, false);
        const std::vector<double> want_products = scanned(layout, dim, true);
        for (size_t i = 0; i < got.size(); ++i) {
          ASSERT_NEAR(got[i], want[i], unit * std::abs(want[i])) << name(dtype) << dim << " " << i;
          ASSERT_NEAR(got_products[i], want_products[i], 2 * unit * std::abs(want_products[i]));
        }
      }
    }
  }
}

TEST(Scan, LongSumsAreExact) {
  const Tensor sums = cumsum(ones({20'000'000}), 0);
  EXPECT_EQ(sums.at<float>({16'777'217 - 1 + 2'000'000}), 18'777'217.0f);
  EXPECT_EQ(sums.at<float>({19'999'999}), 2e7f);
}

TEST(Scan, DTypesEmptyOnesAndErrors) {
  EXPECT_EQ(cumsum(tensor({1.5, 1.5}), 0, i64).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(cumsum(tensor({200, 100}), 0, u8).to_vector<double>(), (std::vector<double>{200, 44}));
  EXPECT_EQ(cumsum(tensor({true, true}), 0).to_vector<double>(), (std::vector<double>{1, 2}));
  EXPECT_EQ(cumprod(tensor(TensorData(3)), 0).item<int64_t>(), 3);
  EXPECT_EQ(cumsum(empty({2, 0}), 0).shape(), Shape({2, 0}));
  EXPECT_EQ(error_of([] { cumsum(ones({2}), 1); }),
            "cumsum: dimension out of range, got dim 1 of a 1-d tensor");
}

}  // namespace
