#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/view.h>
#include <aorta/core/parallel_for.h>
#include <aorta/tests/core/matrices.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace aorta {
namespace {

double unit_roundoff(DType dtype) {
  return dtype == f64 ? 0x1p-53 : dtype == f32 ? 0x1p-24 : dtype == f16 ? 0x1p-11 : 0x1p-8;
}

// |error| <= c u sum |a| |b|, where the sum is done in f32 for half types and rounded once.
void expect_close(const Tensor& output, const Reference& expected, DType dtype, double c = 4) {
  const std::vector<double> values = output.to_vector<double>();
  ASSERT_EQ(values.size(), expected.sum.size());
  const double sums = c * unit_roundoff(dtype == f64 ? f64 : f32);
  for (size_t i = 0; i < values.size(); ++i) {
    double bound = sums * expected.magnitude[i];
    if (is_half(dtype)) bound += unit_roundoff(dtype) * std::fabs(expected.sum[i]) + 0x1p-25;
    ASSERT_LE(std::fabs(values[i] - expected.sum[i]), bound) << "element " << i;
  }
}

void expect_equal(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  ASSERT_EQ(a.dtype(), b.dtype());
  const Tensor x = a.contiguous(), y = b.contiguous();
  ASSERT_EQ(std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())), 0);
}

void expect_refused(const char* text, void (*run)()) { EXPECT_EQ(error_of(run), text); }

const Sizes kSizes[] = {{1, 1, 1},    {1, 1, 300},    {1, 40, 70},    {40, 1, 70},   {5, 7, 3},
                        {10, 30, 78}, {33, 33, 33},   {12, 32, 8},    {13, 33, 385}, {64, 48, 20},
                        {37, 100, 5}, {50, 257, 400}, {100, 60, 1200}};

}  // namespace

