#include <aorta/core/ops/linalg_norms.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/catalog/rows.h>

#include <cmath>

namespace aorta::catalog {
namespace {

// As of decompositions: bounds go with the largest number of a result.
constexpr Tolerance kComposed{.sums = 32, .zero_signs = false};

// What has no sum with its transpose is for the function to find.
Tensor symmetric(const Tensor& x) {
  if (!x.defined() || x.dim() < 2 || x.size(-1) != x.size(-2)) return x;
  return x + transpose(x, -2, -1);
}

void add_norms(std::vector<Row>& rows) {
  using linalg::cond;
  using linalg::matrix_norm;
  using linalg::vector_norm;
  rows.push_back(
      {.op = "vector_norm",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {vector_norm(x[0])}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {vector_norm(x[0], 3, 1)}; }},
                 {"zero",
                  [](const Tensors& x) -> Tensors { return {vector_norm(x[0], 0, -1, true)}; }},
                 {"inf",
                  [](const Tensors& x) -> Tensors {
                    return {vector_norm(x[0], INFINITY, {0, 2})};
                  }}},
       .bad = {{[] { vector_norm(ones({2}, {.dtype = i64})); },
                "vector_norm: dtype must be floating, got i64"}},
       .also = {"norm"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "matrix_norm",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0])}; }},
                 {"nuc", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], "nuc")}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], 1)}; }},
                 {"minus_one", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], -1)}; }},
                 {"two", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], 2)}; }},
                 {"minus_two", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], -2)}; }},
                 {"inf", [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], INFINITY)}; }},
                 {"minus_inf",
                  [](const Tensors& x) -> Tensors { return {matrix_norm(x[0], -INFINITY)}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {matrix_norm(x[0], 1, {2, 0}, true)};
                  }}},
       .bad = {{[] { matrix_norm(eye(2), 3); },
                "matrix_norm: ord must be fro, nuc, 1, -1, 2, -2, inf or -inf, got 3"},
               {[] { matrix_norm(eye(2), "l1"); },
                "matrix_norm: ord must be fro, nuc, 1, -1, 2, -2, inf or -inf, got \"l1\""},
               {[] { matrix_norm(ones({2})); },
                "matrix_norm: there must be two dimensions, got [-2,-1] of [2]"},
               {[] {
                  matrix_norm(eye(2), "fro", {1, -1});
                },
                "matrix_norm: the dimensions must differ, got [1,-1]"}},
       .also = {"abs", "amax", "amin", "norm", "sum", "svd"},
       .autocasts = Autocasts::f32,
       // Two sums that bf16 doesn't tell.
       .cancelling = {"one/shape_wide"}});
  rows.push_back(
      {.op = "norm_linalg",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {linalg::norm(x[0])}; }},
                 {"dims",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::norm(x[0], {}, {0, 2}, true)};
                  }},
                 {"vector", [](const Tensors& x) -> Tensors { return {linalg::norm(x[0], 3)}; }},
                 {"zero", [](const Tensors& x) -> Tensors { return {linalg::norm(x[0], 0.0, 1)}; }},
                 {"matrix", [](const Tensors& x) -> Tensors { return {linalg::norm(x[0], 1)}; }},
                 {"nuc",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::norm(x[0], "nuc", {2, 0})};
                  }},
                 {"inf",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::norm(x[0], INFINITY, {-2, -1})};
                  }},
                 {"minus_two",
                  [](const Tensors& x) -> Tensors {
                    return {linalg::norm(x[0], -2, {1, 2}, true)};
                  }}},
       .bad = {{[] {
                  linalg::norm(ones({2, 2, 2}), 2);
                },
                "norm: an order is of one dimension or two, got [] of [2,2,2]"},
               {[] {
                  linalg::norm(ones({2, 2}), "fro", 0);
                },
                "norm: fro and nuc are of two dimensions, got [0] of [2,2]"}},
       .also = {"abs", "amax", "amin", "norm", "sum", "svd", "to"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "cond",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cond(x[0])}; }},
                 {"minus_two", [](const Tensors& x) -> Tensors { return {cond(x[0], -2)}; }},
                 {"fro", [](const Tensors& x) -> Tensors { return {cond(x[0], "fro")}; }},
                 {"nuc", [](const Tensors& x) -> Tensors { return {cond(x[0], "nuc")}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {cond(x[0], 1)}; }},
                 {"minus_one", [](const Tensors& x) -> Tensors { return {cond(x[0], -1)}; }},
                 {"inf", [](const Tensors& x) -> Tensors { return {cond(x[0], INFINITY)}; }}},
       .bad = {{[] {
                  cond(zeros({2, 2}), 1);
                },
                "cond: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"abs", "amax", "amin", "div", "fill_", "mul", "norm", "solve", "sum", "svd", "to"},
       .cancelling = {"inf/basic"}});
}

