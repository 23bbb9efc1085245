#include <aorta/distributions/formulas.h>
#include <aorta/distributions/independent.h>

namespace aorta::distributions {

Independent::Independent(const Distribution& base, int reinterpreted_batch_ndims)
    : DistributionOf("Independent"), base_(base.clone()), ndims_(reinterpreted_batch_ndims) {
  const Shape& all = base.batch_shape();
  check(ndims_ >= 0 && ndims_ <= all.size(), name(),
        "reinterpreted_batch_ndims must be at most the batch's dimensions", ndims_, " of ", all);
  set_shapes(without_last(all, ndims_), joined(last(all, ndims_), base.event_shape()));
}

Constraint Independent::support() const {
  return constraints::independent(base_->support(), ndims_);
}

bool Independent::has_enumerate_support() const {
  return ndims_ == 0 && base_->has_enumerate_support();
}

Tensor Independent::log_prob(const Tensor& value) const {
  check_value(value);
  return sum_rightmost(base_->log_prob(value), ndims_);
}

Tensor Independent::entropy() const { return sum_rightmost(base_->entropy(), ndims_); }

Tensor Independent::enumerate_support(bool expand) const {
  check(ndims_ == 0, "enumerate_support", "an Independent must have no dimensions of its own",
        ndims_);
  return base_->enumerate_support(expand);
}

Tensor Independent::draw(const Shape& sample_shape, Generator* generator) const {
  return has_rsample() ? base_->rsample(sample_shape, generator)
                       : base_->sample(sample_shape, generator);
}

void Independent::expand_to(const Shape& batch_shape) {
  Shape own = event_shape();
  own.resize(ndims_);
  base_ = base_->expanded(joined(batch_shape, own));
}

}  // namespace aorta::distributions
