#pragma once

#include <aorta/distributions/transforms.h>

// Numbers without bounds to the Cholesky factors of covariances and of correlations.

namespace aorta::distributions {

/// Matrices (n, n) to lower triangular ones with a positive diagonal: the exponential of the
/// diagonal, what is below it, and zeros for what is above it. That is forgotten, so it has no
/// log_abs_det_jacobian, which is an error.
class LowerCholeskyTransform : public TransformOf<LowerCholeskyTransform> {
 public:
  const char* name() const override { return "LowerCholeskyTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override;
  Constraint codomain() const override { return constraints::lower_cholesky(); }
};

/// Matrices (n, n) to symmetric positive definite ones, L L^T of LowerCholeskyTransform's L. It has
/// no log_abs_det_jacobian either.
class PositiveDefiniteTransform : public TransformOf<PositiveDefiniteTransform> {
 public:
  const char* name() const override { return "PositiveDefiniteTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override;
  Constraint codomain() const override { return constraints::positive_definite(); }
};

/// Vectors (n (n - 1) / 2) to Cholesky factors (n, n) of correlation matrices, whose rows have the
/// length 1: with the vector row by row below the diagonal a number x takes the part tanh(x) of
/// the length that its row has left, and the diagonal what remains.
class CorrCholeskyTransform : public TransformOf<CorrCholeskyTransform> {
 public:
  const char* name() const override { return "CorrCholeskyTransform"; }
  Tensor operator()(const Tensor& x) const override;
  Tensor inv(const Tensor& y) const override;
  /// By the factor's numbers below the diagonal.
  Tensor log_abs_det_jacobian(const Tensor& x, const Tensor& y) const override;
  Constraint domain() const override { return constraints::real_vector(); }
  Constraint codomain() const override { return constraints::corr_cholesky(); }
  Shape forward_shape(const Shape& shape) const override;
  Shape inverse_shape(const Shape& shape) const override;
};

}  // namespace aorta::distributions
