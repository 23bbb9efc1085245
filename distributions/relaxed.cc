#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/core/scalar/gamma_function.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>
#include <aorta/distributions/relaxed.h>
#include <aorta/distributions/transforms.h>

namespace aorta::distributions {
namespace {

// A temperature of the dtype and device of `like`; one number is 0-d.
Tensor temperature_of(const char* name, const Parameter& temperature, const Tensor& like) {
  check(temperature.given(), name, "temperature must be given", "none");
  Tensor result = temperature.is_number() ? full({}, temperature.number(), options_of(like))
                                          : temperature.tensor();
  check_defined(name, {{"temperature", result}});
  result = result.to(like.dtype());
  return result.numel() == 1 ? result.reshape(Shape{}) : result;
}

}  // namespace

LogitRelaxedBernoulli::LogitRelaxedBernoulli(const Parameter& temperature,
                                             const ProbsOrLogits& options)
    : DistributionOf("LogitRelaxedBernoulli"), odds_(Odds::of_coins(name(), options)) {
  temperature_ = temperature_of(name(), temperature, odds_.given());
  require(name(), "temperature", temperature_, constraints::positive());
  const Shape shape = broadcast_shapes(name(), temperature_.shape(), odds_.given().shape());
  LogitRelaxedBernoulli::expand_to(shape);
  set_shapes(shape);
}

Tensor LogitRelaxedBernoulli::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor difference = logits() - value * temperature_;
  return log(temperature_) + difference + 2 * logsigmoid(-difference);
}

Tensor LogitRelaxedBernoulli::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor l = logits(), u = open_uniform(extended(sample_shape), l, generator);
  return (l + log(u) - log1p(-u)) / temperature_;
}

void LogitRelaxedBernoulli::expand_to(const Shape& batch_shape) {
  odds_.expand_to(batch_shape);
  if (temperature_.dim() > 0) temperature_ = temperature_.expand(batch_shape);
}

RelaxedBernoulli::RelaxedBernoulli(const Parameter& temperature, const ProbsOrLogits& options)
    : DistributionOf("RelaxedBernoulli"),
      logit_(made_for(name(), [&] { return LogitRelaxedBernoulli(temperature, options); })) {
  set_shapes(logit_.batch_shape());
}

Tensor RelaxedBernoulli::log_prob(const Tensor& value) const {
  check_value(value);
  const SigmoidTransform sigmoid;
  const Tensor x = sigmoid.inv(value);
  return logit_.log_prob(x) - sigmoid.log_abs_det_jacobian(x, value);
}

Tensor RelaxedBernoulli::draw(const Shape& sample_shape, Generator* generator) const {
  return SigmoidTransform()(logit_.rsample(sample_shape, generator));
}

void RelaxedBernoulli::expand_to(const Shape& batch_shape) { logit_ = logit_.expand(batch_shape); }

RelaxedOneHotCategorical::RelaxedOneHotCategorical(const Parameter& temperature,
                                                   const ProbsOrLogits& options)
    : DistributionOf("RelaxedOneHotCategorical"), odds_(Odds::of_classes(name(), options)) {
  temperature_ = temperature_of(name(), temperature, odds_.given());
  check(temperature_.dim() == 0, name(), "temperature must be one number", temperature_.shape());
  require(name(), "temperature", temperature_, constraints::positive());
  set_shapes(without_last(odds_.given().shape()), {odds_.given().size(-1)});
}

// The density of y = log(value), for which the scores' sum is divided by that of the powers, and
// the Jacobian of the logarithm.
Tensor RelaxedOneHotCategorical::log_prob(const Tensor& value) const {
  check_value(value);
  const int64_t classes = event_shape()[0];
  const Tensor y = log(value);
  const Tensor scores = log_softmax(logits() - temperature_ * y, -1);
  return sum(scores - y, {-1}) + log(temperature_) * static_cast<double>(classes - 1) +
         scalar::lgamma(static_cast<double>(classes));
}

Tensor RelaxedOneHotCategorical::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor l = logits(), u = open_uniform(extended(sample_shape), l, generator);
  return softmax((l - log(-log(u))) / temperature_, -1);
}

void RelaxedOneHotCategorical::expand_to(const Shape& batch_shape) {
  odds_.expand_to(joined(batch_shape, event_shape()));
}

}  // namespace aorta::distributions