TEST(Matmul, IsWithinItsErrorBoundInEveryLayout) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const auto [m, n, k] : kSizes) {
      const Tensor a = uniform({m, k}, dtype), b = uniform({k, n}, dtype);
      const Reference expected = reference(a, b);
      for (int i = 0; i < static_cast<int>(MatrixLayout::last); ++i) {
        for (int j = 0; j < static_cast<int>(MatrixLayout::last); ++j) {
          SCOPED_TRACE(to_string(dtype) + " " + to_string(Dims{m, n, k, i, j}));
          const Tensor c = mm(laid_out(a, static_cast<MatrixLayout>(i)),
                              laid_out(b, static_cast<MatrixLayout>(j)));
          ASSERT_EQ(c.shape(), (Shape{m, n}));
          ASSERT_EQ(c.dtype(), dtype);
          expect_close(c, expected, dtype);
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

// Sums that only grow show whether they are cut into parts: one running sum would be off by 50 u.
TEST(Matmul, OfPositiveNumbersIsWithinItsErrorBound) {
  for (const auto [m, n, k] :
       {Sizes{1, 1, 100000}, {10, 30, 20000}, {40, 40, 20000}, {70, 70, 20000}}) {
    const Tensor a = abs(uniform({m, k}, f32)), b = abs(uniform({k, n}, f32));
    const Reference expected = reference(a, b);
    expect_close(mm(a, b), expected, f32, 16);
    expect_close(mm(a, laid_out(b, MatrixLayout::columns)), expected, f32, 16);
  }
}

TEST(Matmul, OfSmallIntegersIsExactInEveryDtypeAndLayout) {
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    for (const auto [m, n, k] : {Sizes{3, 5, 7}, {1, 50, 60}, {45, 1, 60}, {40, 70, 59}}) {
      const Tensor a = integers({m, k}, dtype), b = integers({k, n}, dtype);
      const Tensor expected = tensor(reference(a, b).sum, Shape{m, n}).to(dtype);
      for (int i = 0; i < static_cast<int>(MatrixLayout::last); ++i) {
        for (int j = 0; j < static_cast<int>(MatrixLayout::last); ++j) {
          SCOPED_TRACE(to_string(dtype) + " " + to_string(Dims{m, n, k, i, j}));
          expect_equal(mm(laid_out(a, static_cast<MatrixLayout>(i)),
                          laid_out(b, static_cast<MatrixLayout>(j))),
                       expected);
        }
      }
    }
  }
}

// Sizes beyond one strip of packed panels, and sums beyond one part.
TEST(Matmul, OfLargeSizesIsExact) {
  for (const auto [m, n, k] :
       {Sizes{6200, 40, 9}, {40, 6200, 9}, {7000, 2, 3}, {35, 34, 2000}, {3, 4, 70000}}) {
    SCOPED_TRACE(to_string(Dims{m, n, k}));
    const Tensor a = integers({m, k}, f32), b = integers({k, n}, f32);
    const Tensor expected = tensor(reference(a, b).sum, Shape{m, n}).to(f32);
    expect_equal(mm(a, b), expected);
    expect_equal(mm(laid_out(a, MatrixLayout::columns), laid_out(b, MatrixLayout::columns)),
                 expected);
  }
}

TEST(Matmul, ReadsExpandedOperands) {
  const Tensor row = uniform({1, 40}, f32), column = uniform({50, 1}, f32);
  const Tensor other = uniform({40, 45}, f32);
  expect_close(mm(row.expand({50, 40}), other), reference(row.expand({50, 40}).clone(), other),
               f32);
  expect_close(mm(column.expand({50, 40}), other), reference(column.expand({50, 40}), other), f32);
  const Tensor wide = uniform({1, 33}, f32).expand({40, 33});
  expect_close(mm(row, wide), reference(row, wide), f32);
  expect_close(mm(other.t(), wide), reference(other.t(), wide), f32);
}

TEST(Matmul, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads = get_num_threads();
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const auto [m, n, k] : {Sizes{300, 300, 300},
                                 {10, 5000, 400},
                                 {2000, 10, 300},
                                 {200, 257, 1000},
                                 {1, 1, 200000},
                                 {9, 9, 70000},
                                 {1, 4000, 700}}) {
      const Tensor a = uniform({m, k}, dtype), b = uniform({k, n}, dtype);
      const Tensor bt = laid_out(b, MatrixLayout::columns);
      set_num_threads(1);
      const Tensor expected = mm(a, b), expected_t = mm(a, bt);
      for (const int count : {2, 3, 5}) {
        SCOPED_TRACE(to_string(dtype) + " " + to_string(Dims{m, n, k, count}));
        set_num_threads(count);
        expect_equal(mm(a, b), expected);
        expect_equal(mm(a, bt), expected_t);
      }
    }
    const Tensor a = uniform({9, 60, 70}, dtype), b = uniform({9, 70, 80}, dtype);
    set_num_threads(1);
    const Tensor expected = bmm(a, b);
    set_num_threads(3);
    expect_equal(bmm(a, b), expected);
    // One item of a batch, or a product inside another parallel_for, is no other product.
    expect_equal(mm(a[4], b[4]), expected[4]);
  }
  set_num_threads(threads);
}

