// LU factors and what is solved by them, against elimination by its definition.
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/parallel_for.h>
#include <aorta/core/tensor_methods.h>

#include <gtest/gtest.h>
#include <algorithm>
#include <cmath>

namespace aorta {
namespace {

Tensor random_matrix(const Shape& shape, DType dtype) {
  static Generator numbers(5);
  return uniform_(empty(shape, {.dtype = dtype}), -1, 1, &numbers);
}

struct Eliminated {
  std::vector<double> factors;
  std::vector<int64_t> pivots;
};

// Golub, Van Loan, Matrix Computations, algorithm 3.4.1.
Eliminated eliminate(std::vector<double> a, int64_t m, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> double& {
    return a[static_cast<size_t>(i * n + j)];
  };
  std::vector<int64_t> pivots;
  for (int64_t j = 0; j < std::min(m, n); ++j) {
    int64_t place = j;
    for (int64_t i = j; i < m; ++i)
      if (std::abs(at(i, j)) > std::abs(at(place, j))) place = i;
    pivots.push_back(place + 1);
    if (at(place, j) == 0) continue;
    for (int64_t k = 0; k < n; ++k) std::swap(at(j, k), at(place, k));
    for (int64_t i = j + 1; i < m; ++i) {
      at(i, j) /= at(j, j);
      for (int64_t k = j + 1; k < n; ++k) at(i, k) -= at(i, j) * at(j, k);
    }
  }
  return {a, pivots};
}

void expect_eliminated(const Tensor& a) {
  const int64_t m = a.size(0), n = a.size(1);
  const auto [factors, pivots] = linalg::lu_factor(a);
  const Eliminated wanted = eliminate(a.to_vector<double>(), m, n);
  EXPECT_EQ(pivots.to(i64).to_vector<int64_t>(), wanted.pivots) << m << " x " << n;
  const std::vector<double> got = factors.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted.factors[i], 1e-9 * (1 + std::abs(wanted.factors[i])))
        << m << " x " << n << " at " << i;
}

TEST(Lu, IsEliminationWithPivots) {
  for (const int64_t m : {1, 2, 5, 15, 16, 17, 31, 33, 48, 70, 130}) {
    for (const int64_t n : {1, 3, 16, 17, 32, 47, 70, 150}) {
      expect_eliminated(random_matrix({m, n}, f64));
    }
  }
}

TEST(Lu, GoesOnAtColumnsWithoutAPivot) {
  for (const int64_t n : {3, 16, 20, 40}) {
    for (const int64_t zero : {int64_t{0}, n / 2, n - 1}) {
      const Tensor a = random_matrix({n + 3, n}, f64);
      a.select(1, zero).fill_(0);
      expect_eliminated(a);
    }
  }
  expect_eliminated(zeros({20, 20}, {.dtype = f64}));
}

// |P A - L U| <= 3 n eps |L| |U|, element by element (Higham, Accuracy and Stability, theorem 9.3).
TEST(Lu, HasTheErrorOfElimination) {
  for (const int64_t n : {4, 40, 300}) {
    const Tensor a = random_matrix({n, n}, f32);
    const linalg::LU lu = linalg::lu(a);
    const Tensor L = lu.L.to(f64), U = lu.U.to(f64), P = lu.P.to(f64);
    EXPECT_LE(amax(abs(lu.L)).item<double>(), 1);
    const Tensor error = abs(matmul(P, matmul(L, U)) - a.to(f64));
    const Tensor bound = matmul(P, matmul(abs(L), abs(U))) * (3 * static_cast<double>(n) * 0x1p-24);
    EXPECT_TRUE(all(error <= bound).item<bool>()) << n;
  }
}

TEST(Lu, SolvesToTheLastDigits) {
  for (const int64_t n : {1, 7, 16, 17, 33, 100, 257}) {
    for (const int64_t columns : {1, 5, 40}) {
      const Tensor a =
          random_matrix({n, n}, f64) + 2 * static_cast<double>(n) * eye(n, {.dtype = f64});
      const Tensor x = random_matrix({n, columns}, f64);
      EXPECT_TRUE(allclose(linalg::solve(a, matmul(a, x)), x, 1e-12, 1e-12)) << n;
    }
    const Tensor a =
        random_matrix({3, n, n}, f64) + 2 * static_cast<double>(n) * eye(n, {.dtype = f64});
    const Tensor one = eye(n, {.dtype = f64}).expand({3, n, n});
    EXPECT_TRUE(allclose(matmul(linalg::inv(a), a), one, 1e-12, 1e-12)) << n;
  }
}

TEST(Lu, HasTheSameBitsForAnyNumberOfThreads) {
  const int threads = get_num_threads();
  for (const int64_t n : {100, 400}) {
    const Tensor a = random_matrix({n, n}, f32), b = random_matrix({n, 30}, f32);
    set_num_threads(1);
    const Tensor alone = linalg::lu_factor(a).LU, x = linalg::solve(a, b);
    set_num_threads(3);
    EXPECT_TRUE(equal(linalg::lu_factor(a).LU, alone));
    EXPECT_TRUE(equal(linalg::solve(a, b), x));
  }
  set_num_threads(threads);
}

}  // namespace
}  // namespace aorta
