#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/distributions/distribution.h>
#include <aorta/distributions/formulas.h>

#include <string_view>

namespace aorta::distributions {
namespace {

// L^-1 of lower triangular L (*, n, n).
Tensor inverse(const Tensor& tril) {
  return linalg::solve_triangular(tril, eye(tril.size(-1), options_of(tril)), {.upper = false});
}

// The covariance's factor from the precision P: with the rows and columns of P in reverse order its
// factor becomes an upper triangular U with U U^T = P, so that U^-T is lower triangular.
Tensor scale_of_precision(const Tensor& precision) {
  const Tensor reversed = linalg::cholesky(flip(precision, {-2, -1}));
  return inverse(flip(reversed, {-2, -1}).transpose(-2, -1));
}

}  // namespace

NamedMatrix given_of(const char* op, const CovarianceOptions& options) {
  NamedMatrix given{};
  int count = 0;
  for (const auto& [name, matrix] : {NamedMatrix{"covariance_matrix", options.covariance_matrix},
                                     NamedMatrix{"precision_matrix", options.precision_matrix},
                                     NamedMatrix{"scale_tril", options.scale_tril}}) {
    if (!matrix.defined()) continue;
    given = {name, matrix};
    ++count;
  }
  check(count == 1, op,
        "covariance_matrix, precision_matrix or scale_tril must be given, one of the three", count);
  return given;
}

Tensor scale_tril_of(const char* op, const NamedMatrix& given) {
  const auto& [name, matrix] = given;
  const bool is_scale = std::string_view(name) == "scale_tril";
  require(op, name, matrix, is_scale ? constraints::lower_cholesky() : constraints::symmetric());
  if (is_scale) return matrix;
  const CalledOp called(op);
  return std::string_view(name) == "covariance_matrix" ? linalg::cholesky(matrix)
                                                       : scale_of_precision(matrix);
}

Tensor covariance_of(const Tensor& scale_tril) {
  return matmul(scale_tril, scale_tril.transpose(-2, -1));
}

Tensor precision_of(const Tensor& scale_tril) {
  const Tensor inverted = inverse(scale_tril);
  return matmul(inverted.transpose(-2, -1), inverted);
}

}  // namespace aorta::distributions
