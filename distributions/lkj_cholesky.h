#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// Cholesky factors of correlation matrices R (n, n), whose density is as |R|^(concentration - 1)
/// (Lewandowski, Kurowicka, Joe 2009): 1 makes all of them equally likely, more those near the unit
/// matrix. n = dim >= 2, concentration > 0; log_prob is the density of the factor, by its numbers
/// below the diagonal. Samples' chi-square numbers are drawn one after the other on the CPU.
class LKJCholesky : public DistributionOf<LKJCholesky> {
 public:
  explicit LKJCholesky(int64_t dim, const Parameter& concentration = 1);

  int64_t dim() const { return dim_; }
  const Tensor& concentration() const { return concentration_; }
  Constraint support() const override { return constraints::corr_cholesky(); }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  /// Numbers of rows 1, ..., n - 1, which have m = 1, ..., n - 1 numbers before the diagonal:
  /// m / 2, and the half of what 1 less their squared length is raised to, plus 1.
  Tensor halves() const;
  Tensor powers() const;
  int64_t dim_;
  Tensor concentration_;
};

}  // namespace aorta::distributions
