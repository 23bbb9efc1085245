#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/bernoulli.h>
#include <aorta/distributions/formulas.h>

#include <cmath>

namespace aorta::distributions {
namespace {

// -(t log(p) + (1 - t) log(1 - p)) of p = sigmoid(logits).
Tensor cross_entropy_of_coins(const Tensor& logits, const Tensor& t) {
  const Shape shape = broadcast_shapes("Bernoulli", logits.shape(), t.shape());
  return binary_cross_entropy_with_logits(logits.expand(shape), t.expand(shape),
                                          {.reduction = Reduction::none});
}

}  // namespace

Bernoulli::Bernoulli(const ProbsOrLogits& options)
    : DistributionOf("Bernoulli"), odds_(Odds::of_coins(name(), options)) {
  set_shapes(odds_.given().shape());
}

Tensor Bernoulli::mode() const {
  const Tensor p = probs();
  return where(eq(p, 0.5), NAN, ge(p, 0.5).to(p.dtype()));
}

Tensor Bernoulli::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor Bernoulli::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits();
  return -cross_entropy_of_coins(l, as_floating(value, l));
}

Tensor Bernoulli::entropy() const { return cross_entropy_of_coins(logits(), probs()); }

Tensor Bernoulli::enumerate_support(bool expand) const {
  Shape shape = Shape::filled(1 + batch_shape().size(), 1);
  shape[0] = 2;
  const Tensor values = arange(2, options_of(odds_.given())).view(shape);
  return expand ? values.expand(joined({2}, batch_shape())) : values;
}

Tensor Bernoulli::draw(const Shape& sample_shape, Generator* generator) const {
  return bernoulli(probs().expand(extended(sample_shape)), generator);
}

void Bernoulli::expand_to(const Shape& batch_shape) { odds_.expand_to(batch_shape); }

Geometric::Geometric(const ProbsOrLogits& options)
    : DistributionOf("Geometric"), odds_(Odds::of_coins(name(), options)) {
  set_shapes(odds_.given().shape());
  if (!odds_.has_logits()) require(name(), "probs", odds_.given(), constraints::positive());
}

Tensor Geometric::mean() const { return reciprocal(probs()) - 1; }
Tensor Geometric::mode() const { return zeros_like(odds_.given()); }

Tensor Geometric::variance() const {
  const Tensor p = probs();
  return (reciprocal(p) - 1) / p;
}

Tensor Geometric::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor p = probs();
  // No failure costs nothing where p is 1: 0 * log(0) = 0.
  const Tensor failing = masked_fill(p.expand(broadcast_shapes(name(), p.shape(), value.shape())),
                                     logical_and(eq(p, 1), eq(value, 0)), 0);
  return value * log1p(-failing) + log(p);
}

Tensor Geometric::entropy() const { return cross_entropy_of_coins(logits(), probs()) / probs(); }

Tensor Geometric::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor p = probs();
  const Tensor u =
      clamp_min(rand(extended(sample_shape), options_of(p), generator), finfo(p.dtype()).tiny);
  return floor(log(u) / log1p(-p));
}

void Geometric::expand_to(const Shape& batch_shape) { odds_.expand_to(batch_shape); }

}  // namespace aorta::distributions
