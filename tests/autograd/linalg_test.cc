// Decompositions: their equations, conventions and errors; what is composed of them as in PyTorch.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/special_numbers.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace aorta::linalg {
namespace {

using Tensors = std::vector<Tensor>;
constexpr TensorOptions kDouble{.dtype = f64};

Tensor some(const Shape& shape, double by = 1.37) {
  return sin(square(arange(shape.numel(), kDouble)) * by + 0.2).view(shape);
}
double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return a.numel() == 0 ? 0 : amax(abs(a.detach() - b.detach())).item<double>();
}
Tensor turned(const Tensor& x) { return transpose(x, -2, -1); }

// The sizes that the kernels treat differently, batched and not.
const std::vector<Shape> kShapes = {{1, 1},   {5, 5},   {7, 3},    {3, 7},    {2, 3, 6, 4},
                                    {40, 50}, {50, 40}, {0, 3, 3}, {2, 0, 3}, {2, 3, 0}};

TEST(Linalg, FactorsMultiplyBack) {
  for (const Shape& shape : kShapes) {
    SCOPED_TRACE(to_string(shape));
    const Tensor A = some(shape, 1.7);
    const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
    const auto unit = [](int64_t size) { return eye(size, kDouble); };
    for (const char* mode : {"reduced", "complete"}) {
      const auto [Q, R] = qr(A, mode);
      EXPECT_LT(distance(matmul(Q, R), A), 1e-13 * static_cast<double>(8 + n));
      EXPECT_LT(
          distance(matmul(turned(Q), Q), unit(Q.size(-1)).expand(matmul(turned(Q), Q).shape())),
          1e-12);
      EXPECT_EQ(distance(triu(R), R), 0);
    }
    for (const bool full : {false, true}) {
      const auto [U, S, Vh] = svd(A, full);
      EXPECT_EQ(U.size(-1), full ? m : k);
      EXPECT_EQ(Vh.size(-2), full ? n : k);
      const Tensor thin = narrow(U, -1, 0, k) * unsqueeze(S, -2);
      EXPECT_LT(distance(matmul(thin, narrow(Vh, -2, 0, k)), A), 1e-12);
      EXPECT_LT(
          distance(matmul(turned(U), U), unit(U.size(-1)).expand(matmul(turned(U), U).shape())),
          1e-12);
      EXPECT_LT(distance(S, svdvals(A)), 1e-12);
      const int64_t pairs = std::max<int64_t>(k - 1, 0);
      EXPECT_TRUE(all(ge(narrow(S, -1, 0, pairs), narrow(S, -1, k - pairs, pairs))).item<bool>());
    }
    const auto [P, L, U] = lu(A);
    EXPECT_LT(distance(matmul(matmul(P, L), U), A), 1e-12);
    EXPECT_LE(k == 0 || A.numel() == 0 ? 0 : amax(abs(L)).item<double>(), 1);
    if (m != n) continue;
    const Tensor symmetric = A + turned(A);
    const auto [values, vectors] = eigh(symmetric);
    EXPECT_LT(distance(matmul(vectors * unsqueeze(values, -2), turned(vectors)), symmetric), 1e-12);
    const Tensor positive = matmul(A, turned(A)) + unit(n);
    const Tensor factor = cholesky(positive);
    EXPECT_LT(distance(matmul(factor, turned(factor)), positive), 1e-12);
    EXPECT_EQ(distance(tril(factor), factor), 0);
    EXPECT_LT(distance(cholesky(positive, true), turned(factor)), 1e-13);
  }
}

TEST(Linalg, SinglePrecisionAndHalf) {
  const Tensor A = some({2, 4, 4}) + 3 * eye(4, kDouble);
  for (const auto& [dtype, tolerance] :
       std::vector<std::pair<DType, double>>{{f32, 2e-6}, {f16, 3e-3}, {bf16, 3e-2}}) {
    const Tensor inverse = inv(A.to(dtype));
    EXPECT_EQ(inverse.dtype(), dtype);
    EXPECT_LT(distance(inverse.to(f64), inv(A)), tolerance);
    EXPECT_EQ(svd(A.to(dtype)).Vh.dtype(), dtype);
    EXPECT_EQ(slogdet(A.to(dtype)).logabsdet.dtype(), dtype);
  }
}