// Pivots, which are i64 in a fixture, as ops want them. What no pivot can be is left to the op.
Tensor pivots_of(const Tensor& x) { return x.defined() && !is_complex(x.dtype()) ? x.to(i32) : x; }

Tensor solved(const Tensors& x, bool left, bool adjoint) {
  return linalg::lu_solve(x[0], pivots_of(x[1]), x[2], left, adjoint);
}

void add_factors(std::vector<Row>& rows) {
  using namespace linalg;
  rows.push_back({.op = "lu",
                  .tolerance = kComposed,
                  .calls = {{"default",
                             [](const Tensors& x) -> Tensors {
                               const auto parts = lu(x[0]);
                               return {parts.L, parts.U};
                             }},
                            {.name = "permutation",
                             .run = [](const Tensors& x) -> Tensors { return {lu(x[0]).P}; },
                             .gradient_is_derivative = false}},
                  .bad = {{[] {
                             lu(full({2, 2}, NAN));
                           },
                           "lu: matrices must be finite, got NaN or infinity in matrix 0 of 1"},
                          {[] { lu(ones({2})); }, "lu: A must have 2 dimensions or more, got [2]"}},
                  .also = {"add", "fill_", "lu_factor", "tril", "triu"},
                  .functions = {"permutation_of"}});
  rows.push_back(
      {.op = "lu_solve",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {solved(x, true, false)}; }},
                 {"right", [](const Tensors& x) -> Tensors { return {solved(x, false, false)}; }},
                 {"adjoint", [](const Tensors& x) -> Tensors { return {solved(x, true, true)}; }},
                 {"right_adjoint",
                  [](const Tensors& x) -> Tensors { return {solved(x, false, true)}; }}},
       .bad = {{[] {
                  lu_solve(eye(2), tensor({1, 7}, {.dtype = i32}), ones({2, 1}));
                },
                "lu_solve: a pivot must be a row from its own on, from 1, got 7 at 1 of 2 rows"},
               {[] {
                  lu_solve(eye(2), ones({2}), ones({2, 1}));
                },
                "lu_solve: pivots must be those of lu_factor, got f32 [2]"},
               {[] {
                  lu_solve(zeros({2, 2}), tensor({1, 2}, {.dtype = i32}), ones({2, 1}));
                },
                "lu_solve: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"fill_", "matmul", "solve_triangular", "to"}});
  rows.push_back(
      {.op = "ldl_factor",
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const auto [LD, pivots] = ldl_factor(symmetric(x[0]));
                    return {LD, pivots};
                  }}},
       .bad = {{[] {
                  ldl_factor(zeros({2, 2}));
                },
                "ldl_factor: matrices must be invertible, got matrix 0 of 1 that is not"},
               {[] {
                  ldl_factor(ones({2, 3}));
                },
                "ldl_factor: matrices must be square, got [2,3]"},
               {[] {
                  ldl_factor(full({1, 1}, INFINITY));
                },
                "ldl_factor: matrices must be finite, got NaN or infinity in matrix 0 "
                "of 1"}},
       .also = {"add"},
       .derivative = Derivative::none});
  rows.push_back(
      {.op = "ldl_solve",
       .needs_values = true,  // of the pivots
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {ldl_solve(x[0], pivots_of(x[1]), x[2])};
                  }}},
       .bad = {{[] {
                  ldl_solve(eye(2), tensor({2, 1}, {.dtype = i32}), ones({2, 1}));
                },
                "ldl_solve: pivots must be those of ldl_factor, got 1 at 1 of 2 rows"},
               {[] {
                  ldl_solve(eye(2), ones({2}), ones({2, 1}));
                },
                "ldl_solve: pivots must be those of ldl_factor, got f32 [2]"},
               {[] {
                  ldl_solve(eye(2), tensor({1, 2}, {.dtype = i32}), ones({3, 1}));
                },
                "ldl_solve: B must have a matrix of as many rows for each of LD's, got [2,2] and "
                "[3,1]"}},
       .also = {"add", "fill_", "find_bad_index", "gather", "mul", "scatter_", "solve",
                "solve_triangular", "sub", "to", "tril"}});
  rows.push_back(
      {.op = "householder_product",
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {householder_product(x[0], x[1])}; }}},
       .bad = {{[] {
                  householder_product(ones({2, 3}), ones({2}));
                },
                "householder_product: A must have as many rows as columns, or more, got [2,3]"},
               {[] {
                  householder_product(ones({3, 2}), ones({3}));
                },
                "householder_product: tau must have a number for each of A's columns, or fewer, "
                "got [3] for [3,2]"}},
       .also = {"add", "fill_", "matmul", "mul", "sub", "tril"}});
  rows.push_back(
      {.op = "lstsq",
       .needs_values = true,  // whether there are residuals
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    const auto r = lstsq(x[0], x[1]);
                    return {r.solution, r.residuals, r.rank};
                  }},
                 {"solution",
                  [](const Tensors& x) -> Tensors { return {lstsq(x[0], x[1]).solution}; }},
                 {.name = "rcond",
                  .run = [](const Tensors& x) -> Tensors {
                    const auto r = lstsq(x[0], x[1], 0.125);
                    return {r.solution, r.rank};
                  },
                  .gradient_is_derivative = false}},
       .bad = {{[] {
                  lstsq(ones({3, 2}), ones({2, 1}));
                },
                "lstsq: A and B must have as many rows, got [3,2] and [2,1]"}},
       .also = {"all", "amax", "clamp_min", "eq", "gt", "matmul", "mul", "reciprocal", "square",
                "sub", "sum", "svd", "where"}});
}

