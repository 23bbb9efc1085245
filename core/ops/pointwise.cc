#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/in_place.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <cmath>

namespace aorta {

using pointwise::binary;
using pointwise::check_sign;
using pointwise::fitting;
using pointwise::number_of;
using pointwise::unary;

Tensor neg(const Tensor& input) { return unary<scalar::Neg>(input); }
Tensor neg_(const Tensor& input) { return unary<scalar::Neg>(input, &input); }
Tensor abs(const Tensor& input) { return unary<scalar::Abs>(input); }
Tensor abs_(const Tensor& input) { return unary<scalar::Abs>(input, &input); }
Tensor sign(const Tensor& input) { return unary<scalar::Sign>(input); }
Tensor sign_(const Tensor& input) { return unary<scalar::Sign>(input, &input); }
Tensor square(const Tensor& input) { return unary<scalar::Square>(input); }
Tensor square_(const Tensor& input) { return unary<scalar::Square>(input, &input); }
Tensor reciprocal(const Tensor& input) { return unary<scalar::Reciprocal>(input); }
Tensor reciprocal_(const Tensor& input) { return unary<scalar::Reciprocal>(input, &input); }
Tensor floor(const Tensor& input) { return unary<scalar::Floor>(input); }
Tensor floor_(const Tensor& input) { return unary<scalar::Floor>(input, &input); }
Tensor ceil(const Tensor& input) { return unary<scalar::Ceil>(input); }
Tensor ceil_(const Tensor& input) { return unary<scalar::Ceil>(input, &input); }
Tensor round(const Tensor& input) { return unary<scalar::Round>(input); }
Tensor round_(const Tensor& input) { return unary<scalar::Round>(input, &input); }
static Tensor round_decimals(const Tensor& input, int64_t decimals) {
  check_floating("round", input.dtype());
  if (decimals == 0) return round(input);
  const Tensor x = input.to(compute_dtype(input.dtype()));
  const double scale = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return (decimals > 0 ? round(x * scale) / scale : round(x / scale) * scale).to(input.dtype());
}
Tensor round(const Tensor& input, int64_t decimals) {
  const CalledOp called("round");
  check_defined("round", {{"input", input}});
  return round_decimals(input, decimals);
}
Tensor round_(const Tensor& input, int64_t decimals) {
  const CalledOp called("round_");
  check_defined("round_", {{"input", input}});
  return input.copy_(round_decimals(needs_gradient(input) ? input.clone() : input, decimals));
}
Tensor trunc(const Tensor& input) { return unary<scalar::Trunc>(input); }
Tensor trunc_(const Tensor& input) { return unary<scalar::Trunc>(input, &input); }
Tensor frac(const Tensor& input) { return unary<scalar::Frac>(input); }
Tensor frac_(const Tensor& input) { return unary<scalar::Frac>(input, &input); }
Tensor sqrt(const Tensor& input) { return unary<scalar::Sqrt>(input); }
Tensor sqrt_(const Tensor& input) { return unary<scalar::Sqrt>(input, &input); }
Tensor rsqrt(const Tensor& input) { return unary<scalar::Rsqrt>(input); }
Tensor rsqrt_(const Tensor& input) { return unary<scalar::Rsqrt>(input, &input); }
Tensor exp(const Tensor& input) { return unary<scalar::Exp>(input); }
Tensor exp_(const Tensor& input) { return unary<scalar::Exp>(input, &input); }
Tensor exp2(const Tensor& input) { return unary<scalar::Exp2>(input); }
Tensor exp2_(const Tensor& input) { return unary<scalar::Exp2>(input, &input); }
Tensor expm1(const Tensor& input) { return unary<scalar::Expm1>(input); }
Tensor expm1_(const Tensor& input) { return unary<scalar::Expm1>(input, &input); }
Tensor log(const Tensor& input) { return unary<scalar::Log>(input); }
Tensor log_(const Tensor& input) { return unary<scalar::Log>(input, &input); }
Tensor log1p(const Tensor& input) { return unary<scalar::Log1p>(input); }
Tensor log1p_(const Tensor& input) { return unary<scalar::Log1p>(input, &input); }
Tensor log2(const Tensor& input) { return unary<scalar::Log2>(input); }
Tensor log2_(const Tensor& input) { return unary<scalar::Log2>(input, &input); }
Tensor log10(const Tensor& input) { return unary<scalar::Log10>(input); }
Tensor log10_(const Tensor& input) { return unary<scalar::Log10>(input, &input); }
Tensor sin(const Tensor& input) { return unary<scalar::Sin>(input); }
Tensor sin_(const Tensor& input) { return unary<scalar::Sin>(input, &input); }
Tensor cos(const Tensor& input) { return unary<scalar::Cos>(input); }
Tensor cos_(const Tensor& input) { return unary<scalar::Cos>(input, &input); }
Tensor tan(const Tensor& input) { return unary<scalar::Tan>(input); }
Tensor tan_(const Tensor& input) { return unary<scalar::Tan>(input, &input); }
Tensor asin(const Tensor& input) { return unary<scalar::Asin>(input); }
Tensor asin_(const Tensor& input) { return unary<scalar::Asin>(input, &input); }
Tensor acos(const Tensor& input) { return unary<scalar::Acos>(input); }
Tensor acos_(const Tensor& input) { return unary<scalar::Acos>(input, &input); }
Tensor atan(const Tensor& input) { return unary<scalar::Atan>(input); }
Tensor atan_(const Tensor& input) { return unary<scalar::Atan>(input, &input); }
Tensor sinh(const Tensor& input) { return unary<scalar::Sinh>(input); }
Tensor sinh_(const Tensor& input) { return unary<scalar::Sinh>(input, &input); }
Tensor cosh(const Tensor& input) { return unary<scalar::Cosh>(input); }
Tensor cosh_(const Tensor& input) { return unary<scalar::Cosh>(input, &input); }
Tensor tanh(const Tensor& input) { return unary<scalar::Tanh>(input); }
Tensor tanh_(const Tensor& input) { return unary<scalar::Tanh>(input, &input); }
Tensor asinh(const Tensor& input) { return unary<scalar::Asinh>(input); }
Tensor asinh_(const Tensor& input) { return unary<scalar::Asinh>(input, &input); }
Tensor acosh(const Tensor& input) { return unary<scalar::Acosh>(input); }
Tensor acosh_(const Tensor& input) { return unary<scalar::Acosh>(input, &input); }
Tensor atanh(const Tensor& input) { return unary<scalar::Atanh>(input); }
Tensor atanh_(const Tensor& input) { return unary<scalar::Atanh>(input, &input); }
Tensor erf(const Tensor& input) { return unary<scalar::Erf>(input); }
Tensor erf_(const Tensor& input) { return unary<scalar::Erf>(input, &input); }
Tensor erfc(const Tensor& input) { return unary<scalar::Erfc>(input); }
Tensor erfc_(const Tensor& input) { return unary<scalar::Erfc>(input, &input); }
Tensor erfinv(const Tensor& input) { return unary<scalar::Erfinv>(input); }
Tensor erfinv_(const Tensor& input) { return unary<scalar::Erfinv>(input, &input); }
Tensor erfcx(const Tensor& input) { return unary<scalar::Erfcx>(input); }
Tensor log_ndtr(const Tensor& input) { return unary<scalar::LogNdtr>(input); }
Tensor i0(const Tensor& input) { return unary<scalar::I0>(input); }
Tensor i0_(const Tensor& input) { return unary<scalar::I0>(input, &input); }
Tensor i0e(const Tensor& input) { return unary<scalar::I0e>(input); }
Tensor i1(const Tensor& input) { return unary<scalar::I1>(input); }
Tensor i1e(const Tensor& input) { return unary<scalar::I1e>(input); }
Tensor lgamma(const Tensor& input) { return unary<scalar::Lgamma>(input); }
Tensor lgamma_(const Tensor& input) { return unary<scalar::Lgamma>(input, &input); }
Tensor digamma(const Tensor& input) { return unary<scalar::Digamma>(input); }
Tensor digamma_(const Tensor& input) { return unary<scalar::Digamma>(input, &input); }
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
Tensor polygamma_(int64_t n, const Tensor& input) {
  const CalledOp called("polygamma_");
  return polygamma_into(n, input, &input);
}
static Tensor mvlgamma_of(const Tensor& input, int64_t p) {
  check_defined("mvlgamma", {{"input", input}});
  check(p >= 1, "mvlgamma", "p must be at least 1", p);
  check(input.dtype() != DType::boolean, "mvlgamma", "dtype can't be bool", input.dtype());
  const DType dtype = is_floating(input.dtype()) ? input.dtype() : DType::f32;
  const DType wide = compute_dtype(dtype);
  const Tensor halves = arange(p, {.dtype = wide, .device = input.device()}) * 0.5;
  const Tensor terms = lgamma(input.to(wide).unsqueeze(-1) - halves);
  const double matrices = static_cast<double>(p) * static_cast<double>(p - 1) / 4 * std::log(M_PI);
  return (sum(terms, -1) + matrices).to(dtype);
}
Tensor mvlgamma(const Tensor& input, int64_t p) {
  const CalledOp called("mvlgamma");
  return mvlgamma_of(input, p);
}
Tensor mvlgamma_(const Tensor& input, int64_t p) {
  const CalledOp called("mvlgamma_");
  check_defined("mvlgamma_", {{"input", input}});
  check(is_floating(input.dtype()), "mvlgamma_", "dtype must be floating", input.dtype());
  return input.copy_(mvlgamma_of(needs_gradient(input) ? input.clone() : input, p));
}
Frexp frexp(const Tensor& input) {
  const CalledOp called("frexp");
  check_defined("frexp", {{"input", input}});
  check(is_floating(input.dtype()), "frexp", "dtype must be floating", input.dtype());
  const Tensor exponent = unary<scalar::FrexpExponent>(input.detach());
  return {unary<scalar::Frexp>(input), exponent.to(DType::i32)};
}
Tensor sigmoid(const Tensor& input) { return unary<scalar::Sigmoid>(input); }
Tensor sigmoid_(const Tensor& input) { return unary<scalar::Sigmoid>(input, &input); }
Tensor relu(const Tensor& input) { return unary<scalar::Relu>(input); }
Tensor relu_(const Tensor& input) { return unary<scalar::Relu>(input, &input); }
Tensor relu6(const Tensor& input) { return unary<scalar::Relu6>(input); }
Tensor relu6_(const Tensor& input) { return unary<scalar::Relu6>(input, &input); }
Tensor selu(const Tensor& input) { return unary<scalar::Selu>(input); }
Tensor selu_(const Tensor& input) { return unary<scalar::Selu>(input, &input); }
Tensor silu(const Tensor& input) { return unary<scalar::Silu>(input); }
Tensor silu_(const Tensor& input) { return unary<scalar::Silu>(input, &input); }
Tensor mish(const Tensor& input) { return unary<scalar::Mish>(input); }
Tensor mish_(const Tensor& input) { return unary<scalar::Mish>(input, &input); }
Tensor logsigmoid(const Tensor& input) { return unary<scalar::LogSigmoid>(input); }
Tensor logsigmoid_(const Tensor& input) { return unary<scalar::LogSigmoid>(input, &input); }
Tensor softsign(const Tensor& input) { return unary<scalar::Softsign>(input); }
Tensor softsign_(const Tensor& input) { return unary<scalar::Softsign>(input, &input); }
Tensor hardsigmoid(const Tensor& input) { return unary<scalar::Hardsigmoid>(input); }
Tensor hardsigmoid_(const Tensor& input) { return unary<scalar::Hardsigmoid>(input, &input); }
Tensor hardswish(const Tensor& input) { return unary<scalar::Hardswish>(input); }
Tensor hardswish_(const Tensor& input) { return unary<scalar::Hardswish>(input, &input); }
Tensor tanhshrink(const Tensor& input) { return unary<scalar::Tanhshrink>(input); }
Tensor tanhshrink_(const Tensor& input) { return unary<scalar::Tanhshrink>(input, &input); }
Tensor isnan(const Tensor& input) { return unary<scalar::IsNan>(input); }
Tensor isnan_(const Tensor& input) { return unary<scalar::IsNan>(input, &input); }
Tensor isinf(const Tensor& input) { return unary<scalar::IsInf>(input); }
Tensor isinf_(const Tensor& input) { return unary<scalar::IsInf>(input, &input); }
Tensor isfinite(const Tensor& input) { return unary<scalar::IsFinite>(input); }
Tensor isfinite_(const Tensor& input) { return unary<scalar::IsFinite>(input, &input); }
Tensor isposinf(const Tensor& input) { return unary<scalar::IsPosInf>(input); }
Tensor isneginf(const Tensor& input) { return unary<scalar::IsNegInf>(input); }
Tensor signbit(const Tensor& input) { return unary<scalar::Signbit>(input); }
Tensor sinc(const Tensor& input) { return unary<scalar::Sinc>(input); }
Tensor sinc_(const Tensor& input) { return unary<scalar::Sinc>(input, &input); }
Tensor logical_not(const Tensor& input) { return unary<scalar::LogicalNot>(input); }
Tensor logical_not_(const Tensor& input) { return unary<scalar::LogicalNot>(input, &input); }
Tensor bitwise_not(const Tensor& input) { return unary<scalar::BitwiseNot>(input); }
Tensor bitwise_not_(const Tensor& input) { return unary<scalar::BitwiseNot>(input, &input); }

Tensor gelu(const Tensor& input, GeluApproximation approximate) {
  const CalledOp called("gelu");
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(input)
                                                : unary<scalar::Gelu>(input);
}
Tensor gelu_(const Tensor& input, GeluApproximation approximate) {
  const CalledOp called("gelu_");
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(input, &input)
                                                : unary<scalar::Gelu>(input, &input);
}
// A function of real numbers with parameters, which must fit the dtype that it computes in.
template <class F, class... Numbers>
static Tensor with_parameters(const Tensor& input, const Tensor* out, Numbers... numbers) {
  const CalledOp called(pointwise::called_by<F>(out));
  check_defined(F::info.name, {{"input", input}});
  const DType dtype = is_floating(input.dtype()) ? input.dtype() : DType::f32;
  for (const double number : {numbers...}) check_fits(F::info.name, number, dtype);
  return unary<F>(input, out, {numbers...});
}
Tensor leaky_relu(const Tensor& input, const Scalar& negative_slope) {
  return with_parameters<scalar::LeakyRelu>(input, nullptr, negative_slope.to_double());
}
Tensor leaky_relu_(const Tensor& input, const Scalar& negative_slope) {
  return with_parameters<scalar::LeakyRelu>(input, &input, negative_slope.to_double());
}
Tensor elu(const Tensor& input, const Scalar& alpha) {
  return with_parameters<scalar::Elu>(input, nullptr, alpha.to_double());
}
Tensor elu_(const Tensor& input, const Scalar& alpha) {
  return with_parameters<scalar::Elu>(input, &input, alpha.to_double());
}
static Tensor celu_into(const Tensor& input, const Scalar& alpha, const Tensor* out) {
  check(alpha.to_double() != 0, "celu", "alpha must not be 0", alpha);
  return with_parameters<scalar::Celu>(input, out, alpha.to_double());
}
Tensor celu(const Tensor& input, const Scalar& alpha) { return celu_into(input, alpha, nullptr); }
Tensor celu_(const Tensor& input, const Scalar& alpha) {
  const CalledOp called("celu_");
  return celu_into(input, alpha, &input);
}
Tensor logit(const Tensor& input, std::optional<double> eps) {
  return with_parameters<scalar::Logit>(input, nullptr, eps.value_or(-1));
}
Tensor logit_(const Tensor& input, std::optional<double> eps) {
  return with_parameters<scalar::Logit>(input, &input, eps.value_or(-1));
}
Tensor softplus(const Tensor& input, double beta, double threshold) {
  return with_parameters<scalar::Softplus>(input, nullptr, beta, threshold);
}
Tensor softplus_(const Tensor& input, double beta, double threshold) {
  return with_parameters<scalar::Softplus>(input, &input, beta, threshold);
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
Tensor hardtanh_(const Tensor& input, const Scalar& min, const Scalar& max) {
  const CalledOp called("hardtanh_");
  return hardtanh_into(input, min, max, &input);
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
Tensor threshold_(const Tensor& input, const Scalar& threshold, const Scalar& value) {
  const CalledOp called("threshold_");
  return unary<scalar::Threshold>(input, &input, make_threshold(input, threshold, value));
}
Tensor hardshrink(const Tensor& input, double lambda) {
  return with_parameters<scalar::Hardshrink>(input, nullptr, lambda);
}
Tensor hardshrink_(const Tensor& input, double lambda) {
  return with_parameters<scalar::Hardshrink>(input, &input, lambda);
}
static Tensor softshrink_into(const Tensor& input, double lambda, const Tensor* out) {
  check(lambda >= 0, "softshrink", "lambda can't be negative", lambda);
  return with_parameters<scalar::Softshrink>(input, out, lambda);
}
Tensor softshrink(const Tensor& input, double lambda) {
  return softshrink_into(input, lambda, nullptr);
}
Tensor softshrink_(const Tensor& input, double lambda) {
  const CalledOp called("softshrink_");
  return softshrink_into(input, lambda, &input);
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
Tensor clamp_(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max) {
  const CalledOp called("clamp_");
  return clamp_into(input, min, max, &input);
}
Tensor clamp_min(const Tensor& input, const Scalar& min) {
  const CalledOp called("clamp_min");
  return clamp(input, min);
}
Tensor clamp_min_(const Tensor& input, const Scalar& min) {
  const CalledOp called("clamp_min_");
  return clamp_(input, min);
}
Tensor clamp_max(const Tensor& input, const Scalar& max) {
  const CalledOp called("clamp_max");
  return clamp(input, {}, max);
}
Tensor clamp_max_(const Tensor& input, const Scalar& max) {
  const CalledOp called("clamp_max_");
  return clamp_(input, {}, max);
}
// With tensors as bounds.
static Tensor clamp_into(const Tensor& input, const Tensor& min, const Tensor& max,
                         const Tensor* out) {
  const char* op = called_op();
  check_defined(op, {{"input", input}});
  check(min.defined() || max.defined(), op, "min or max must be given", "neither");
  if (!max.defined()) return binary<scalar::Maximum>(input, min, out);
  if (!min.defined()) return binary<scalar::Minimum>(input, max, out);
  const bool recorded = is_floating(input.dtype()) && needs_gradient(input, min, max);
  const Tensor before = recorded && out ? kernel::keep_before_write(input) : input;
  const Tensor raised = maximum(before, min);
  if (!recorded) return binary<scalar::Minimum>(raised, max, out);
  // At a bound the input and the bound share the gradient, but where both bounds are one it goes to
  // the bound that is reached, or to the input that equals it.
  const Tensor alone = where(lt(before, min), min, where(gt(before, max), max, before));
  const Tensor clamped = where(eq(min, max), alone, minimum(raised, max));
  return out ? out->copy_(clamped) : clamped;
}

Tensor clamp_min(const Tensor& input, const Tensor& min) {
  const CalledOp called("clamp_min");
  check_defined("clamp_min", {{"min", min}});
  return clamp_into(input, min, {}, nullptr);
}
Tensor clamp_min_(const Tensor& input, const Tensor& min) {
  const CalledOp called("clamp_min_");
  check_defined("clamp_min_", {{"min", min}});
  return clamp_into(input, min, {}, &input);
}
Tensor clamp_max(const Tensor& input, const Tensor& max) {
  const CalledOp called("clamp_max");
  check_defined("clamp_max", {{"max", max}});
  return clamp_into(input, {}, max, nullptr);
}
Tensor clamp_max_(const Tensor& input, const Tensor& max) {
  const CalledOp called("clamp_max_");
  check_defined("clamp_max_", {{"max", max}});
  return clamp_into(input, {}, max, &input);
}
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  const CalledOp called("clamp");
  return clamp_into(input, min, max, nullptr);
}
Tensor clamp_(const Tensor& input, const Tensor& min, const Tensor& max) {
  const CalledOp called("clamp_");
  return clamp_into(input, min, max, &input);
}

}  // namespace aorta
