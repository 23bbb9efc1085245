#include <aorta/core/autocast.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/scalar/op_list.h>

namespace aorta {
namespace {

using scalar::Number;

double d(const Scalar& value) { return value.to_double(); }
Number n(const Scalar& value) {
  return value.is_floating() ? Number(value.to_double()) : Number(value.to_int());
}

// A parameter of an op that computes in `dtype`.
Number fitting(const char* op, const Scalar& value, DType dtype) {
  if (!is_half(dtype)) check_fits(op, value, dtype);
  return n(value);
}

struct NamedNumberOrTensor {
  const char* name;
  const Operand& operand;
};
void check_operands(const char* op, std::initializer_list<NamedNumberOrTensor> operands) {
  for (const auto& [name, operand] : operands) {
    if (operand.tensor) check_defined(op, {{name, *operand.tensor}});
  }
}

DType common_dtype(const char* op, const Operand& a, const Operand& b) {
  check_operands(op, {{"input", a}, {"other", b}});
  const Operand operands[] = {a, b};
  return result_type(operands);
}

// As an integer, a negative number would stand for another one among unsigned elements.
void check_sign(const char* op, const Scalar& value, DType dtype) {
  if (value.to_double() < 0 && is_integral(dtype)) check_fits(op, value.to_double(), dtype);
}

bool records(const Tensor& operand) { return needs_gradient(operand); }
bool records(const Operand& operand) { return operand.tensor && needs_gradient(*operand.tensor); }

// Before a write into `out`, where it is recorded: inputs that lie in the memory to be overwritten,
// and that a wanted gradient may read, are replaced by copies. `wanted` has bit i set for an input
// i that needs a gradient.
void keep_overwritten(const PointwiseOp& row, const Tensor& out, std::span<Operand> inputs,
                      Tensor* copies, unsigned wanted) {
  if (!records_write(row.name(), out, wanted != 0)) return;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor* input = inputs[i].tensor;
    if (!input || !input->shares_storage(out)) continue;
    if (input->is_same(out) && i == 0 && !(row.gradients_reading_first() & wanted)) continue;
    copies[i] = keep_before_write(*input);
    inputs[i] = copies[i];
  }
}

// Functions whose range or slope a half type doesn't hold (autocast.h has the list).
template <class F>
constexpr bool needs_f32() {
  using namespace scalar;
  return (std::is_same_v<F, Acos> || std::is_same_v<F, Asin> || std::is_same_v<F, Cosh> ||
          std::is_same_v<F, Exp> || std::is_same_v<F, Expm1> || std::is_same_v<F, Log> ||
          std::is_same_v<F, Log10> || std::is_same_v<F, Log1p> || std::is_same_v<F, Log2> ||
          std::is_same_v<F, Reciprocal> || std::is_same_v<F, Rsqrt> || std::is_same_v<F, Sinh> ||
          std::is_same_v<F, Softplus> || std::is_same_v<F, Tan>);
}

// Ops for which a number and what it is modulo 2^bits are the same.
template <class F>
constexpr bool is_modular() {
  using namespace scalar;
  return std::is_same_v<F, Add> || std::is_same_v<F, AddScaled> || std::is_same_v<F, Sub> ||
         std::is_same_v<F, SubScaled> || std::is_same_v<F, Mul> || std::is_same_v<F, BitwiseAnd> ||
         std::is_same_v<F, BitwiseOr> || std::is_same_v<F, BitwiseXor>;
}

template <class F>
Tensor unary(const Tensor& input, const Tensor* out = nullptr, const F& functor = {}) {
  check_defined(F::info.name, {{"input", input}});
  if constexpr (needs_f32<F>()) {
    if (!out && is_half(input.dtype()) && autocast_dtype() != DType::f32)
      return unary<F>(autocast_to_f32(input), nullptr, functor);
  }
  Operand inputs[] = {input};
  Tensor copies[1];
  const bool record = records(input);
  if (out) keep_overwritten(unary_op<F>, *out, inputs, copies, record ? 1 : 0);
  const Tensor output = run_pointwise(unary_op<F>, &functor, inputs, out);
  if (record && is_floating(output.dtype()))
    unary_op<F>.gradient()(output, *inputs[0].tensor, functor);
  return output;
}

template <class F>
Tensor binary(const Operand& a, const Operand& b, const Tensor* out = nullptr,
              const F& functor = {}) {
  check_operands(F::info.name, {{"input", a}, {"other", b}});
  for (const Operand* operand : {&a, &b}) {
    if (!is_modular<F>() && !operand->tensor && operand->number.to_double() < 0)
      check_sign(F::info.name, operand->number, common_dtype(F::info.name, a, b));
  }
  Operand inputs[] = {a, b};
  Tensor copies[2];
  const unsigned wanted = (records(a) ? 1u : 0u) | (records(b) ? 2u : 0u);
  if (out) keep_overwritten(binary_op<F>, *out, inputs, copies, wanted);
  const Tensor output = run_pointwise(binary_op<F>, &functor, inputs, out);
  if (wanted && is_floating(output.dtype()))
    binary_op<F>.gradient()(output, inputs[0], inputs[1], functor);
  return output;
}

template <class F>
Tensor ternary(const Operand& a, const Operand& b, const Operand& c, const Tensor* out = nullptr,
               const F& functor = {}) {
  Operand inputs[] = {a, b, c};
  Tensor copies[3];
  const unsigned wanted = (records(a) ? 1u : 0u) | (records(b) ? 2u : 0u) | (records(c) ? 4u : 0u);
  if (out) keep_overwritten(ternary_op<F>, *out, inputs, copies, wanted);
  const Tensor output = run_pointwise(ternary_op<F>, &functor, inputs, out, scalar::masks_of<F>());
  if (wanted && is_floating(output.dtype()))
    ternary_op<F>.gradient()(output, inputs[0], inputs[1], inputs[2], functor);
  return output;
}

}  // namespace

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
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(input)
                                                : unary<scalar::Gelu>(input);
}
Tensor gelu_(const Tensor& self, GeluApproximation approximate) {
  return approximate == GeluApproximation::tanh ? unary<scalar::GeluTanh>(self, &self)
                                                : unary<scalar::Gelu>(self, &self);
}
Tensor leaky_relu(const Tensor& input, const Scalar& negative_slope) {
  return unary<scalar::LeakyRelu>(input, nullptr, {d(negative_slope)});
}
Tensor leaky_relu_(const Tensor& self, const Scalar& negative_slope) {
  return unary<scalar::LeakyRelu>(self, &self, {d(negative_slope)});
}
Tensor elu(const Tensor& input, const Scalar& alpha) {
  return unary<scalar::Elu>(input, nullptr, {d(alpha)});
}
Tensor elu_(const Tensor& self, const Scalar& alpha) {
  return unary<scalar::Elu>(self, &self, {d(alpha)});
}
static scalar::Celu make_celu(const Scalar& alpha) {
  check(alpha.to_double() != 0, "celu", "alpha must not be 0", alpha);
  return {d(alpha)};
}
Tensor celu(const Tensor& input, const Scalar& alpha) {
  return unary<scalar::Celu>(input, nullptr, make_celu(alpha));
}
Tensor celu_(const Tensor& self, const Scalar& alpha) {
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
    if (bound && is_integral(dtype)) check_fits(op, *bound, DType::i64);
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
  return unary<scalar::Hardtanh>(input, out, {n(min), n(max)});
}
Tensor hardtanh(const Tensor& input, const Scalar& min, const Scalar& max) {
  return hardtanh_into(input, min, max, nullptr);
}
Tensor hardtanh_(const Tensor& self, const Scalar& min, const Scalar& max) {
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
  if (!min) return unary<scalar::ClampMax>(x, out, {n(*max)});
  if (!max) return unary<scalar::ClampMin>(x, out, {n(*min)});
  return unary<scalar::Clamp>(x, out, {n(*min), n(*max)});
}

