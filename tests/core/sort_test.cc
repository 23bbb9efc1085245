#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/sort.h>
#include <aorta/core/parallel_for.h>

#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

// References: std::stable_sort and std::map.
namespace {

using namespace aorta;
const double kNaN = std::nan("");
const DType kDTypes[] = {DType::f32, DType::f64, DType::f16, DType::bf16,
                         DType::i64, DType::i32, DType::u8,  DType::boolean};

Tensor numbers_with_ties(const Shape& shape, DType dtype) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  uint64_t state = 88172645463325252u;
  for (double& v : values) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    v = static_cast<double>(state >> 33 & 255) -
        (is_floating(dtype) || item_size(dtype) >= 4 ? 128 : 0);
    if (dtype == DType::boolean) v = v > 100;
    if (is_floating(dtype) && v == 5) v = kNaN;
    if (is_floating(dtype) && v == 6) v = -kInf;
    if (is_floating(dtype) && v == 0 && (state & 1024)) v = -0.0;
  }
  return tensor(values, shape).to(dtype);
}

bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

std::vector<int64_t> sorted_places(const std::vector<double>& line, bool descending) {
  std::vector<int64_t> places(line.size());
  std::iota(places.begin(), places.end(), 0);
  std::stable_sort(places.begin(), places.end(), [&](int64_t a, int64_t b) {
    const double x = line[static_cast<size_t>(a)], y = line[static_cast<size_t>(b)];
    return descending ? before(y, x) : before(x, y);
  });
  return places;
}

// The lines of x along dim, in row-major order of the rest.
std::vector<std::vector<double>> lines_along(const Tensor& x, int dim) {
  Dims order;
  for (int d = 0; d < x.dim(); ++d) {
    if (d != dim) order.push_back(d);
  }
  order.push_back(dim);
  const std::vector<double> values = x.permute(order).to_vector<double>();
  const size_t length = static_cast<size_t>(x.shape()[dim]);
  std::vector<std::vector<double>> lines;
  for (size_t i = 0; i < values.size(); i += length)
    lines.emplace_back(values.begin() + static_cast<int64_t>(i),
                       values.begin() + static_cast<int64_t>(i + length));
  return lines;
}

void expect_same(double a, double b) {
  if (std::isnan(b))
    ASSERT_TRUE(std::isnan(a));
  else
    ASSERT_EQ(a, b);
}

// `result` holds the first `take` of each sorted line of x.
void expect_sorted(const ValuesIndices& result, const Tensor& x, int dim, bool descending,
                   size_t take) {
  ASSERT_EQ(result.values.dtype(), x.dtype());
  ASSERT_EQ(result.indices.dtype(), i64);
  const auto lines = lines_along(x, dim);
  const auto values = lines_along(result.values, dim), indices = lines_along(result.indices, dim);
  ASSERT_EQ(values.size(), lines.size());
  for (size_t l = 0; l < lines.size(); ++l) {
    const std::vector<int64_t> places = sorted_places(lines[l], descending);
    ASSERT_EQ(values[l].size(), take);
    for (size_t i = 0; i < take; ++i) {
      ASSERT_EQ(indices[l][i], static_cast<double>(places[i])) << name(x.dtype()) << " line " << l;
      ASSERT_NO_FATAL_FAILURE(expect_same(values[l][i], lines[l][static_cast<size_t>(places[i])]));
    }
  }
}

TEST(Sort, IsStableForEveryDTypeAndLayout) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers_with_ties({2, 3, 1040}, dtype);
    for (const Tensor& layout :
         {x, x.permute({1, 2, 0}), x.permute({2, 0, 1}), x.slice(2, 0, 1040, 9)}) {
      for (int dim = 0; dim < 3; ++dim) {
        for (const bool descending : {false, true}) {
          const size_t length = static_cast<size_t>(layout.shape()[dim]);
          ASSERT_NO_FATAL_FAILURE(
              expect_sorted(sort(layout, dim, descending, true), layout, dim, descending, length));
          for (const size_t k : {size_t{1}, length / 2 + 1, length}) {
            ASSERT_NO_FATAL_FAILURE(
                expect_sorted(topk(layout, static_cast<int64_t>(k), dim, descending), layout, dim,
                              descending, k));
          }
        }
      }
    }
  }
}

