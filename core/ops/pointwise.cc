#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/ops/pointwise.h>

namespace aorta {

using pointwise::binary;
using pointwise::check_sign;
using pointwise::fitting;
using pointwise::number_of;
using pointwise::unary;

Tensor neg(const Tensor& input) { return unary<scalar::Neg>(input); }
Tensor neg_(const Tensor& self) { return unary<scalar::Neg>(self, &self); }
Tensor abs(const Tensor& input) { return unary<scalar::Abs>(input); }
Tensor abs_(const Tensor& self) { return unary<scalar::Abs>(self, &self); }
Tensor sign(const Tensor& input) { return unary<scalar::Sign>(input); }
Tensor sign_(const Tensor& self) { return unary<scalar::Sign>(self, &self); }
Tensor square(const Tensor& input) { return unary<scalar::Square>(input); }
Tensor square_(const Tensor& self) { return unary<scalar::Square>(self, &self); }
Tensor reciprocal(const Tensor& input) { return unary<scalar::Reciprocal>(input); }
Tensor reciprocal_(const Tensor& self) { return unary<scalar::Reciprocal>(self, &self); }
Tensor floor(const Tensor& input) { return unary<scalar::Floor>(input); }
Tensor floor_(const Tensor& self) { return unary<scalar::Floor>(self, &self); }
Tensor ceil(const Tensor& input) { return unary<scalar::Ceil>(input); }
Tensor ceil_(const Tensor& self) { return unary<scalar::Ceil>(self, &self); }
Tensor round(const Tensor& input) { return unary<scalar::Round>(input); }
Tensor round_(const Tensor& self) { return unary<scalar::Round>(self, &self); }
Tensor trunc(const Tensor& input) { return unary<scalar::Trunc>(input); }
Tensor trunc_(const Tensor& self) { return unary<scalar::Trunc>(self, &self); }
Tensor frac(const Tensor& input) { return unary<scalar::Frac>(input); }
Tensor frac_(const Tensor& self) { return unary<scalar::Frac>(self, &self); }
Tensor sqrt(const Tensor& input) { return unary<scalar::Sqrt>(input); }
Tensor sqrt_(const Tensor& self) { return unary<scalar::Sqrt>(self, &self); }
Tensor rsqrt(const Tensor& input) { return unary<scalar::Rsqrt>(input); }
Tensor rsqrt_(const Tensor& self) { return unary<scalar::Rsqrt>(self, &self); }
Tensor exp(const Tensor& input) { return unary<scalar::Exp>(input); }
Tensor exp_(const Tensor& self) { return unary<scalar::Exp>(self, &self); }
Tensor exp2(const Tensor& input) { return unary<scalar::Exp2>(input); }
Tensor exp2_(const Tensor& self) { return unary<scalar::Exp2>(self, &self); }
Tensor expm1(const Tensor& input) { return unary<scalar::Expm1>(input); }
Tensor expm1_(const Tensor& self) { return unary<scalar::Expm1>(self, &self); }
Tensor log(const Tensor& input) { return unary<scalar::Log>(input); }
Tensor log_(const Tensor& self) { return unary<scalar::Log>(self, &self); }
Tensor log1p(const Tensor& input) { return unary<scalar::Log1p>(input); }
Tensor log1p_(const Tensor& self) { return unary<scalar::Log1p>(self, &self); }
Tensor log2(const Tensor& input) { return unary<scalar::Log2>(input); }
Tensor log2_(const Tensor& self) { return unary<scalar::Log2>(self, &self); }
Tensor log10(const Tensor& input) { return unary<scalar::Log10>(input); }
Tensor log10_(const Tensor& self) { return unary<scalar::Log10>(self, &self); }
Tensor sin(const Tensor& input) { return unary<scalar::Sin>(input); }
Tensor sin_(const Tensor& self) { return unary<scalar::Sin>(self, &self); }
Tensor cos(const Tensor& input) { return unary<scalar::Cos>(input); }
Tensor cos_(const Tensor& self) { return unary<scalar::Cos>(self, &self); }
Tensor tan(const Tensor& input) { return unary<scalar::Tan>(input); }
Tensor tan_(const Tensor& self) { return unary<scalar::Tan>(self, &self); }
Tensor asin(const Tensor& input) { return unary<scalar::Asin>(input); }
Tensor asin_(const Tensor& self) { return unary<scalar::Asin>(self, &self); }
Tensor acos(const Tensor& input) { return unary<scalar::Acos>(input); }
Tensor acos_(const Tensor& self) { return unary<scalar::Acos>(self, &self); }
Tensor atan(const Tensor& input) { return unary<scalar::Atan>(input); }
Tensor atan_(const Tensor& self) { return unary<scalar::Atan>(self, &self); }
Tensor sinh(const Tensor& input) { return unary<scalar::Sinh>(input); }
Tensor sinh_(const Tensor& self) { return unary<scalar::Sinh>(self, &self); }
Tensor cosh(const Tensor& input) { return unary<scalar::Cosh>(input); }
Tensor cosh_(const Tensor& self) { return unary<scalar::Cosh>(self, &self); }
Tensor tanh(const Tensor& input) { return unary<scalar::Tanh>(input); }
Tensor tanh_(const Tensor& self) { return unary<scalar::Tanh>(self, &self); }
Tensor asinh(const Tensor& input) { return unary<scalar::Asinh>(input); }
Tensor asinh_(const Tensor& self) { return unary<scalar::Asinh>(self, &self); }
Tensor acosh(const Tensor& input) { return unary<scalar::Acosh>(input); }
Tensor acosh_(const Tensor& self) { return unary<scalar::Acosh>(self, &self); }
Tensor atanh(const Tensor& input) { return unary<scalar::Atanh>(input); }
Tensor atanh_(const Tensor& self) { return unary<scalar::Atanh>(self, &self); }
Tensor erf(const Tensor& input) { return unary<scalar::Erf>(input); }
Tensor erf_(const Tensor& self) { return unary<scalar::Erf>(self, &self); }
Tensor erfc(const Tensor& input) { return unary<scalar::Erfc>(input); }
Tensor erfc_(const Tensor& self) { return unary<scalar::Erfc>(self, &self); }
Tensor erfinv(const Tensor& input) { return unary<scalar::Erfinv>(input); }
Tensor erfinv_(const Tensor& self) { return unary<scalar::Erfinv>(self, &self); }
Tensor lgamma(const Tensor& input) { return unary<scalar::Lgamma>(input); }
Tensor lgamma_(const Tensor& self) { return unary<scalar::Lgamma>(self, &self); }
Tensor digamma(const Tensor& input) { return unary<scalar::Digamma>(input); }
Tensor digamma_(const Tensor& self) { return unary<scalar::Digamma>(self, &self); }
static Tensor polygamma_into(int64_t n, const Tensor& input, const Tensor* out) {
  // n! has a place in a double up to 170; the gradient takes the next one.
  check(n >= 0 && n <= 169, "polygamma", "n must be from 0 to 169", n);
  if (n == 0) return unary<scalar::Digamma>(input, out);
  return unary<scalar::Polygamma>(input, out, {static_cast<int>(n)});
}
Tensor polygamma(int64_t n, const Tensor& input) {
  const CalledOp called("polygamma");
  return polygamma_into(n, input, nullptr);
}
Tensor polygamma_(int64_t n, const Tensor& self) {
  const CalledOp called("polygamma_");
  return polygamma_into(n, self, &self);
}
Tensor sigmoid(const Tensor& input) { return unary<scalar::Sigmoid>(input); }
Tensor sigmoid_(const Tensor& self) { return unary<scalar::Sigmoid>(self, &self); }
Tensor relu(const Tensor& input) { return unary<scalar::Relu>(input); }
Tensor relu_(const Tensor& self) { return unary<scalar::Relu>(self, &self); }
Tensor relu6(const Tensor& input) { return unary<scalar::Relu6>(input); }
Tensor relu6_(const Tensor& self) { return unary<scalar::Relu6>(self, &self); }
Tensor selu(const Tensor& input) { return unary<scalar::Selu>(input); }
Tensor selu_(const Tensor& self) { return unary<scalar::Selu>(self, &self); }
Tensor silu(const Tensor& input) { return unary<scalar::Silu>(input); }
Tensor silu_(const Tensor& self) { return unary<scalar::Silu>(self, &self); }
Tensor mish(const Tensor& input) { return unary<scalar::Mish>(input); }
Tensor mish_(const Tensor& self) { return unary<scalar::Mish>(self, &self); }
Tensor logsigmoid(const Tensor& input) { return unary<scalar::LogSigmoid>(input); }
Tensor logsigmoid_(const Tensor& self) { return unary<scalar::LogSigmoid>(self, &self); }
Tensor softsign(const Tensor& input) { return unary<scalar::Softsign>(input); }
Tensor softsign_(const Tensor& self) { return unary<scalar::Softsign>(self, &self); }
Tensor hardsigmoid(const Tensor& input) { return unary<scalar::Hardsigmoid>(input); }
Tensor hardsigmoid_(const Tensor& self) { return unary<scalar::Hardsigmoid>(self, &self); }
Tensor hardswish(const Tensor& input) { return unary<scalar::Hardswish>(input); }
Tensor hardswish_(const Tensor& self) { return unary<scalar::Hardswish>(self, &self); }
Tensor tanhshrink(const Tensor& input) { return unary<scalar::Tanhshrink>(input); }
Tensor tanhshrink_(const Tensor& self) { return unary<scalar::Tanhshrink>(self, &self); }
Tensor isnan(const Tensor& input) { return unary<scalar::IsNan>(input); }
Tensor isnan_(const Tensor& self) { return unary<scalar::IsNan>(self, &self); }
Tensor isinf(const Tensor& input) { return unary<scalar::IsInf>(input); }
Tensor isinf_(const Tensor& self) { return unary<scalar::IsInf>(self, &self); }
Tensor isfinite(const Tensor& input) { return unary<scalar::IsFinite>(input); }
Tensor isfinite_(const Tensor& self) { return unary<scalar::IsFinite>(self, &self); }
Tensor logical_not(const Tensor& input) { return unary<scalar::LogicalNot>(input); }
Tensor logical_not_(const Tensor& self) { return unary<scalar::LogicalNot>(self, &self); }
Tensor bitwise_not(const Tensor& input) { return unary<scalar::BitwiseNot>(input); }
Tensor bitwise_not_(const Tensor& self) { return unary<scalar::BitwiseNot>(self, &self); }

Tensor gelu(const Tensor& input, GeluApproximation approximate) {
  const CalledOp called("gelu");
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(input)
                                                : unary<scalar::Gelu>(input);
}
Tensor gelu_(const Tensor& self, GeluApproximation approximate) {
  const CalledOp called("gelu_");
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(self, &self)
                                                : unary<scalar::Gelu>(self, &self);
}
Tensor leaky_relu(const Tensor& input, const Scalar& negative_slope) {
  return unary<scalar::LeakyRelu>(input, nullptr, {negative_slope.to_double()});
}
Tensor leaky_relu_(const Tensor& self, const Scalar& negative_slope) {
  return unary<scalar::LeakyRelu>(self, &self, {negative_slope.to_double()});
}
Tensor elu(const Tensor& input, const Scalar& alpha) {
  return unary<scalar::Elu>(input, nullptr, {alpha.to_double()});
}
Tensor elu_(const Tensor& self, const Scalar& alpha) {
  return unary<scalar::Elu>(self, &self, {alpha.to_double()});
}
static scalar::Celu make_celu(const Scalar& alpha) {
  check(alpha.to_double() != 0, "celu", "alpha must not be 0", alpha);
  return {alpha.to_double()};
}
Tensor celu(const Tensor& input, const Scalar& alpha) {
  return unary<scalar::Celu>(input, nullptr, make_celu(alpha));
}
Tensor celu_(const Tensor& self, const Scalar& alpha) {
  const CalledOp called("celu_");
  return unary<scalar::Celu>(self, &self, make_celu(alpha));
}
Tensor logit(const Tensor& input, std::optional<double> eps) {
  return unary<scalar::Logit>(input, nullptr, {eps.value_or(-1)});
}
Tensor logit_(const Tensor& self, std::optional<double> eps) {
  return unary<scalar::Logit>(self, &self, {eps.value_or(-1)});
}
Tensor softplus(const Tensor& input, double beta, double threshold) {
  return unary<scalar::Softplus>(input, nullptr, {beta, threshold});
}
Tensor softplus_(const Tensor& self, double beta, double threshold) {
  return unary<scalar::Softplus>(self, &self, {beta, threshold});
}
// An integer bound may lie past the dtype's range on the side where it bounds no element.
static void check_bounds(const char* op, DType dtype, const std::optional<Scalar>& min,
                         const std::optional<Scalar>& max) {
  for (const auto& bound : {min, max}) {
    if (bound) check_fits(op, *bound, is_integral(dtype) ? DType::i64 : dtype);
  }
  if (min && min->to_double() > 0 && is_integral(dtype)) check_fits(op, *min, dtype);
  if (max) check_sign(op, *max, dtype);
}
static Tensor hardtanh_into(const Tensor& input, const Scalar& min, const Scalar& max,
                            const Tensor* out) {
  check_defined("hardtanh", {{"input", input}});
  check(!(min.to_double() > max.to_double()), "hardtanh", "min can't be greater than max", min,
        " and ", max);
  check_bounds("hardtanh", input.dtype(), min, max);
  return unary<scalar::Hardtanh>(input, out, {number_of(min), number_of(max)});
}
Tensor hardtanh(const Tensor& input, const Scalar& min, const Scalar& max) {
  return hardtanh_into(input, min, max, nullptr);
}
Tensor hardtanh_(const Tensor& self, const Scalar& min, const Scalar& max) {
  const CalledOp called("hardtanh_");
  return hardtanh_into(self, min, max, &self);
}
static scalar::Threshold make_threshold(const Tensor& input, const Scalar& threshold,
                                        const Scalar& value) {
  check_defined("threshold", {{"input", input}});
  check_sign("threshold", threshold, input.dtype());
  return {fitting("threshold", threshold, input.dtype()),
          fitting("threshold", value, input.dtype())};
}
Tensor threshold(const Tensor& input, const Scalar& threshold, const Scalar& value) {
  return unary<scalar::Threshold>(input, nullptr, make_threshold(input, threshold, value));
}
Tensor threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value) {
  const CalledOp called("threshold_");
  return unary<scalar::Threshold>(self, &self, make_threshold(self, threshold, value));
}
Tensor hardshrink(const Tensor& input, double lambda) {
  return unary<scalar::Hardshrink>(input, nullptr, {lambda});
}
Tensor hardshrink_(const Tensor& self, double lambda) {
  return unary<scalar::Hardshrink>(self, &self, {lambda});
}
static scalar::Softshrink make_softshrink(double lambda) {
  check(lambda >= 0, "softshrink", "lambda can't be negative", lambda);
  return {lambda};
}
Tensor softshrink(const Tensor& input, double lambda) {
  return unary<scalar::Softshrink>(input, nullptr, make_softshrink(lambda));
}
Tensor softshrink_(const Tensor& self, double lambda) {
  const CalledOp called("softshrink_");
  return unary<scalar::Softshrink>(self, &self, make_softshrink(lambda));
}

