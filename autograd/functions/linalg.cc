// Gradients of decompositions (Giles 2008; Seeger et al. 2017), of differentiable ops.
#include <aorta/core/ops/linalg.h>

#include <aorta/autograd/record.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <algorithm>

namespace aorta::autograd {
namespace {

using linalg::solve_triangular;

Tensor turned(const Tensor& x) { return transpose(x, -2, -1); }
Tensor times(const Tensor& a, const Tensor& b) { return matmul(a, b); }
Tensor times(const Tensor& a, const Tensor& b, const Tensor& c) { return matmul(matmul(a, b), c); }
Tensor identity_like(const Tensor& square) {
  return eye(square.size(-1), {.dtype = square.dtype(), .device = square.device()});
}
Tensor diagonal_matrix(const Tensor& values) {
  return unsqueeze(values, -1) *
         eye(values.size(-1), {.dtype = values.dtype(), .device = values.device()});
}
Tensor columns(const Tensor& x, int64_t first, int64_t count) {
  return narrow(x, -1, first, count);
}
Tensor rows(const Tensor& x, int64_t first, int64_t count) { return narrow(x, -2, first, count); }

void cholesky_gradient(Tensor& output, const Tensor& a) {
  record("cholesky", output, {&a}, [l = Saved::output(output)](Gradients& g) {
    const Tensor L = g.saved(l), product = times(turned(L), g.output());
    const Tensor half = (tril(product) + tril(product, -1)) * 0.5;  // the diagonal halved
    const Tensor left = solve_triangular(turned(L), half, {.upper = true});
    const Tensor whole = solve_triangular(L, left, {.upper = false, .left = false});
    g.input() = (whole + turned(whole)) * 0.5;
  });
}

// The gradient of the first columns of A, which have an R of full rank (Q (m, k), R (k, k)).
Tensor qr_backward(const Tensor& gQ, const Tensor& gR, const Tensor& Q, const Tensor& R) {
  const Tensor M = times(R, turned(gR)) - times(turned(gQ), Q);
  const Tensor symmetric = tril(M) + turned(tril(M, -1));
  return solve_triangular(turned(R), gQ + times(Q, symmetric), {.upper = false, .left = false});
}

void qr_gradient(Tensor& q, Tensor& r, const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1);
  record(
      "qr", {&q, &r}, {&a},
      [m, n, sa = Saved(a, 0), sq = Saved::output(q, 0), sr = Saved::output(r, 1)](Gradients& g) {
        const Tensor Q = g.saved(sq), R = g.saved(sr);
        check(Q.size(-1) <= n, "qr", "a gradient needs the mode reduced", "complete of ",
              g.input_shape());
        if (m >= n) {
          g.input() = qr_backward(g.output(0), g.output(1), Q, R);
          return;
        }
        const Tensor rest = columns(g.output(1), m, n - m);
        const Tensor gQ = g.output(0) + times(columns(g.saved(sa), m, n - m), turned(rest));
        const Tensor first = qr_backward(gQ, columns(g.output(1), 0, m), Q, columns(R, 0, m));
        g.input() = cat({first, times(Q, rest)}, -1);
      });
}

// 1 / (values_j - values_i), and 0 on the diagonal.
Tensor inverse_differences(const Tensor& values) {
  const Tensor differences = unsqueeze(values, -2) - unsqueeze(values, -1);
  const Tensor diagonal = identity_like(differences);
  return (1 - diagonal) / (differences + diagonal);
}

void svd_gradient(Tensor& u, Tensor& s, Tensor& vh, const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const bool full = u.size(-1) > k || vh.size(-2) > k;
  record("svd", {&u, &s, &vh}, {&a},
         [m, n, k, full, su = Saved::output(u, 0), ss = Saved::output(s, 1),
          sv = Saved::output(vh, 2)](Gradients& g) {
           const bool by_u = g.has_output(0), by_v = g.has_output(2);
           check(!full || !(by_u || by_v), "svd",
                 "a gradient by U and Vh needs full_matrices to be false", "true for ",
                 g.input_shape());
           const Tensor U = columns(g.saved(su), 0, k), S = g.saved(ss);
           const Tensor Vh = rows(g.saved(sv), 0, k);
           Tensor inner = diagonal_matrix(g.output(1));
           const auto skew = [](const Tensor& x) { return x - turned(x); };
           if (by_u || by_v) {
             const Tensor F = inverse_differences(square(S));
             if (by_u) inner = inner + skew(times(turned(U), g.output(0))) * F * unsqueeze(S, -2);
             if (by_v)
               inner = inner + unsqueeze(S, -1) * (skew(times(Vh, turned(g.output(2)))) * F);
           }
           Tensor result = times(U, inner, Vh);
           if (by_u && m > k) {
             const Tensor outside = g.output(0) - times(U, times(turned(U), g.output(0)));
             result = result + times(outside / unsqueeze(S, -2), Vh);
           }
           if (by_v && n > k) {
             const Tensor outside = g.output(2) - times(times(g.output(2), turned(Vh)), Vh);
             result = result + times(U, outside / unsqueeze(S, -1));
           }
           g.input() = result;
         });
}

void eigh_gradient(Tensor& values, Tensor& vectors, const Tensor& a) {
  record("eigh", {&values, &vectors}, {&a},
         [sl = Saved::output(values, 0), sv = Saved::output(vectors, 1)](Gradients& g) {
           const Tensor V = g.saved(sv);
           Tensor inner = diagonal_matrix(g.output(0));
           if (g.has_output(1))
             inner = inner + times(turned(V), g.output(1)) * inverse_differences(g.saved(sl));
           const Tensor whole = times(V, inner, turned(V));
           g.input() = (whole + turned(whole)) * 0.5;
         });
}

// With W = V^H gV: V^-H ((W - V^H V diag(Re W)) / (conj of the differences) + diag(gL)) V^H. A
// change of a vector's phase, the imaginary part of W's diagonal, may not change the loss.
void eig_gradient(Tensor& values, Tensor& vectors, const Tensor& a) {
  record("eig", {&values, &vectors}, {&a},
         [sl = Saved::output(values, 0), sv = Saved::output(vectors, 1)](Gradients& g) {
           const Tensor V = g.saved(sv), adjoint = conj(turned(V));
           Tensor inner = diagonal_matrix(g.output(0));
           if (g.has_output(1)) {
             const Tensor W = times(adjoint, g.output(1)), own = diagonal(W, 0, -2, -1);
             const Tensor phases = imag(own.detach());
             check(
                 phases.is_meta() || phases.numel() == 0 || all(le(abs(phases), 0.01)).item<bool>(),
                 "eig", "the loss must not depend on the eigenvectors' phases", "a loss that does");
             const Tensor L = conj(g.saved(sl));
             const Tensor is_own = eye(V.size(-1), {.dtype = DType::boolean, .device = V.device()});
             const Tensor differences = where(is_own, 1, unsqueeze(L, -2) - unsqueeze(L, -1));
             const Tensor scaled = times(adjoint, V * unsqueeze(real(own), -2));
             inner = inner + where(is_own, 0, (W - scaled) / differences);
           }
           g.input() = linalg::solve(adjoint, times(inner, adjoint));
         });
}

void lu_factor_gradient(Tensor& lu, const Tensor& pivots, const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  record("lu_factor", lu, {&a}, [m, n, k, pivots, slu = Saved::output(lu)](Gradients& g) {
    const Tensor factors = g.saved(slu), G = g.output();
    const Tensor square_part = rows(columns(factors, 0, k), 0, k);
    const Tensor g_square = rows(columns(G, 0, k), 0, k);
    const Tensor gL = tril(g_square, -1), gU = triu(g_square);
    const Tensor L = tril(square_part, -1) + identity_like(square_part), U = triu(square_part);
    Tensor below = times(turned(L), gL), above = times(gU, turned(U));
    if (n > k) below = below - times(columns(G, k, n - k), turned(columns(factors, k, n - k)));
    if (m > k) above = above - times(turned(rows(factors, k, m - k)), rows(G, k, m - k));
    const auto from_left = [&](const Tensor& x) {  // L^-T x
      return solve_triangular(turned(L), x, {.upper = true, .unitriangular = true});
    };
    const auto from_right = [&](const Tensor& x) {  // x U^-T
      return solve_triangular(turned(U), x, {.upper = false, .left = false});
    };
    Tensor result = from_right(from_left(tril(below, -1) + triu(above)));
    if (n > k) result = cat({result, from_left(columns(G, k, n - k))}, -1);
    if (m > k) result = cat({result, from_right(rows(G, k, m - k))}, -2);
    g.input() = times(permutation_of(pivots, m, result.dtype()), result);
  });
}

void solve_gradient(Tensor& x, const Tensor& a, const Tensor& b) {
  record("solve", x, {&a, &b}, [sa = Saved(a, 0), sx = Saved::output(x)](Gradients& g) {
    const Tensor gB = linalg::solve(turned(g.saved(sa)), g.output());
    if (g.wanted(0)) g.input(0) = -times(gB, turned(g.saved(sx)));
    if (g.wanted(1)) g.input(1) = gB;
  });
}

void solve_triangular_gradient(Tensor& x, const Tensor& a, const Tensor& b,
                               const linalg::TriangularOptions& options) {
  record("solve_triangular", x, {&a, &b},
         [options, sa = Saved(a, 0), sx = Saved::output(x)](Gradients& g) {
           const linalg::TriangularOptions other{!options.upper, true, options.unitriangular};
           const Tensor gB = solve_triangular(turned(g.saved(sa)), g.output(), other);
           if (g.wanted(1)) g.input(1) = gB;
           if (!g.wanted(0)) return;
           const Tensor gA = -times(gB, turned(g.saved(sx)));
           const int64_t off = options.unitriangular ? 1 : 0;
           g.input(0) = options.upper ? triu(gA, off) : tril(gA, -off);
         });
}

// exp of ((A^T, G), (0, A^T)) has the gradient in its corner (Mathias 1996).
void matrix_exp_gradient(Tensor& output, const Tensor& a) {
  record("matrix_exp", output, {&a}, [sa = Saved(a, 0)](Gradients& g) {
    const Tensor A = turned(g.saved(sa));
    const int64_t n = A.size(-1);
    const Tensor upper = cat({A, g.output()}, -1), lower = cat({zeros_like(A.detach()), A}, -1);
    g.input() = columns(rows(linalg::matrix_exp(cat({upper, lower}, -2)), 0, n), n, n);
  });
}

// The product of all values but each one, along the last dimension.
Tensor products_of_others(const Tensor& values) {
  std::vector<Tensor> products;
  const int64_t n = values.size(-1);
  for (int64_t i = 0; i < n; ++i) {
    const Tensor others = cat({columns(values, 0, i), columns(values, i + 1, n - i - 1)}, -1);
    products.push_back(prod(others, -1));
  }
  return stack(products, -1);
}

// det(A) A^-1 of any A, by products alone (Faddeev and LeVerrier): a polynomial of its elements.
Tensor adjugate(const Tensor& A) {
  const int64_t n = A.size(-1);
  const Tensor identity = identity_like(A);
  Tensor result = identity.expand(A.shape());
  for (int64_t k = 1; k < n; ++k) {
    const Tensor product = times(A, result);
    const Tensor trace = sum(product * identity, {-2, -1}, true);
    result = product - trace * identity / static_cast<double>(k);
  }
  return n % 2 == 1 ? result : -result;
}

// To be differentiated again: where a matrix is singular to the last digits, neither its inverse
// nor its singular values are.
Tensor smooth_cofactors(const Tensor& A, const Tensor& determinant) {
  const Tensor sizes = linalg::svdvals(A.detach());
  const double epsilon = A.dtype() == f64 ? 0x1p-52 : 0x1p-23;
  const double least = static_cast<double>(A.size(-1)) * epsilon;
  const Tensor singular = le(columns(sizes, -1, 1), columns(sizes, 0, 1) * least).unsqueeze(-1);
  const Tensor regular = where(singular, identity_like(A), A);
  const Tensor by_inverse = determinant * linalg::inv(regular);
  if (!any(singular).item<bool>()) return turned(by_inverse);
  return turned(where(singular, adjugate(where(singular, A, 0)), by_inverse));
}

void det_gradient(Tensor& output, const Tensor& a) {
  record("det", output, {&a}, [sa = Saved(a, 0), sd = Saved::output(output)](Gradients& g) {
    const Tensor A = g.saved(sa), determinant = g.saved(sd);
    const auto as_matrix = [](const Tensor& x) { return unsqueeze(unsqueeze(x, -1), -1); };
    Tensor cofactors;
    if (grad_enabled() && A.numel() > 0 && !A.is_meta()) {
      cofactors = smooth_cofactors(A, as_matrix(determinant));
    } else if (determinant.is_meta() || all(determinant.detach()).item<bool>()) {
      cofactors = as_matrix(determinant) * turned(linalg::inv(A));
    } else if (A.numel() > 0) {  // from the singular values, of which one may be 0
      const linalg::SVD parts = linalg::svd(A, false);
      const Tensor sign = linalg::det(parts.U.detach()) * linalg::det(parts.Vh.detach());
      cofactors =
          as_matrix(sign) * times(parts.U * unsqueeze(products_of_others(parts.S), -2), parts.Vh);
    } else {
      cofactors = zeros_like(A.detach());
    }
    g.input() = as_matrix(g.output()) * cofactors;
  });
}

void slogdet_gradient(Tensor& output, const Tensor& a) {
  record("slogdet", output, {&a}, [sa = Saved(a, 0)](Gradients& g) {
    g.input() = unsqueeze(unsqueeze(g.output(), -1), -1) * turned(linalg::inv(g.saved(sa)));
  });
}

void inv_gradient(Tensor& output, const Tensor& a) {
  record("inv", output, {&a}, [sx = Saved::output(output)](Gradients& g) {
    const Tensor X = turned(g.saved(sx));
    g.input() = -times(times(X, g.output()), X);
  });
}

// Golub and Pereyra 1973.
void pinv_gradient(Tensor& output, const Tensor& a) {
  record("pinv", output, {&a}, [sa = Saved(a, 0), sp = Saved::output(output)](Gradients& g) {
    const Tensor A = g.saved(sa), P = g.saved(sp), Gt = turned(g.output()), Pt = turned(P);
    const Tensor right = times(times(Gt, P), Pt), left = times(Pt, times(P, Gt));
    g.input() = right - times(A, times(P, right)) + left - times(times(left, P), A) -
                times(Pt, g.output(), Pt);
  });
}

}  // namespace

void register_linalg() {
  cholesky_op.set_gradient(cholesky_gradient);
  qr_op.set_gradient(qr_gradient);
  svd_op.set_gradient(svd_gradient);
  eigh_op.set_gradient(eigh_gradient);
  eig_op.set_gradient(eig_gradient);
  lu_factor_op.set_gradient(lu_factor_gradient);
  solve_op.set_gradient(solve_gradient);
  solve_triangular_op.set_gradient(solve_triangular_gradient);
  matrix_exp_op.set_gradient(matrix_exp_gradient);
  det_op.set_gradient(det_gradient);
  slogdet_op.set_gradient(slogdet_gradient);
  inv_op.set_gradient(inv_gradient);
  pinv_op.set_gradient(pinv_gradient);
}

}  // namespace aorta::autograd