// Few of many are found in one pass: with ties, NaN, and in every order of what comes.
TEST(Sort, FewOfManyAreTheFirstOfAll) {
  const int64_t n = 5000;
  const Tensor mixed = numbers_with_ties({2, n}, f32).clone();
  mixed.select(0, 1).slice(0, 0, n, 700).fill_(kNaN);
  for (const Tensor& x : {mixed, arange(n).view({1, n}), -arange(n).view({1, n}), ones({1, n}),
                          numbers_with_ties({3, n}, u8), numbers_with_ties({n, 2}, bf16).t()}) {
    for (const bool largest : {false, true}) {
      const ValuesIndices all = sort(x, 1, largest, true);
      for (const int64_t k : {1, 3, 16, 17, 100, 300}) {
        const ValuesIndices few = topk(x, k, 1, largest);
        EXPECT_TRUE(equal(few.indices, all.indices.narrow(1, 0, k))) << k;
        const ValuesIndices places = topk(x, k, 1, largest, false);
        EXPECT_TRUE(equal(places.indices, sort(few.indices, 1).values)) << k;
      }
    }
  }
  const Tensor wide = numbers_with_ties({20000}, f64);
  EXPECT_TRUE(
      equal(topk(wide, 1000).indices, sort(wide, 0, true, true).indices.narrow(0, 0, 1000)));
}

TEST(Sort, NaNIsLargestAndZerosAreEqual) {
  const Tensor x = tensor({kNaN, 1.0, 0.0, -0.0, -kInf, kInf, kNaN});
  EXPECT_EQ(argsort(x).to_vector<int64_t>(), (std::vector<int64_t>{4, 2, 3, 1, 5, 0, 6}));
  EXPECT_EQ(argsort(x, 0, true).to_vector<int64_t>(), (std::vector<int64_t>{0, 6, 5, 1, 2, 3, 4}));
  EXPECT_TRUE(std::signbit(sort(x).values.to_vector<double>()[2]));
  EXPECT_EQ(topk(x, 3).indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 6, 5}));
}

TEST(Sort, IntegersAtTheEndsOfTheirRange) {
  const int64_t low = std::numeric_limits<int64_t>::min(),
                high = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(argsort(tensor(std::vector<int64_t>{high, -1, low, 0})).to_vector<int64_t>(),
            (std::vector<int64_t>{2, 1, 3, 0}));
  EXPECT_EQ(argsort(tensor(std::vector<int32_t>{INT32_MAX, -1, INT32_MIN, 0})).to_vector<int64_t>(),
            (std::vector<int64_t>{2, 1, 3, 0}));
}

