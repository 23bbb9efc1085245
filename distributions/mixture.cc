#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/mixture.h>

namespace aorta::distributions {

MixtureSameFamily::MixtureSameFamily(const Categorical& mixture, const Distribution& components)
    : DistributionOf("MixtureSameFamily"), mixture_(mixture), components_(components.clone()) {
  const Shape& both = components.batch_shape();
  check(both.size() > 0 && both.back() == mixture.num_events(), name(),
        "the last batch dimension of the components must be as long as there are classes", both,
        " for ", mixture.num_events());
  const Shape batch = broadcast_shapes(name(), mixture.batch_shape(), without_last(both));
  mixture_ = mixture.expand(batch);
  components_ = components.expanded(joined(batch, {mixture.num_events()}));
  set_shapes(batch, components.event_shape());
}

Constraint MixtureSameFamily::support() const {
  const Constraint each = components_->support();
  const int event = event_shape().size();
  return {each.rule(),
          [each, event](const Tensor& x) {
            const Tensor inside = each.check(x.unsqueeze(-1 - event));
            return all(inside, {-1 - (event - each.event_dim())});
          },
          each.event_dim()};
}

Tensor MixtureSameFamily::beside(const Tensor& value) const {
  return value.unsqueeze(-1 - event_shape().size());
}

Tensor MixtureSameFamily::mixed(const Tensor& of_components) const {
  Tensor p = mixture_.probs();
  for (int i = 0; i < event_shape().size(); ++i) p = p.unsqueeze(-1);
  return sum(p * of_components, {-1 - event_shape().size()});
}

Tensor MixtureSameFamily::mean() const { return mixed(components_->mean()); }

// The mean of the variances, and the variance of the means.
Tensor MixtureSameFamily::variance() const {
  const Tensor off = components_->mean() - beside(mean());
  return mixed(components_->variance() + square(off));
}

Tensor MixtureSameFamily::log_prob(const Tensor& value) const {
  check_value(value);
  return logsumexp(components_->log_prob(beside(value)) + mixture_.logits(), {-1});
}

Tensor MixtureSameFamily::cdf(const Tensor& value) const {
  check_value(value);
  return sum(components_->cdf(beside(value)) * mixture_.probs(), {-1});
}

Tensor MixtureSameFamily::draw(const Shape& sample_shape, Generator* generator) const {
  const int events = event_shape().size();
  Tensor which = mixture_.sample(sample_shape, generator).unsqueeze(-1);
  for (int i = 0; i < events; ++i) which = which.unsqueeze(-1);
  const Tensor all = components_->sample(sample_shape, generator);
  Shape one = all.shape();
  one[one.size() - 1 - events] = 1;
  return gather(all, -1 - events, which.expand(one)).squeeze(-1 - events);
}

void MixtureSameFamily::expand_to(const Shape& batch_shape) {
  components_ = components_->expanded(joined(batch_shape, {mixture_.num_events()}));
  mixture_ = mixture_.expand(batch_shape);
}

}  // namespace aorta::distributions
