#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// rate^k exp(-rate) / k!, k = 0, 1, ...; rate >= 0. Samples have the rate's dtype, and are drawn
/// one after the other on the CPU.
class Poisson : public DistributionOf<Poisson> {
 public:
  explicit Poisson(const Parameter& rate);

  const Tensor& rate() const { return rate_; }
  Constraint support() const override { return constraints::nonnegative_integer(); }
  Tensor mean() const override { return rate_; }
  Tensor mode() const override;
  Tensor variance() const override { return rate_; }
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor rate_;
};

}  // namespace aorta::distributions
