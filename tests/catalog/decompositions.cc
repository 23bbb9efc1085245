#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/catalog/rows.h>

#include <cmath>

namespace aorta::catalog {
namespace {

// Bounds go with the largest number of a result, of which the samples have a bound.
constexpr Tolerance kDecomposed{.sums = 32, .zero_signs = false};

Tensor turned(const Tensor& x) { return transpose(x, -2, -1); }
// What has no sum with its transpose is for the op to find.
Tensor symmetric(const Tensor& x) {
  if (!x.defined() || x.dim() < 2 || x.size(-1) != x.size(-2)) return x;
  return x + turned(x);
}

void add_triangular(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "cholesky",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {linalg::cholesky(symmetric(x[0]))}; }},
                 {"upper",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::cholesky(symmetric(x[0]), true)};
                  }}},
       .bad = {{[] {
                  linalg::cholesky(ones({2, 3}));
                },
                "cholesky: matrices must be square, got [2,3]"},
               {[] {
                  linalg::cholesky(ones({2, 2}, {.dtype = i64}));
                },
                "cholesky: dtype must be floating, got i64"},
               {[] {
                  linalg::cholesky(stack({eye(2), -eye(2), eye(2)}));
                },
                "cholesky: matrices must be positive definite, got matrix 1 of 3 that is not"},
               {[] { linalg::cholesky(eye(2) / 0.0); },
                "cholesky: matrices must be finite, got NaN or infinity in matrix 0 of 1"}},
       .also = {"add", "to"}});
  rows.push_back({.op = "lu_factor",
                  .tolerance = kDecomposed,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const auto [factors, pivots] = linalg::lu_factor(x[0]);
                               return {factors, pivots};
                             }}},
                  .bad = {{[] { linalg::lu_factor(ones({3})); },
                           "lu_factor: A must have 2 dimensions or more, got [3]"}}});
  rows.push_back(
      {.op = "solve",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {linalg::solve(x[0], x[1])}; }},
                 {"right",
                  [](const Tensors& x) -> Tensors { return {linalg::solve(x[0], x[1], false)}; }}},
       .bad = {{[] {
                  linalg::solve(stack({eye(2), zeros({2, 2})}), ones({2, 1}));
                },
                "solve: matrices must be invertible, got matrix 1 of 2 that is not"},
               {[] {
                  linalg::solve(eye(2), ones({3, 1}));
                },
                "solve: B must have as many rows as A has columns, got [2,2] and [3,1]"},
               {[] {
                  linalg::solve(eye(2), ones({2, 1}, {.dtype = f64}));
                },
                "solve: A and B must have one dtype, got f32 and f64"}},
       .also = {"to"}});
  rows.push_back(
      {.op = "solve_triangular",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::solve_triangular(x[0], x[1], {.upper = false})};
                  }},
                 {"upper",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::solve_triangular(x[0], x[1], {.upper = true})};
                  }},
                 {"unit",
                  [](const Tensors& x) -> Tensors {
                    const Tensor a = x[0].defined() ? x[0] / 8 : x[0];
                    return {
                        linalg::solve_triangular(a, x[1], {.upper = false, .unitriangular = true})};
                  }},
                 {"right",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::solve_triangular(x[0], x[1], {.upper = true, .left = false})};
                  }}},
       .bad = {{[] {
                  linalg::solve_triangular(zeros({1, 1}), ones({1, 1}), {.upper = true});
                },
                "solve_triangular: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"div", "to"}});
}

void add_orthogonal(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "qr",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const auto [Q, R] = linalg::qr(x[0]);
                    return {Q, R};
                  }},
                 {"complete",
                  [](const Tensors& x) -> Tensors {
                    const auto [Q, R] = linalg::qr(x[0], "complete");
                    return {Q, R};
                  }},
                 {.name = "complete_tall",  // which has no gradient
                  .run = [](const Tensors& x) -> Tensors {
                    const auto [Q, R] =
                        linalg::qr(x[0].defined() ? x[0].detach() : x[0], "complete");
                    return {Q, R};
                  },
                  .gradient_is_derivative = false},
                 {"r", [](const Tensors& x) -> Tensors { return {linalg::qr(x[0], "r").R}; }}},
       .bad = {{[] {
                  linalg::qr(ones({2, 2}), "full");
                },
                "qr: mode must be reduced, complete or r, got \"full\""}}});
  rows.push_back(
      {.op = "eigh",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const auto [values, vectors] = linalg::eigh(symmetric(x[0]));
                    const Tensor cubes = (values * values * values).unsqueeze(-2);
                    return {values, matmul(vectors * cubes, turned(vectors))};
                  }},
                 {"upper",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::eigh(symmetric(x[0]), "U").eigenvalues};
                  }}},
       .bad = {{[] { linalg::eigh(eye(2), "l"); }, "eigh: UPLO must be L or U, got \"l\""}},
       .also = {"add", "matmul", "mul", "to"}});
  const auto polar = [](const linalg::SVD& parts) -> Tensors {
    if (parts.U.size(-1) != parts.Vh.size(-2)) return {parts.S};  // full ones that aren't square
    return {parts.S, matmul(parts.U, parts.Vh)};
  };
  static const auto polar_of = polar;
  rows.push_back(
      {.op = "svd",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return polar_of(linalg::svd(x[0], false)); }},
                 {"full", [](const Tensors& x) -> Tensors { return polar_of(linalg::svd(x[0])); }},
                 // With what those columns of U span that stand behind the others.
                 {.name = "full_tall",
                  .run = [](const Tensors& x) -> Tensors {
                    const linalg::SVD parts = linalg::svd(x[0].defined() ? x[0].detach() : x[0]);
                    const int64_t k = parts.S.size(-1);
                    const Tensor rest = parts.U.narrow(-1, k, parts.U.size(-1) - k);
                    return {parts.S, matmul(rest, turned(rest))};
                  },
                  .gradient_is_derivative = false}},
       .bad = {{[] {
                  linalg::svd(full({2, 2}, std::nan("")));
                },
                "svd: matrices must be finite, got NaN or infinity in matrix 0 of 1"}},
       .also = {"matmul"}});
  rows.push_back(
      {.op = "svdvals",
       .tolerance = kDecomposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {linalg::svdvals(x[0])}; }}},
       .also = {"svd"}});
  rows.push_back(
      {.op = "pinv",
       .tolerance = kDecomposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {linalg::pinv(x[0])}; }},
                 {"hermitian",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::pinv(symmetric(x[0]), {.hermitian = true})};
                  }},
                 {.name = "triangle",  // the one that is read, where the gradient is another's
                  .run = [](const Tensors& x) -> Tensors {
                    return {linalg::pinv(x[0], {.hermitian = true})};
                  },
                  .gradient_is_derivative = false},
                 // As in PyTorch, the gradient is that of a matrix of this rank.
                 {.name = "atol",
                  .run = [](const Tensors& x) -> Tensors {
                    return {linalg::pinv(x[0], {.atol = 0.25})};
                  },
                  .gradient_is_derivative = false}},
       .also = {"abs", "add", "amax", "clamp_min", "eigh", "gt", "matmul", "mul", "reciprocal",
                "svd", "where"}});
}

