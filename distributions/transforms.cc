#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/scan.h>
#include <aorta/distributions/distribution.h>
#include <aorta/distributions/formulas.h>
#include <aorta/distributions/transforms.h>

#include <algorithm>
#include <numbers>

namespace aorta::distributions {
namespace {

bool same(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return true;
  return a.shape() == b.shape() && a.device() == b.device() && !a.is_meta() &&
         all(eq(a, b)).item<bool>();
}

}  // namespace

namespace {

class InverseTransform : public TransformOf<InverseTransform> {
 public:
  explicit InverseTransform(const Transform& forward) : forward_(forward.clone()) {}
  const char* name() const override { return "InverseTransform"; }
  Tensor operator()(const Tensor& x) const override { return forward_->inv(x); }
  Tensor inv(const Tensor& y) const override { return (*forward_)(y); }
  AnyTransform inverse() const override { return AnyTransform(forward_); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override {
    return -forward_->log_abs_det_jacobian(y, x);
  }
  Tensor sign() const override { return forward_->sign(); }
  Constraint domain() const override { return forward_->codomain(); }
  Constraint codomain() const override { return forward_->domain(); }
  Shape forward_shape(const Shape& shape) const override { return forward_->inverse_shape(shape); }
  Shape inverse_shape(const Shape& shape) const override { return forward_->forward_shape(shape); }
  bool equals(const Transform& other) const override {
    const auto* inverse = dynamic_cast<const InverseTransform*>(&other);
    return inverse && forward_->equals(*inverse->forward_);
  }

 private:
  std::shared_ptr<const Transform> forward_;
};

}  // namespace

AnyTransform Transform::inverse() const { return InverseTransform(*this); }

AffineTransform::AffineTransform(const Parameter& loc, const Parameter& scale, int event_dim)
    : event_dim_(event_dim), numbers_(loc.is_number() && scale.is_number()) {
  // Numbers keep their digits until it is known what they meet.
  const Tensor exact = numbers_ ? full({}, loc.number(), {.dtype = DType::f64}) : Tensor();
  const std::vector<Tensor> both =
      broadcast_parameters(name(), {{"loc", numbers_ ? Parameter(exact) : loc}, {"scale", scale}});
  loc_ = both[0];
  scale_ = both[1];
  check(event_dim >= 0, name(), "event_dim must not be negative", event_dim);
  require(name(), "loc", loc_, constraints::real());
  require(name(), "scale", scale_,
          {"not be 0 or NaN", [](const Tensor& x) { return logical_and(eq(x, x), ne(x, 0)); }});
}

Tensor AffineTransform::beside(const Tensor& own, const Tensor& x) const {
  return numbers_ ? own.to(ToOptions{.dtype = x.dtype(), .device = x.device()}) : own;
}

Tensor AffineTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  return beside(loc_, x) + beside(scale_, x) * x;
}

Tensor AffineTransform::inv(const Tensor& y) const {
  check_defined(name(), {{"y", y}});
  return (y - beside(loc_, y)) / beside(scale_, y);
}

Tensor AffineTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  return sum_rightmost(beside(log(abs(scale_)), x).expand(forward_shape(x.shape())), event_dim_);
}

Tensor AffineTransform::sign() const { return aorta::sign(scale_.detach()); }
Constraint AffineTransform::domain() const {
  return constraints::independent(constraints::real(), event_dim_);
}
Constraint AffineTransform::codomain() const { return domain(); }

Shape AffineTransform::forward_shape(const Shape& shape) const {
  return broadcast_shapes(name(), shape, loc_.shape());
}

Shape AffineTransform::inverse_shape(const Shape& shape) const { return forward_shape(shape); }

bool AffineTransform::equals(const Transform& other) const {
  const auto* affine = dynamic_cast<const AffineTransform*>(&other);
  return affine && event_dim_ == affine->event_dim_ && same(loc_, affine->loc_) &&
         same(scale_, affine->scale_);
}

Tensor ExpTransform::operator()(const Tensor& x) const { return exp(x); }
Tensor ExpTransform::inv(const Tensor& y) const { return log(y); }
Tensor ExpTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const { return x; }
Constraint ExpTransform::codomain() const { return constraints::positive(); }

Tensor SigmoidTransform::operator()(const Tensor& x) const {
  return clamp(sigmoid(x), finfo(x.dtype()).tiny, 1 - finfo(x.dtype()).eps);
}

