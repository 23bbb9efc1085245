#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// Normal vectors (n) with the covariance W W^T + diag(d): cov_factor W (*, n, r), cov_diag d (*,
/// n) > 0. With r far below n it takes n r^2 operations where MultivariateNormal takes n^3.
class LowRankMultivariateNormal : public DistributionOf<LowRankMultivariateNormal> {
 public:
  LowRankMultivariateNormal(const Tensor& loc, const Tensor& cov_factor, const Tensor& cov_diag);

  const Tensor& loc() const { return loc_; }
  const Tensor& cov_factor() const { return factor_; }
  const Tensor& cov_diag() const { return diagonal_; }
  Tensor covariance_matrix() const;
  /// The Cholesky factor of 1 + W^T diag(1/d) W.
  const Tensor& capacitance_tril() const { return capacitance_; }
  Constraint support() const override { return constraints::real_vector(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor mode() const override { return loc_; }
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  /// log of the covariance's determinant.
  Tensor log_determinant() const;
  Tensor loc_, factor_, diagonal_;
  Tensor capacitance_;
};

}  // namespace aorta::distributions