static Tensor clamp_into(const Tensor& input, const std::optional<Scalar>& min,
                         const std::optional<Scalar>& max, const Tensor* out) {
  check_defined("clamp", {{"input", input}});
  check(min || max, "clamp", "min or max must be given", "neither");
  // A floating bound makes an integer tensor floating, as in PyTorch.
  const bool to_float =
      !is_floating(input.dtype()) && ((min && min->is_floating()) || (max && max->is_floating()));
  const Tensor x = to_float && !out ? input.to(DType::f32) : input;
  check(!(to_float && out), "clamp_", "bounds of an integer tensor must be integers",
        input.dtype());
  check_bounds("clamp", x.dtype(), min, max);
  if (!min) return unary<scalar::ClampMax>(x, out, {number_of(*max)});
  if (!max) return unary<scalar::ClampMin>(x, out, {number_of(*min)});
  return unary<scalar::Clamp>(x, out, {number_of(*min), number_of(*max)});
}

Tensor clamp(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max) {
  const CalledOp called("clamp");
  return clamp_into(input, min, max, nullptr);
}
Tensor clamp_(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
  const CalledOp called("clamp_");
  return clamp_into(self, min, max, &self);
}
Tensor clamp_min(const Tensor& input, const Scalar& min) {
  const CalledOp called("clamp_min");
  return clamp(input, min);
}
Tensor clamp_min_(const Tensor& self, const Scalar& min) {
  const CalledOp called("clamp_min_");
  return clamp_(self, min);
}
Tensor clamp_max(const Tensor& input, const Scalar& max) {
  const CalledOp called("clamp_max");
  return clamp(input, {}, max);
}
Tensor clamp_max_(const Tensor& self, const Scalar& max) {
  const CalledOp called("clamp_max_");
  return clamp_(self, {}, max);
}
Tensor clamp_min(const Tensor& input, const Tensor& min) {
  const CalledOp called("clamp_min");
  return maximum(input, min);
}
Tensor clamp_min_(const Tensor& self, const Tensor& min) {
  const CalledOp called("clamp_min_");
  return maximum_(self, min);
}
Tensor clamp_max(const Tensor& input, const Tensor& max) {
  const CalledOp called("clamp_max");
  return minimum(input, max);
}
Tensor clamp_max_(const Tensor& self, const Tensor& max) {
  const CalledOp called("clamp_max_");
  return minimum_(self, max);
}
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  const CalledOp called("clamp");
  check_defined("clamp", {{"input", input}});
  check(min.defined() || max.defined(), "clamp", "min or max must be given", "neither");
  const Tensor raised = min.defined() ? maximum(input, min) : input;
  return max.defined() ? minimum(raised, max) : raised;
}
Tensor clamp_(const Tensor& self, const Tensor& min, const Tensor& max) {
  const CalledOp called("clamp_");
  check_defined("clamp", {{"input", self}});
  check(min.defined() || max.defined(), "clamp_", "min or max must be given", "neither");
  if (!max.defined()) return maximum_(self, min);
  if (!min.defined()) return minimum_(self, max);
  const Tensor before =
      needs_gradient(self) || needs_gradient(min) ? kernel::keep_before_write(self) : self;
  return binary<scalar::Minimum>(maximum(before, min), max, &self);
}

}  // namespace aorta