Tensor clamp(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max) {
  return clamp_into(input, min, max, nullptr);
}
Tensor clamp_(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max) {
  return clamp_into(self, min, max, &self);
}
Tensor clamp_min(const Tensor& input, const Scalar& min) { return clamp(input, min); }
Tensor clamp_min_(const Tensor& self, const Scalar& min) { return clamp_(self, min); }
Tensor clamp_max(const Tensor& input, const Scalar& max) { return clamp(input, {}, max); }
Tensor clamp_max_(const Tensor& self, const Scalar& max) { return clamp_(self, {}, max); }
Tensor clamp_min(const Tensor& input, const Tensor& min) { return maximum(input, min); }
Tensor clamp_min_(const Tensor& self, const Tensor& min) { return maximum_(self, min); }
Tensor clamp_max(const Tensor& input, const Tensor& max) { return minimum(input, max); }
Tensor clamp_max_(const Tensor& self, const Tensor& max) { return minimum_(self, max); }
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max) {
  check_defined("clamp", {{"input", input}});
  check(min.defined() || max.defined(), "clamp", "min or max must be given", "neither");
  const Tensor raised = min.defined() ? maximum(input, min) : input;
  return max.defined() ? minimum(raised, max) : raised;
}
Tensor clamp_(const Tensor& self, const Tensor& min, const Tensor& max) {
  check_defined("clamp", {{"input", self}});
  check(min.defined() || max.defined(), "clamp_", "min or max must be given", "neither");
  if (!max.defined()) return maximum_(self, min);
  if (!min.defined()) return minimum_(self, max);
  const Tensor before = records(self) || records(min) ? keep_before_write(self) : self;
  return binary<scalar::Minimum>(maximum(before, min), max, &self);
}

