#include <aorta/autograd/grad_mode.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/distributions/distribution.h>
#include <aorta/distributions/formulas.h>

#include <atomic>

namespace aorta::distributions {
namespace {

std::atomic<bool> validates{true};

// "-1 at [2]", or "[0.5,0.2] at [1]" of an event that is a vector or more; up to 8 numbers of it.
std::string first_outside(const Tensor& value, const Tensor& inside, int event_dim) {
  const Shape batch = inside.shape();
  const Shape event = last(value.shape(), event_dim);
  const std::vector<int64_t> place = nonzero(logical_not(inside).cpu())[0].to_vector<int64_t>();
  Tensor one = value.expand(joined(batch, event)).cpu();
  for (const int64_t index : place) one = one[index];
  const std::vector<double> numbers = one.to_vector<double>();
  std::string text = event_dim > 0 ? "[" : "";
  for (size_t i = 0; i < numbers.size() && i < 8; ++i) {
    if (i > 0) text += ",";
    aorta::detail::append(text, numbers[i]);
  }
  if (event_dim > 0) text += numbers.size() > 8 ? ",...]" : "]";
  return place.empty() ? text : text + " at " + to_string(Dims(place));
}

[[noreturn]] void has_none(const char* what, const char* name) {
  fail(what, "the distribution must have one", name);
}

}  // namespace

void require(const char* op, const char* what, const Tensor& value, const Constraint& constraint) {
  check_defined(op, {{what, value}});
  if (!validates || value.is_meta()) return;
  const int events = constraint.event_dim();
  if (value.dim() < events) {
    fail(op,
         std::string(what) + " must have an event's dimensions (" + std::to_string(events) + ")",
         value.shape());
  }
  const NoGradGuard guard;
  const Tensor x = value.detach();
  const Tensor inside = constraint.check(x);
  if (all(inside).item<bool>()) return;
  fail(op, std::string(what) + " must " + constraint.rule(),
       first_outside(x, inside, constraint.event_dim()));
}

void Distribution::set_default_validate_args(bool value) { validates = value; }

void Distribution::set_shapes(const Shape& batch_shape, const Shape& event_shape) {
  batch_shape_ = batch_shape;
  event_shape_ = event_shape;
}

Shape Distribution::extended(const Shape& sample_shape) const {
  for (const int64_t size : sample_shape)
    check(size >= 0, name_, "the sizes of a sample must not be negative", sample_shape);
  const Shape result = joined(joined(sample_shape, batch_shape_), event_shape_);
  checked_numel(name_, result, item_size(DType::f64));
  return result;
}

void Distribution::check_value(const Tensor& value, const Constraint& allowed) const {
  check_defined(name_, {{"value", value}});
  const int event_dims = event_shape_.size();
  check(value.dim() >= event_dims && last(value.shape(), event_dims) == event_shape_, name_,
        "the last sizes of value must be the event's shape", value.shape(), " for ", event_shape_);
  broadcast_shapes(name_, without_last(value.shape(), event_dims), batch_shape_);
  require(name_, "value", value, allowed);
}

void Distribution::check_probability(const Tensor& value) const {
  check_defined(name_, {{"value", value}});
  broadcast_shapes(name_, value.shape(), batch_shape_);
  require(name_, "value", value, constraints::unit_interval());
}

Tensor Distribution::mean() const { has_none("mean", name_); }
Tensor Distribution::variance() const { has_none("variance", name_); }
Tensor Distribution::stddev() const { return sqrt(variance()); }
Tensor Distribution::mode() const { has_none("mode", name_); }
Tensor Distribution::cdf(const Tensor&) const { has_none("cdf", name_); }
Tensor Distribution::icdf(const Tensor&) const { has_none("icdf", name_); }
Tensor Distribution::entropy() const { has_none("entropy", name_); }
Tensor Distribution::perplexity() const { return exp(entropy()); }
Tensor Distribution::enumerate_support(bool) const { has_none("enumerate_support", name_); }

Tensor Distribution::sample(const Shape& sample_shape, Generator* generator) const {
  const NoGradGuard guard;
  return draw(sample_shape, generator);
}

Tensor Distribution::rsample(const Shape& sample_shape, Generator* generator) const {
  if (!has_rsample()) has_none("rsample", name_);
  return draw(sample_shape, generator);
}

}  // namespace aorta::distributions
