#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

// What multiplies or solves with factors that are made elsewhere.
namespace aorta::linalg {

namespace {

Tensor turned(const Tensor& A) { return transpose(A, -2, -1); }

// The shape of A without its last `count` dimensions.
Shape without_last(const Tensor& A, int count) {
  Shape shape = A.shape();
  shape.resize(A.dim() - count);
  return shape;
}

// What the pivots of ldl_factor say.
struct LdlPlan {
  Tensor rows;  // (*, n): row i of P^T A P is A's row rows[i]
  Tensor from;  // (*, n, n): column j of L has at row i what LD has at row from[i, j]
  Tensor pair;  // (*, n) f64: 1 at the first of a block's two rows
};

LdlPlan plan_of(const Tensor& pivots) {
  const int64_t n = pivots.size(-1), count = n == 0 ? 0 : pivots.numel() / n;
  const Tensor swaps = pivots.cpu().contiguous();
  const Tensor rows = empty(pivots.shape(), {.dtype = DType::i64});
  Shape square = pivots.shape();
  square.push_back(n);
  LdlPlan plan{rows, empty(square, {.dtype = DType::i64}), zeros(pivots.shape(), {.dtype = f64})};
  for (int64_t matrix = 0; matrix < count; ++matrix) {
    const int32_t* const given = swaps.data<int32_t>() + matrix * n;
    int64_t* const order = rows.data<int64_t>() + matrix * n;
    int64_t* const from = plan.from.data<int64_t>() + matrix * n * n;
    double* const pair = plan.pair.data<double>() + matrix * n;
    std::iota(order, order + n, 0);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) from[i * n + j] = i;
    for (int64_t k = 0; k < n; ++k) {
      const bool block = given[k] < 0;
      const int64_t own = block ? k + 1 : k, other = (block ? -int64_t{given[k]} : given[k]) - 1;
      check(own < n && other >= own && other < n && (!block || given[k + 1] == given[k]),
            "ldl_solve", "pivots must be those of ldl_factor", given[k], " at ", k, " of ", n,
            " rows");
      std::swap(order[own], order[other]);
      for (int64_t j = 0; j < k; ++j) std::swap(from[own * n + j], from[other * n + j]);
      pair[k] = block;
      k = own;
    }
  }
  for (Tensor* part : {&plan.rows, &plan.from, &plan.pair}) *part = part->to(pivots.device());
  return plan;
}

}  // namespace

Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B) {
  const CalledOp called("ldl_solve");
  check_defined("ldl_solve", {{"LD", LD}, {"pivots", pivots}, {"B", B}});
  check(is_floating(LD.dtype()) && B.dtype() == LD.dtype(), "ldl_solve",
        "LD and B must have one floating dtype", LD.dtype(), " and ", B.dtype());
  check(LD.dim() >= 2 && LD.size(-1) == LD.size(-2), "ldl_solve", "matrices must be square",
        LD.shape());
  check(pivots.dtype() == DType::i32 && pivots.shape() == without_last(LD, 1), "ldl_solve",
        "pivots must be those of ldl_factor", pivots.dtype(), " ", pivots.shape());
  check(
      B.dim() == LD.dim() && B.size(-2) == LD.size(-1) && without_last(B, 2) == without_last(LD, 2),
      "ldl_solve", "B must have a matrix of as many rows for each of LD's", LD.shape(), " and ",
      B.shape());
  if (is_half(LD.dtype()))
    return ldl_solve(LD.to(DType::f32), pivots, B.to(DType::f32)).to(LD.dtype());
  const Autocast off(DType::f32);
  const LdlPlan plan = plan_of(pivots);
  const int64_t n = LD.size(-1);
  // D has LD's element below the diagonal in both places of a block of 2, and L has none there.
  const Tensor pair = narrow(plan.pair, -1, 0, std::max<int64_t>(n - 1, 0)).to(LD.dtype());
  const Tensor beside = diagonal(LD, -1, -2, -1) * pair;
  const Tensor D =
      diag_embed(diagonal(LD, 0, -2, -1)) + diag_embed(beside, 1) + diag_embed(beside, -1);
  const Tensor L = gather(tril(LD, -1) - diag_embed(beside, -1), -2, plan.from);
  const Tensor places = unsqueeze(plan.rows, -1).expand(B.shape());
  const Tensor Y =
      solve_triangular(L, gather(B, -2, places), {.upper = false, .unitriangular = true});
  const Tensor Z = solve_triangular(turned(L), solve(D, Y), {.upper = true, .unitriangular = true});
  return scatter(zeros_like(Z.detach()), -2, places, Z);
}

Tensor householder_product(const Tensor& A, const Tensor& tau) {
  const CalledOp called("householder_product");
  check_defined("householder_product", {{"A", A}, {"tau", tau}});
  check(is_floating(A.dtype()) && tau.dtype() == A.dtype(), "householder_product",
        "A and tau must have one floating dtype", A.dtype(), " and ", tau.dtype());
  check(A.dim() >= 2 && A.size(-2) >= A.size(-1), "householder_product",
        "A must have as many rows as columns, or more", A.shape());
  check(tau.dim() == A.dim() - 1 && tau.size(-1) <= A.size(-1) &&
            without_last(tau, 1) == without_last(A, 2),
        "householder_product", "tau must have a number for each of A's columns, or fewer",
        tau.shape(), " for ", A.shape());
  if (is_half(A.dtype()))
    return householder_product(A.to(DType::f32), tau.to(DType::f32)).to(A.dtype());
  const Autocast off(DType::f32);
  const Tensor unit = eye(A.size(-2), A.size(-1), {.dtype = A.dtype(), .device = A.device()});
  const Tensor vectors = tril(A, -1) + unit;
  Tensor product = unit.expand(A.shape());
  for (int64_t i = tau.size(-1); i-- > 0;) {
    const Tensor v = narrow(vectors, -1, i, 1);
    const Tensor factor = unsqueeze(narrow(tau, -1, i, 1), -1);
    product = product - factor * matmul(v, matmul(turned(v), product));
  }
  return tau.size(-1) == 0 ? product.clone() : product;
}

}  // namespace aorta::linalg
