#include <aorta/core/ops/linalg_norms.h>

#include <aorta/core/called_op.h>
#include <aorta/core/ops/complex.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/core/ops/view.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace aorta::linalg {

Tensor vector_norm(const Tensor& x, double ord, const ReduceDims& dims, bool keepdim) {
  check_defined("vector_norm", {{"x", x}});
  const CalledOp called("vector_norm");
  return aorta::norm(x, ord, dims, keepdim);
}

namespace {

// The norm of matrices in the last two dimensions.
Tensor norm_of_last(const Tensor& A, const MatrixOrder& ord) {
  if (ord.name()) {
    const std::string_view name(ord.name());
    if (name == "fro") return aorta::norm(A, 2, {-2, -1});
    check(name == "nuc", "matrix_norm", "ord must be fro, nuc, 1, -1, 2, -2, inf or -inf", "\"",
          ord.name(), "\"");
    return sum(svdvals(A), {-1});
  }
  const double size = std::fabs(ord.order());
  check(size == 1 || size == 2 || std::isinf(size), "matrix_norm",
        "ord must be fro, nuc, 1, -1, 2, -2, inf or -inf", ord.order());
  const Tensor values = size == 2 ? svdvals(A) : sum(abs(A), {size == 1 ? -2 : -1});
  if (ord.order() < 0) return amin(values, {-1});
  // Norms are at least 0, the largest of none too.
  return values.size(-1) == 0 ? sum(values, {-1}) : amax(values, {-1});
}

}  // namespace

Tensor matrix_norm(const Tensor& A, const MatrixOrder& ord, const Dims& dims, bool keepdim) {
  const CalledOp called("matrix_norm");
  check_defined("matrix_norm", {{"A", A}});
  check(is_floating(A.dtype()), "matrix_norm", "dtype must be floating", A.dtype());
  check(dims.size() == 2 && A.dim() >= 2, "matrix_norm", "there must be two dimensions", dims,
        " of ", A.shape());
  const int row = wrap_dim("matrix_norm", dims[0], A.dim());
  const int column = wrap_dim("matrix_norm", dims[1], A.dim());
  check(row != column, "matrix_norm", "the dimensions must differ", dims);
  const Tensor last = movedim(movedim(A, row, -1), column > row ? column - 1 : column, -1);
  const Tensor norm = norm_of_last(last, ord);
  if (!keepdim) return norm;
  return unsqueeze(unsqueeze(norm, std::min(row, column)), std::max(row, column));
}

Tensor norm(const Tensor& A, const std::optional<MatrixOrder>& ord, const Dims& dims,
            bool keepdim) {
  check_defined("norm", {{"A", A}});
  const CalledOp called("norm");
  if (!ord) return aorta::norm(A, 2, dims, keepdim);
  const size_t count = dims.empty() ? static_cast<size_t>(A.dim()) : dims.size();
  check(count == 1 || count == 2, "norm", "an order is of one dimension or two", dims, " of ",
        A.shape());
  if (count == 2) return matrix_norm(A, *ord, dims.empty() ? Dims{-2, -1} : dims, keepdim);
  check(!ord->name(), "norm", "fro and nuc are of two dimensions", dims, " of ", A.shape());
  return aorta::norm(A, ord->order(), dims, keepdim);
}

Tensor cond(const Tensor& A, const MatrixOrder& p) {
  check_defined("cond", {{"A", A}});
  const CalledOp called("cond");
  // That of an empty matrix is 0, as in PyTorch.
  if (!p.name() && std::fabs(p.order()) == 2) {
    const Tensor S = svdvals(A);
    if (S.size(-1) == 0) return sum(S, {-1});
    const Tensor first = select(S, -1, 0), last = select(S, -1, S.size(-1) - 1);
    return p.order() > 0 ? first / last : last / first;
  }
  const Tensor inverse = inv(A);
  if (A.size(-1) == 0) return sum(A, {-2, -1});
  return matrix_norm(A, p) * matrix_norm(inverse, p);
}

namespace {

// The cheapest order of a chain (Cormen et al., ch. 15): split[i][j] ends the left factor.
struct Chain {
  explicit Chain(const std::vector<Tensor>& given) : tensors(given) {
    const size_t n = tensors.size();
    std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
    split.assign(n, std::vector<size_t>(n, 0));
    const auto rows = [&](size_t i) { return static_cast<double>(tensors[i].size(0)); };
    const auto columns = [&](size_t i) { return static_cast<double>(tensors[i].size(1)); };
    for (size_t length = 1; length < n; ++length) {
      for (size_t i = 0; i + length < n; ++i) {
        const size_t j = i + length;
        cost[i][j] = INFINITY;
        for (size_t k = i; k < j; ++k) {
          const double all = cost[i][k] + cost[k + 1][j] + rows(i) * columns(k) * columns(j);
          if (all < cost[i][j]) {
            cost[i][j] = all;
            split[i][j] = k;
          }
        }
      }
    }
  }
  Tensor product(size_t i, size_t j) const {
    if (i == j) return tensors[i];
    return matmul(product(i, split[i][j]), product(split[i][j] + 1, j));
  }
  std::vector<Tensor> tensors;
  std::vector<std::vector<size_t>> split;
};

}  // namespace