TEST(Linalg, Determinants) {
  EXPECT_DOUBLE_EQ(det(tensor({{0, 2}, {3, 0}}, kDouble)).item<double>(), -6);
  EXPECT_DOUBLE_EQ(det(tensor({{1, 2}, {3, 4}}, kDouble)).item<double>(), -2);
  EXPECT_EQ(det(zeros({0, 0}, kDouble)).item<double>(), 1);
  EXPECT_EQ(det(zeros({2, 2}, kDouble)).item<double>(), 0);
  const auto [sign, size] =
      slogdet(stack({tensor({{0, 2}, {3, 0}}, kDouble), zeros({2, 2}, kDouble)}));
  EXPECT_EQ(sign.to_vector<double>(), (std::vector<double>{-1, 0}));
  EXPECT_DOUBLE_EQ(size.to_vector<double>()[0], std::log(6));
  EXPECT_EQ(size.to_vector<double>()[1], -kInf);
  // No overflow in the logarithm.
  EXPECT_NEAR(slogdet(eye(400, kDouble) * 1e10).logabsdet.item<double>(), 400 * std::log(1e10),
              1e-9);
  // The gradient of a singular matrix is its cofactors.
  const Tensor A = tensor({{1, 2}, {2, 4}}, kDouble).requires_grad_();
  det(A).backward();
  EXPECT_LT(distance(A.grad(), tensor({{4, -2}, {-2, 1}}, kDouble)), 1e-14);
  const auto batch = [](const Tensors& x) -> Tensors { return {det(x[0])}; };
  const Tensor B = stack({tensor({{1, 2, 3}, {2, 4, 6}, {1, 0, 1}}, kDouble), some({3, 3})});
  EXPECT_GRADIENTS(batch, {B.detach().requires_grad_()});
}

// By the polynomial that it is: of matrices that are singular to the last digits, and beside one.
TEST(Linalg, DeterminantsHaveEveryDerivative) {
  const Tensor ninth = (arange(9, kDouble) + 1).view({3, 3}) / 10;
  const Tensor thin = matmul(some({3, 2}), some({2, 3}));
  const Tensor batch = stack({eye(2, kDouble) * 2, tensor({{1.0, 2.0}, {2.0, 4.0}}, kDouble)});
  const Tensor once = tensor({{1.0, 2.0, 3.0}, {2.0, 4.0, 6.0}, {3.0, 6.0, 9.0}}, kDouble);
  for (const Tensor& a : {ninth, thin, batch, once, zeros({2, 2}, kDouble), some({4, 4})}) {
    const Tensor x = a.detach().clone().requires_grad_();
    EXPECT_SECOND_GRADIENTS([](const Tensors& in) -> Tensors { return {det(in[0])}; }, Tensors{x});
  }
  // d(sum of the cofactors times 0 to 8) of the first: by hand.
  const Tensor x = ninth.detach().requires_grad_();
  const Tensor slope = autograd::grad({det(x)}, {x}, {}, {.create_graph = true})[0];
  const Tensor second = autograd::grad({sum(slope * arange(9, kDouble).view({3, 3}))}, {x})[0];
  EXPECT_NEAR(second.at<double>({0, 0}), -0.6, 1e-12);
  EXPECT_NEAR(second.at<double>({0, 1}), 1.2, 1e-12);
}

TEST(Linalg, PivotsAreLapacks) {
  const auto [factors, pivots] = lu_factor(tensor({{1, 2, 3}, {4, 5, 6}, {7, 8, 10}}, kDouble));
  EXPECT_EQ(pivots.dtype(), i32);
  EXPECT_EQ(pivots.to_vector<int32_t>(), (std::vector<int32_t>{3, 3, 3}));
  EXPECT_EQ(kernel::permutation_of(pivots, 3, f64).to_vector<double>(),
            (std::vector<double>{0, 1, 0, 0, 0, 1, 1, 0, 0}));
  EXPECT_DOUBLE_EQ(factors.at<double>({0, 0}), 7);
  const auto [P, L, U] = lu(zeros({2, 3}, kDouble));  // a singular one has factors
  EXPECT_EQ(distance(P, eye(2, kDouble)), 0);
  EXPECT_EQ(distance(matmul(L, U), zeros({2, 3}, kDouble)), 0);
}