TEST(Sort, TopkUnsortedAndKthValue) {
  const Tensor x = tensor({5, 1, 4, 1, 3});
  EXPECT_EQ(topk(x, 2, 0, true, false).indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(topk(x, 3, 0, false, false).indices.to_vector<int64_t>(),
            (std::vector<int64_t>{1, 3, 4}));
  EXPECT_EQ(topk(x, 5, 0, true, false).indices.to_vector<int64_t>(),
            (std::vector<int64_t>{0, 1, 2, 3, 4}));
  const Tensor many = numbers_with_ties({1500}, f32);
  std::vector<int64_t> places = topk(many, 1000).indices.to_vector<int64_t>();
  std::sort(places.begin(), places.end());
  EXPECT_EQ(topk(many, 1000, 0, true, false).indices.to_vector<int64_t>(), places);
  EXPECT_EQ(kthvalue(x, 3).values.item<int64_t>(), 3);
  EXPECT_EQ(kthvalue(x, 2).indices.item<int64_t>(), 3);
  EXPECT_EQ(kthvalue(tensor({{3, 1}, {2, 4}}), 1, 1, true).values.shape(), Shape({2, 1}));
}

// Some lines are short, and the keys of others are counted first.
TEST(Sort, TheKthIsThatOfASortedLine) {
  for (const DType dtype : kDTypes) {
    for (const int64_t length : {9, 32, 33, 127, 128, 129, 700, 4097, 5000}) {
      const Tensor x = numbers_with_ties({2, length, 3}, dtype);
      if (is_floating(dtype)) x.select(2, 1).narrow(1, 5, 2).fill_(std::nan(""));
      const Tensor places = sort(x, 1, false, true).indices;
      for (const int64_t k : {int64_t{1}, int64_t{2}, length / 3, length / 2, length - 1, length}) {
        EXPECT_TRUE(equal(kthvalue(x, k, 1).indices, places.select(1, k - 1)))
            << name(dtype) << " " << k << " of " << length;
      }
      const int64_t most = std::max(length - 100, length / 2);
      EXPECT_TRUE(equal(topk(x, most, 1, false).indices, places.narrow(1, 0, most)));
    }
  }
}

// Keys of lines up to a length are kept; here a permutation of 0, 1, ..., n - 1.
TEST(Sort, TheKthOfALongLine) {
  for (const int64_t n : {131071, 131072, 131073, 400000}) {
    std::vector<double> numbers(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i)
      numbers[static_cast<size_t>(i)] = static_cast<double>(i * 10007 % n);
    for (const DType dtype : {f32, f64, i32}) {
      const Tensor x = tensor(numbers, {n}).to(dtype);
      for (const int64_t k : {n / 3, n / 2, n - 1}) {
        const ValuesIndices found = kthvalue(x, k);
        EXPECT_EQ(found.values.item<double>(), static_cast<double>(k - 1));
        EXPECT_EQ(found.indices.item<int64_t>() * 10007 % n, k - 1);
      }
    }
  }
}

TEST(Sort, SmallShapes) {
  EXPECT_EQ(sort(tensor(TensorData(2.0))).indices.item<int64_t>(), 0);
  EXPECT_EQ(topk(tensor(TensorData(2.0)), 1).values.shape(), Shape());
  EXPECT_EQ(sort(empty({0})).indices.shape(), Shape({0}));
  EXPECT_EQ(topk(empty({3, 4}), 0, 0).values.shape(), Shape({0, 4}));
  EXPECT_EQ(sort(empty({2, 0, 3}), 0).values.shape(), Shape({2, 0, 3}));
}

TEST(Sort, ResultsDoNotDependOnThreads) {
  const int threads = get_num_threads();
  const Tensor x = numbers_with_ties({40, 3000}, f32);
  set_num_threads(1);
  const std::vector<int64_t> one = argsort(x).to_vector<int64_t>();
  set_num_threads(3);
  EXPECT_EQ(argsort(x).to_vector<int64_t>(), one);
  set_num_threads(threads);
}

TEST(Unique, OfElements) {
  for (const DType dtype : kDTypes) {
    const Tensor x = numbers_with_ties({30, 50}, dtype).t();
    const Unique result = unique(x, true, true, true);
    const std::vector<double> values = result.values.to_vector<double>();
    const std::vector<int64_t> inverse = result.inverse.to_vector<int64_t>();
    const std::vector<int64_t> counts = result.counts.to_vector<int64_t>();
    const std::vector<double> input = x.to_vector<double>();
    std::map<double, int64_t> numbers_of;
    int64_t nans = 0;
    for (const double v : input) {
      if (std::isnan(v))
        ++nans;
      else
        ++numbers_of[v];
    }
    ASSERT_EQ(result.inverse.shape(), x.shape());
    ASSERT_EQ(values.size(), numbers_of.size() + static_cast<size_t>(nans));
    size_t i = 0;
    for (const auto& [value, count] : numbers_of) {
      EXPECT_EQ(values[i], value);
      EXPECT_EQ(counts[i++], count);
    }
    for (; i < values.size(); ++i) EXPECT_TRUE(std::isnan(values[i]) && counts[i] == 1);
    for (size_t j = 0; j < input.size(); ++j)
      ASSERT_NO_FATAL_FAILURE(expect_same(values[static_cast<size_t>(inverse[j])], input[j]));
  }
}

TEST(Unique, OfSlices) {
  const Tensor x = tensor({{2, 1, 2, 2}, {1, 5, 1, 0}});
  const Unique columns = unique_dim(x, 1, true, true, true);
  EXPECT_EQ(columns.values.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 2, 5, 0, 1}));
  EXPECT_EQ(columns.values.shape(), Shape({2, 3}));
  EXPECT_EQ(columns.inverse.to_vector<int64_t>(), (std::vector<int64_t>{2, 0, 2, 1}));
  EXPECT_EQ(columns.counts.to_vector<int64_t>(), (std::vector<int64_t>{1, 1, 2}));
  const Unique rows = unique_dim(tensor({{3, 4}, {1, 2}, {3, 4}}), 0);
  // PyTorch's rule: nothing to compare by. It would sort 2^40 places.
  EXPECT_EQ(
      error_of([] {
        unique_dim(empty({0, int64_t{1} << 40}), 1);
      }),
      "unique_dim: sizes must be positive, but for that of dim, got [0,1099511627776] and dim "
      "1");
  EXPECT_EQ(unique_dim(empty({0, 3}), 0).values.shape(), (Shape{0, 3}));
  EXPECT_EQ(rows.values.to_vector<int64_t>(), (std::vector<int64_t>{1, 2, 3, 4}));
  EXPECT_FALSE(rows.inverse.defined());
  EXPECT_FALSE(rows.counts.defined());
}

