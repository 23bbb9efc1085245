#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/poisson.h>

namespace aorta::distributions {

Poisson::Poisson(const Parameter& rate) : DistributionOf("Poisson") {
  rate_ = broadcast_parameters(name(), {{"rate", rate}})[0];
  set_shapes(rate_.shape());
  require(name(), "rate", rate_, constraints::nonnegative());
}

Tensor Poisson::mode() const { return floor(rate_); }

Tensor Poisson::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor count = as_floating(value, rate_);
  return x_log_y(count, rate_) - rate_ - lgamma(count + 1);
}

Tensor Poisson::draw(const Shape& sample_shape, Generator* generator) const {
  return poisson(rate_.expand(extended(sample_shape)), generator);
}

void Poisson::expand_to(const Shape& batch_shape) { rate_ = rate_.expand(batch_shape); }

}  // namespace aorta::distributions