static bool is_one(const Scalar& alpha) { return alpha.to_double() == 1; }

// PyTorch's rule: a fraction of an integer can't be added to an integer.
static void check_alpha(const char* op, const Operand& a, const Operand& b, const Scalar& alpha) {
  if (is_one(alpha) && !alpha.is_floating()) return;
  const DType common = common_dtype(op, a, b);
  check(is_floating(common) || !alpha.is_floating(), op,
        "alpha must be an integer for integer operands", alpha, " for ", common);
  fitting(op, alpha, common);
}

static Tensor add_into(const Operand& a, const Operand& b, const Scalar& alpha, const Tensor* out) {
  check_alpha("add", a, b, alpha);
  if (is_one(alpha)) return binary<scalar::Add>(a, b, out);
  return binary<scalar::AddScaled>(a, b, out, {n(alpha)});
}
Tensor add(const Operand& a, const Operand& b, const Scalar& alpha) {
  return add_into(a, b, alpha, nullptr);
}
Tensor add_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  return add_into(self, other, alpha, &self);
}

static Tensor sub_into(const Operand& a, const Operand& b, const Scalar& alpha, const Tensor* out) {
  check_alpha("sub", a, b, alpha);
  if (is_one(alpha)) return binary<scalar::Sub>(a, b, out);
  return binary<scalar::SubScaled>(a, b, out, {n(alpha)});
}
Tensor sub(const Operand& a, const Operand& b, const Scalar& alpha) {
  return sub_into(a, b, alpha, nullptr);
}
Tensor sub_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  return sub_into(self, other, alpha, &self);
}

Tensor mul(const Operand& a, const Operand& b) { return binary<scalar::Mul>(a, b); }
Tensor mul_(const Tensor& self, const Operand& other) {
  return binary<scalar::Mul>(self, other, &self);
}
Tensor div(const Operand& a, const Operand& b) { return binary<scalar::Div>(a, b); }
Tensor div_(const Tensor& self, const Operand& other) {
  return binary<scalar::Div>(self, other, &self);
}

// Floating division by zero has a value; that of integers hasn't. On a GPU a tensor's elements
// aren't asked, for that would wait for it: they divide to 0.
static bool has_zero(const Operand& b) {
  if (!b.tensor) return !b.number.to_bool();
  return b.tensor->device().is_cpu() && !all(b.tensor->detach()).item<bool>();
}
template <class F>
static Tensor integer_division(const char* op, const Operand& a, const Operand& b,
                               const Tensor* out = nullptr) {
  check_operands(op, {{"input", a}, {"other", b}});
  const bool nothing = a.tensor && a.tensor->numel() == 0;
  check(nothing || !is_integral(common_dtype(op, a, b)) || !has_zero(b), op,
        "an integer can't be divided by zero", b.tensor ? "a 0 among the divisors" : "0");
  return binary<F>(a, b, out);
}
Tensor floor_divide(const Operand& a, const Operand& b) {
  return integer_division<scalar::FloorDivide>("floor_divide", a, b);
}
Tensor floor_divide_(const Tensor& self, const Operand& other) {
  return integer_division<scalar::FloorDivide>("floor_divide", self, other, &self);
}
Tensor fmod(const Operand& a, const Operand& b) {
  return integer_division<scalar::Fmod>("fmod", a, b);
}
Tensor fmod_(const Tensor& self, const Operand& other) {
  return integer_division<scalar::Fmod>("fmod", self, other, &self);
}
Tensor remainder(const Operand& a, const Operand& b) {
  return integer_division<scalar::Remainder>("remainder", a, b);
}
Tensor remainder_(const Tensor& self, const Operand& other) {
  return integer_division<scalar::Remainder>("remainder", self, other, &self);
}

