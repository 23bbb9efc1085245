#include <aorta/core/ops/pointwise.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/logistic_normal.h>

namespace aorta::distributions {
namespace {

Independent vectors_of(const char* op, const Parameter& loc, const Parameter& scale) {
  const Normal numbers = made_for(op, [&] { return Normal(loc, scale); });
  check(numbers.batch_shape().size() > 0, op, "loc and scale must be (*, K)",
        numbers.batch_shape());
  return {numbers, 1};
}

}  // namespace

LogisticNormal::LogisticNormal(const Parameter& loc, const Parameter& scale)
    : DistributionOf("LogisticNormal"), base_(vectors_of(name(), loc, scale)) {
  set_shapes(base_.batch_shape(), transform_.forward_shape(base_.event_shape()));
}

Tensor LogisticNormal::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor x = transform_.inv(value);
  return base_.log_prob(x) - transform_.log_abs_det_jacobian(x, value);
}

Tensor LogisticNormal::draw(const Shape& sample_shape, Generator* generator) const {
  return transform_(base_.rsample(sample_shape, generator));
}

void LogisticNormal::expand_to(const Shape& batch_shape) { base_ = base_.expand(batch_shape); }

}  // namespace aorta::distributions
