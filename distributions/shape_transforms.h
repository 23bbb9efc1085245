#pragma once

#include <aorta/distributions/transforms.h>

#include <vector>

// Transforms of where numbers stand, and of parts of a tensor each in its own way. Dimensions are
// counted from the end, for samples bring others in front.

namespace aorta::distributions {

/// Events (*, in_shape) to (*, out_shape) of as many numbers.
class ReshapeTransform : public TransformOf<ReshapeTransform> {
 public:
  ReshapeTransform(const Shape& in_shape, const Shape& out_shape);
  const char* name() const override { return "ReshapeTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  /// Zeros.
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
  bool equals(const Transform& other) const override;

 private:
  Shape in_, out_;
};

/// What CatTransform and StackTransform share: each part along a dimension has a transform of its
/// own, which keeps the part's shape. Where the dimension lies within the parts' events they are
/// one event together.
class PartsTransform : public Transform {
 public:
  const Transforms& transforms() const { return parts_; }
  /// Below 0.
  int64_t dim() const { return dim_; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  /// Errors: a part has one, which needn't be the others'.
  Tensor sign() const override;
  Constraint domain() const override;
  Constraint codomain() const override;
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
  bool equals(const Transform& other) const override;

 protected:
  /// Parts are as long as `lengths`; without any each is one number, whose dimension it lacks.
  PartsTransform(const char* name, const Transforms& transforms, int64_t dim,
                 const std::vector<int64_t>& lengths);

 private:
  bool stacked() const { return lengths_.empty(); }
  /// How many dimensions the largest event of a part has, and whether the divided one lies within.
  int event_dim() const;
  bool inside() const { return -dim_ <= event_dim(); }
  void check_shape(const char* what, const Shape& shape) const;
  std::vector<Tensor> divided(const Tensor& whole) const;
  Tensor together(const std::vector<Tensor>& parts, int64_t dim) const;
  Constraint constraint(bool of_domain) const;
  Transforms parts_;
  int64_t dim_;
  std::vector<int64_t> lengths_;
};

/// Parts of `lengths` (1 each when it is empty) along `dim`: `CatTransform({ExpTransform(),
/// TanhTransform()}, -1, {2, 3})` of x (*, 5).
class CatTransform : public PartsTransform {
 public:
  CatTransform(const Transforms& transforms, int64_t dim, const std::vector<int64_t>& lengths = {});
  const char* name() const override { return "CatTransform"; }
  std::shared_ptr<const Transform> clone() const override {
    return std::make_shared<const CatTransform>(*this);
  }
};

/// One number of `dim` to each transform, which doesn't see that dimension:
/// `StackTransform({ExpTransform(), TanhTransform()}, -1)` of x (*, 2).
class StackTransform : public PartsTransform {
 public:
  StackTransform(const Transforms& transforms, int64_t dim);
  const char* name() const override { return "StackTransform"; }
  std::shared_ptr<const Transform> clone() const override {
    return std::make_shared<const StackTransform>(*this);
  }
};

}  // namespace aorta::distributions
