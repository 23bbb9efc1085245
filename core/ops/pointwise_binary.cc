#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

namespace aorta {

using pointwise::binary;
using pointwise::check_operands;
using pointwise::common_dtype;
using pointwise::fitting;
using pointwise::number_of;
using pointwise::ternary;

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
  const CalledOp called("add");
  return binary<scalar::AddScaled>(a, b, out, {number_of(alpha)});
}
Tensor add(const Operand& a, const Operand& b, const Scalar& alpha) {
  return add_into(a, b, alpha, nullptr);
}
Tensor add_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  const CalledOp called("add_");
  return add_into(self, other, alpha, &self);
}

static Tensor sub_into(const Operand& a, const Operand& b, const Scalar& alpha, const Tensor* out) {
  check_alpha("sub", a, b, alpha);
  if (is_one(alpha)) return binary<scalar::Sub>(a, b, out);
  const CalledOp called("sub");
  return binary<scalar::SubScaled>(a, b, out, {number_of(alpha)});
}
Tensor sub(const Operand& a, const Operand& b, const Scalar& alpha) {
  return sub_into(a, b, alpha, nullptr);
}
Tensor sub_(const Tensor& self, const Operand& other, const Scalar& alpha) {
  const CalledOp called("sub_");
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
  const CalledOp called("floor_divide_");
  return integer_division<scalar::FloorDivide>("floor_divide", self, other, &self);
}
Tensor fmod(const Operand& a, const Operand& b) {
  return integer_division<scalar::Fmod>("fmod", a, b);
}
Tensor fmod_(const Tensor& self, const Operand& other) {
  const CalledOp called("fmod_");
  return integer_division<scalar::Fmod>("fmod", self, other, &self);
}
Tensor remainder(const Operand& a, const Operand& b) {
  return integer_division<scalar::Remainder>("remainder", a, b);
}
Tensor remainder_(const Tensor& self, const Operand& other) {
  const CalledOp called("remainder_");
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
Tensor pow(const Operand& a, const Operand& b) {
  const CalledOp called("pow");
  return pow_into(a, b, nullptr);
}
Tensor pow_(const Tensor& self, const Operand& other) {
  const CalledOp called("pow_");
  return pow_into(self, other, &self);
}
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
Tensor xlogy(const Operand& a, const Operand& b) { return binary<scalar::Xlogy>(a, b); }
Tensor xlogy_(const Tensor& self, const Operand& other) {
  return binary<scalar::Xlogy>(self, other, &self);
}
Tensor logaddexp(const Operand& a, const Operand& b) { return binary<scalar::Logaddexp>(a, b); }
Tensor logaddexp2(const Operand& a, const Operand& b) { return binary<scalar::Logaddexp2>(a, b); }
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
  const CalledOp called("bitwise_left_shift_");
  return shift<scalar::ShiftLeft>(self, other, &self);
}
Tensor bitwise_right_shift(const Operand& a, const Operand& b) {
  return shift<scalar::ShiftRight>(a, b);
}
Tensor bitwise_right_shift_(const Tensor& self, const Operand& other) {
  const CalledOp called("bitwise_right_shift_");
  return shift<scalar::ShiftRight>(self, other, &self);
}

Tensor where(const Tensor& condition, const Operand& a, const Operand& b) {
  const CalledOp called("where");
  check_operands("where", {{"condition", condition}, {"input", a}, {"other", b}});
  check(condition.dtype() == DType::boolean, "where", "the condition must be bool",
        condition.dtype());
  for (const Operand* operand : {&a, &b}) {
    if (!operand->tensor) check_fits("where", operand->number, common_dtype("where", a, b));
  }
  return ternary<scalar::Where>(condition, a, b);
}

static Tensor lerp_into(const Tensor& start, const Tensor& end, const Operand& weight,
                        const Tensor* out) {
  check_operands("lerp", {{"input", start}, {"end", end}, {"weight", weight}});
  if (!weight.tensor) check_fits("lerp", weight.number, start.dtype());
  return ternary<scalar::Lerp>(start, end, weight, out);
}
Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight) {
  return lerp_into(start, end, weight, nullptr);
}
Tensor lerp_(const Tensor& self, const Tensor& end, const Operand& weight) {
  const CalledOp called("lerp_");
  return lerp_into(self, end, weight, &self);
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
  const CalledOp called("addcmul_");
  return add_term<scalar::Addcmul>(self, a, b, value, &self);
}
Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value) {
  return add_term<scalar::Addcdiv>(input, a, b, value);
}
Tensor addcdiv_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value) {
  const CalledOp called("addcdiv_");
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
  const CalledOp called("masked_fill");
  return masked_fill_into(input, mask, value, nullptr);
}
Tensor masked_fill_(const Tensor& self, const Tensor& mask, const Operand& value) {
  const CalledOp called("masked_fill_");
  return masked_fill_into(self, mask, value, &self);
}

}  // namespace aorta