static Tensor pow_into(const Operand& base, const Operand& exponent, const Tensor* out) {
  check_operands("pow", {{"input", base}, {"exponent", exponent}});
  Tensor wide[2];
  Operand a = base, b = exponent;
  if (!out && autocast_dtype() != DType::f32) {
    if (a.tensor) a = wide[0] = autocast_to_f32(*a.tensor);
    if (b.tensor) b = wide[1] = autocast_to_f32(*b.tensor);
  }
  const bool whole = !b.tensor && !b.number.is_floating() && a.tensor;
  check(!whole || b.number.to_int() >= 0 || is_floating(a.tensor->dtype()), "pow",
        "an integer can't have a negative power", b.number);
  const bool floating = a.tensor && is_floating(a.tensor->dtype());
  if (floating && !b.tensor && b.number.to_double() == 2) {
    return out ? square_(*out) : square(*a.tensor);
  }
  return binary<scalar::Pow>(a, b, out);
}
Tensor pow(const Operand& a, const Operand& b) { return pow_into(a, b, nullptr); }
Tensor pow_(const Tensor& self, const Operand& other) { return pow_into(self, other, &self); }
Tensor minimum(const Operand& a, const Operand& b) { return binary<scalar::Minimum>(a, b); }
Tensor minimum_(const Tensor& self, const Operand& other) {
  return binary<scalar::Minimum>(self, other, &self);
}
Tensor maximum(const Operand& a, const Operand& b) { return binary<scalar::Maximum>(a, b); }
Tensor maximum_(const Tensor& self, const Operand& other) {
  return binary<scalar::Maximum>(self, other, &self);
}
Tensor atan2(const Operand& a, const Operand& b) { return binary<scalar::Atan2>(a, b); }
Tensor atan2_(const Tensor& self, const Operand& other) {
  return binary<scalar::Atan2>(self, other, &self);
}
Tensor hypot(const Operand& a, const Operand& b) { return binary<scalar::Hypot>(a, b); }
Tensor hypot_(const Tensor& self, const Operand& other) {
  return binary<scalar::Hypot>(self, other, &self);
}
Tensor prelu(const Operand& a, const Operand& b) { return binary<scalar::Prelu>(a, b); }
Tensor prelu_(const Tensor& self, const Operand& other) {
  return binary<scalar::Prelu>(self, other, &self);
}
Tensor eq(const Operand& a, const Operand& b) { return binary<scalar::Eq>(a, b); }
Tensor eq_(const Tensor& self, const Operand& other) {
  return binary<scalar::Eq>(self, other, &self);
}
Tensor ne(const Operand& a, const Operand& b) { return binary<scalar::Ne>(a, b); }
Tensor ne_(const Tensor& self, const Operand& other) {
  return binary<scalar::Ne>(self, other, &self);
}
Tensor lt(const Operand& a, const Operand& b) { return binary<scalar::Lt>(a, b); }
Tensor lt_(const Tensor& self, const Operand& other) {
  return binary<scalar::Lt>(self, other, &self);
}
Tensor le(const Operand& a, const Operand& b) { return binary<scalar::Le>(a, b); }
Tensor le_(const Tensor& self, const Operand& other) {
  return binary<scalar::Le>(self, other, &self);
}
Tensor gt(const Operand& a, const Operand& b) { return binary<scalar::Gt>(a, b); }
Tensor gt_(const Tensor& self, const Operand& other) {
  return binary<scalar::Gt>(self, other, &self);
}
Tensor ge(const Operand& a, const Operand& b) { return binary<scalar::Ge>(a, b); }
Tensor ge_(const Tensor& self, const Operand& other) {
  return binary<scalar::Ge>(self, other, &self);
}
Tensor logical_and(const Operand& a, const Operand& b) { return binary<scalar::LogicalAnd>(a, b); }
Tensor logical_and_(const Tensor& self, const Operand& other) {
  return binary<scalar::LogicalAnd>(self, other, &self);
}
Tensor logical_or(const Operand& a, const Operand& b) { return binary<scalar::LogicalOr>(a, b); }
Tensor logical_or_(const Tensor& self, const Operand& other) {
  return binary<scalar::LogicalOr>(self, other, &self);
}
Tensor logical_xor(const Operand& a, const Operand& b) { return binary<scalar::LogicalXor>(a, b); }
Tensor logical_xor_(const Tensor& self, const Operand& other) {
  return binary<scalar::LogicalXor>(self, other, &self);
}
Tensor bitwise_and(const Operand& a, const Operand& b) { return binary<scalar::BitwiseAnd>(a, b); }
Tensor bitwise_and_(const Tensor& self, const Operand& other) {
  return binary<scalar::BitwiseAnd>(self, other, &self);
}
Tensor bitwise_or(const Operand& a, const Operand& b) { return binary<scalar::BitwiseOr>(a, b); }
Tensor bitwise_or_(const Tensor& self, const Operand& other) {
  return binary<scalar::BitwiseOr>(self, other, &self);
}
Tensor bitwise_xor(const Operand& a, const Operand& b) { return binary<scalar::BitwiseXor>(a, b); }
Tensor bitwise_xor_(const Tensor& self, const Operand& other) {
  return binary<scalar::BitwiseXor>(self, other, &self);
}

