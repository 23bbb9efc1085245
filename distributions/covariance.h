#pragma once

#include <aorta/core/tensor.h>

namespace aorta::distributions {

/// How a covariance is given: one of the three, (*, n, n). `scale_tril` is lower triangular with a
/// positive diagonal, covariance scale_tril scale_tril^T; the other two are symmetric and positive
/// definite.
struct CovarianceOptions {
  Tensor covariance_matrix = {};
  Tensor precision_matrix = {};  // the covariance's inverse
  Tensor scale_tril = {};
};

}  // namespace aorta::distributions
