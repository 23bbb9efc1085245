#include <aorta/core/ops/linalg.h>

#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/profiler.h>
#include <aorta/core/dispatch/traced.h>
#include <aorta/core/empty.h>
#include <aorta/core/finfo.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace aorta::kernel {

constinit Op<TwoFactorsKernel, OneGradient> cholesky_op{"cholesky"};
constinit Op<TwoFactorsKernel, TwoGradient> qr_op{"qr"};
constinit Op<TwoFactorsKernel, TwoGradient> eigh_op{"eigh"};
constinit Op<TwoFactorsKernel, TwoGradient> eig_op{"eig"};
constinit Op<TwoFactorsKernel, void (*)(Tensor&, const Tensor&, const Tensor&)> lu_factor_op{
    "lu_factor"};
constinit Op<void (*)(const SvdArgs&), void (*)(Tensor&, Tensor&, Tensor&, const Tensor&)> svd_op{
    "svd"};
constinit Op<SolveKernel, void (*)(Tensor&, const Tensor&, const Tensor&)> solve_op{"solve"};
constinit Op<SolveKernel,
             void (*)(Tensor&, const Tensor&, const Tensor&, const linalg::TriangularOptions&)>
    solve_triangular_op{"solve_triangular"};
constinit Op<TwoFactorsKernel, OneGradient> matrix_exp_op{"matrix_exp"};
constinit Op<TwoFactorsKernel, NoGradient> ldl_factor_op{"ldl_factor"};
constinit Op<NoKernel, OneGradient> det_op{"det"};
constinit Op<NoKernel, OneGradient> slogdet_op{"slogdet"};
constinit Op<NoKernel, OneGradient> inv_op{"inv"};
constinit Op<NoKernel, OneGradient> pinv_op{"pinv"};

Tensor permutation_of(const Tensor& pivots, int64_t m, DType dtype) {
  Shape shape = pivots.shape();
  shape[shape.size() - 1] = m;
  shape.push_back(m);
  if (pivots.is_meta()) return empty(shape, {.dtype = dtype, .device = pivots.device()});
  const Tensor swaps = pivots.cpu().contiguous();
  const int64_t k = swaps.size(-1), count = k == 0 ? 0 : swaps.numel() / k;
  const Tensor result = zeros(shape, {.dtype = DType::f64});
  double* place = result.data<double>();
  std::vector<int64_t> order(static_cast<size_t>(m));
  for (int64_t i = 0; i < (m == 0 ? 0 : result.numel() / (m * m)); ++i, place += m * m) {
    for (int64_t r = 0; r < m; ++r) order[static_cast<size_t>(r)] = r;
    for (int64_t j = 0; j < k && i < count; ++j) {
      const int32_t pivot = swaps.data<int32_t>()[i * k + j];
      check(pivot > j && pivot <= m, "lu_solve", "a pivot must be a row from its own on, from 1",
            pivot, " at ", j, " of ", m, " rows");
      const auto other = static_cast<size_t>(pivot - 1);
      std::swap(order[static_cast<size_t>(j)], order[other]);
    }
    for (int64_t r = 0; r < m; ++r) place[order[static_cast<size_t>(r)] * m + r] = 1;
  }
  return result.to({.dtype = dtype, .device = pivots.device()});
}

}  // namespace aorta::kernel

namespace aorta::linalg {

using namespace kernel;

namespace {

void check_matrices(const char* op, const Tensor& A, bool square, const char* name = "A") {
  check_defined(op, {{name, A}});
  check(is_floating(A.dtype()), op, "dtype must be floating", A.dtype());
  check(A.dim() >= 2, op, std::string(name) + " must have 2 dimensions or more", A.shape());
  check(!square || A.size(-1) == A.size(-2), op, "matrices must be square", A.shape());
}

Shape batch_of(const Tensor& A) {
  Shape shape = A.shape();
  shape.resize(A.dim() - 2);
  return shape;
}
Shape with_sizes(const Shape& batch, std::initializer_list<int64_t> sizes) {
  Shape shape = batch;
  for (int64_t size : sizes) shape.push_back(size);
  return shape;
}
Tensor transposed(const Tensor& A) { return transpose(A, -2, -1); }

// The matrices of a batch as kernels take them, and what they found of each.
struct MatrixBatch {
  explicit MatrixBatch(const Tensor& A)
      : a(A.detach().contiguous()),
        count(batch_of(A).numel()),
        states(static_cast<size_t>(a.numel() == 0 ? 0 : count), MatrixState::fine) {}
  Tensor a;
  int64_t count;
  std::vector<MatrixState> states;  // none of matrices without elements, which no kernel gets