Tensor SigmoidTransform::inv(const Tensor& y) const {
  const Tensor inside = clamp(y, finfo(y.dtype()).tiny, 1 - finfo(y.dtype()).eps);
  return log(inside) - log1p(-inside);
}

Tensor SigmoidTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  return logsigmoid(x) + logsigmoid(-x);
}

Constraint SigmoidTransform::codomain() const { return constraints::unit_interval(); }

Tensor TanhTransform::operator()(const Tensor& x) const { return tanh(x); }
Tensor TanhTransform::inv(const Tensor& y) const { return atanh(y); }

// log(1 - tanh(x)^2) without cancellation.
Tensor TanhTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  return 2 * (std::numbers::ln2 - x + logsigmoid(2 * x));
}

Constraint TanhTransform::codomain() const {
  return {"be in [-1, 1]", [](const Tensor& x) { return le(abs(x), 1); }};
}

PowerTransform::PowerTransform(const Parameter& exponent) {
  exponent_ = broadcast_parameters(name(), {{"exponent", exponent}})[0];
  require(name(), "exponent", exponent_,
          {"not be 0 or NaN", [](const Tensor& x) { return logical_and(eq(x, x), ne(x, 0)); }});
}

Tensor PowerTransform::operator()(const Tensor& x) const { return pow(x, exponent_); }
Tensor PowerTransform::inv(const Tensor& y) const { return pow(y, reciprocal(exponent_)); }

Tensor PowerTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  return log(abs(exponent_ * y / x));
}

Tensor PowerTransform::sign() const { return aorta::sign(exponent_.detach()); }
Constraint PowerTransform::domain() const { return constraints::positive(); }
Constraint PowerTransform::codomain() const { return constraints::positive(); }

Shape PowerTransform::forward_shape(const Shape& shape) const {
  return broadcast_shapes(name(), shape, exponent_.shape());
}

Shape PowerTransform::inverse_shape(const Shape& shape) const { return forward_shape(shape); }

bool PowerTransform::equals(const Transform& other) const {
  const auto* power = dynamic_cast<const PowerTransform*>(&other);
  return power && same(exponent_, power->exponent_);
}

Tensor SoftplusTransform::operator()(const Tensor& x) const { return softplus(x); }
Tensor SoftplusTransform::inv(const Tensor& y) const { return log(-expm1(-y)) + y; }
Tensor SoftplusTransform::log_abs_det_jacobian(const Tensor& x, const Tensor&) const {
  return logsigmoid(x);
}
Constraint SoftplusTransform::codomain() const { return constraints::positive(); }

namespace {

// log(K + 1 - i) for i = 1, ..., K: with them x = 0 breaks off equal parts.
Tensor equal_parts(const Tensor& like, int64_t breaks) {
  return log(static_cast<double>(breaks) - arange(breaks, options_of(like)));
}

}  // namespace

Tensor StickBreakingTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  check(x.dim() > 0, name(), "x must be (*, K)", x.shape());
  // Something of the stick is left for the next, whatever the score.
  const Tensor part = clamp(sigmoid(x - equal_parts(x, x.size(-1))), finfo(x.dtype()).tiny,
                            1 - finfo(x.dtype()).eps);
  const Tensor left = cumprod(1 - part, -1), one = ones_like(x.narrow(-1, 0, 0).sum({-1}, true));
  return cat({part, one}, -1) * cat({one, left}, -1);
}

Tensor StickBreakingTransform::inv(const Tensor& y) const {
  check_defined(name(), {{"y", y}});
  check(y.dim() > 0 && y.size(-1) > 0, name(), "y must be (*, K + 1)", y.shape());
  const Tensor broken = y.narrow(-1, 0, y.size(-1) - 1);
  const Tensor left = clamp_min(1 - cumsum(broken, -1), finfo(y.dtype()).tiny);
  return log(broken) - log(left) + equal_parts(y, y.size(-1) - 1);
}

Tensor StickBreakingTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  const Tensor score = x - equal_parts(x, x.size(-1));
  return sum(logsigmoid(score) - score + log(y.narrow(-1, 0, x.size(-1))), {-1});
}

Constraint StickBreakingTransform::domain() const { return constraints::real_vector(); }
Constraint StickBreakingTransform::codomain() const { return constraints::simplex(); }

Shape StickBreakingTransform::forward_shape(const Shape& shape) const {
  check(shape.size() > 0, name(), "x must be (*, K)", shape);
  Shape result = shape;
  ++result[result.size() - 1];
  return result;
}

