#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/ops/sparse.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

// Against the same matrix with its zeros.
namespace aorta {
namespace {

constexpr DType kDTypes[] = {f32, f64, f16, bf16, i64, i32};

// (0, 1), (2, 0), (0, 1) again, (1, 3) and (2, 2).
SparseTensor small(DType dtype) {
  return sparse_coo_tensor(tensor({{0, 2, 0, 1, 2}, {1, 0, 1, 3, 2}}),
                           tensor({1.0, 2.0, 3.0, -4.0, 5.0}).to(dtype), Shape{3, 4});
}

Tensor dense(DType dtype) {
  return tensor({{0.0, 4.0, 0.0, 0.0}, {0.0, 0.0, 0.0, -4.0}, {2.0, 0.0, 5.0, 0.0}}).to(dtype);
}

TEST(Sparse, IsTheMatrixWithItsZeros) {
  for (const DType dtype : kDTypes) {
    SCOPED_TRACE(name(dtype));
    const SparseTensor a = small(dtype);
    EXPECT_TRUE(equal(a.to_dense(), dense(dtype)));
    EXPECT_TRUE(equal(a.t().to_dense(), dense(dtype).t()));
    EXPECT_TRUE(equal(to_sparse(dense(dtype)).to_dense(), dense(dtype)));
    const Tensor x = arange(8).view({4, 2}).to(dtype);
    EXPECT_TRUE(equal(sparse::mm(a, x), matmul(dense(dtype), x)));
    EXPECT_TRUE(equal(sparse::mm(a, x.select(1, 1)), matmul(dense(dtype), x.select(1, 1))));
    EXPECT_TRUE(
        equal(sparse::mm(a.t(), x.narrow(0, 0, 3)), matmul(dense(dtype).t(), x.narrow(0, 0, 3))));
    const Tensor y = arange(6).view({2, 3}).to(dtype);
    EXPECT_TRUE(equal(sparse::mm(y, a), matmul(y, dense(dtype))));
    EXPECT_TRUE(equal(sparse::mm(y[1], a), matmul(y[1], dense(dtype))));
    for (const int64_t dim : {0, 1, -1, -2})
      EXPECT_TRUE(equal(sparse::sum(a, dim), sum(dense(dtype), dim).to(dtype))) << dim;
    EXPECT_EQ(sparse::sum(a).item<double>(), 7);
    EXPECT_EQ(a.to({.dtype = f32}).dtype(), f32);
  }
}

TEST(Sparse, CoalescedPlacesRiseRowByRow) {
  const SparseTensor a = small(f32).coalesce();
  EXPECT_EQ(a.indices.to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 2, 1, 3, 0, 2}));
  EXPECT_EQ(a.values.to_vector<float>(), (std::vector<float>{4, -4, 2, 5}));
  EXPECT_TRUE(a.is_coalesced);
  EXPECT_TRUE(a.coalesce().values.is_same(a.values));
  EXPECT_FALSE(a.t().is_coalesced);
  const SparseTensor again = to_sparse(dense(f32));
  EXPECT_TRUE(equal(again.indices, a.indices) && equal(again.values, a.values));
  std::ostringstream text;
  text << a;
  EXPECT_EQ(text.str(), "SparseTensor(4 of [3,4], f32)");
}

// Sums of half types are rounded once: 2049 isn't an f16.
TEST(Sparse, HalfTypesAddInF32) {
  const Tensor values = tensor({2048.0, 1.0, 1.0}).to(f16);
  const SparseTensor a = sparse_coo_tensor(tensor({{0, 0, 0}, {0, 1, 2}}), values);
  EXPECT_EQ(sparse::mm(a, ones({3}, {.dtype = f16})).item<float>(), 2050);
  EXPECT_EQ(sparse::sum(a, 1).item<float>(), 2050);
}

TEST(Sparse, SoftmaxIsThatOfTheElementsThatAreThere) {
  const Tensor some = where(ne(dense(f64), 0), dense(f64) * 100, -INFINITY);
  for (const int64_t dim : {0, 1}) {
    SparseTensor a = small(f64);
    a.values = a.values * 100;
    const Tensor found = sparse::softmax(a, dim).to_dense(), wanted = softmax(some, dim);
    EXPECT_TRUE(allclose(found, where(isnan(wanted), 0, wanted), 1e-12, 1e-300)) << dim;
  }
}