TEST(Linalg, OneTriangleIsRead) {
  const Tensor lower = tensor({{4, 99}, {1, 3}}, kDouble), upper = turned(lower);
  EXPECT_LT(distance(cholesky(lower), cholesky(tensor({{4, 1}, {1, 3}}, kDouble))), 1e-15);
  EXPECT_LT(distance(cholesky(upper, true), turned(cholesky(lower))), 1e-15);
  EXPECT_LT(distance(eigvalsh(lower), eigvalsh(upper, "U")), 1e-15);
  const Tensor nan = tensor({{2, 0}, {std::nan(""), 4}}, kDouble), b = ones({2, 1}, kDouble);
  EXPECT_EQ(solve_triangular(nan, b, {.upper = true}).to_vector<double>(),
            (std::vector{0.5, 0.25}));
}

TEST(Linalg, RankAndLeastSquares) {
  const Tensor A = tensor({{1, 0}, {0, 1e-3}, {0, 0}}, kDouble);
  EXPECT_EQ(matrix_rank(A).item<int64_t>(), 2);
  EXPECT_EQ(matrix_rank(A, {.atol = 0.1}).item<int64_t>(), 1);
  EXPECT_EQ(matrix_rank(A, {.rtol = 1e-2}).item<int64_t>(), 1);
  EXPECT_EQ(matrix_rank(zeros({2, 3, 0}, kDouble)).to_vector<int64_t>(),
            (std::vector<int64_t>{0, 0}));
  // A matrix of rank 1 gives the smallest solution, and no residuals.
  const Tensor B = ones({3, 1}, kDouble), one = tensor({{1, 1}, {1, 1}, {1, 1}}, kDouble);
  const Lstsq result = lstsq(one, B);
  EXPECT_LT(distance(result.solution, full({2, 1}, 0.5, kDouble)), 1e-14);
  EXPECT_EQ(result.rank.item<int64_t>(), 1);
  EXPECT_EQ(result.residuals.shape(), (Shape{0}));
}

// A column of numbers looked like vectors a second time where A is (1, 1, 1).
TEST(Linalg, SolvesForAVectorInEveryBatch) {
  const Tensor b = tensor({3.0}, kDouble);
  const Tensor x = linalg::solve(full({1, 1, 1}, 2, kDouble), b);
  EXPECT_EQ(x.shape(), (Shape{1, 1}));
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{1.5}));
  EXPECT_EQ(linalg::solve(full({2, 1, 1}, 2, kDouble), b).shape(), (Shape{2, 1}));
}

// PyTorch's values: a norm of nothing is 0, and so is what cond makes of it.
TEST(Linalg, NormsOfEmptyMatrices) {
  for (const Shape& shape : {Shape{2, 0, 0}, Shape{2, 0, 3}, Shape{2, 3, 0}}) {
    const Tensor A = zeros(shape, kDouble);
    const auto norm_of = [&](const linalg::MatrixOrder& order) {
      return linalg::matrix_norm(A, order).to_vector<double>();
    };
    for (const char* name : {"fro", "nuc"}) EXPECT_EQ(norm_of(name), (std::vector<double>{0, 0}));
    for (const double order : {1.0, 2.0, HUGE_VAL})
      EXPECT_EQ(norm_of(order), (std::vector<double>{0, 0})) << order;
    EXPECT_THROW(norm_of(-2), Error);
    for (const double order : {2.0, -2.0})
      EXPECT_EQ(linalg::cond(A, order).to_vector<double>(), (std::vector<double>{0, 0}));
  }
  const Tensor square = zeros({2, 0, 0}, kDouble);
  for (const double order : {1.0, -1.0, HUGE_VAL, -HUGE_VAL})
    EXPECT_EQ(linalg::cond(square, order).to_vector<double>(), (std::vector<double>{0, 0}));
}

