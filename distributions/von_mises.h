#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// Angles x in radians: exp(concentration cos(x - loc)) / (2 pi I0(concentration)), I0 the modified
/// Bessel function; concentration > 0. Values may be any real number, of which 2 pi and multiples
/// of it make no difference; samples lie in [-pi, pi), and are drawn one after the other on the
/// CPU (Best, Fisher 1979).
class VonMises : public DistributionOf<VonMises> {
 public:
  VonMises(const Parameter& loc, const Parameter& concentration);

  const Tensor& loc() const { return loc_; }
  const Tensor& concentration() const { return concentration_; }
  Constraint support() const override { return constraints::real(); }
  /// The direction of the mean of (cos x, sin x).
  Tensor mean() const override { return loc_; }
  Tensor mode() const override { return loc_; }
  /// 1 less the length of that mean: in (0, 1).
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  Tensor loc_, concentration_;
};

}  // namespace aorta::distributions
