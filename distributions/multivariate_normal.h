#pragma once

#include <aorta/distributions/covariance.h>
#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// A normal distribution of vectors: loc (*, n), event_shape (n). The batches of loc and of the
/// matrix broadcast. It computes with scale_tril, which is the fastest to give. On a GPU its
/// decompositions say that they have no kernel there.
class MultivariateNormal : public DistributionOf<MultivariateNormal> {
 public:
  MultivariateNormal(const Tensor& loc, const CovarianceOptions& options);

  /// (B, n).
  const Tensor& loc() const { return loc_; }
  /// (B, n, n).
  Tensor scale_tril() const;
  Tensor covariance_matrix() const;
  Tensor precision_matrix() const;
  Constraint support() const override { return constraints::real_vector(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor mode() const override { return loc_; }
  /// The diagonal of the covariance, (B, n).
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  /// (x - loc)^T covariance^-1 (x - loc) of x (*, n), to (*): the squared distance of Mahalanobis.
  Tensor squared_distance(const Tensor& x) const;
  /// log |det scale_tril| of the matrix as it was given, whose batch broadcasts to (B).
  Tensor half_log_determinant() const;
  /// scale_tril as it was given.
  const Tensor& unbroadcasted_scale_tril() const { return tril_; }

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor loc_;
  Tensor tril_;
};

}  // namespace aorta::distributions
