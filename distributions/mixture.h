#pragma once

#include <aorta/distributions/categorical.h>
#include <aorta/distributions/distribution.h>

#include <memory>

namespace aorta::distributions {

/// One of K components, chosen by a Categorical (B, K): `MixtureSameFamily(Categorical({.logits =
/// x}), Normal(loc, scale))`. The components are the last batch dimension (B, K) of one
/// distribution.
class MixtureSameFamily : public DistributionOf<MixtureSameFamily> {
 public:
  MixtureSameFamily(const Categorical& mixture, const Distribution& components);

  const Categorical& mixture_distribution() const { return mixture_; }
  const Distribution& component_distribution() const { return *components_; }
  Constraint support() const override;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Tensor& value) const override;
  Tensor cdf(const Tensor& value) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  /// A value (*, E) beside the components, (*, 1, E).
  Tensor beside(const Tensor& value) const;
  /// The mean over components of (*, K, E).
  Tensor mixed(const Tensor& of_components) const;
  Categorical mixture_;
  std::shared_ptr<const Distribution> components_;
};

}  // namespace aorta::distributions
