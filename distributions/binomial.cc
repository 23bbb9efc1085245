#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/binomial.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/gamma_functions.h>

#include <cmath>

namespace aorta::distributions {
namespace {

// total_count as a tensor of the shape of both, which the odds get, too.
Tensor set_total(const char* op, const Parameter& total_count, Odds& odds) {
  const std::vector<Tensor> both =
      broadcast_parameters(op, {{"total_count", total_count}, {"probs", odds.given()}});
  odds.expand_to(both[0].shape());
  return both[0];
}

// lgamma(x + 1).
Tensor log_factorial(const Tensor& x) { return lgamma(x + 1); }

}  // namespace

Binomial::Binomial(const Parameter& total_count, const ProbsOrLogits& options)
    : DistributionOf("Binomial"), odds_(Odds::of_coins(name(), options)) {
  total_ = set_total(name(), total_count, odds_);
  require(name(), "total_count", total_, constraints::nonnegative_integer());
  set_shapes(total_.shape());
}

Constraint Binomial::support() const {
  return {"be a count up to total_count", [total = total_](const Tensor& x) {
            return logical_and(constraints::nonnegative_integer().check(x), le(x, total));
          }};
}

Tensor Binomial::mean() const { return total_ * probs(); }
Tensor Binomial::mode() const { return minimum(floor((total_ + 1) * probs()), total_); }

Tensor Binomial::variance() const {
  const Tensor p = probs();
  return total_ * p * (1 - p);
}

Tensor Binomial::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits(), k = as_floating(value, l);
  return log_factorial(total_) - log_factorial(k) - log_factorial(total_ - k) + k * l +
         total_ * logsigmoid(-l);
}

Tensor Binomial::entropy() const {
  const Tensor values = log_prob(enumerate_support(false));
  return -sum(exp(values) * values, {0});
}

Tensor Binomial::enumerate_support(bool expand) const {
  const auto most = static_cast<int64_t>(amax(total_).item().to_double());
  check(all(eq(total_, static_cast<double>(most))).item<bool>(), "enumerate_support",
        "total_count must be one number for all", "several");
  Shape shape = Shape::filled(1 + batch_shape().size(), 1);
  shape[0] = most + 1;
  const Tensor values = arange(most + 1, options_of(total_)).view(shape);
  return expand ? values.expand(joined({most + 1}, batch_shape())) : values;
}

Tensor Binomial::draw(const Shape& sample_shape, Generator* generator) const {
  const Shape shape = extended(sample_shape);
  return binomial_samples(total_.expand(shape), probs().expand(shape), generator);
}

void Binomial::expand_to(const Shape& batch_shape) {
  total_ = total_.expand(batch_shape);
  odds_.expand_to(batch_shape);
}

NegativeBinomial::NegativeBinomial(const Parameter& total_count, const ProbsOrLogits& options)
    : DistributionOf("NegativeBinomial"), odds_(Odds::of_coins(name(), options)) {
  total_ = set_total(name(), total_count, odds_);
  require(name(), "total_count", total_, constraints::positive());
  if (!odds_.has_logits())
    require(name(), "probs", odds_.given(),
            {"be below 1", [](const Tensor& x) { return lt(x, 1); }});
  set_shapes(total_.shape());
}

Tensor NegativeBinomial::mean() const { return total_ * exp(logits()); }

Tensor NegativeBinomial::mode() const { return clamp_min(floor((total_ - 1) * exp(logits())), 0); }

Tensor NegativeBinomial::variance() const { return mean() / sigmoid(-logits()); }

Tensor NegativeBinomial::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits(), k = as_floating(value, l);
  return lgamma(total_ + k) - log_factorial(k) - lgamma(total_) + total_ * logsigmoid(-l) +
         k * logsigmoid(l);
}

Tensor NegativeBinomial::draw(const Shape& sample_shape, Generator* generator) const {
  const Shape shape = extended(sample_shape);
  const Tensor rate = standard_gamma(total_.expand(shape), generator) * exp(logits());
  return poisson(rate, generator);
}

void NegativeBinomial::expand_to(const Shape& batch_shape) {
  total_ = total_.expand(batch_shape);
  odds_.expand_to(batch_shape);
}

Multinomial::Multinomial(int64_t total_count, const ProbsOrLogits& options)
    : DistributionOf("Multinomial"),
      total_(total_count),
      categorical_(made_for(name(), [&] { return Categorical(options); })) {
  check(total_ >= 0, name(), "total_count must not be negative", total_);
  set_shapes(categorical_.batch_shape(), {categorical_.num_events()});
}

Constraint Multinomial::support() const {
  return {"be counts whose sum is " + std::to_string(total_),
          [total = total_](const Tensor& x) {
            return logical_and(all(constraints::nonnegative_integer().check(x), {-1}),
                               eq(sum(x, {-1}), total));
          },
          1};
}

Tensor Multinomial::mean() const { return static_cast<double>(total_) * probs(); }

Tensor Multinomial::variance() const {
  const Tensor p = probs();
  return static_cast<double>(total_) * p * (1 - p);
}

Tensor Multinomial::log_prob(const Tensor& value) const {
  check_value(value);
  const Tensor l = logits(), k = as_floating(value, l);
  // A class that can't be and didn't come adds nothing.
  const Tensor none = logical_and(eq(l, -INFINITY), eq(k, 0));
  return log_factorial(sum(k, {-1})) - sum(log_factorial(k), {-1}) +
         sum(k * where(none, 0.0, l), {-1});
}

// That of the order of draws, less what is known of it (Cover, Thomas, Elements of Information
// Theory).
Tensor Multinomial::entropy() const {
  const double total = static_cast<double>(total_);
  const Tensor p = probs(), n = full({}, total, options_of(p));
  const Tensor order = total * categorical_.entropy() - log_factorial(n);
  const Binomial each(n, {.probs = p});
  const Tensor counts = each.enumerate_support(false);
  return order + sum(exp(each.log_prob(counts)) * log_factorial(counts), {0, -1});
}

Tensor Multinomial::draw(const Shape& sample_shape, Generator* generator) const {
  const Tensor classes = categorical_.sample(joined({total_}, sample_shape), generator);
  const Tensor places = classes.movedim(0, -1);
  const Tensor p = probs();
  return scatter_add(zeros(extended(sample_shape), options_of(p)), -1, places,
                     ones(places.shape(), options_of(p)));
}

void Multinomial::expand_to(const Shape& batch_shape) {
  categorical_ = categorical_.expand(batch_shape);
}

}  // namespace aorta::distributions
