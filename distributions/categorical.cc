#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/categorical.h>
#include <aorta/distributions/formulas.h>

#include <cmath>

namespace aorta::distributions {
Categorical::Categorical(const ProbsOrLogits& options)
    : DistributionOf("Categorical"), odds_(Odds::of_classes(name(), options)) {
  set_shapes(without_last(odds_.given().shape()));
}

Constraint Categorical::support() const {
  return constraints::integer_interval(0, num_events() - 1);
}

Tensor Categorical::mean() const { return full(batch_shape(), NAN, options_of(odds_.given())); }
Tensor Categorical::mode() const { return argmax(odds_.given(), -1); }
Tensor Categorical::variance() const { return mean(); }

Tensor Categorical::log_prob(const Tensor& value) const {
  check_value(value);
  const Shape batch = broadcast_shapes(name(), value.shape(), batch_shape());
  const Tensor index = value.to(DType::i64).expand(batch).unsqueeze(-1);
  return gather(logits().expand(joined(batch, {num_events()})), -1, index).squeeze(-1);
}

Tensor Categorical::entropy() const {
  // A class that can't be has a logit of -inf and adds nothing.
  const Tensor l = logits();
  return -sum(where(eq(l, -INFINITY), 0, l) * probs(), {-1});
}

Tensor Categorical::enumerate_support(bool expand) const {
  Shape shape = Shape::filled(1 + batch_shape().size(), 1);
  shape[0] = num_events();
  const Tensor values =
      arange(num_events(), {.dtype = DType::i64, .device = odds_.given().device()}).view(shape);
  return expand ? values.expand(joined({num_events()}, batch_shape())) : values;
}

Tensor Categorical::draw(const Shape& sample_shape, Generator* generator) const {
  const Shape shape = extended(sample_shape);
  const int64_t samples = sample_shape.numel(), rows = batch_shape().numel();
  if (samples == 0 || rows == 0)
    return empty(shape, {.dtype = DType::i64, .device = odds_.given().device()});
  const Tensor drawn = multinomial(probs().reshape({rows, num_events()}), samples, true, generator);
  return drawn.t().reshape(shape);
}

void Categorical::expand_to(const Shape& batch_shape) {
  odds_.expand_to(joined(batch_shape, {num_events()}));
}

OneHotCategorical::OneHotCategorical(const ProbsOrLogits& options)
    : DistributionOf("OneHotCategorical"),
      categorical_(made_for(name(), [&] { return Categorical(options); })) {
  set_shapes(categorical_.batch_shape(), {categorical_.num_events()});
}

Tensor OneHotCategorical::mode() const {
  return one_hot(categorical_.mode(), categorical_.num_events()).to(probs().dtype());
}

Tensor OneHotCategorical::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor OneHotCategorical::log_prob(const Tensor& value) const {
  check_value(value);
  return categorical_.log_prob(argmax(value, -1));
}

Tensor OneHotCategorical::enumerate_support(bool expand) const {
  const int64_t count = categorical_.num_events();
  Shape shape = Shape::filled(2 + batch_shape().size(), 1);
  shape[0] = shape.back() = count;
  const Tensor values = eye(count, options_of(probs())).view(shape);
  return expand ? values.expand(joined(joined({count}, batch_shape()), {count})) : values;
}

Tensor OneHotCategorical::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor classes = categorical_.sample(sample_shape, generator);
  return one_hot(classes, categorical_.num_events()).to(probs().dtype());
}

void OneHotCategorical::expand_to(const Shape& batch_shape) {
  categorical_ = categorical_.expand(batch_shape);
}

OneHotCategoricalStraightThrough::OneHotCategoricalStraightThrough(const ProbsOrLogits& options)
    : DistributionOf("OneHotCategoricalStraightThrough"),
      one_hot_(made_for(name(), [&] { return OneHotCategorical(options); })) {
  set_shapes(one_hot_.batch_shape(), one_hot_.event_shape());
}

Tensor OneHotCategoricalStraightThrough::log_prob(const Tensor& value) const {
  check_value(value);
  return one_hot_.log_prob(value);
}

Tensor OneHotCategoricalStraightThrough::enumerate_support(bool expand) const {
  return one_hot_.enumerate_support(expand);
}

Tensor OneHotCategoricalStraightThrough::draw(const Shape& sample_shape,
                                              Generator* generator) const {
  const Tensor p = probs();
  return one_hot_.sample(sample_shape, generator) + (p - p.detach());
}

void OneHotCategoricalStraightThrough::expand_to(const Shape& batch_shape) {
  one_hot_ = one_hot_.expand(batch_shape);
}

}  // namespace aorta::distributions