TEST(Linalg, PowersAndExponentials) {
  const Tensor turn = tensor({{0, -1}, {1, 0}}, kDouble);
  EXPECT_LT(
      distance(matrix_exp(turn * 0.7),
               tensor({{std::cos(0.7), -std::sin(0.7)}, {std::sin(0.7), std::cos(0.7)}}, kDouble)),
      1e-15);
  EXPECT_EQ(distance(matrix_power(turn, 4), eye(2, kDouble)), 0);
  EXPECT_LT(distance(matrix_power(turn, -3), turn), 1e-15);
  EXPECT_EQ(distance(matrix_power(some({3, 2, 2}), 0)[2], eye(2, kDouble)), 0);
  EXPECT_LT(distance(matrix_power(turn, INT64_MIN), eye(2, kDouble)), 1e-15);
}

TEST(Linalg, ErrorsNameTheMatrix) {
  const Tensor batch = stack({eye(2, kDouble), eye(2, kDouble), zeros({2, 2}, kDouble)});
  EXPECT_EQ(error_of([&] { inv(batch); }),
            "inv: matrices must be invertible, got matrix 2 of 3 that is not");
  EXPECT_EQ(error_of([&] { matrix_power(batch, -1); }),
            "matrix_power: matrices must be invertible, got matrix 2 of 3 that is not");
  const Tensor bad = batch.clone();
  bad[1].fill_(std::nan(""));
  for (const auto& [name, run] :
       std::map<std::string, std::function<void()>>{{"svd", [&] { svd(bad); }},
                                                    {"svdvals", [&] { svdvals(bad); }},
                                                    {"qr", [&] { qr(bad); }},
                                                    {"eigvalsh", [&] { eigvalsh(bad); }},
                                                    {"det", [&] { det(bad); }},
                                                    {"slogdet", [&] { slogdet(bad); }},
                                                    {"lu", [&] { lu(bad); }},
                                                    {"pinv", [&] { pinv(bad); }},
                                                    {"matrix_exp", [&] { matrix_exp(bad); }}}) {
    EXPECT_EQ(error_of(run),
              name + ": matrices must be finite, got NaN or infinity in matrix 1 of 3");
  }
  const Tensor tall = some({3, 2}).requires_grad_();
  EXPECT_EQ(error_of([&] { qr(tall, "complete").R.sum().backward(); }),
            "qr: a gradient needs the mode reduced, got complete of [3,2]");
  EXPECT_EQ(error_of([&] { svd(tall).U.sum().backward(); }),
            "svd: a gradient by U and Vh needs full_matrices to be false, got true for [3,2]");
  svd(tall).S.sum().backward();
  EXPECT_TRUE(tall.grad().defined());
  EXPECT_EQ(error_of([&] { matrix_norm(eye(2), 3); }),
            "matrix_norm: ord must be fro, nuc, 1, -1, 2, -2, inf or -inf, got 3");
  EXPECT_EQ(error_of([&] {
              multi_dot({eye(2), eye(3)});
            }),
            "multi_dot: the inner sizes must match, got [2,2] and [3,3]");
  const Tensor wrong = tensor({1, 7}, {.dtype = i32});
  EXPECT_EQ(error_of([&] {
              lu_solve(eye(2), wrong, ones({2, 1}));
            }),
            "lu_solve: a pivot must be a row from its own on, from 1, got 7 at 1 of 2 rows");
  EXPECT_EQ(error_of([&] {
              lu_solve(eye(2), ones({2}), ones({2, 1}));
            }),
            "lu_solve: pivots must be those of lu_factor, got f32 [2]");
  EXPECT_EQ(error_of([&] { cross(ones({2}), ones({2})); }),
            "cross: dim must have size 3, got [2] and [2]");
}

// The first one conjugated.
TEST(Linalg, VecdotOfComplexNumbers) {
  const Tensor x = tensor({{1, 2}, {0, 1}}, kDouble).requires_grad_();
  const Tensor y = tensor({{3, 4}, {5, -1}}, kDouble).requires_grad_();
  const auto run = [](const Tensors& in) -> Tensors {
    return {view_as_real(vecdot(view_as_complex(in[0]), view_as_complex(in[1])))};
  };
  // (1 - 2i) (3 + 4i) - i (5 - i)
  EXPECT_EQ(run({x, y})[0].to_vector<double>(), (std::vector<double>{10, -7}));
  EXPECT_GRADIENTS(run, Tensors({x, y}));
  EXPECT_SECOND_GRADIENTS(run, Tensors({x, y}));
}

}  // namespace
}  // namespace aorta::linalg
