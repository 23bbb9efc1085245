// What the catalogue's samples don't show of statistics, quantiles and windows.
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/nan.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/quantile.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>

namespace aorta {
namespace {

TEST(Nan, InfinitiesBecomeTheEndsOfTheDtype) {
  const std::pair<DType, double> ends[] = {
      {f64, DBL_MAX}, {f32, FLT_MAX}, {f16, 65504}, {bf16, 0x1.fep127}};
  for (const auto& [dtype, end] : ends) {
    const Tensor x = tensor({kInf, -kInf, kNaN, 1.5}, {.dtype = dtype});
    EXPECT_EQ(nan_to_num(x).to_vector<double>(), (std::vector<double>{end, -end, 0, 1.5}))
        << name(dtype);
    EXPECT_EQ(nan_to_num(x, 7, 8).to_vector<double>(), (std::vector<double>{8, -end, 7, 1.5}));
  }
  EXPECT_EQ(error_of([] { nan_to_num_(ones({1}), 0, 1e300); }),
            "nan_to_num_: the value must fit the dtype, got 1e+300 for f32");
}

TEST(Quantile, OfNothingButNan) {
  const Tensor none = full({2, 3}, kNaN);
  EXPECT_TRUE(isnan(nanmedian(none)).item<bool>());
  EXPECT_TRUE(isnan(nanmedian(none, 1).values).all().item<bool>());
  EXPECT_TRUE(isnan(nanquantile(none, 0.5)).item<bool>());
  EXPECT_TRUE(isnan(nanmean(none)).item<bool>());
  EXPECT_EQ(nansum(none).item<float>(), 0);
  EXPECT_TRUE(isnan(median(empty({0}))).item<bool>());
  EXPECT_EQ(median(tensor({3.0, kNaN, 1.0, kNaN}), 0).indices.item<int64_t>(), 1);
  EXPECT_EQ(median(tensor(4.0), 0, true).values.dim(), 0);
}

TEST(Quantile, MediansOfAllAreThoseOfASortedVector) {
  for (const int64_t n : {1, 2, 5, 127, 128, 1000, 5001}) {
    for (const int64_t every : {2, 3, 5000}) {  // NaN stands at each so many, but for the first
      std::vector<double> given, numbers;
      for (int64_t i = 0; i < n; ++i) {
        const double number = static_cast<double>(i * 37 % 101) - 50;
        given.push_back(i % every == every - 1 ? kNaN : number);
        if (i % every != every - 1) numbers.push_back(number);
      }
      std::sort(numbers.begin(), numbers.end());
      for (const DType dtype : {f32, f64, bf16}) {
        const Tensor x = tensor(given, {n}).to(dtype);
        EXPECT_EQ(nanmedian(x).item<double>(), numbers[(numbers.size() - 1) / 2]) << n;
        EXPECT_EQ(isnan(median(x)).item<bool>(), numbers.size() < given.size()) << n;
        const Tensor whole = tensor(numbers).to(dtype);
        EXPECT_EQ(median(whole).item<double>(), numbers[(numbers.size() - 1) / 2]) << n;
      }
    }
  }
}

TEST(Quantile, OfMoreNumbersThanF32Counts) {
  const int64_t n = (1 << 25) + 4;
  const Tensor x = zeros({n});
  x.narrow(0, n - 2, 1).fill_(1);
  EXPECT_EQ(quantile(x.narrow(0, 0, n - 1), 1.0).item<float>(), 1);
  EXPECT_EQ(nanquantile(x.narrow(0, 0, n - 1), 1.0).item<float>(), 1);
  EXPECT_EQ(quantile(x, 1.0).item<float>(), 1);
  EXPECT_EQ(quantile(x, 0.5).item<float>(), 0);
}

TEST(Quantile, ManyRanksOfManyNumbers) {
  // The quantile of 0, 1, ..., n - 1 in any order is the rank.
  const int64_t n = 10007;
  const Tensor x = ((arange(n) * 7919) % n).to(f64);
  const Tensor q = linspace(0, 1, 65, {.dtype = f64});
  EXPECT_TRUE(allclose(quantile(x, q), q * static_cast<double>(n - 1), 1e-12));
  EXPECT_EQ(median(x).item<double>(), (n - 1) / 2);
  EXPECT_EQ(median(x.narrow(0, 1, n - 1)).item<double>(), (n - 1) / 2);  // without the 0
  for (const DType dtype : {f16, bf16})
    EXPECT_EQ(quantile(tensor({1, 2, 4, 8}, {.dtype = dtype}), 0.5).item<double>(), 3);
  EXPECT_EQ(error_of([&] { quantile(x, kNaN); }), "quantile: q must be in [0, 1], got nan");
  EXPECT_EQ(error_of([&] { quantile(x, Tensor()); }),
            "quantile: q must be defined, got an undefined tensor");
}

TEST(Statistics, CovarianceKeepsItsDigitsUnderAutocast) {
  const Tensor x = tensor({{1.0, 2.0, 4.0}, {1000.5, 1001.25, 1003.125}});
  const Tensor plain = cov(x), correlations = corrcoef(x);
  const Autocast autocast(DType::bf16);
  EXPECT_TRUE(equal(cov(x), plain));
  EXPECT_TRUE(equal(corrcoef(x), correlations));
}

// torch.cov(x, aweights=w) of two dtypes.
TEST(Statistics, WeightsOfObservationsPromoteTheirCovariance) {
  const Tensor x = tensor({{1.0, 2.0, 4.0}, {3.0, 1.0, 0.0}});
  const Tensor covariance = cov(x, 1, {}, tensor({1.0, 2.0, 3.0}, {.dtype = f64}));
  EXPECT_EQ(covariance.dtype(), f64);
  EXPECT_TRUE(allclose(covariance,
                       tensor({{26.5 / 11, -21.5 / 11}, {-21.5 / 11, 20.5 / 11}}, {.dtype = f64}),
                       1e-14));
  EXPECT_EQ(cov(x.to(bf16), 1, {}, ones({3})).dtype(), f32);
  EXPECT_EQ(cov(x.to(i64), 1, {}, ones({3}, {.dtype = f64})).dtype(), f64);
}

// As many steps as there may be, of which none has anything to do.
TEST(Statistics, DifferencesOfNothing) {
  const Tensor many = empty({0, int64_t{1} << 34});
  EXPECT_EQ(to_string(diff(many, int64_t{1} << 40).shape()), "[0,0]");
  EXPECT_EQ(to_string(diff(many, (int64_t{1} << 34) - 3).shape()), "[0,3]");
  EXPECT_EQ(diff(empty({0, 5}, {.dtype = boolean}), 2).dtype(), boolean);
}

TEST(Statistics, MoreCountsThanATensorHas) {
  EXPECT_EQ(error_of([] {
              bincount(tensor({1, INT64_MAX}));
            }),
            "bincount: the number of counts must fit in 63 bits, got 9223372036854775807 as the "
            "largest");
}

TEST(Windows, ShareMemory) {
  const Tensor x = arange(10);
  const Tensor windows = unfold(x, 0, 4, 3);
  EXPECT_EQ(windows.to_vector<int64_t>(),
            (std::vector<int64_t>{0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9}));
  EXPECT_TRUE(windows.shares_storage(x));
  EXPECT_EQ(unfold(x, 0, 10, INT64_MAX).shape(), (Shape{1, 10}));
  EXPECT_EQ(unfold(tensor(3), 0, 1, 5).shape(), (Shape{1}));
}

TEST(Windows, SizesThatNoTensorHas) {
  for (const int64_t offset : {INT64_MIN, INT64_MAX})
    EXPECT_EQ(error_of([&] { diag(ones({2}), offset); }),
              "diag: diagonal must give a matrix of some size, got " + std::to_string(offset));
  const int64_t most = int64_t{1} << 40;
  EXPECT_EQ(error_of([&] {
              kron(empty({0, most}), empty({0, most}));
            }),
            "kron: sizes must fit 64 bits, got [0,1099511627776] and [0,1099511627776]");
}

TEST(Histc, OptionsByName) {
  const Tensor x = tensor({0.0, 1.0, 2.0, 2.5, 3.0});
  EXPECT_EQ(histc(x, {.bins = 2}).to_vector<float>(), (std::vector<float>{2, 3}));
  EXPECT_EQ(histc(x, {.bins = 3, .min = 1, .max = 4}).to_vector<float>(),
            (std::vector<float>{1, 2, 1}));
  EXPECT_EQ(histc(x, {.max = 2}).shape(), Shape{100});
}

}  // namespace
}  // namespace aorta
