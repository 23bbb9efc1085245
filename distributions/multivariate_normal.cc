#include <aorta/core/called_op.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/multivariate_normal.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {
MultivariateNormal::MultivariateNormal(const Tensor& loc, const CovarianceOptions& options)
    : DistributionOf("MultivariateNormal") {
  const CalledOp called(name());
  NamedMatrix given = given_of(name(), options);
  Tensor& matrix = given.matrix;
  check_defined(name(), {{"loc", loc}});
  check(loc.is_floating_point() && matrix.is_floating_point(), name(),
        "loc and the matrix must be floating", loc.dtype(), " and ", matrix.dtype());
  check(loc.dim() >= 1 && matrix.dim() >= 2 && matrix.size(-1) == loc.size(-1) &&
            matrix.size(-2) == loc.size(-1),
        name(), "loc must be (*, n) and the matrix (*, n, n)", loc.shape(), " and ",
        matrix.shape());
  const Operand operands[] = {loc, matrix};
  const DType dtype = result_type(operands);
  matrix = matrix.to(dtype);
  const Shape batch =
      broadcast_shapes(name(), without_last(loc.shape(), 1), without_last(matrix.shape(), 2));
  loc_ = loc.to(dtype).expand(joined(batch, {loc.size(-1)}));
  set_shapes(batch, {loc.size(-1)});
  require(name(), "loc", loc_, constraints::real_vector());
  tril_ = scale_tril_of(name(), given);
}

Tensor MultivariateNormal::scale_tril() const {
  return tril_.expand(joined(joined(batch_shape(), event_shape()), event_shape()));
}

Tensor MultivariateNormal::covariance_matrix() const {
  return covariance_of(tril_).expand(joined(joined(batch_shape(), event_shape()), event_shape()));
}

Tensor MultivariateNormal::precision_matrix() const {
  return precision_of(tril_).expand(joined(joined(batch_shape(), event_shape()), event_shape()));
}

Tensor MultivariateNormal::variance() const {
  return sum(square(tril_), {-1}).expand(joined(batch_shape(), event_shape()));
}

// What stands before the matrix's batch is columns of one right-hand side: each matrix is solved
// with once, however many samples there are.
Tensor MultivariateNormal::squared_distance(const Tensor& x) const {
  const Tensor difference = x - loc_;
  const int batch_dims = tril_.dim() - 2;
  const int samples = difference.dim() - 1 - batch_dims;
  const Shape shape = without_last(difference.shape(), 1);
  Shape merged{1};
  for (int i = 0; i < samples; ++i) merged[0] *= shape[i];
  for (int i = samples; i < difference.dim(); ++i) merged.push_back(difference.size(i));
  const Tensor columns = difference.reshape(merged).movedim(0, -1);  // (*, n, samples)
  const Tensor solved = linalg::solve_triangular(tril_, columns, {.upper = false});
  return sum(square(solved), {-2}).movedim(-1, 0).reshape(shape);
}

Tensor MultivariateNormal::half_log_determinant() const {
  return sum(log(diagonal(tril_, 0, -2, -1)), {-1});
}

Tensor MultivariateNormal::log_prob(const Tensor& value) const {
  check_value(value);
  const double constant = static_cast<double>(event_shape()[0]) * std::log(2 * std::numbers::pi);
  return -0.5 * (squared_distance(value) + constant) - half_log_determinant();
}

Tensor MultivariateNormal::entropy() const {
  const double constant =
      0.5 * static_cast<double>(event_shape()[0]) * (1 + std::log(2 * std::numbers::pi));
  return (half_log_determinant() + constant).expand(batch_shape());
}

Tensor MultivariateNormal::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor noise = randn(extended(sample_shape), options_of(loc_), generator);
  return loc_ + matmul(tril_, noise.unsqueeze(-1)).squeeze(-1);
}

void MultivariateNormal::expand_to(const Shape& batch_shape) {
  loc_ = loc_.expand(joined(batch_shape, event_shape()));
}

}  // namespace aorta::distributions