TEST(Matmul, BroadcastsBatches) {
  const std::pair<Shape, Shape> cases[] = {{{4, 2, 3}, {3, 5}},
                                           {{2, 3}, {4, 3, 5}},
                                           {{4, 1, 2, 3}, {6, 3, 5}},
                                           {{1, 2, 3}, {7, 3, 5}},
                                           {{2, 1, 3, 2, 3}, {4, 1, 3, 5}},
                                           {{1, 1, 2, 3}, {1, 3, 5}},
                                           {{3, 40, 50}, {3, 50, 60}}};
  for (const auto& [a_shape, b_shape] : cases) {
    SCOPED_TRACE(to_string(a_shape) + " " + to_string(b_shape));
    const Tensor a = integers(a_shape, f32), b = integers(b_shape, f32);
    Shape batch_a = a_shape, batch_b = b_shape;
    batch_a.resize(a.dim() - 2);
    batch_b.resize(b.dim() - 2);
    const Shape batch = broadcast_shapes("test", batch_a, batch_b);
    Shape full_a = batch, full_b = batch, full_c = batch;
    for (const int64_t size : {a.size(-2), a.size(-1)}) full_a.push_back(size);
    for (const int64_t size : {b.size(-2), b.size(-1)}) full_b.push_back(size);
    for (const int64_t size : {a.size(-2), b.size(-1)}) full_c.push_back(size);
    const Tensor as = a.expand(full_a).reshape({batch.numel(), a.size(-2), a.size(-1)});
    const Tensor bs = b.expand(full_b).reshape({batch.numel(), b.size(-2), b.size(-1)});
    Tensor expected = empty({batch.numel(), a.size(-2), b.size(-1)});
    for (int64_t i = 0; i < batch.numel(); ++i)
      expected[i].copy_(tensor(reference(as[i], bs[i]).sum, Shape{a.size(-2), b.size(-1)}));
    expected = expected.view(full_c);
    for (int i = 0; i < static_cast<int>(MatrixLayout::last); ++i) {
      const MatrixLayout layout = static_cast<MatrixLayout>(i);
      expect_equal(matmul(laid_out(a, layout), b), expected);
      expect_equal(matmul(a, laid_out(b, layout)), expected);
    }
    // Batch dimensions out of order.
    if (a.dim() < 4) continue;
    const Tensor moved = a.transpose(0, 1).contiguous().transpose(0, 1);
    expect_equal(matmul(moved, b), expected);
  }
}

TEST(Matmul, TakesVectors) {
  const Tensor v = tensor({1, 2, 3}, {.dtype = f32}), w = tensor({4, -5, 6}, {.dtype = f32});
  const Tensor a = tensor({{1, 0, 2}, {0, 1, -1}}, {.dtype = f32});
  EXPECT_EQ(matmul(v, w).shape(), Shape{});
  EXPECT_EQ(matmul(v, w).item<float>(), 12);
  EXPECT_EQ(dot(v, w).item<float>(), 12);
  EXPECT_EQ(matmul(a, v).to_vector<float>(), (std::vector<float>{7, -1}));
  EXPECT_EQ(mv(a, v).to_vector<float>(), (std::vector<float>{7, -1}));
  EXPECT_EQ(matmul(v, a.t()).to_vector<float>(), (std::vector<float>{7, -1}));
  const Tensor batch = a.expand({4, 2, 3});
  EXPECT_EQ(matmul(batch, v).shape(), (Shape{4, 2}));
  EXPECT_EQ(matmul(batch, v)[3].to_vector<float>(), (std::vector<float>{7, -1}));
  EXPECT_EQ(matmul(tensor({2, 3}, {.dtype = f32}), batch)[1].to_vector<float>(),
            (std::vector<float>{2, 3, 1}));
  EXPECT_EQ(outer(v, w).to_vector<float>(),
            (std::vector<float>{4, -5, 6, 8, -10, 12, 12, -15, 18}));
}

TEST(Matmul, OfNothingIsZero) {
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    const auto make = [&](const Shape& shape) { return ones(shape, {.dtype = dtype}); };
    expect_equal(mm(make({2, 0}), make({0, 3})), zeros({2, 3}, {.dtype = dtype}));
    expect_equal(addmm(make({3}), make({2, 0}), make({0, 3})), make({2, 3}));
    expect_equal(bmm(make({2, 4, 0}), make({2, 0, 1})), zeros({2, 4, 1}, {.dtype = dtype}));
    expect_equal(linear(make({2, 0}), make({3, 0}), make({3})), make({2, 3}));
    EXPECT_EQ(dot(make({0}), make({0})).item<double>(), 0);
    EXPECT_EQ(mm(make({0, 4}), make({4, 3})).shape(), (Shape{0, 3}));
    EXPECT_EQ(mm(make({2, 4}), make({4, 0})).shape(), (Shape{2, 0}));
    EXPECT_EQ(matmul(make({0, 2, 4}), make({4, 3})).shape(), (Shape{0, 2, 3}));
    EXPECT_EQ(matmul(make({0, 2, 4}), make({1, 4, 3})).shape(), (Shape{0, 2, 3}));
    EXPECT_EQ(linear(make({0, 5, 4}), make({3, 4})).shape(), (Shape{0, 5, 3}));
  }
}