  DecompositionArgs args() {
    return {a.dtype(), count, a.size(-2), a.size(-1), a.data(), states.data()};
  }
  Tensor output(std::initializer_list<int64_t> sizes) const {
    return empty(with_sizes(batch_of(a), sizes), {.dtype = a.dtype(), .device = a.device()});
  }
  void check_states(const char* op, const char* rule) const {
    const auto bad = std::find_if(states.begin(), states.end(),
                                  [](MatrixState state) { return state != MatrixState::fine; });
    if (bad == states.end()) return;
    const int64_t place = bad - states.begin();
    if (*bad == MatrixState::not_finite)
      fail(op, "matrices must be finite", "NaN or infinity in matrix ", place, " of ", count);
    fail(op, rule, "matrix ", place, " of ", count, " that is not");
  }
};

constexpr const char* kInvertible = "matrices must be invertible";
constexpr const char* kConverges = "the iteration must converge";

// Which singular values (*, k) of matrices (m, n) count.
Tensor counting(const Tensor& S, const Tensor& A, const RankTolerance& tolerance) {
  const double larger = static_cast<double>(std::max(A.size(-1), A.size(-2)));
  const double atol = tolerance.atol.value_or(0);
  const double rtol = tolerance.rtol.value_or(atol > 0 ? 0 : larger * finfo(S.dtype()).eps);
  if (S.size(-1) == 0) return gt(S, 0);
  return gt(S, clamp_min(amax(S, {-1}, true) * rtol, atol));
}

SVD run_svd(const char* op, const Tensor& A, bool full_matrices, bool values_alone) {
  const ProfilerRange range("svd", {&A});
  const auto kernel = svd_op.kernel(A.device());
  const CalledOp called(op);
  MatrixBatch batch(A);
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const int64_t u_columns = full_matrices ? m : k, vh_rows = full_matrices ? n : k;
  SVD result{{}, batch.output({k}), {}};
  if (!values_alone) {
    result.U = batch.output({m, u_columns});
    result.Vh = batch.output({vh_rows, n});
  }
  if (A.numel() > 0) {
    kernel({batch.args(), values_alone ? nullptr : result.U.data(), result.S.data(),
            values_alone ? nullptr : result.Vh.data(), u_columns, vh_rows});
  } else if (!values_alone && batch.count > 0) {  // of nothing
    result.U.copy_(eye(m, u_columns, {.dtype = A.dtype(), .device = A.device()}));
    result.Vh.copy_(eye(vh_rows, n, {.dtype = A.dtype(), .device = A.device()}));
  }
  batch.check_states(op, kConverges);
  if (!values_alone && needs_gradient(A)) svd_op.gradient()(result.U, result.S, result.Vh, A);
  tell_tracer(svd_op.name(), {&result.U, &result.S, &result.Vh}, {&A});
  return result;
}

LUFactor run_lu(const char* op, const Tensor& A) {
  const ProfilerRange range("lu_factor", {&A});
  const auto kernel = lu_factor_op.kernel(A.device());
  const CalledOp called(op);
  MatrixBatch batch(A);
  const int64_t m = A.size(-2), n = A.size(-1);
  LUFactor result{batch.output({m, n}), empty(with_sizes(batch_of(A), {std::min(m, n)}),
                                              {.dtype = DType::i32, .device = A.device()})};
  if (result.pivots.numel() > 0) kernel({batch.args(), result.LU.data(), result.pivots.data()});
  batch.check_states(op, kInvertible);
  return result;
}

// The sign and the logarithm of the size of each determinant, or (1, det), on the host.
template <class T>
void read_determinants(const LUFactor& factors, bool logarithm, Tensor& sign, Tensor& size) {
  const int64_t n = factors.LU.size(-1);
  const Tensor diagonals = diagonal(factors.LU, 0, -2, -1).cpu().contiguous(),
               pivots = factors.pivots.cpu().contiguous();
  for (int64_t i = 0; i < size.numel(); ++i) {
    T s = 1, value = logarithm ? T(0) : T(1);
    for (int64_t j = 0; j < n; ++j) {
      const T d = diagonals.data<T>()[i * n + j];
      if (pivots.data<int32_t>()[i * n + j] != j + 1) s = -s;
      if (logarithm) {
        value += std::log(std::abs(d));
        s = d == 0 ? T(0) : d < 0 ? -s : s;
      } else {
        value *= d;
      }
    }
    if (logarithm) sign.data<T>()[i] = s;
    size.data<T>()[i] = logarithm ? value : s * value;
  }
}

Slogdet determinants(const char* op, const Tensor& A, bool logarithm) {
  const LUFactor factors = run_lu(op, A);
  const Device host = A.is_meta() ? A.device() : Device();
  const TensorOptions like{.dtype = A.dtype(), .device = host};
  Slogdet result{empty(batch_of(A), like), empty(batch_of(A), like)};
  if (A.is_meta()) return result;
  if (A.dtype() == DType::f64)
    read_determinants<double>(factors, logarithm, result.sign, result.logabsdet);
  else
    read_determinants<float>(factors, logarithm, result.sign, result.logabsdet);
  return {result.sign.to(A.device()), result.logabsdet.to(A.device())};
}

// A (*, n, n) and B (*, n, c) with the same batch.
struct Operands {
  Tensor A, B;
};
Operands broadcast_operands(const char* op, const Tensor& A, const Tensor& B) {
  check(A.dtype() == B.dtype(), op, "A and B must have one dtype", A.dtype(), " and ", B.dtype());
  check(A.device() == B.device(), op, "A and B must be on one device", A.device(), " and ",
        B.device());
  check(B.size(-2) == A.size(-1), op, "B must have as many rows as A has columns", A.shape(),
        " and ", B.shape());
  const Shape batch = broadcast_shapes(op, batch_of(A), batch_of(B));
  return {expand(A, with_sizes(batch, {A.size(-2), A.size(-1)})),
          expand(B, with_sizes(batch, {B.size(-2), B.size(-1)}))};
}

Tensor run_solve(const char* op, SolveKernel kernel, const Operands& o,
                 const TriangularOptions* triangular) {
  const ProfilerRange range(op, {&o.A, &o.B});
  const CalledOp called(op);
  MatrixBatch batch(o.A);
  const Tensor b = o.B.detach().contiguous();
  const int64_t n = b.size(-2), c = b.size(-1);
  Tensor x = batch.output({n, c});
  if (x.numel() > 0) {
    SolveArgs args{batch.args(), b.data(), x.data(), c};
    if (triangular) {
      args.upper = triangular->upper;
      args.unitriangular = triangular->unitriangular;
    }
    kernel(args);
  }
  batch.check_states(op, kInvertible);
  return x;
}

}  // namespace

Tensor cholesky(const Tensor& A, bool upper) {
  const CalledOp called("cholesky");
  check_matrices("cholesky", A, true);
  if (is_half(A.dtype())) return cholesky(A.to(DType::f32), upper).to(A.dtype());
  if (upper) return transposed(cholesky(transposed(A)));
  const ProfilerRange range("cholesky", {&A});
  const auto kernel = cholesky_op.kernel(A.device());
  MatrixBatch batch(A);
  Tensor L = batch.output({A.size(-1), A.size(-1)});
  if (L.numel() > 0) kernel({batch.args(), L.data(), nullptr});
  batch.check_states("cholesky", "matrices must be positive definite");
  if (needs_gradient(A)) cholesky_op.gradient()(L, A);
  tell_tracer(cholesky_op.name(), {&L}, {&A});
  return L;
}

QR qr(const Tensor& A, const char* mode) {
  const CalledOp called("qr");
  check_matrices("qr", A, false);
  const std::string_view name(mode);
  check(name == "reduced" || name == "complete" || name == "r", "qr",
        "mode must be reduced, complete or r", "\"", mode, "\"");
  if (is_half(A.dtype())) {
    const QR wide = qr(A.to(DType::f32), mode);
    return {wide.Q.defined() ? wide.Q.to(A.dtype()) : Tensor(), wide.R.to(A.dtype())};
  }
  const ProfilerRange range("qr", {&A});
  const auto kernel = qr_op.kernel(A.device());
  MatrixBatch batch(A);
  const int64_t m = A.size(-2), n = A.size(-1), q = name == "complete" ? m : std::min(m, n);
  QR result{batch.output({m, q}), batch.output({q, n})};
  if (A.numel() > 0)
    kernel({batch.args(), result.Q.data(), result.R.data(), q});
  else if (result.Q.numel() > 0)
    result.Q.copy_(eye(m, q, {.dtype = A.dtype(), .device = A.device()}));
  batch.check_states("qr", kConverges);
  if (needs_gradient(A)) qr_op.gradient()(result.Q, result.R, A);
  tell_tracer(qr_op.name(), {&result.Q, &result.R}, {&A});
  if (name == "r") result.Q = {};
  return result;
}

SVD svd(const Tensor& A, bool full_matrices) {
  const CalledOp called("svd");
  check_matrices("svd", A, false);
  if (!is_half(A.dtype())) return run_svd("svd", A, full_matrices, false);
  const SVD wide = svd(A.to(DType::f32), full_matrices);
  return {wide.U.to(A.dtype()), wide.S.to(A.dtype()), wide.Vh.to(A.dtype())};
}
Tensor svdvals(const Tensor& A) {
  const CalledOp called("svdvals");
  check_matrices("svdvals", A, false);
  if (is_half(A.dtype())) return svdvals(A.to(DType::f32)).to(A.dtype());
  return run_svd("svdvals", A, false, !needs_gradient(A)).S;
}

Eigh eigh(const Tensor& A, const char* UPLO) {
  const CalledOp called("eigh");
  check_matrices("eigh", A, true);
  const std::string_view triangle(UPLO);
  check(triangle == "L" || triangle == "U", "eigh", "UPLO must be L or U", "\"", UPLO, "\"");
  if (is_half(A.dtype())) {
    const Eigh wide = eigh(A.to(DType::f32), UPLO);
    return {wide.eigenvalues.to(A.dtype()), wide.eigenvectors.to(A.dtype())};
  }
  if (triangle == "U") return eigh(transposed(A));
  const ProfilerRange range("eigh", {&A});
  const auto kernel = eigh_op.kernel(A.device());
  MatrixBatch batch(A);
  const int64_t n = A.size(-1);
  Eigh result{batch.output({n}), batch.output({n, n})};
  if (A.numel() > 0) kernel({batch.args(), result.eigenvalues.data(), result.eigenvectors.data()});
  batch.check_states("eigh", kConverges);
  if (needs_gradient(A)) eigh_op.gradient()(result.eigenvalues, result.eigenvectors, A);
  tell_tracer(eigh_op.name(), {&result.eigenvalues, &result.eigenvectors}, {&A});
  return result;
}
Tensor eigvalsh(const Tensor& A, const char* UPLO) {
  check_defined("eigvalsh", {{"A", A}});
  const CalledOp called("eigvalsh");
  return eigh(A, UPLO).eigenvalues;
}

Eig eig(const Tensor& A) {
  const CalledOp called("eig");
  check_defined("eig", {{"A", A}});
  check_matrices("eig", real(A), true);
  if (is_half(A.dtype())) return eig(A.to(DType::f32));
  const ProfilerRange range("eig", {&A});
  const auto kernel = eig_op.kernel(A.device());
  MatrixBatch batch(A);
  const int64_t n = A.size(-1);
  const TensorOptions like{.dtype = complex_dtype(A.dtype()), .device = A.device()};
  Eig result{empty(with_sizes(batch_of(A), {n}), like), empty(A.shape(), like)};
  if (A.numel() > 0) kernel({batch.args(), result.eigenvalues.data(), result.eigenvectors.data()});
  batch.check_states("eig", kConverges);
  if (needs_gradient(A)) eig_op.gradient()(result.eigenvalues, result.eigenvectors, A);
  tell_tracer(eig_op.name(), {&result.eigenvalues, &result.eigenvectors}, {&A});
  return result;
}
Tensor eigvals(const Tensor& A) {
  check_defined("eigvals", {{"A", A}});
  const CalledOp called("eigvals");
  return eig(A).eigenvalues;
}

LUFactor lu_factor(const Tensor& A) {
  const CalledOp called("lu_factor");
  check_matrices("lu_factor", A, false);
  if (is_half(A.dtype())) {
    const LUFactor wide = lu_factor(A.to(DType::f32));
    return {wide.LU.to(A.dtype()), wide.pivots};
  }
  LUFactor result = run_lu("lu_factor", A);
  if (needs_gradient(A)) lu_factor_op.gradient()(result.LU, result.pivots, A);
  tell_tracer(lu_factor_op.name(), {&result.LU, &result.pivots}, {&A});
  return result;
}
LDLFactor ldl_factor(const Tensor& A) {
  const CalledOp called("ldl_factor");
  check_matrices("ldl_factor", A, true);
  if (is_half(A.dtype())) {
    const LDLFactor wide = ldl_factor(A.to(DType::f32));
    return {wide.LD.to(A.dtype()), wide.pivots};
  }
  const ProfilerRange range("ldl_factor", {&A});
  const auto kernel = ldl_factor_op.kernel(A.device());
  MatrixBatch batch(A);
  const int64_t n = A.size(-1);
  LDLFactor result{batch.output({n, n}), empty(with_sizes(batch_of(A), {n}),
                                               {.dtype = DType::i32, .device = A.device()})};
  if (A.numel() > 0) kernel({batch.args(), result.LD.data(), result.pivots.data()});
  batch.check_states("ldl_factor", kInvertible);
  tell_tracer(ldl_factor_op.name(), {&result.LD, &result.pivots}, {&A});
  return result;
}
LU lu(const Tensor& A) {
  check_defined("lu", {{"A", A}});
  const CalledOp called("lu");
  const auto [factors, pivots] = lu_factor(A);
  const int64_t m = A.size(-2), k = std::min(m, A.size(-1));
  const Tensor ones_below = eye(m, k, {.dtype = A.dtype(), .device = A.device()});
  return {permutation_of(pivots, m, A.dtype()), tril(narrow(factors, -1, 0, k), -1) + ones_below,
          triu(narrow(factors, -2, 0, k))};
}
Tensor lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  const CalledOp called("lu_solve");
  check_matrices("lu_solve", LU, true, "LU");
  check_matrices("lu_solve", B, false, "B");
  check_defined("lu_solve", {{"pivots", pivots}});
  check(pivots.dtype() == DType::i32 && pivots.dim() == LU.dim() - 1 &&
            pivots.size(-1) == LU.size(-1),
        "lu_solve", "pivots must be those of lu_factor", pivots.dtype(), " ", pivots.shape());
  const Autocast off(DType::f32);
  if (!left) return transposed(lu_solve(LU, pivots, transposed(B), true, !adjoint));
  const Tensor P = permutation_of(pivots, LU.size(-1), LU.dtype());
  if (adjoint) {  // U^T L^T P^T X = B
    const Tensor Y = solve_triangular(transposed(LU), B, {.upper = false});
    const Tensor Z = solve_triangular(transposed(LU), Y, {.upper = true, .unitriangular = true});
    return matmul(P, Z);
  }
  const Tensor Y =
      solve_triangular(LU, matmul(transposed(P), B), {.upper = false, .unitriangular = true});
  return solve_triangular(LU, Y, {.upper = true});
}

