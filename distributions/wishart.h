#pragma once

#include <aorta/distributions/covariance.h>
#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// Symmetric positive definite matrices X, event_shape (n, n): the sum of x x^T over df normal
/// vectors x of mean 0, for df that isn't an integer too; df > n - 1 (*), and the vectors'
/// covariance V (*, n, n), whose batches broadcast. The density is |X|^((df - n - 1) / 2)
/// exp(-tr(V^-1 X) / 2), over 2^(n df / 2) |V|^(df / 2) and the gamma function of n x n matrices at
/// df / 2. Where df is nearly n - 1 samples may round to singular matrices.
class Wishart : public DistributionOf<Wishart> {
 public:
  Wishart(const Parameter& df, const CovarianceOptions& options);

  /// (B).
  const Tensor& df() const { return df_; }
  /// (B, n, n).
  Tensor scale_tril() const;
  Tensor covariance_matrix() const;
  Tensor precision_matrix() const;
  Constraint support() const override { return constraints::positive_definite(); }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  /// NaN where df <= n + 1.
  Tensor mode() const override;
  /// The variance of each element.
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  /// The mean of log |X|, (B).
  Tensor mean_log_determinant() const;
  /// The mean of log_prob over samples of `p`, whose matrices are as large.
  Tensor mean_log_prob(const Wishart& p) const;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  double size() const { return static_cast<double>(event_shape()[0]); }
  /// log of the factors of the density that have no X.
  Tensor log_constant() const;
  Tensor df_, tril_;
};

}  // namespace aorta::distributions
