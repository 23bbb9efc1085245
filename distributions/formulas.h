#pragma once

#include <aorta/core/called_op.h>
#include <aorta/core/finfo.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/random.h>
#include <aorta/distributions/covariance.h>
#include <aorta/distributions/parameters.h>

#include <initializer_list>
#include <numbers>
#include <vector>

// What the distributions' constructors and formulas share.

namespace aorta::distributions {

inline constexpr double kPi = std::numbers::pi;
/// log(2 pi) / 2.
inline constexpr double kHalfLogTwoPi = 0.91893853320467274178;

/// A parameter and what it is called.
struct NamedParameter {
  const char* name;
  const Parameter& parameter;
};
/// The parameters of a distribution `op`, as tensors of one floating dtype and one shape: numbers
/// and tensors broadcast and are promoted.
std::vector<Tensor> broadcast_parameters(const char* op,
                                         std::initializer_list<NamedParameter> parameters);

/// A matrix and what it is called.
struct NamedMatrix {
  const char* name;
  Tensor matrix;
};
/// The one that `op` was given. Errors: several are, or none.
NamedMatrix given_of(const char* op, const CovarianceOptions& options);
/// The scale_tril of the covariance that is given by a matrix of this name. Errors: the matrix is
/// none of its kind.
Tensor scale_tril_of(const char* op, const NamedMatrix& given);
/// L L^T, and its inverse, of L = scale_tril (*, n, n).
Tensor covariance_of(const Tensor& scale_tril);
Tensor precision_of(const Tensor& scale_tril);

/// The dtype and device of `like`.
TensorOptions options_of(const Tensor& like);
/// `a` and behind it `b`.
Shape joined(const Shape& a, const Shape& b);
/// A shape without its last `count` sizes, and those alone.
Shape without_last(const Shape& shape, int count = 1);
Shape last(const Shape& shape, int count);
/// The sum over the last `count` dimensions.
Tensor sum_rightmost(const Tensor& input, int count);
/// Uniform in [epsilon, 1 - epsilon], so that logarithms of both ends are finite.
Tensor open_uniform(const Shape& shape, const Tensor& like, Generator* generator);
/// Limited to [epsilon, 1 - epsilon].
Tensor clamp_probs(const Tensor& probs);
/// What `make` makes; its errors are about `op`, which is made of others.
template <class Make>
auto made_for(const char* op, const Make& make) {
  const CalledOp called(op);
  return make();
}
/// A floating value stays; another becomes of the dtype of `like`.
Tensor as_floating(const Tensor& value, const Tensor& like);

}  // namespace aorta::distributions