void add_functions(std::vector<Row>& rows) {
  rows.push_back(
      {.op = "inv",
       .tolerance = kDecomposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {linalg::inv(x[0])}; }}},
       .bad = {{[] {
                  linalg::inv(zeros({2, 2}));
                },
                "inv: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"fill_", "solve", "to"}});
  rows.push_back(
      {.op = "det",
       .tolerance = kDecomposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {linalg::det(x[0])}; }}},
       .also = {"lu_factor", "to"}});
  rows.push_back(
      {.op = "slogdet",
       .tolerance = kDecomposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {linalg::slogdet(x[0]).logabsdet}; }},
                 {.name = "sign",
                  .run = [](const Tensors& x) -> Tensors { return {linalg::slogdet(x[0]).sign}; },
                  .gradient_is_derivative = false,
                  .gradient_is_pytorchs = false}},  // a constant
       .also = {"lu_factor", "to"}});
  rows.push_back({.op = "matrix_exp",
                  .tolerance = kDecomposed,
                  .calls = {{"default", [](const Tensors& x) -> Tensors {
                               return {linalg::matrix_exp(x[0])};
                             }}}});
}

}  // namespace

std::vector<Row> decomposition_rows() {
  std::vector<Row> rows;
  add_triangular(rows);
  add_orthogonal(rows);
  add_functions(rows);
  return rows;
}

}  // namespace aorta::catalog
