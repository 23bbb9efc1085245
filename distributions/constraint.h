#pragma once

#include <aorta/core/list.h>
#include <aorta/core/tensor.h>

#include <functional>
#include <string>
#include <utility>

namespace aorta::distributions {

/// A set that parameters or values must lie in. `rule` ends the sentence "scale must ...": "be
/// positive".
class Constraint {
 public:
  using Check = std::function<Tensor(const Tensor& value)>;
  Constraint(const Text& rule, Check check, int event_dim = 0)
      : rule_(rule), check_(std::move(check)), event_dim_(event_dim) {}

  const std::string& rule() const { return rule_; }
  /// Whether each event of `value` (*, E) lies in the set, (*) of bool; E are the last event_dim()
  /// sizes.
  Tensor check(const Tensor& value) const { return check_(value); }
  /// How many dimensions one event has: 0 for numbers, 1 for vectors, 2 for matrices.
  int event_dim() const { return event_dim_; }

 private:
  std::string rule_;
  Check check_;
  int event_dim_;
};

/// The sets, with the names of torch.distributions.constraints.
namespace constraints {

/// Anything but NaN.
Constraint real();
/// x > 0.
Constraint positive();
/// x >= 0.
Constraint nonnegative();
/// 0 <= x <= 1.
Constraint unit_interval();
/// low <= x <= high, which broadcast.
Constraint interval(const Tensor& low, const Tensor& high);
/// 0 or 1.
Constraint boolean();
/// 0, 1, 2, ...
Constraint nonnegative_integer();
/// low, low + 1, ..., high.
Constraint integer_interval(int64_t low, int64_t high);
/// Vectors without NaN.
Constraint real_vector();
/// Vectors of numbers >= 0 whose sum is 1, to 1e-6 (half types: to their machine epsilon).
Constraint simplex();
/// Vectors of zeros with one 1.
Constraint one_hot();
/// Lower triangular matrices with a positive diagonal.
Constraint lower_cholesky();
/// Such matrices whose rows have the length 1, to 10 n machine epsilons.
Constraint corr_cholesky();
/// Symmetric matrices, to 1e-6; whether they are positive definite their decomposition tells.
Constraint symmetric();
/// Such matrices whose eigenvalues are positive.
Constraint positive_definite();
/// `base`, whose last `ndims` batch dimensions belong to the event.
Constraint independent(const Constraint& base, int ndims);

}  // namespace constraints
}  // namespace aorta::distributions