TEST(Sparse, WithoutElementsAndWithoutAShape) {
  const SparseTensor none =
      sparse_coo_tensor(zeros({2, 0}, {.dtype = i64}), zeros({0}), Shape{2, 3});
  EXPECT_TRUE(equal(none.to_dense(), zeros({2, 3})));
  EXPECT_TRUE(equal(sparse::mm(none.coalesce(), ones({3, 2})), zeros({2, 2})));
  EXPECT_EQ(sparse::softmax(none, 1).nnz(), 0);
  EXPECT_EQ(to_sparse(zeros({0, 3})).shape(), (Shape{0, 3}));
  EXPECT_EQ(sparse_coo_tensor(tensor({{4, 0}, {1, 2}}), ones({2})).shape(), (Shape{5, 3}));
}

TEST(Sparse, ARandomGraph) {
  manual_seed(3);
  const Tensor full = where(lt(rand({70, 90}), 0.1), randn({70, 90}), 0).to(f64);
  const Tensor x = randn({90, 33}).to(f64);
  EXPECT_TRUE(allclose(sparse::mm(to_sparse(full), x), matmul(full, x), 1e-12, 1e-12));
}

TEST(Sparse, WhatItRefuses) {
  const Tensor places = tensor({{0, 2}, {1, 3}}), values = ones({2});
  const auto made = [](const Tensor& indices, const Tensor& of, const Shape& shape) {
    return error_of([&] { sparse_coo_tensor(indices, of, shape); });
  };
  EXPECT_EQ(made(tensor({{1}, {2}, {3}}), ones({1}), {3, 4}),
            "sparse_coo_tensor: indices must be whole numbers (2, n), got i64 [3,1]");
  EXPECT_EQ(made(ones({2, 1}), ones({1}), {3, 4}),
            "sparse_coo_tensor: indices must be whole numbers (2, n), got f32 [2,1]");
  EXPECT_EQ(made(places, ones({3}), {3, 4}),
            "sparse_coo_tensor: values must be (n), got [3] for indices [2,2]");
  EXPECT_EQ(made(places, values, {3, 3}),
            "sparse_coo_tensor: indices must lie within the shape, got 3 in dimension 1 of [3,3]");
  EXPECT_EQ(made(places - 1, values, {3, 3}),
            "sparse_coo_tensor: indices can't be negative, got -1");
  EXPECT_EQ(made(places, values, {int64_t{1} << 32, int64_t{1} << 32}),
            "sparse_coo_tensor: the matrix must have fewer than 2^63 elements, got "
            "[4294967296,4294967296]");
  EXPECT_EQ(made(places, values, {3}), "sparse_coo_tensor: shape must be (M, N), got [3]");
  EXPECT_EQ(made(places, Tensor(), {3, 4}),
            "sparse_coo_tensor: values must be defined, got an undefined tensor");
  const SparseTensor a = small(f32);
  EXPECT_EQ(error_of([&] {
              sparse::mm(a, ones({3, 2}));
            }),
            "sparse.mm: the inner sizes must match, got [3,4] and [3,2]");
  EXPECT_EQ(error_of([&] { sparse::mm(a, ones({4}, {.dtype = f64})); }),
            "sparse.mm: the operands must have one dtype, got f32 and f64");
  EXPECT_EQ(error_of([&] { sparse::mm(a, ones({})); }),
            "sparse.mm: dense must be (N, K) or (N), got []");
  EXPECT_EQ(error_of([&] {
              sparse::mm(ones({2, 4}), a);
            }),
            "sparse.mm: the inner sizes must match, got [2,4] and [3,4]");
  EXPECT_EQ(error_of([&] {
              sparse::mm(ones({2, 2, 3}), a);
            }),
            "sparse.mm: dense must be (K, M) or (M), got [2,2,3]");
  EXPECT_EQ(error_of([&] { sparse::sum(a, 2); }), "sparse.sum: dim must be -2 to 1, got 2");
  EXPECT_EQ(error_of([&] { sparse::softmax(small(i64), 1); }),
            "sparse.softmax: dtype must be floating, got i64");
  EXPECT_EQ(error_of([&] { to_sparse(ones({2})); }), "to_sparse: input must be a matrix, got [2]");
  EXPECT_EQ(error_of([&] { SparseTensor().to_dense(); }),
            "to_dense: indices must be defined, got an undefined tensor");
}

}  // namespace
}  // namespace aorta