TEST(Unique, OfNothingAndOfAScalar) {
  EXPECT_EQ(unique(empty({0, 3}), true, true, true).values.shape(), Shape({0}));
  EXPECT_EQ(unique(empty({0, 3}), true, true, true).inverse.shape(), Shape({0, 3}));
  const Unique one = unique(tensor(TensorData(7)), true, true, true);
  EXPECT_EQ(one.values.shape(), Shape({1}));
  EXPECT_EQ(one.inverse.shape(), Shape());
  EXPECT_EQ(one.counts.item<int64_t>(), 1);
}

void expect_equal(const Unique& named, const Unique& placed) {
  EXPECT_TRUE(equal(named.values, placed.values));
  ASSERT_EQ(named.inverse.defined(), placed.inverse.defined());
  ASSERT_EQ(named.counts.defined(), placed.counts.defined());
  if (named.inverse.defined()) {
    EXPECT_TRUE(equal(named.inverse, placed.inverse));
  }
  if (named.counts.defined()) {
    EXPECT_TRUE(equal(named.counts, placed.counts));
  }
}

TEST(Sort, OptionsByNameAreThoseByPosition) {
  const Tensor x = numbers_with_ties({5, 7}, f64),
               few = numbers_with_ties({6, 3}, i32).remainder(2);
  EXPECT_TRUE(equal(sort(few, {.dim = 0}).indices, sort(few, 0).indices));
  EXPECT_TRUE(equal(sort(few, {.descending = true}).indices, sort(few, -1, true).indices));
  EXPECT_TRUE(equal(argsort(few, {.dim = 0, .descending = true}), argsort(few, 0, true)));
  EXPECT_TRUE(equal(topk(few, 2, {.dim = 0}).indices, topk(few, 2, 0).indices));
  EXPECT_TRUE(equal(topk(x, 3, {.largest = false}).indices, topk(x, 3, -1, false).indices));
  EXPECT_TRUE(equal(topk(x, 4, {.sorted = false}).indices, topk(x, 4, -1, true, false).indices));
  EXPECT_FALSE(equal(topk(x, 4, {.sorted = false}).indices, topk(x, 4).indices));
  EXPECT_EQ(topk(x, 2, {}).values.shape(), (Shape{2, 7}));  // bare braces are the number 0
  expect_equal(unique(few, {.return_inverse = true}), unique(few, true, true));
  expect_equal(unique(few, {.return_counts = true}), unique(few, true, false, true));
  expect_equal(unique_dim(few, 0, {.return_counts = true}), unique_dim(few, 0, true, false, true));
  expect_equal(unique_dim(few, 1, {.return_inverse = true}), unique_dim(few, 1, true, true));
  expect_equal(unique_consecutive(few, {.return_inverse = true}), unique_consecutive(few, true));
  expect_equal(unique_consecutive(few, {.return_counts = true, .dim = 1}),
               unique_consecutive(few, false, true, 1));
}

TEST(Sort, Errors) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(error_of([&] { sort(x, 2); }),
            "sort: dimension out of range, got dim 2 of a 2-d tensor");
  EXPECT_EQ(error_of([&] { topk(x, 4); }),
            "topk: k must be in the range of the dimension, got k 4 for dim 1 of [2,3]");
  EXPECT_EQ(error_of([&] { topk(x, -1); }),
            "topk: k must be in the range of the dimension, got k -1 for dim 1 of [2,3]");
  EXPECT_EQ(error_of([&] { kthvalue(x, 0, 0); }),
            "kthvalue: k must be in the range of the dimension, got k 0 for dim 0 of [2,3]");
}

}  // namespace
