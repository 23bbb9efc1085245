#pragma once

#include <aorta/core/list.h>
#include <aorta/distributions/constraint.h>
#include <aorta/distributions/parameters.h>

#include <concepts>
#include <memory>
#include <utility>

namespace aorta::distributions {

class AnyTransform;

/// An invertible map y = f(x), differentiable, and the logarithm of what it does to volumes.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual const char* name() const = 0;
  virtual Tensor operator()(const Tensor& x) const = 0;
  /// x of f(x) = y.
  virtual Tensor inv(const Tensor& y) const = 0;
  /// The map from y to x, a transform like any other: `ExpTransform().inverse()` is the logarithm.
  /// It holds a copy; the inverse of an inverse is the first one. PyTorch's is `inv`.
  virtual AnyTransform inverse() const;
  /// log |dy / dx|, the determinant of one event's Jacobian: the last domain().event_dim()
  /// dimensions of x are summed over.
  virtual Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const = 0;
  /// 1 where f grows with x, -1 where it falls, broadcasting with y; undefined where it always
  /// grows.
  virtual Tensor sign() const { return {}; }
  /// Where x lies, and y. Their event_dim() is how many dimensions one event has.
  virtual Constraint domain() const = 0;
  virtual Constraint codomain() const = 0;
  /// The shape of f(x) of an x of `shape`, and of the x of a y of `shape`.
  virtual Shape forward_shape(const Shape& shape) const { return shape; }
  virtual Shape inverse_shape(const Shape& shape) const { return shape; }
  virtual std::shared_ptr<const Transform> clone() const = 0;
  /// Whether it is known to be the same map.
  virtual bool equals(const Transform& other) const = 0;

 protected:
  Transform() = default;
  Transform(const Transform&) = default;
  Transform& operator=(const Transform&) = default;
};

/// What a transform of class Self has in common with all others.
template <class Self>
class TransformOf : public Transform {
 public:
  std::shared_ptr<const Transform> clone() const override {
    return std::make_shared<const Self>(static_cast<const Self&>(*this));
  }
  /// One without parameters is the same as any of its class.
  bool equals(const Transform& other) const override {
    return dynamic_cast<const Self*>(&other) != nullptr;
  }
};

/// loc + scale x; scale isn't 0. With `event_dim` the last dimensions are one event.
class AffineTransform : public TransformOf<AffineTransform> {
 public:
  AffineTransform(const Parameter& loc, const Parameter& scale, int event_dim = 0);
  const char* name() const override { return "AffineTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Tensor sign() const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
  bool equals(const Transform& other) const override;

 private:
  // A parameter as x takes it.
  Tensor beside(const Tensor& own, const Tensor& x) const;
  Tensor loc_, scale_;
  int event_dim_;
  bool numbers_;
};

/// exp(x).
class ExpTransform : public TransformOf<ExpTransform> {
 public:
  const char* name() const override { return "ExpTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override;
};

/// 1 / (1 + exp(-x)), kept from 0 and 1, of which the inverse is infinite.
class SigmoidTransform : public TransformOf<SigmoidTransform> {
 public:
  const char* name() const override { return "SigmoidTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override;
};

/// tanh(x). Its inverse loses digits near -1 and 1, where tanh rounds to them it is infinite.
class TanhTransform : public TransformOf<TanhTransform> {
 public:
  const char* name() const override { return "TanhTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override;
};

/// x^exponent of x > 0; the exponent isn't 0.
class PowerTransform : public TransformOf<PowerTransform> {
 public:
  explicit PowerTransform(const Parameter& exponent);
  const char* name() const override { return "PowerTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Tensor sign() const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
  bool equals(const Transform& other) const override;

 private:
  Tensor exponent_;
};

/// log(1 + exp(x)).
class SoftplusTransform : public TransformOf<SoftplusTransform> {
 public:
  const char* name() const override { return "SoftplusTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return constraints::real(); }
  Constraint codomain() const override;
};

/// Vectors (K) to vectors (K + 1) of numbers > 0 whose sum is 1: the i-th breaks the part
/// sigmoid(x_i - log(K + 1 - i)) off what is left of a stick of length 1, i = 1, ..., K.
class StickBreakingTransform : public TransformOf<StickBreakingTransform> {
 public:
  const char* name() const override { return "StickBreakingTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
};

/// A transform of any class.
class AnyTransform {
 public:
  template <std::derived_from<Transform> T>
  AnyTransform(const T& transform) : transform_(transform.clone()) {}  // NOLINT: implicit
  explicit AnyTransform(std::shared_ptr<const Transform> transform)
      : transform_(std::move(transform)) {}
  Tensor operator()(const Tensor& x) const { return (*transform_)(x); }
  const Transform& operator*() const { return *transform_; }
  const Transform* operator->() const { return transform_.get(); }

 private:
  std::shared_ptr<const Transform> transform_;
};

/// Transforms in the order in which they are applied: `{AffineTransform(0, 2), ExpTransform()}`.
using Transforms = List<AnyTransform>;

/// One transform after the other. Its events have as many dimensions as those of its parts need.
class ComposeTransform : public TransformOf<ComposeTransform> {
 public:
  explicit ComposeTransform(const Transforms& parts) : parts_(parts) {}
  const char* name() const override { return "ComposeTransform"; }
  const Transforms& parts() const { return parts_; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Tensor sign() const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
  bool equals(const Transform& other) const override;

 private:
  Transforms parts_;
};

/// `base`, of whose values the last `reinterpreted_batch_ndims` dimensions belong to one event:
/// log_abs_det_jacobian is summed over them.
class IndependentTransform : public TransformOf<IndependentTransform> {
 public:
  IndependentTransform(const AnyTransform& base, int reinterpreted_batch_ndims);
  const char* name() const override { return "IndependentTransform"; }
  const Transform& base_transform() const { return *base_; }
  int reinterpreted_batch_ndims() const { return ndims_; }
  Tensor operator()(const Tensor& x) const override { return base_(x); }
  Tensor inv(const Tensor& y) const override { return base_->inv(y); }
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Tensor sign() const override { return base_->sign(); }
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override { return base_->forward_shape(shape); }
  Shape inverse_shape(const Shape& shape) const override { return base_->inverse_shape(shape); }
  bool equals(const Transform& other) const override;

 private:
  AnyTransform base_;
  int ndims_;
};

}  // namespace aorta::distributions