namespace {

// X with A X = B, where B holds matrices.
Tensor solve_matrices(const Tensor& A, const Tensor& B) {
  const Operands o = broadcast_operands("solve", A, B);
  if (A.is_complex()) {
    const Tensor re = real(o.A), im = imag(o.A);
    const Tensor both = cat({cat({re, -im}, -1), cat({im, re}, -1)}, -2);
    const Tensor parts = solve_matrices(both, cat({real(o.B), imag(o.B)}, -2));
    const int64_t n = re.size(-1);
    return complex(narrow(parts, -2, 0, n), narrow(parts, -2, n, n));
  }
  Tensor x = run_solve("solve", solve_op.kernel(A.device()), o, nullptr);
  if (needs_gradient(o.A, o.B)) solve_op.gradient()(x, o.A, o.B);
  tell_tracer(solve_op.name(), {&x}, {&o.A, &o.B});
  return x;
}

}  // namespace

Tensor solve(const Tensor& A, const Tensor& B, bool left) {
  const CalledOp called("solve");
  check_defined("solve", {{"A", A}, {"B", B}});
  check_matrices("solve", real(A), true);
  if (is_half(A.dtype()) && is_half(B.dtype()))
    return solve(A.to(DType::f32), B.to(DType::f32), left).to(A.dtype());
  Shape vectors = A.shape();
  vectors.resize(A.dim() - 1);
  if (B.dim() == 1 || (B.dim() == A.dim() - 1 && B.shape() == vectors)) {
    check(left, "solve", "vectors must be on the right", B.shape());
    return squeeze(solve_matrices(A, unsqueeze(B, -1)), -1);
  }
  check(B.dim() >= 2, "solve", "B must have a dimension or more", B.shape());
  if (!left) return transposed(solve_matrices(transposed(A), transposed(B)));
  return solve_matrices(A, B);
}