void add_powers(std::vector<Row>& rows) {
  using namespace linalg;
  rows.push_back(
      {.op = "matrix_power",
       .tolerance = kComposed,
       .calls = {{"five", [](const Tensors& x) -> Tensors { return {matrix_power(x[0], 5)}; }},
                 {"six", [](const Tensors& x) -> Tensors { return {matrix_power(x[0], 6)}; }},
                 {"one", [](const Tensors& x) -> Tensors { return {matrix_power(x[0], 1)}; }},
                 {.name = "zero",
                  .run = [](const Tensors& x) -> Tensors { return {matrix_power(x[0], 0)}; },
                  .gradient_is_derivative = false,
                  .gradient_is_pytorchs = false},  // there is none
                 {"inverse", [](const Tensors& x) -> Tensors { return {matrix_power(x[0], -2)}; }}},
       .bad = {{[] {
                  matrix_power(zeros({2, 2}), -1);
                },
                "matrix_power: matrices must be invertible, got matrix 0 of 1 that is not"},
               {[] {
                  matrix_power(ones({2, 3}), 2);
                },
                "matrix_power: matrices must be square, got [2,3]"}},
       .also = {"fill_", "matmul", "solve", "to"},
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "eigvalsh",
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {eigvalsh(symmetric(x[0]))}; }},
                 {.name = "upper",  // the one that is read, where the gradient is another's
                  .run = [](const Tensors& x) -> Tensors { return {eigvalsh(x[0], "U")}; },
                  .gradient_is_derivative = false}},
       .bad = {{[] { eigvalsh(eye(2), "l"); }, "eigvalsh: UPLO must be L or U, got \"l\""}},
       .also = {"add", "eigh", "to"}});
  rows.push_back(
      {.op = "matrix_rank",
       .tolerance = kExact,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {matrix_rank(x[0])}; }},
                 {"atol",
                  [](const Tensors& x) -> Tensors { return {matrix_rank(x[0], {.atol = 0.375})}; }},
                 {"rtol",
                  [](const Tensors& x) -> Tensors { return {matrix_rank(x[0], {.rtol = 0.25})}; }},
                 {"hermitian",
                  [](const Tensors& x) -> Tensors {
                    return {matrix_rank(x[0], {.hermitian = true})};
                  }},
                 {"hermitian_atol",
                  [](const Tensors& x) -> Tensors {
                    return {matrix_rank(x[0], {.atol = 1.5, .hermitian = true})};
                  }}},
       .bad = {{[] { matrix_rank(ones({2})); },
                "matrix_rank: A must have 2 dimensions or more, got [2]"},
               {[] {
                  matrix_rank(ones({2, 3}), {.hermitian = true});
                },
                "matrix_rank: matrices must be square, got [2,3]"}},
       .also = {"abs", "amax", "clamp_min", "eigh", "gt", "mul", "sum", "svd"}});
}

