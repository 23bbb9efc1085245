#include <aorta/core/ops/linalg.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/distributions/constraint.h>
#include <aorta/distributions/formulas.h>

#include <algorithm>

namespace aorta::distributions::constraints {
namespace {

std::string text_of(double number) {
  std::string text;
  aorta::detail::append(text, number);
  return text;
}

// The end of an interval that is one for all, as a number.
std::string text_of(const Tensor& bound, const char* what) {
  return bound.numel() == 1 && !bound.is_meta() ? text_of(bound.item().to_double()) : what;
}

}  // namespace

Constraint real() {
  return {"not be NaN", [](const Tensor& x) { return eq(x, x); }};
}
Constraint positive() {
  return {"be positive", [](const Tensor& x) { return gt(x, 0); }};
}
Constraint nonnegative() {
  return {"not be negative", [](const Tensor& x) { return ge(x, 0); }};
}
Constraint unit_interval() {
  return {"be in [0, 1]", [](const Tensor& x) { return logical_and(ge(x, 0), le(x, 1)); }};
}
Constraint interval(const Tensor& low, const Tensor& high) {
  check_defined("interval", {{"low", low}, {"high", high}});
  return {"be in [" + text_of(low, "low") + ", " + text_of(high, "high") + "]",
          [low, high](const Tensor& x) {
            // A bound of no dimensions would become of the dtype of x.
            const DType dtype = promote(x.dtype(), promote(low.dtype(), high.dtype()));
            const Tensor at = x.to(dtype);
            return logical_and(ge(at, low), le(at, high));
          }};
}
Constraint boolean() {
  return {"be 0 or 1", [](const Tensor& x) { return logical_or(eq(x, 0), eq(x, 1)); }};
}
Constraint nonnegative_integer() {
  return {"be a count (0, 1, 2, ...)",
          [](const Tensor& x) { return logical_and(ge(x, 0), eq(remainder(x, 1), 0)); }};
}
Constraint integer_interval(int64_t low, int64_t high) {
  return {"be an integer in [" + std::to_string(low) + ", " + std::to_string(high) + "]",
          [low, high](const Tensor& x) {
            return logical_and(logical_and(ge(x, low), le(x, high)), eq(remainder(x, 1), 0));
          }};
}
Constraint real_vector() { return independent(real(), 1); }
Constraint simplex() {
  return {"be at least 0 and sum to 1",
          [](const Tensor& x) {
            const bool half = x.dtype() == DType::f16 || x.dtype() == DType::bf16;
            const double tolerance = half ? finfo(x.dtype()).eps : 1e-6;
            return logical_and(all(ge(x, 0), {-1}), lt(abs(sum(x, {-1}) - 1), tolerance));
          },
          1};
}
Constraint one_hot() {
  return {"be zeros with one 1",
          [](const Tensor& x) {
            return logical_and(all(boolean().check(x), {-1}), eq(count_nonzero(x, {-1}), 1));
          },
          1};
}
Constraint lower_cholesky() {
  return {
      "be lower triangular with a positive diagonal",
      [](const Tensor& x) {
        return logical_and(all(eq(tril(x), x), {-2, -1}), all(gt(diagonal(x, 0, -2, -1), 0), {-1}));
      },
      2};
}
Constraint corr_cholesky() {
  return {"be lower triangular with a positive diagonal and rows of length 1",
          [](const Tensor& x) {
            const double tolerance = 10 * static_cast<double>(x.size(-1)) * finfo(x.dtype()).eps;
            const Tensor off = abs(sqrt(sum(square(x), {-1})) - 1);
            return logical_and(lower_cholesky().check(x), all(le(off, tolerance), {-1}));
          },
          2};
}
Constraint symmetric() {
  return {"be symmetric",
          [](const Tensor& x) {
            const Tensor other = x.transpose(-2, -1);
            return all(le(abs(x - other), 1e-6 + 1e-5 * abs(other)), {-2, -1});
          },
          2};
}
Constraint positive_definite() {
  return {"be symmetric and positive definite",
          [](const Tensor& x) {
            const Tensor same = symmetric().check(x);
            const Tensor safe = where(same.unsqueeze(-1).unsqueeze(-1), x, 1.0);
            return logical_and(same, all(gt(linalg::eigvalsh(safe), 0), {-1}));
          },
          2};
}
Constraint independent(const Constraint& base, int ndims) {
  if (ndims == 0) return base;
  return {base.rule(),
          [base, ndims](const Tensor& x) {
            Dims last;
            for (int i = 1; i <= ndims; ++i) last.push_back(-i);
            return all(base.check(x), last);
          },
          base.event_dim() + ndims};
}

}  // namespace aorta::distributions::constraints