Tensor solve_triangular(const Tensor& A, const Tensor& B, const TriangularOptions& options) {
  const CalledOp called("solve_triangular");
  check_matrices("solve_triangular", A, true);
  check_matrices("solve_triangular", B, false, "B");
  if (is_half(A.dtype()) && is_half(B.dtype()))
    return solve_triangular(A.to(DType::f32), B.to(DType::f32), options).to(A.dtype());
  if (!options.left) {
    const TriangularOptions other{!options.upper, true, options.unitriangular};
    return transposed(solve_triangular(transposed(A), transposed(B), other));
  }
  const Operands o = broadcast_operands("solve_triangular", A, B);
  Tensor x = run_solve("solve_triangular", solve_triangular_op.kernel(A.device()), o, &options);
  if (needs_gradient(o.A, o.B)) solve_triangular_op.gradient()(x, o.A, o.B, options);
  tell_tracer(solve_triangular_op.name(), {&x}, {&o.A, &o.B});
  return x;
}

Tensor inv(const Tensor& A) {
  const CalledOp called("inv");
  check_matrices("inv", A, true);
  if (is_half(A.dtype())) return inv(A.to(DType::f32)).to(A.dtype());
  const auto kernel = solve_op.kernel(A.device());  // the op that a device may lack
  const Tensor identity = eye(A.size(-1), {.dtype = A.dtype(), .device = A.device()});
  Tensor x = run_solve("inv", kernel, {A, identity.expand(A.shape())}, nullptr);
  if (needs_gradient(A)) inv_op.gradient()(x, A);
  tell_tracer(inv_op.name(), {&x}, {&A});
  return x;
}

