#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/cholesky_transforms.h>
#include <aorta/distributions/formulas.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {
namespace {

void check_square(const char* op, const char* what, const Tensor& x) {
  check_defined(op, {{what, x}});
  check(x.dim() >= 2 && x.size(-1) == x.size(-2), op, std::string(what) + " must be (*, n, n)",
        x.shape());
}

[[noreturn]] void has_no_jacobian(const char* name) {
  fail("log_abs_det_jacobian", "the transform must have one", name);
}

Constraint real_matrix() { return constraints::independent(constraints::real(), 2); }

// n of vectors (n (n - 1) / 2).
int64_t rows_of(const char* op, const Shape& shape) {
  const int64_t count = shape.size() > 0 ? shape[shape.size() - 1] : 0;
  const auto n = static_cast<int64_t>(std::lround(0.5 + std::sqrt(0.25 + 2.0 * double(count))));
  constexpr int64_t most = int64_t{1} << 60;  // whose n can be squared
  check(count > 0 && count < most && n * (n - 1) / 2 == count, op,
        "x must be (*, n (n - 1) / 2), n > 1", shape);
  return n;
}

// f(row, column) of each place below the diagonal, row by row.
template <class F>
std::vector<int64_t> below_diagonal(int64_t n, const F& f) {
  std::vector<int64_t> values;
  for (int64_t row = 1; row < n; ++row)
    for (int64_t column = 0; column < row; ++column) values.push_back(f(row, column));
  return values;
}

// log(1 / cosh(x)), where cosh(x) may overflow.
Tensor log_sech(const Tensor& x) { return std::numbers::ln2 - x + logsigmoid(2 * x); }

// The vector below the diagonal, zeros elsewhere.
Tensor matrix_of(const Tensor& x, int64_t n) {
  std::vector<int64_t> places(static_cast<size_t>(n * n), x.size(-1));
  int64_t next = 0;
  for (const int64_t place : below_diagonal(n, [n](int64_t i, int64_t j) { return i * n + j; }))
    places[static_cast<size_t>(place)] = next++;
  const Tensor with_zero = cat({x, zeros_like(x.narrow(-1, 0, 1))}, -1);
  const Tensor index = tensor(places, {.dtype = DType::i64, .device = x.device()});
  return index_select(with_zero, -1, index).reshape(joined(without_last(x.shape()), {n, n}));
}

Tensor vector_of(const Tensor& matrix, int64_t n) {
  const auto places = below_diagonal(n, [n](int64_t i, int64_t j) { return i * n + j; });
  const Tensor index = tensor(places, {.dtype = DType::i64, .device = matrix.device()});
  return index_select(matrix.flatten(-2), -1, index);
}

}  // namespace

Tensor LowerCholeskyTransform::operator()(const Tensor& x) const {
  check_square(name(), "x", x);
  return tril(x, -1) + diag_embed(exp(diagonal(x, 0, -2, -1)));
}

Tensor LowerCholeskyTransform::inv(const Tensor& y) const {
  check_square(name(), "y", y);
  return tril(y, -1) + diag_embed(log(diagonal(y, 0, -2, -1)));
}

Tensor LowerCholeskyTransform::log_abs_det_jacobian(const Tensor&, const Tensor&) const {
  has_no_jacobian(name());
}

Constraint LowerCholeskyTransform::domain() const { return real_matrix(); }

Tensor PositiveDefiniteTransform::operator()(const Tensor& x) const {
  check_square(name(), "x", x);
  return covariance_of(LowerCholeskyTransform()(x));
}

Tensor PositiveDefiniteTransform::inv(const Tensor& y) const {
  check_square(name(), "y", y);
  const CalledOp called(name());
  return LowerCholeskyTransform().inv(linalg::cholesky(y));
}

Tensor PositiveDefiniteTransform::log_abs_det_jacobian(const Tensor&, const Tensor&) const {
  has_no_jacobian(name());
}

Constraint PositiveDefiniteTransform::domain() const { return real_matrix(); }

// 1 / cosh(x) is what tanh(x) leaves of a length.
Tensor CorrCholeskyTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  const int64_t n = rows_of(name(), x.shape());
  const Tensor matrix = matrix_of(x, n);
  const Tensor left = exp(cumsum(log_sech(matrix), -1)).narrow(-1, 0, n - 1);
  const Tensor all = ones_like(left.narrow(-1, 0, 1));
  return (tanh(matrix) + eye(n, options_of(x))) * cat({all, left}, -1);
}

// What the next numbers of the row leave tells what was left, without a difference from 1.
Tensor CorrCholeskyTransform::inv(const Tensor& y) const {
  check_square(name(), "y", y);
  const int64_t n = y.size(-1);
  check(n > 1, name(), "y must be (*, n, n), n > 1", y.shape());
  const Tensor behind = flip(cumsum(flip(square(y), {-1}), -1), {-1}).narrow(-1, 1, n - 1);
  const Tensor rest = cat({behind, ones_like(y.narrow(-1, 0, 1))}, -1);
  return asinh(vector_of(y, n) * rsqrt(vector_of(rest, n)));
}

// A number at (i, j) has the derivative 1 / cosh(x)^2 times what it was left, and leaves 1 /
// cosh(x) to the i - 1 - j others before the diagonal.
Tensor CorrCholeskyTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  check_defined(name(), {{"x", x}});
  const int64_t n = rows_of(name(), x.shape());
  const auto times = below_diagonal(n, [](int64_t i, int64_t j) { return i - j + 1; });
  const Tensor weights = tensor(times, {.device = x.device()}).to(x.dtype());
  return sum(weights * log_sech(x), {-1});
}

Shape CorrCholeskyTransform::forward_shape(const Shape& shape) const {
  const int64_t n = rows_of(name(), shape);
  return joined(without_last(shape), {n, n});
}

Shape CorrCholeskyTransform::inverse_shape(const Shape& shape) const {
  const int64_t n = shape.size() >= 2 ? shape[shape.size() - 1] : 0;
  check(n > 1 && shape[shape.size() - 2] == n, name(), "y must be (*, n, n), n > 1", shape);
  checked_numel(name(), last(shape, 2));
  return joined(without_last(shape, 2), {n * (n - 1) / 2});
}

}  // namespace aorta::distributions
