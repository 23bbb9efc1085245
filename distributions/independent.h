#pragma once

#include <aorta/distributions/distribution.h>

namespace aorta::distributions {

/// `base` with its last `reinterpreted_batch_ndims` batch dimensions as a part of the event:
/// log_prob and entropy are summed over them. `Independent(Normal(loc, scale), 1)` of loc (B, K) is
/// a normal distribution of vectors (K) with a diagonal covariance.
class Independent : public DistributionOf<Independent> {
 public:
  Independent(const Distribution& base, int reinterpreted_batch_ndims);

  const Distribution& base_dist() const { return *base_; }
  int reinterpreted_batch_ndims() const { return ndims_; }
  Constraint support() const override;
  bool has_rsample() const override { return base_->has_rsample(); }
  bool has_enumerate_support() const override;
  Tensor mean() const override { return base_->mean(); }
  Tensor mode() const override { return base_->mode(); }
  Tensor variance() const override { return base_->variance(); }
  Tensor log_prob(const Tensor& value) const override;
  Tensor entropy() const override;
  Tensor enumerate_support(bool expand = true) const override;

 private:
  Tensor draw(const Shape& sample_shape, Generator* generator) const override;
  void expand_to(const Shape& batch_shape) override;
  std::shared_ptr<const Distribution> base_;
  int ndims_;
};

}  // namespace aorta::distributions