Shape StickBreakingTransform::inverse_shape(const Shape& shape) const {
  check(shape.size() > 0 && shape[shape.size() - 1] > 0, name(), "y must be (*, K + 1)", shape);
  Shape result = shape;
  --result[result.size() - 1];
  return result;
}

Tensor ComposeTransform::operator()(const Tensor& x) const {
  check_defined(name(), {{"x", x}});
  Tensor y = x;
  for (const AnyTransform& part : parts_) y = (*part)(y);
  return y;
}

Tensor ComposeTransform::inv(const Tensor& y) const {
  check_defined(name(), {{"y", y}});
  Tensor x = y;
  for (size_t i = parts_.size(); i-- > 0;) x = parts_[i]->inv(x);
  return x;
}

Tensor ComposeTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  if (parts_.empty()) return zeros_like(x);
  int dims = domain().event_dim();
  Tensor total, from = x;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const Transform& part = *parts_[i];
    const Tensor to = i + 1 < parts_.size() ? part(from) : y;
    const int before = part.domain().event_dim();
    const Tensor one = sum_rightmost(part.log_abs_det_jacobian(from, to), dims - before);
    total = total.defined() ? total + one : one;
    dims += part.codomain().event_dim() - before;
    from = to;
  }
  return total;
}

Tensor ComposeTransform::sign() const {
  Tensor result;
  for (const AnyTransform& part : parts_) {
    const Tensor one = part->sign();
    if (one.defined()) result = result.defined() ? result * one : one;
  }
  return result;
}

// Events of parts that come later may have more dimensions, and those of earlier ones.
Constraint ComposeTransform::domain() const {
  int dims = 0;
  for (size_t i = parts_.size(); i-- > 0;) {
    const int before = parts_[i]->domain().event_dim(), after = parts_[i]->codomain().event_dim();
    dims = std::max(dims - after, 0) + before;
  }
  const Constraint first = parts_.empty() ? constraints::real() : parts_.front()->domain();
  return constraints::independent(first, dims - first.event_dim());
}

Constraint ComposeTransform::codomain() const {
  int dims = 0;
  for (const AnyTransform& part : parts_) {
    const int before = part->domain().event_dim(), after = part->codomain().event_dim();
    dims = std::max(dims - before, 0) + after;
  }
  const Constraint last = parts_.empty() ? constraints::real() : parts_.back()->codomain();
  return constraints::independent(last, dims - last.event_dim());
}

Shape ComposeTransform::forward_shape(const Shape& shape) const {
  Shape result = shape;
  for (const AnyTransform& part : parts_) result = part->forward_shape(result);
  return result;
}

Shape ComposeTransform::inverse_shape(const Shape& shape) const {
  Shape result = shape;
  for (size_t i = parts_.size(); i-- > 0;) result = parts_[i]->inverse_shape(result);
  return result;
}

bool ComposeTransform::equals(const Transform& other) const {
  const auto* compose = dynamic_cast<const ComposeTransform*>(&other);
  if (!compose || parts_.size() != compose->parts_.size()) return false;
  for (size_t i = 0; i < parts_.size(); ++i)
    if (!parts_[i]->equals(*compose->parts_[i])) return false;
  return true;
}

IndependentTransform::IndependentTransform(const AnyTransform& base, int reinterpreted_batch_ndims)
    : base_(base), ndims_(reinterpreted_batch_ndims) {
  check(ndims_ >= 0 && ndims_ <= kMaxDims, name(), "reinterpreted_batch_ndims must be from 0 to 12",
        ndims_);
}

Tensor IndependentTransform::log_abs_det_jacobian(const Tensor& x, const Tensor& y) const {
  const Tensor apart = base_->log_abs_det_jacobian(x, y);
  check(apart.dim() >= ndims_, name(), "x must have the dimensions of an event", x.shape());
  return sum_rightmost(apart, ndims_);
}

Constraint IndependentTransform::domain() const {
  return constraints::independent(base_->domain(), ndims_);
}
Constraint IndependentTransform::codomain() const {
  return constraints::independent(base_->codomain(), ndims_);
}

bool IndependentTransform::equals(const Transform& other) const {
  const auto* independent = dynamic_cast<const IndependentTransform*>(&other);
  return independent && ndims_ == independent->ndims_ && base_->equals(*independent->base_);
}

}  // namespace aorta::distributions
