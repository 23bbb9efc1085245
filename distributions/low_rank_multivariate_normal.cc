#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/low_rank_multivariate_normal.h>

#include <cmath>
#include <numbers>

namespace aorta::distributions {

LowRankMultivariateNormal::LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor,
                                                     const Tensor& cov_diag)
    : DistributionOf("LowRankMultivariateNormal") {
  check_defined(name(), {{"loc", loc}, {"cov_factor", cov_factor}, {"cov_diag", cov_diag}});
  check(loc.is_floating_point() && cov_factor.is_floating_point() && cov_diag.is_floating_point(),
        name(), "loc, cov_factor and cov_diag must be floating", loc.dtype(), ", ",
        cov_factor.dtype(), " and ", cov_diag.dtype());
  check(loc.dim() >= 1 && cov_factor.dim() >= 2 && cov_diag.dim() >= 1 &&
            cov_factor.size(-2) == loc.size(-1) && cov_diag.size(-1) == loc.size(-1),
        name(), "loc and cov_diag must be (*, n) and cov_factor (*, n, r)", loc.shape(), ", ",
        cov_diag.shape(), " and ", cov_factor.shape());
  const Operand operands[] = {loc, cov_factor, cov_diag};
  const DType dtype = result_type(operands);
  const Shape batch = broadcast_shapes(name(), without_last(loc.shape()),
                                       broadcast_shapes(name(), without_last(cov_factor.shape(), 2),
                                                        without_last(cov_diag.shape())));
  set_shapes(batch, {loc.size(-1)});
  loc_ = loc.to(dtype);
  factor_ = cov_factor.to(dtype);
  diagonal_ = cov_diag.to(dtype);
  require(name(), "loc", loc_, constraints::real_vector());
  require(name(), "cov_factor", factor_, constraints::real());
  require(name(), "cov_diag", diagonal_, constraints::positive());
  expand_to(batch);
  const Tensor scaled = (factor_ / diagonal_.unsqueeze(-1)).transpose(-2, -1);
  capacitance_ =
      linalg::cholesky(matmul(scaled, factor_) + eye(factor_.size(-1), options_of(factor_)));
}

Tensor LowRankMultivariateNormal::covariance_matrix() const {
  return matmul(factor_, factor_.transpose(-2, -1)) + diag_embed(diagonal_);
}

Tensor LowRankMultivariateNormal::variance() const {
  return sum(square(factor_), {-1}) + diagonal_;
}

// The determinant lemma.
Tensor LowRankMultivariateNormal::log_determinant() const {
  return 2 * sum(log(diagonal(capacitance_, 0, -2, -1)), {-1}) + sum(log(diagonal_), {-1});
}

// Woodbury's formula for the inverse.
Tensor LowRankMultivariateNormal::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor off = value - loc_, scaled = off / diagonal_;
  const Tensor seen = matmul(factor_.transpose(-2, -1), scaled.unsqueeze(-1));
  const Tensor solved = linalg::solve_triangular(capacitance_, seen, {.upper = false});
  const Tensor distance = sum(off * scaled, {-1}) - sum(square(solved), {-2, -1});
  const double constant = static_cast<double>(event_shape()[0]) * std::log(2 * std::numbers::pi);
  return -0.5 * (distance + constant + log_determinant());
}

Tensor LowRankMultivariateNormal::entropy() const {
  const double constant =
      static_cast<double>(event_shape()[0]) * (1 + std::log(2 * std::numbers::pi));
  return 0.5 * (constant + log_determinant());
}

Tensor LowRankMultivariateNormal::draw(const Shape& sample_shape, Generator* generator) const {
  const Shape shape = extended(sample_shape);
  const Tensor of_factor =
      randn(joined(without_last(shape), {factor_.size(-1), 1}), options_of(loc_), generator);
  const Tensor of_diagonal = randn(shape, options_of(loc_), generator);
  return loc_ + matmul(factor_, of_factor).squeeze(-1) + sqrt(diagonal_) * of_diagonal;
}

void LowRankMultivariateNormal::expand_to(const Shape& batch_shape) {
  const int64_t n = loc_.size(-1), r = factor_.size(-1);
  loc_ = loc_.expand(joined(batch_shape, {n}));
  factor_ = factor_.expand(joined(batch_shape, {n, r}));
  diagonal_ = diagonal_.expand(joined(batch_shape, {n}));
  if (capacitance_.defined()) capacitance_ = capacitance_.expand(joined(batch_shape, {r, r}));
}

}  // namespace aorta::distributions