template <class F>
static Tensor shift(const Operand& a, const Operand& b, const Tensor* out = nullptr) {
  const DType common = common_dtype(F::info.name, a, b);
  check(common != DType::boolean, F::info.name, "dtype must be an integer, not bool", common);
  return binary<F>(a, b, out);
}
Tensor bitwise_left_shift(const Operand& a, const Operand& b) {
  return shift<scalar::ShiftLeft>(a, b);
}
Tensor bitwise_left_shift_(const Tensor& self, const Operand& other) {
  return shift<scalar::ShiftLeft>(self, other, &self);
}
Tensor bitwise_right_shift(const Operand& a, const Operand& b) {
  return shift<scalar::ShiftRight>(a, b);
}
Tensor bitwise_right_shift_(const Tensor& self, const Operand& other) {
  return shift<scalar::ShiftRight>(self, other, &self);
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  check_operands("where", {{"condition", condition}, {"input", a}, {"other", b}});
  check(condition.dtype() == DType::boolean, "where", "the condition must be bool",
        condition.dtype());
  for (const Operand* operand : {&a, &b}) {
    if (!operand->tensor) fitting("where", operand->number, common_dtype("where", a, b));
  }
  return ternary<scalar::Where>(condition, a, b);
}

Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight) {
  check_operands("lerp", {{"input", start}, {"end", end}, {"weight", weight}});
  return ternary<scalar::Lerp>(start, end, weight);
}
Tensor lerp_(const Tensor& self, const Tensor& end, const Operand& weight) {
  check_operands("lerp", {{"input", self}, {"end", end}, {"weight", weight}});
  return ternary<scalar::Lerp>(self, end, weight, &self);
}
template <class F>
static Tensor add_term(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value,
                       const Tensor* out = nullptr) {
  check_operands(F::info.name, {{"input", input}, {"tensor1", a}, {"tensor2", b}});
  const Operand operands[] = {input, a, b};
  const DType common = result_type(operands);
  check(F::info.accept == scalar::Accept::floating || is_floating(common) || !value.is_floating(),
        F::info.name, "value must be an integer for integer operands", value, " for ", common);
  return ternary<F>(input, a, b, out, {fitting(F::info.name, value, common)});
}
Tensor addcmul(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value) {
  return add_term<scalar::Addcmul>(input, a, b, value);
}
Tensor addcmul_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  return add_term<scalar::Addcmul>(self, a, b, value, &self);
}
Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value) {
  return add_term<scalar::Addcdiv>(input, a, b, value);
}
Tensor addcdiv_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  return add_term<scalar::Addcdiv>(self, a, b, value, &self);
}

static Tensor masked_fill_into(const Tensor& input, const Tensor& mask, const Operand& value,
                               const Tensor* out) {
  check_operands("masked_fill", {{"input", input}, {"mask", mask}, {"value", value}});
  check(mask.dtype() == DType::boolean, "masked_fill", "the mask must be bool", mask.dtype());
  check(!value.tensor || value.tensor->dim() == 0, "masked_fill",
        "the value must be a number or 0-d", value.tensor ? value.tensor->shape() : Shape());
  const DType dtype = input.dtype();
  if (value.tensor) {
    const Tensor& given = *value.tensor;
    if (given.dtype() == dtype) return ternary<scalar::Where>(mask, given, input, out);
    if (given.device().is_cpu()) check_fits("masked_fill", given.item(), dtype);
    const Tensor converted = given.to(dtype);
    return ternary<scalar::Where>(mask, converted, input, out);
  }
  check_fits("masked_fill", value.number, dtype);
  const Scalar number = is_floating(dtype)        ? Scalar(value.number.to_double())
                        : dtype == DType::boolean ? Scalar(value.number.to_bool())
                                                  : Scalar(value.number.to_int());
  return ternary<scalar::Where>(mask, number, input, out);
}
Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value) {
  return masked_fill_into(input, mask, value, nullptr);
}
Tensor masked_fill_(const Tensor& self, const Tensor& mask, const Operand& value) {
  return masked_fill_into(self, mask, value, &self);
}

}  // namespace aorta