Tensor det(const Tensor& A) {
  const CalledOp called("det");
  check_matrices("det", A, true);
  if (is_half(A.dtype())) return det(A.to(DType::f32)).to(A.dtype());
  Tensor result = determinants("det", A, false).logabsdet;
  if (needs_gradient(A)) det_op.gradient()(result, A);
  tell_tracer(det_op.name(), {&result}, {&A});
  return result;
}
Slogdet slogdet(const Tensor& A) {
  const CalledOp called("slogdet");
  check_matrices("slogdet", A, true);
  if (is_half(A.dtype())) {
    const Slogdet wide = slogdet(A.to(DType::f32));
    return {wide.sign.to(A.dtype()), wide.logabsdet.to(A.dtype())};
  }
  Slogdet result = determinants("slogdet", A, true);
  if (needs_gradient(A)) slogdet_op.gradient()(result.logabsdet, A);
  tell_tracer(slogdet_op.name(), {&result.sign, &result.logabsdet}, {&A});
  return result;
}

Tensor pinv(const Tensor& A, const RankTolerance& tolerance) {
  const CalledOp called("pinv");
  check_matrices("pinv", A, false);
  if (is_half(A.dtype())) return pinv(A.to(DType::f32), tolerance).to(A.dtype());
  const Autocast off(DType::f32);  // its products are a part of it
  Tensor result;
  if (tolerance.hermitian) {
    const auto [L, V] = eigh(A.detach());
    const Tensor inverses = where(counting(abs(L), A, tolerance), reciprocal(L), 0);
    result = matmul(V * unsqueeze(inverses, -2), transposed(V));
  } else {
    svd_op.kernel(A.device());
    const SVD parts = run_svd("pinv", A.detach(), false, false);
    const Tensor inverses = where(counting(parts.S, A, tolerance), reciprocal(parts.S), 0);
    result = matmul(transposed(parts.Vh) * unsqueeze(inverses, -2), transposed(parts.U));
  }
  if (needs_gradient(A)) pinv_op.gradient()(result, A);
  tell_tracer(pinv_op.name(), {&result}, {&A});
  return result;
}
Tensor matrix_rank(const Tensor& A, const RankTolerance& tolerance) {
  const CalledOp called("matrix_rank");
  check_matrices("matrix_rank", A, false);
  const Tensor a = is_half(A.dtype()) ? A.detach().to(DType::f32) : A.detach();
  const Tensor S = tolerance.hermitian ? abs(eigvalsh(a)) : svdvals(a);
  return sum(counting(S, A, tolerance), {-1});
}