// One NaN or infinity reaches its row (or column) of the result and nothing beside it.
TEST(Matmul, PropagatesNanAndInfinity) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const auto [m, n, k] : {Sizes{5, 7, 9}, {37, 41, 77}, {40, 3, 64}}) {
      for (int layout = 0; layout < static_cast<int>(MatrixLayout::last); ++layout) {
        const Tensor a = zeros({m, k}, {.dtype = dtype}), b = zeros({k, n}, {.dtype = dtype});
        a.select(0, 2).select(0, k - 1).fill_(kInf);
        b.select(1, 1).select(0, k - 1).fill_(kNaN);
        b.select(1, n - 1).select(0, k - 1).fill_(2);
        const Tensor c = mm(laid_out(a, static_cast<MatrixLayout>(layout)),
                            laid_out(b, static_cast<MatrixLayout>(layout)))
                             .to(f64);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j) {
            const double value = c.at<double>({i, j});
            if (i == 2 && j == n - 1)
              ASSERT_EQ(value, kInf);
            else if (i == 2 || j == 1)  // 0 * inf, or a NaN
              ASSERT_TRUE(std::isnan(value)) << i << " " << j << " " << value;
            else
              ASSERT_EQ(value, 0) << i << " " << j;
          }
        }
      }
    }
  }
}

TEST(Matmul, WrapsIntegersAround) {
  const Tensor a = tensor({{200, 100}}, {.dtype = u8}), b = tensor({{2}, {3}}, {.dtype = u8});
  EXPECT_EQ(mm(a, b).item<int>(), (400 + 300) % 256);
  const int64_t large = int64_t{1} << 62;
  const Tensor x = tensor(std::vector<int64_t>{large, 3}, Shape{1, 2});
  const Tensor y = tensor(std::vector<int64_t>{6, -1}, Shape{2, 1});
  EXPECT_EQ(mm(x, y).item<int64_t>(), static_cast<int64_t>(static_cast<uint64_t>(large) * 6 - 3));
}

TEST(Addmm, ScalesAndBroadcasts) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({{5, 6, 7}, {8, 9, 10}});
  const std::vector<double> plain = {3 + 42, 3 + 48, 3 + 54, 3 + 94, 3 + 108, 3 + 122};
  for (const DType dtype : {f32, f64, f16, bf16, i64, i32, u8}) {
    SCOPED_TRACE(name(dtype));
    const Tensor x = a.to(dtype), y = b.to(dtype);
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3}, Shape{2, 1}, Shape{2, 3}}) {
      const Tensor three = full(shape, 3, {.dtype = dtype});
      // [1 2; 3 4] [5 6 7; 8 9 10] = [21 24 27; 47 54 61]
      EXPECT_EQ(addmm(three, x, y).to_vector<double>(),
                (std::vector<double>{24, 27, 30, 50, 57, 64}));
      EXPECT_EQ(addmm(three, x, y, {.beta = 1, .alpha = 2}).to_vector<double>(), plain);
      EXPECT_EQ(addmm(three, x, y, {.beta = 4, .alpha = 0}).to_vector<double>(),
                std::vector<double>(6, 12));
    }
  }
  const Tensor x = a.to(f64), y = b.to(f64);
  EXPECT_EQ(
      addmm(full({1}, 2.0, {.dtype = f64}), x, y, {.beta = 0.5, .alpha = -1}).to_vector<double>(),
      (std::vector<double>{-20, -23, -26, -46, -53, -60}));
}

