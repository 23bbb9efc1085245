#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <optional>
#include <vector>

// Decompositions and what is made of them, with the names of torch.linalg. A is (*, m, n), a matrix
// for every index of the batch dimensions *, perhaps none; the smaller of m and n is k. Dtypes are
// f32 and f64; half types are computed in f32. Gradients exist to any order. Eigen computes them on
// the CPU, cuSOLVER on a GPU, where each op waits for its results.
//
// Errors name the first matrix of the batch that can't be decomposed: one with NaN or infinities in
// every op; a singular one where an inverse is needed.
namespace aorta::linalg {

/// L, lower triangular (*, n, n) with L L^T = A, of a symmetric positive definite A, whose lower
/// triangle alone is read; `upper`: L^T, from the upper triangle. Errors: A isn't positive
/// definite.
Tensor cholesky(const Tensor& A, bool upper = false);

/// What qr() gives.
struct QR {
  Tensor Q, R;
};
/// A = Q R with orthonormal columns Q (*, m, k) and R (*, k, n) upper triangular; `mode`
/// "complete": Q (*, m, m), R (*, m, n); "r": R alone. By Householder's reflections, as LAPACK: the
/// signs of R's diagonal are theirs. A gradient needs "reduced", or "complete" of m <= n.
QR qr(const Tensor& A, const char* mode = "reduced");

/// What svd() gives.
struct SVD {
  Tensor U, S, Vh;
};
/// A = U diag(S) Vh: singular values S (*, k) in descending order, U (*, m, m), Vh (*, n, n), or
/// (*, m, k), (*, k, n) without `full_matrices`. Columns of U and rows of Vh are given up to a
/// common sign; a gradient by them needs reduced matrices and different singular values above 0.
SVD svd(const Tensor& A, bool full_matrices = true);
/// S alone.
Tensor svdvals(const Tensor& A);

/// What eigh() gives.
struct Eigh {
  Tensor eigenvalues, eigenvectors;
};
/// A = V diag(L) V^T of a symmetric A (*, n, n), whose triangle `UPLO` ("L" or "U") alone is read:
/// eigenvalues L (*, n) in ascending order, eigenvectors V (*, n, n) in columns, up to their signs.
/// A gradient by V needs different eigenvalues.
Eigh eigh(const Tensor& A, const char* UPLO = "L");
/// L alone.
Tensor eigvalsh(const Tensor& A, const char* UPLO = "L");

/// What eig() gives.
struct Eig {
  Tensor eigenvalues, eigenvectors;
};
/// A = V diag(L) V^-1 of any A (*, n, n), complex ones too: complex eigenvalues L (*, n) in no
/// order, eigenvectors V (*, n, n) in columns of length 1, the largest component real. A gradient
/// by V needs different eigenvalues, and a loss that doesn't depend on the vectors' phases.
Eig eig(const Tensor& A);
/// L alone.
Tensor eigvals(const Tensor& A);

/// What lu() gives.
struct LU {
  Tensor P, L, U;
};
/// A = P L U by partial pivoting: P (*, m, m) a permutation, L (*, m, k) lower triangular with
/// ones, U (*, k, n) upper triangular. A singular A has one too.
LU lu(const Tensor& A);
/// What lu_factor() gives.
struct LUFactor {
  Tensor LU, pivots;
};
/// L below the diagonal and U on and above it, (*, m, n); pivots (*, k) of i32 from 1: row i was
/// swapped with row pivots[i].
LUFactor lu_factor(const Tensor& A);
/// X with A X = B from lu_factor(A), A (*, n, n), B (*, n, c); X A = B, B (*, c, n), without
/// `left`; with A^T for A where `adjoint`.
Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left = true,
                bool adjoint = false);

/// What ldl_factor() gives.
struct LDLFactor {
  Tensor LD, pivots;
};
/// A symmetric A (*, n, n), whose lower triangle alone is read, as L D L^T with swaps of rows and
/// columns, as LAPACK's sytrf (Bunch, Kaufman 1977): D, on the diagonal and in blocks of 2, and L
/// (*, n, n), 0 above; pivots (*, n) of i32 from 1, row i was swapped with row pivots[i]; a block's
/// two are -r, for its second row, which was swapped with row r. No gradient, as in PyTorch.
/// Errors: D is singular.
LDLFactor ldl_factor(const Tensor& A);
/// X with A X = B from ldl_factor(A), B (*, n, c). Gradients by LD and B.
Tensor ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B);

/// The first n columns (*, m, n) of the product of reflections 1 - tau_i v_i v_i^T, i < k, for tau
/// (*, k): v_i is 0 in its first i rows, 1 in the next, and A's column i below, A (*, m, n), k <= n
/// <= m; as LAPACK's orgqr.
Tensor householder_product(const Tensor& A, const Tensor& tau);

/// X with A X = B for A (*, n, n), B (*, n, c) or, where it has A's shape without the last size,
/// vectors (*, n); X A = B without `left`. Batches broadcast. Complex ones are solved as real ones
/// of twice the size. Errors: A is singular.
Tensor solve(const Tensor& A, const Tensor& B, bool left = true);

