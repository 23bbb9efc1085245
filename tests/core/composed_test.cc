#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/searchsorted.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/ops/statistics.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

// What the catalogue's samples of functions that are composed of others leave open: operands of
// different dtypes, the ends of the integers, neighbours of numbers, shapes without elements.
namespace aorta {
namespace {

TEST(Composed, OperandsOfDifferentDtypes) {
  const Tensor sum = addr(tensor({1}), tensor({1.5}), tensor({2.0, 3.0}, {.dtype = f64}));
  EXPECT_EQ(sum.dtype(), f64);
  EXPECT_EQ(sum.to_vector<double>(), (std::vector<double>{4, 5.5}));
  EXPECT_EQ(isin(tensor({1, 2}), tensor({2.0, 2.5})).to_vector<bool>(),
            (std::vector<bool>{false, true}));
  EXPECT_EQ(isin(tensor({1, 2}), 2.5).to_vector<bool>(), (std::vector<bool>{false, false}));
  EXPECT_EQ(isin(tensor({true, false}), tensor({true})).to_vector<bool>(),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(trapezoid(tensor({1.0, 2.0, 4.0}), tensor({0, 1, 3})).item<double>(), 7.5);
  EXPECT_EQ(cdist(ones({1, 2}), zeros({1, 2}, {.dtype = f64})).dtype(), f64);
}

TEST(Composed, WithoutElements) {
  EXPECT_EQ(trapezoid(zeros({2, 0})).to_vector<float>(), std::vector<float>(2));
  EXPECT_EQ(cumulative_trapezoid(zeros({0})).shape(), (Shape{0}));
  EXPECT_EQ(cdist(zeros({2, 0}), zeros({3, 0}), INFINITY).sum().item<float>(), 0);
  EXPECT_EQ(addbmm(ones({}), zeros({2, 3, 0}), zeros({2, 0, 2})).sum().item<float>(), 6);
  EXPECT_EQ(tril_indices(int64_t{1} << 40, 0).shape(), (Shape{2, 0}));
  EXPECT_EQ(triu_indices(3, int64_t{1} << 40, INT64_MAX).shape(), (Shape{2, 0}));
  EXPECT_EQ(tril_indices(3, 3, INT64_MIN).shape(), (Shape{2, 0}));
  EXPECT_EQ(tril_indices(300, 300, 0, {.dtype = i32, .device = "meta"}).shape(), (Shape{2, 45150}));
}

// The rows and columns are as drawn by hand.
TEST(Composed, TriangleIndicesAreThoseOfTril) {
  for (int64_t rows = 0; rows < 5; ++rows) {
    for (int64_t columns = 0; columns < 5; ++columns) {
      for (int64_t offset = -6; offset <= 6; ++offset) {
        std::vector<int64_t> lower[2], upper[2];
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            if (c <= r + offset) lower[0].push_back(r), lower[1].push_back(c);
            if (c >= r + offset) upper[0].push_back(r), upper[1].push_back(c);
          }
        }
        const Tensor below = tril_indices(rows, columns, offset);
        const Tensor above = triu_indices(rows, columns, offset, {.dtype = i32});
        for (const int64_t k : {0, 1}) {
          EXPECT_EQ(below[k].to_vector<int64_t>(), lower[k]) << rows << " " << columns;
          EXPECT_EQ(above[k].to_vector<int64_t>(), upper[k]) << rows << " " << columns;
        }
      }
    }
  }
}

TEST(Composed, DivisorsOfTheEnds) {
  const int64_t least = INT64_MIN, most = INT64_MAX;
  EXPECT_EQ(
      gcd(tensor({least, least, least, most}), tensor({int64_t{6}, 0, -1, 7})).to_vector<int64_t>(),
      (std::vector<int64_t>{2, least, 1, std::gcd(most, int64_t{7})}));
  EXPECT_EQ(gcd(tensor({-12, 18}, {.dtype = i32}), 8).to_vector<int64_t>(),
            (std::vector<int64_t>{4, 2}));
  EXPECT_EQ(lcm(tensor({-4, 0, 6}), tensor({6, 5, 0})).to_vector<int64_t>(),
            (std::vector<int64_t>{12, 0, 0}));
  EXPECT_EQ(lcm(tensor({200}, {.dtype = u8}), 3).to_vector<int64_t>(),
            (std::vector<int64_t>{600 % 256}));
}

TEST(Composed, NeighboursOfNumbers) {
  const std::vector<double> values = {0, -0.0, 1, -1, 0x1p-1074, 1e308, INFINITY, -2.5, 3e38};
  for (const double target : {HUGE_VAL, -HUGE_VAL, 0.0, 1.0}) {
    const Tensor x = tensor(values), y = full({}, target, {.dtype = f64});
    const std::vector<double> next = nextafter(x, y).to_vector<double>();
    const std::vector<float> narrow = x.to(f32).to_vector<float>();
    const std::vector<float> next_narrow = nextafter(x.to(f32), target).to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(next[i], std::nextafter(values[i], target)) << values[i];
      EXPECT_EQ(next_narrow[i], std::nextafter(narrow[i], static_cast<float>(target)));
    }
  }
}