void add_products(std::vector<Row>& rows) {
  using namespace linalg;
  rows.push_back(
      {.op = "multi_dot",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {multi_dot(x)}; }}},
       .bad = {{[] {
                  multi_dot({eye(2), eye(3)});
                },
                "multi_dot: the inner sizes must match, got [2,2] and [3,3]"},
               {[] { multi_dot({eye(2)}); },
                "multi_dot: there must be two tensors or more, got 1"}},
       .also = {"matmul"},
       .autocasts = Autocasts::half});
  rows.push_back(
      {.op = "vecdot",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {vecdot(x[0], x[1])}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {vecdot(x[0], x[1], 0)}; }}},
       .bad = {{[] { vecdot(ones({2}), ones({3})); },
                "vecdot: shapes must broadcast, got [2] and [3]"}},
       .also = {"mul", "sum"},
       .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "cross",
       .tolerance = kSums,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {cross(x[0], x[1])}; }},
                 {"first", [](const Tensors& x) -> Tensors { return {cross(x[0], x[1], 0)}; }}},
       .bad = {{[] { cross(ones({2}), ones({2})); },
                "cross: dim must have size 3, got [2] and [2]"},
               {[] {
                  cross(ones({3}), ones({1, 3}));
                },
                "cross: the tensors must have as many dimensions, got [3] and [1,3]"}},
       .also = {"mul", "roll", "sub"}});
  rows.push_back({.op = "vander_linalg",
                  .tolerance = kSums,
                  .calls = {{"default", [](const Tensors& x) -> Tensors { return {vander(x[0])}; }},
                            {"N2", [](const Tensors& x) -> Tensors { return {vander(x[0], 2)}; }},
                            {"N5", [](const Tensors& x) -> Tensors { return {vander(x[0], 5)}; }}},
                  .bad = {{[] { vander(ones({})); }, "vander: x must have a dimension, got []"},
                          {[] { vander(ones({2}), 0); }, "vander: N must be at least 1, got 0"}},
                  .also = {"cumprod", "fill_", "to"},
                  .autocasts = Autocasts::f32});
  rows.push_back(
      {.op = "tensorinv",
       .tolerance = kComposed,
       .calls = {{"default", [](const Tensors& x) -> Tensors { return {tensorinv(x[0])}; }},
                 {"three", [](const Tensors& x) -> Tensors { return {tensorinv(x[0], 3)}; }}},
       .bad = {{[] {
                  tensorinv(ones({2, 3}), 1);
                },
                "tensorinv: A must be as large before ind as from it on, got [2,3]"},
               {[] {
                  tensorinv(zeros({2, 2}), 1);
                },
                "tensorinv: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"fill_", "solve"}});
  rows.push_back(
      {.op = "tensorsolve",
       .tolerance = kComposed,
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors { return {tensorsolve(x[0], x[1])}; }}},
       .bad = {{[] {
                  tensorsolve(ones({2, 3}), ones({2}));
                },
                "tensorsolve: A must be as large from B's dimensions on as in them, got [2,3] and "
                "[2]"},
               {[] {
                  tensorsolve(zeros({2, 2}), ones({2}));
                },
                "tensorsolve: matrices must be invertible, got matrix 0 of 1 that is not"}},
       .also = {"solve"}});
}

}  // namespace

std::vector<Row> linalg_function_rows() {
  std::vector<Row> rows;
  add_norms(rows);
  add_factors(rows);
  add_powers(rows);
  add_products(rows);
  return rows;
}

}  // namespace aorta::catalog