/// Which triangle solve_triangular() reads, and on which side of X it stands.
struct TriangularOptions {
  bool upper;
  bool left = true;            // A X = B, else X A = B
  bool unitriangular = false;  // ones on the diagonal, which isn't read
};
/// X for a triangular A, of which the other triangle isn't read.
Tensor solve_triangular(const Tensor& A, const Tensor& B, const TriangularOptions& options);

/// A^-1 of A (*, n, n). Errors: A is singular.
Tensor inv(const Tensor& A);
/// The determinant (*) of A (*, n, n); its gradient exists for singular matrices too.
Tensor det(const Tensor& A);
/// What slogdet() gives.
struct Slogdet {
  Tensor sign, logabsdet;
};
/// The determinant as sign * exp(logabsdet); 0 and -inf of a singular A. Its gradient needs A^-1.
Slogdet slogdet(const Tensor& A);

/// From which size on a singular value counts: max(atol, rtol * the largest one). Without both rtol
/// is max(m, n) times the dtype's machine epsilon; beside an atol above 0 it is 0. Those of a
/// `hermitian` A are its eigenvalues' magnitudes; its lower triangle alone is read.
struct RankTolerance {
  std::optional<double> atol = {}, rtol = {};
  bool hermitian = false;
};
/// The Moore-Penrose inverse (*, n, m), of the singular values that count.
Tensor pinv(const Tensor& A, const RankTolerance& tolerance = {});
/// How many singular values count, (*) of i64.
Tensor matrix_rank(const Tensor& A, const RankTolerance& tolerance = {});

/// What lstsq() gives.
struct Lstsq {
  Tensor solution, residuals, rank, singular_values;
};
/// X (*, n, c) with the smallest |A X - B| for B (*, m, c), and the smallest such X: pinv(A) B with
/// `rcond` for rtol. residuals (*, c) are the squared norms of the columns of A X - B where m > n
/// and every A has rank n, else nothing, (0).
Lstsq lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond = {});

/// The exponential of A (*, n, n), the sum of A^k / k! (Higham 2005, by Eigen).
Tensor matrix_exp(const Tensor& A);
/// A to the power n by squaring; of its inverse where n < 0.
Tensor matrix_power(const Tensor& A, int64_t n);

}  // namespace aorta::linalg

namespace aorta::kernel {

/// What a kernel found of one matrix of the batch.
enum class MatrixState : uint8_t { fine, failed, not_finite };

/// A decomposition of `count` matrices, dense and row-major, one behind the other; f32 or f64.
/// `states` has one each.
struct DecompositionArgs {
  DType dtype;
  int64_t count, m, n;
  const void* a;
  MatrixState* states;
};
struct TwoFactorsArgs : DecompositionArgs {
  void* first;   // L; Q (m, q); eigenvalues; LU or LD, in place of a copy of A
  void* second;  // none; R (q, n); eigenvectors; pivots of i32
  int64_t q = 0;
};
struct SvdArgs : DecompositionArgs {
  void* u;  // (m, u_columns); null with vh for S alone
  void* s;
  void* vh;  // (vh_rows, n)
  int64_t u_columns, vh_rows;
};
/// X (n, c) with A X = B; b has one matrix for each of A's.
struct SolveArgs : DecompositionArgs {
  const void* b;
  void* x;
  int64_t c;
  bool upper = false, unitriangular = false;  // of a triangular A
};

using TwoFactorsKernel = void (*)(const TwoFactorsArgs& args);
using OneGradient = void (*)(Tensor& output, const Tensor& a);
using TwoGradient = void (*)(Tensor& first, Tensor& second, const Tensor& a);
using SolveKernel = void (*)(const SolveArgs& args);

extern Op<TwoFactorsKernel, OneGradient> cholesky_op;
extern Op<TwoFactorsKernel, TwoGradient> qr_op, eigh_op;
/// Its factors are complex, whatever A is.
extern Op<TwoFactorsKernel, TwoGradient> eig_op;
/// The pivots have no gradient.
extern Op<TwoFactorsKernel, void (*)(Tensor& lu, const Tensor& pivots, const Tensor& a)>
    lu_factor_op;
/// u and vh are undefined where only s was wanted.
extern Op<void (*)(const SvdArgs&), void (*)(Tensor& u, Tensor& s, Tensor& vh, const Tensor& a)>
    svd_op;
extern Op<SolveKernel, void (*)(Tensor& x, const Tensor& a, const Tensor& b)> solve_op;
extern Op<SolveKernel, void (*)(Tensor& x, const Tensor& a, const Tensor& b,
                                const linalg::TriangularOptions& options)>
    solve_triangular_op;
extern Op<TwoFactorsKernel, OneGradient> matrix_exp_op;
extern Op<TwoFactorsKernel, NoGradient> ldl_factor_op;
/// Computed by lu_factor's, solve's and svd's kernels; these rows have the gradients.
extern Op<NoKernel, OneGradient> det_op, inv_op, pinv_op;
extern Op<NoKernel, OneGradient> slogdet_op;  // of logabsdet

/// The permutation (*, m, m) of pivots (*, k): row i of P^T A is A's row that LU's row i came from.
Tensor permutation_of(const Tensor& pivots, int64_t m, DType dtype);

}  // namespace aorta::kernel