Tensor multi_dot(const List<Tensor>& tensors) {
  check(tensors.size() >= 2, "multi_dot", "there must be two tensors or more", tensors.size());
  check_defined("multi_dot", "tensors", tensors);
  const CalledOp called("multi_dot");
  std::vector<Tensor> chain = tensors;
  const bool row = chain.front().dim() == 1, column = chain.back().dim() == 1;
  if (row) chain.front() = unsqueeze(chain.front(), 0);
  if (column) chain.back() = unsqueeze(chain.back(), 1);
  for (size_t i = 0; i < chain.size(); ++i) {
    check(chain[i].dim() == 2, "multi_dot", "the tensors between must be matrices",
          tensors[i].shape(), " at ", i);
    if (i == 0) continue;
    check(chain[i - 1].size(1) == chain[i].size(0), "multi_dot", "the inner sizes must match",
          chain[i - 1].shape(), " and ", chain[i].shape());
  }
  Tensor product = Chain(chain).product(0, chain.size() - 1);
  if (column) product = squeeze(product, 1);
  return row ? squeeze(product, 0) : product;
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  check_defined("vecdot", {{"x", x}, {"y", y}});
  const CalledOp called("vecdot");
  return sum(conj(x) * y, dim);
}

Tensor cross(const Tensor& input, const Tensor& other, int64_t dim) {
  const CalledOp called("cross");
  check_defined("cross", {{"input", input}, {"other", other}});
  check(input.dim() == other.dim(), "cross", "the tensors must have as many dimensions",
        input.shape(), " and ", other.shape());
  const int place = wrap_dim("cross", dim, input.dim());
  check(input.dim() > 0 && input.size(place) == 3 && other.size(place) == 3, "cross",
        "dim must have size 3", input.shape(), " and ", other.shape());
  const auto turned = [&](const Tensor& x, int64_t by) { return roll(x, by, place); };
  return turned(input, -1) * turned(other, -2) - turned(input, -2) * turned(other, -1);
}

Tensor vander(const Tensor& x, std::optional<int64_t> N) {
  const CalledOp called("vander");
  check_defined("vander", {{"x", x}});
  check(x.dim() >= 1, "vander", "x must have a dimension", x.shape());
  const int64_t count = N.value_or(x.size(-1));
  check(count >= 1, "vander", "N must be at least 1", count);
  const Tensor column = unsqueeze(x, -1);
  Shape shape = column.shape();
  shape[x.dim()] = count - 1;
  return cumprod(cat({ones_like(column.detach()), expand(column, shape)}, -1), -1);
}

Tensor tensorinv(const Tensor& A, int64_t ind) {
  const CalledOp called("tensorinv");
  check_defined("tensorinv", {{"A", A}});
  check(ind > 0 && ind <= A.dim(), "tensorinv", "ind must be a number of dimensions", ind, " for ",
        A.shape());
  Shape shape;
  for (int i = static_cast<int>(ind); i < A.dim(); ++i) shape.push_back(A.size(i));
  const int64_t columns = shape.numel();
  int64_t rows = 1;
  for (int i = 0; i < ind; ++i) {
    rows *= A.size(i);
    shape.push_back(A.size(i));
  }
  check(rows == columns, "tensorinv", "A must be as large before ind as from it on", A.shape());
  return reshape(inv(reshape(A, {rows, rows})), shape);
}

Tensor tensorsolve(const Tensor& A, const Tensor& B) {
  const CalledOp called("tensorsolve");
  check_defined("tensorsolve", {{"A", A}, {"B", B}});
  check(A.dim() >= B.dim(), "tensorsolve", "A must have B's dimensions first", A.shape(), " and ",
        B.shape());
  Shape rows, shape;
  for (int i = 0; i < A.dim(); ++i) (i < B.dim() ? rows : shape).push_back(A.size(i));
  const int64_t n = B.numel();
  check(rows.numel() == n && shape.numel() == n, "tensorsolve",
        "A must be as large from B's dimensions on as in them", A.shape(), " and ", B.shape());
  return reshape(solve(reshape(A, {n, n}), reshape(B, {n})), shape);
}

}  // namespace aorta::linalg
