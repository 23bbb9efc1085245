#include <aorta/core/ops/pointwise.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/independent.h>
#include <aorta/distributions/transformed_distribution.h>

#include <algorithm>

namespace aorta::distributions {

CumulativeDistributionTransform::CumulativeDistributionTransform(const Distribution& distribution)
    : distribution_(distribution.clone()) {
  check(distribution.event_shape().size() == 0, name(), "the distribution must be of numbers",
        distribution.event_shape());
}

Tensor CumulativeDistributionTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  return distribution_->log_prob(x);
}

Shape CumulativeDistributionTransform::forward_shape(const Shape& shape) const {
  return broadcast_shapes(name(), shape, distribution_->batch_shape());
}

bool CumulativeDistributionTransform::equals(const Transform& other) const {
  const auto* cdf = dynamic_cast<const CumulativeDistributionTransform*>(&other);
  return cdf && distribution_ == cdf->distribution_;
}

TransformedDistribution::TransformedDistribution(const Distribution& base,
                                                 const Transforms& transforms)
    : DistributionOf("TransformedDistribution"), base_(base.clone()), transform_(transforms) {
  const Shape before = joined(base.batch_shape(), base.event_shape());
  const int of_base = base.event_shape().size(), taken = transform_.domain().event_dim();
  const int own = std::max(taken - of_base, 0);
  check(before.size() >= of_base + own, name(),
        "the base must have the dimensions of the transforms' events", before, " for ", taken);
  const Shape after = transform_.forward_shape(before), wide = transform_.inverse_shape(after);
  if (wide != before) {
    check(last(wide, of_base) == base.event_shape(), name(),
          "transforms must keep the shape of the base's event", wide, " for ", before);
    base_ = base_->expanded(without_last(wide, of_base));
  }
  if (own > 0) base_ = Independent(*base_, own).clone();
  const int event_dims = of_base + own + transform_.codomain().event_dim() - taken;
  set_shapes(without_last(after, event_dims), last(after, event_dims));
}

Constraint TransformedDistribution::support() const {
  if (transforms().empty()) return base_->support();
  const Constraint last = transform_.codomain();
  return constraints::independent(last, event_shape().size() - last.event_dim());
}

Tensor TransformedDistribution::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor x = transform_.inv(value);
  const Tensor jacobian = transform_.log_abs_det_jacobian(x, value);
  const int own = base_->event_shape().size() - transform_.domain().event_dim();
  return base_->log_prob(x) - sum_rightmost(jacobian, own);
}

// On the device of the value; undefined where the transform always grows.
Tensor TransformedDistribution::sign_beside(const Tensor& value) const {
  const Tensor sign = transform_.sign();
  return sign.defined() ? sign.to(value.device()) : sign;
}

Tensor TransformedDistribution::cdf(const Tensor& value) const {
  check_value(value);
  const Tensor p = base_->cdf(transform_.inv(value)), sign = sign_beside(value);
  return sign.defined() ? where(gt(sign, 0), p, 1 - p) : p;
}

Tensor TransformedDistribution::icdf(const Tensor& value) const {
  check_probability(value);
  const Tensor sign = sign_beside(value);
  return transform_(base_->icdf(sign.defined() ? where(gt(sign, 0), value, 1 - value) : value));
}

Tensor TransformedDistribution::draw(const Shape& sample_shape, Generator* generator) const {
  return transform_(has_rsample() ? base_->rsample(sample_shape, generator)
                                  : base_->sample(sample_shape, generator));
}

void TransformedDistribution::expand_to(const Shape& batch_shape) {
  base_ = base_->expanded(batch_shape);
}

}  // namespace aorta::distributions