// A float may hold the product and not the power; what is rounded is rounded once.
TEST(Composed, ProductsWithPowersOfTwo) {
  const std::vector<float> values = {0,       -0.0f,    1,        -1.9999999f, 0x1p-149f,
                                     1e-40f,  0x1p127f, -3.4e38f, INFINITY,    0.3f,
                                     -1e-20f, 7,        NAN};
  for (int n = -300; n <= 300; ++n) {
    const std::vector<float> found = ldexp(tensor(values), n).to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      const float want = std::ldexp(values[i], n);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(found[i]) : found[i] == want)
          << values[i] << " 2^" << n << " " << found[i];
    }
  }
  const std::vector<float> powers = {0.5f,  -0.25f,  127.9f,   -149.6f,   1000.5f,
                                     1024,  -1074,   -1075,    1e30f,     -1e30f,
                                     88.7f, -126.5f, INFINITY, -INFINITY, NAN};
  for (const float x : values) {
    const std::vector<float> found = ldexp(full({}, x), tensor(powers)).to_vector<float>();
    for (size_t i = 0; i < powers.size(); ++i) {
      const double want = x * std::exp2(static_cast<double>(powers[i]));
      if (std::isnan(want)) {
        EXPECT_TRUE(std::isnan(found[i])) << x << " 2^" << powers[i] << " " << found[i];
      } else {
        EXPECT_FLOAT_EQ(found[i], static_cast<float>(want)) << x << " 2^" << powers[i];
      }
    }
  }
}

TEST(Composed, PlacesInASequenceThatIsSortedByPlaces) {
  const Tensor rows = tensor({{3.0, 1.0, 2.0}, {5.0, 7.0, 6.0}});
  const Tensor values = tensor({{1.5, 3.0}, {6.0, 8.0}});
  const Tensor order = argsort(rows, -1);
  using Places = std::vector<int64_t>;
  EXPECT_EQ(searchsorted(rows, values, {.sorter = order}).to_vector<int64_t>(),
            (Places{1, 2, 1, 3}));
  EXPECT_EQ(searchsorted(rows, values, {.right = true, .sorter = order}).to_vector<int64_t>(),
            (Places{1, 3, 2, 3}));
  EXPECT_EQ(searchsorted(sort(rows, -1).values, values, {.right = true}).to_vector<int64_t>(),
            (Places{1, 3, 2, 3}));
  EXPECT_EQ(error_of([&] { searchsorted(rows, values, {.sorter = order[0]}); }),
            "searchsorted: sorter must have the sequence's shape, got [3] for [2,3]");
  EXPECT_EQ(error_of([&] { searchsorted(rows, values, {.sorter = rows}); }),
            "searchsorted: sorter must be i64, got f32");
}

// As torch.searchsorted and torch.bucketize of two dtypes: f32's 0.1 is above f64's, a number's
// kind alone counts, and 2^24 + 1 isn't a number of f32.
TEST(Composed, PlacesAmongNumbersOfAnotherDType) {
  using Places = std::vector<int64_t>;
  const Tensor sequence = tensor({1, 3, 5});
  EXPECT_EQ(searchsorted(sequence, tensor({1.0, 1.5, 5.5})).to_vector<int64_t>(),
            (Places{0, 1, 3}));
  EXPECT_EQ(searchsorted(sequence, 1.5).item<int64_t>(), 1);
  EXPECT_EQ(bucketize(tensor({1.5}), sequence).item<int64_t>(), 1);
  EXPECT_EQ(searchsorted(tensor({0.1}), tensor({0.1}, {.dtype = f64}), true).item<int64_t>(), 0);
  EXPECT_EQ(searchsorted(tensor({0.1}), 0.1, true).item<int64_t>(), 1);
  EXPECT_EQ(searchsorted(tensor({16777217}), tensor({16777216.0}), true).item<int64_t>(), 1);
}

// 2047 / 1.017578125 is 2011.6, and 2012 in f16.
TEST(Composed, TruncatedQuotientsOfHalves) {
  const Tensor x = full({}, 2047, {.dtype = f16}), y = full({}, 1.017578125, {.dtype = f16});
  EXPECT_EQ(div(x, y).item<float>(), 2012);
  EXPECT_EQ(div(x, y, "trunc").item<float>(), 2011);
  EXPECT_EQ(div(x, 1.017578125, "trunc").item<float>(), 2011);
  EXPECT_EQ(div(tensor({7}), 2, nullptr).item<double>(), 3.5);
}

}  // namespace
}  // namespace aorta