TEST(Addmm, DoesNotReadWhatCountsZeroTimes) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    const Tensor nan = full({3, 3}, kNaN, {.dtype = dtype}), one = ones({3, 3}, {.dtype = dtype});
    expect_equal(addmm(nan, one, one, {.beta = 0}), full({3, 3}, 3, {.dtype = dtype}));
    expect_equal(addmm(one, nan, one, {.alpha = 0}), one);
    expect_equal(addmm(nan, nan, one, {.beta = 0, .alpha = 0}), zeros({3, 3}, {.dtype = dtype}));
  }
}

TEST(Addmm, RoundsHalfTypesOnce) {
  // 256 + 1 isn't a bf16; adding another 1 in f32 makes 258, which is one.
  const Tensor input = ones({1, 1}, {.dtype = bf16});
  const Tensor a = tensor({{256, 1}}, {.dtype = bf16}), b = ones({2, 1}, {.dtype = bf16});
  EXPECT_EQ(addmm(input, a, b).item<float>(), 258);
}

// Each way to multiply comes, with several blocks and strips: small integers are exact until they
// are rounded, once.
TEST(Addmm, IsExactInEverySizeAndLayoutOfTheInput) {
  for (const DType dtype : {f32, f64, f16, bf16}) {
    for (const auto [m, n, k] : {Sizes{100, 300, 40},
                                 {97, 513, 2100},
                                 {20, 70, 600},
                                 {70, 20, 600},
                                 {9, 9, 40000},
                                 {40, 50, 0}}) {
      const Tensor a = integers({m, k}, dtype), b = integers({k, n}, dtype);
      const Tensor product = tensor(reference(a, b).sum, Shape{m, n});
      std::vector<Tensor> inputs{integers({n}, dtype), integers({m, 1}, dtype)};
      for (int i = 0; i < static_cast<int>(MatrixLayout::last); ++i)
        inputs.push_back(laid_out(integers({m, n}, dtype), static_cast<MatrixLayout>(i)));
      for (const Tensor& input : inputs) {
        SCOPED_TRACE(to_string(dtype) + " " + to_string(Dims{m, n, k}) + " " +
                     to_string(input.strides()));
        expect_equal(addmm(input, a, b), (input.to(f64) + product).to(dtype));
        expect_equal(addmm(input, a, laid_out(b, MatrixLayout::columns), {.beta = 2, .alpha = -3}),
                     (2 * input.to(f64) - 3 * product).to(dtype));
      }
    }
  }
}

TEST(Baddbmm, AddsToABatch) {
  const Tensor a = integers({3, 4, 5}, f32), b = integers({3, 5, 6}, f32);
  const Tensor input = integers({3, 1, 6}, f32);
  const Tensor expected = add(mul(input, 2), mul(bmm(a, b), -3));
  expect_equal(baddbmm(input, a, b, {.beta = 2, .alpha = -3}), expected);
}

TEST(Linear, IsTheProductWithTheTransposedWeight) {
  for (const DType dtype : {f32, f64, f16, bf16, i64}) {
    SCOPED_TRACE(name(dtype));
    const Tensor weight = integers({30, 20}, dtype), bias = integers({30}, dtype);
    const Tensor x = integers({4, 3, 20}, dtype);
    const Tensor product = matmul(x, weight.t());
    expect_equal(linear(x, weight), product);
    expect_equal(linear(x, weight, bias), add(product, bias));
    expect_equal(linear(x[0][0], weight, bias), add(product[0][0], bias));
    expect_equal(linear(x.transpose(0, 1), weight, bias), add(product, bias).transpose(0, 1));
    expect_equal(linear(x, weight.t().contiguous().t(), bias), add(product, bias));
    expect_equal(linear(x, weight[0], bias[0]), add(product, bias).select(2, 0));
  }
}