Lstsq lstsq(const Tensor& A, const Tensor& B, std::optional<double> rcond) {
  const CalledOp called("lstsq");
  check_matrices("lstsq", A, false);
  check_matrices("lstsq", B, false, "B");
  check(A.size(-2) == B.size(-2), "lstsq", "A and B must have as many rows", A.shape(), " and ",
        B.shape());
  const Autocast off(DType::f32);
  Lstsq result;
  result.solution = matmul(pinv(A, {.rtol = rcond}), B);
  const Tensor a = A.detach();
  result.singular_values = svdvals(is_half(a.dtype()) ? a.to(DType::f32) : a);
  result.rank = sum(counting(result.singular_values, A, {.rtol = rcond}), {-1});
  const int64_t n = A.size(-1);
  const bool overdetermined = A.size(-2) > n && all(eq(result.rank, n)).item<bool>();
  result.residuals = overdetermined ? sum(square(matmul(A, result.solution) - B), {-2})
                                    : zeros({0}, {.dtype = A.dtype(), .device = A.device()});
  return result;
}

Tensor matrix_exp(const Tensor& A) {
  const CalledOp called("matrix_exp");
  check_matrices("matrix_exp", A, true);
  if (is_half(A.dtype())) return matrix_exp(A.to(DType::f32)).to(A.dtype());
  const ProfilerRange range("matrix_exp", {&A});
  const auto kernel = matrix_exp_op.kernel(A.device());
  MatrixBatch batch(A);
  Tensor result = batch.output({A.size(-1), A.size(-1)});
  if (A.numel() > 0) kernel({batch.args(), result.data(), nullptr});
  batch.check_states("matrix_exp", kConverges);
  if (needs_gradient(A)) matrix_exp_op.gradient()(result, A);
  tell_tracer(matrix_exp_op.name(), {&result}, {&A});
  return result;
}

Tensor matrix_power(const Tensor& A, int64_t n) {
  const CalledOp called("matrix_power");
  check_matrices("matrix_power", A, true);
  if (n == 0)
    return eye(A.size(-1), {.dtype = A.dtype(), .device = A.device()}).expand(A.shape()).clone();
  Tensor square = n < 0 ? inv(A) : A, result;
  for (uint64_t rest = n < 0 ? 0 - static_cast<uint64_t>(n) : static_cast<uint64_t>(n);;) {
    if (rest % 2 == 1) result = result.defined() ? matmul(result, square) : square;
    rest /= 2;
    if (rest == 0) break;
    square = matmul(square, square);
  }
  return n == 1 ? result.clone() : result;
}

}  // namespace aorta::linalg
