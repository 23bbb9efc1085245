#pragma once

#include <aorta/distributions/independent.h>
#include <aorta/distributions/normal.h>
#include <aorta/distributions/transforms.h>

namespace aorta::distributions {

/// Vectors (K + 1) of numbers > 0 whose sum is 1: StickBreakingTransform of K normal numbers of
/// mean loc and standard deviation scale, (*, K). Moments are none.
class LogisticNormal : public DistributionOf<LogisticNormal> {
 public:
  LogisticNormal(const Parameter& loc, const Parameter& scale);

  Tensor loc() const { return normal().loc(); }
  Tensor scale() const { return normal().scale(); }
  Constraint support() const override { return constraints::simplex(); }
  bool has_rsample() const override { return true; }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  const Normal& normal() const { return static_cast<const Normal&>(base_.base_dist()); }
  Independent base_;
  StickBreakingTransform transform_;
};

}  // namespace aorta::distributions
