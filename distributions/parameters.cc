#include <aorta/autograd/grad_mode.h>
#include <aorta/core/called_op.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/distributions/distribution.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/parameters.h>

namespace aorta::distributions {

std::vector<Tensor> broadcast_parameters(const char* op,
                                         std::initializer_list<NamedParameter> parameters) {
  std::vector<Operand> tensors;
  for (const auto& [name, parameter] : parameters) {
    check(parameter.given(), op, std::string(name) + " must be given", "none");
    if (parameter.is_number()) continue;
    check_defined(op, {{name, parameter.tensor()}});
    check(parameter.tensor().is_floating_point(), op, std::string(name) + " must be floating",
          parameter.tensor().dtype());
    tensors.push_back(parameter.tensor());
  }
  TensorOptions options{.dtype = DType::f32};
  Shape shape;
  if (!tensors.empty()) {
    options = {.dtype = result_type(tensors), .device = tensors.front().tensor->device()};
    for (const Operand& one : tensors) shape = broadcast_shapes(op, shape, one.tensor->shape());
  }
  std::vector<Tensor> result;
  for (const auto& [name, parameter] : parameters) {
    result.push_back(parameter.is_number() ? full(shape, parameter.number(), options)
                                           : parameter.tensor().to(*options.dtype).expand(shape));
  }
  return result;
}

namespace {

// The one that is given, and whether it is the logits.
std::pair<Tensor, bool> one_of(const char* op, const ProbsOrLogits& options) {
  const bool has_logits = options.logits.given();
  check(options.probs.given() != has_logits, op, "probs or logits must be given, one of the two",
        has_logits ? "both" : "none");
  return {has_logits ? broadcast_parameters(op, {{"logits", options.logits}})[0]
                     : broadcast_parameters(op, {{"probs", options.probs}})[0],
          has_logits};
}

}  // namespace

Odds Odds::of_coins(const char* op, const ProbsOrLogits& options) {
  const auto [given, has_logits] = one_of(op, options);
  if (has_logits)
    require(op, "logits", given, constraints::real());
  else
    require(op, "probs", given, constraints::unit_interval());
  return {given, has_logits, true};
}

Odds Odds::of_classes(const char* op, const ProbsOrLogits& options) {
  const auto [given, has_logits] = one_of(op, options);
  check(given.dim() > 0 && given.size(-1) > 0, op,
        has_logits ? "logits must be (*, K), K > 0" : "probs must be (*, K), K > 0", given.shape());
  if (has_logits) {
    require(op, "logits", given, constraints::real());
    require(op, "the largest of the logits", amax(given, {-1}),
            {"be finite", [](const Tensor& x) { return isfinite(x); }});
    return {given - logsumexp(given, {-1}, true), true, false};
  }
  require(op, "probs", given, constraints::nonnegative());
  const Tensor total = sum(given, {-1}, true);
  require(op, "the sum of probs", total, {"be positive and finite", [](const Tensor& x) {
                                            return logical_and(gt(x, 0), isfinite(x));
                                          }});
  return {given / total, false, false};
}

Tensor Odds::probs() const {
  if (!has_logits_) return given_;
  return coins_ ? sigmoid(given_) : softmax(given_, -1);
}

Tensor Odds::logits() const {
  if (has_logits_) return given_;
  const Tensor p = clamp_probs(given_);
  return coins_ ? log(p) - log1p(-p) : log(p);
}

TensorOptions options_of(const Tensor& like) {
  return {.dtype = like.dtype(), .device = like.device()};
}

Shape joined(const Shape& a, const Shape& b) {
  check(a.size() + b.size() <= kMaxDims, "sample", "a tensor has at most 12 dimensions", a, " and ",
        b);
  Shape result = a;
  for (const int64_t size : b) result.push_back(size);
  return result;
}

Shape without_last(const Shape& shape, int count) {
  Shape result = shape;
  result.resize(shape.size() - count);
  return result;
}

Shape last(const Shape& shape, int count) {
  Shape result;
  for (int i = shape.size() - count; i < shape.size(); ++i) result.push_back(shape[i]);
  return result;
}

Tensor sum_rightmost(const Tensor& input, int count) {
  if (count == 0) return input;
  Dims last;
  for (int i = 1; i <= count; ++i) last.push_back(-i);
  return sum(input, last);
}

Tensor open_uniform(const Shape& shape, const Tensor& like, Generator* generator) {
  return clamp_probs(rand(shape, options_of(like), generator));
}

Tensor clamp_probs(const Tensor& probs) {
  const double epsilon = finfo(probs.dtype()).eps;
  return clamp(probs, epsilon, 1 - epsilon);
}

Tensor as_floating(const Tensor& value, const Tensor& like) {
  return value.is_floating_point() ? value : value.to(like.dtype());
}

}  // namespace aorta::distributions