TEST(Tensordot, SumsOverPairedDimensions) {
  const Tensor a = integers({3, 4, 5}, f32), b = integers({4, 3, 2}, f32);
  const Tensor expected = empty({5, 2});
  for (int64_t i = 0; i < 5; ++i) {
    for (int64_t j = 0; j < 2; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < 3; ++p) {
        for (int64_t q = 0; q < 4; ++q) sum += a.at<float>({p, q, i}) * b.at<float>({q, p, j});
      }
      expected.at<float>({i, j}) = sum;
    }
  }
  expect_equal(tensordot(a, b, {0, 1}, {1, 0}), expected);
  expect_equal(tensordot(a, b, {-3, -2}, {-2, -3}), expected);
  expect_equal(tensordot(a.permute({2, 0, 1}), b.permute({1, 0, 2})), expected);
  expect_equal(tensordot(a, b, 0), add(mul(a.view({3, 4, 5, 1, 1, 1}), b), 0));  // no -0
}

TEST(Matmul, NamesWhatIsWrong) {
  expect_refused("matmul: both operands need at least 1 dimension, got [] and [3]",
                 [] { matmul(ones({}), ones({3})); });
  expect_refused("matmul: the inner sizes must match, got [2,3] and [4,5]", [] {
    matmul(ones({2, 3}), ones({4, 5}));
  });
  expect_refused("matmul: shapes must broadcast, got [2] and [3]", [] {
    matmul(ones({2, 2, 3}), ones({3, 3, 5}));
  });
  expect_refused("mm: input must have 2 dimensions, got [3]", [] { mm(ones({3}), ones({3, 1})); });
  expect_refused("mm: the operands must have one dtype, got f32 and f64", [] {
    mm(ones({2, 2}), ones({2, 2}, {.dtype = f64}));
  });
  expect_refused("mm: bool has no matrix product, got bool", [] {
    mm(ones({2, 2}, {.dtype = boolean}), ones({2, 2}, {.dtype = boolean}));
  });
  expect_refused("bmm: the batch sizes must match, got [2,2,2] and [3,2,2]", [] {
    bmm(ones({2, 2, 2}), ones({3, 2, 2}));
  });
  expect_refused("mv: vec must have 1 dimension, got [2,1]", [] {
    mv(ones({2, 2}), ones({2, 1}));
  });
  expect_refused("dot: the inner sizes must match, got [2] and [3]",
                 [] { dot(ones({2}), ones({3})); });
  expect_refused("addmm: shapes must broadcast, got [3] and [2,2]", [] {
    addmm(ones({3}), ones({2, 2}), ones({2, 2}));
  });
  expect_refused("addmm: integer operands take integer beta and alpha, got 0.5 and 1", [] {
    const Tensor x = ones({2, 2}, {.dtype = i64});
    addmm(x, x, x, {.beta = 0.5});
  });
  expect_refused("linear: bias must be (out), got [2] for weight [3,4]", [] {
    linear(ones({2, 4}), ones({3, 4}), ones({2}));
  });
  expect_refused(
      "tensordot: the sizes of paired dimensions must match, got [2,3] and [4,5] paired "
      "by [1] and [0]",
      [] {
        tensordot(ones({2, 3}), ones({4, 5}), 1);
      });
}

// Rows that don't count as one dimension, hidden by one of size 1; and rows that are repeated.
TEST(Linear, OfRowsThatLieApart) {
  manual_seed(3);
  const Tensor weight = randn({5, 4}), bias = randn({5});
  const Tensor x = randn({2, 1, 6, 4}), y = randn({3, 1, 4});
  const Tensor inputs[] = {x.slice(2, 0, 3),
                           x.slice(2, 1, 6, 2),
                           x.transpose(0, 2),
                           x.narrow(0, 1, 1),
                           y.expand({3, 5, 4}),
                           y.narrow(0, 1, 1).expand({6, 1, 4}),
                           y.unsqueeze(0).expand({2, 3, 5, 4}),
                           x.slice(3, 0, 4, 1)};
  for (const Tensor& input : inputs) {
    EXPECT_EQ(linear(input, weight, bias).to_vector<float>(),
              linear(input.contiguous(), weight, bias).to_vector<float>())
        << to_string(input.shape());
    EXPECT_EQ(matmul(input, weight.t()).to_vector<float>(),
              matmul(input.contiguous(), weight.t()).to_vector<float>())
        << to_string(input.shape());
  }
}

}  // namespace aorta
