#include <aorta/core/called_op.h>
#include <aorta/core/dispatch/pointwise_call.h>
#include <aorta/core/ops/copy.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/reduction.h>

#include <complex>
#include <string_view>

namespace aorta {

using pointwise::binary;
using pointwise::check_operands;
using pointwise::common_dtype;
using pointwise::fitting;
using pointwise::number_of;
using pointwise::ternary;

static bool is_one(const Scalar& alpha) { return !alpha.is_complex() && alpha.to_double() == 1; }

// PyTorch's rule: a fraction of an integer can't be added to an integer.
static void check_alpha(const char* op, const Operand& a, const Operand& b, const Scalar& alpha) {
  if (is_one(alpha) && !alpha.is_floating()) return;
  const DType common = common_dtype(op, a, b);
  if (is_complex(common)) return;
  check(!alpha.is_complex(), op, "alpha must be real for real operands", alpha, " for ", common);
  check(is_floating(common) || !alpha.is_floating(), op,
        "alpha must be an integer for integer operands", alpha, " for ", common);
  fitting(op, alpha, common);
}

// F of a and alpha times b, one of which is complex.
template <class F>
static Tensor complex_sum(const Operand& a, const Operand& b, const Scalar& alpha,
                          const Tensor* out) {
  // In the result's dtype, for the term may have no place in its own.
  if (b.tensor) {
    const Tensor wide = b.tensor->to(common_dtype(F::info.name, a, b));
    return binary<F>(a, mul(wide, alpha), out);
  }
  const std::complex<double> number(b.number.real(), b.number.imag());
  return binary<F>(a, number * std::complex<double>(alpha.real(), alpha.imag()), out);
}

static Tensor add_into(const Operand& a, const Operand& b, const Scalar& alpha, const Tensor* out) {
  check_alpha("add", a, b, alpha);
  if (is_one(alpha)) return binary<scalar::Add>(a, b, out);
  if (is_complex(common_dtype("add", a, b))) return complex_sum<scalar::Add>(a, b, alpha, out);
  const CalledOp called("add");
  return binary<scalar::AddScaled>(a, b, out, {number_of(alpha)});
}
Tensor add(const Operand& input, const Operand& other, const Scalar& alpha) {
  return add_into(input, other, alpha, nullptr);
}
Tensor add_(const Tensor& input, const Operand& other, const Scalar& alpha) {
  const CalledOp called("add_");
  return add_into(input, other, alpha, &input);
}

static Tensor sub_into(const Operand& a, const Operand& b, const Scalar& alpha, const Tensor* out) {
  check_alpha("sub", a, b, alpha);
  if (is_one(alpha)) return binary<scalar::Sub>(a, b, out);
  if (is_complex(common_dtype("sub", a, b))) return complex_sum<scalar::Sub>(a, b, alpha, out);
  const CalledOp called("sub");
  return binary<scalar::SubScaled>(a, b, out, {number_of(alpha)});
}
Tensor sub(const Operand& input, const Operand& other, const Scalar& alpha) {
  return sub_into(input, other, alpha, nullptr);
}
Tensor sub_(const Tensor& input, const Operand& other, const Scalar& alpha) {
  const CalledOp called("sub_");
  return sub_into(input, other, alpha, &input);
}

Tensor mul(const Operand& input, const Operand& other) { return binary<scalar::Mul>(input, other); }
Tensor mul_(const Tensor& input, const Operand& other) {
  return binary<scalar::Mul>(input, other, &input);
}
Tensor div(const Operand& input, const Operand& other) { return binary<scalar::Div>(input, other); }
Tensor div_(const Tensor& input, const Operand& other) {
  return binary<scalar::Div>(input, other, &input);
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
Tensor floor_divide(const Operand& input, const Operand& other) {
  return integer_division<scalar::FloorDivide>("floor_divide", input, other);
}
Tensor floor_divide_(const Tensor& input, const Operand& other) {
  const CalledOp called("floor_divide_");
  return integer_division<scalar::FloorDivide>("floor_divide", input, other, &input);
}
Tensor fmod(const Operand& input, const Operand& other) {
  return integer_division<scalar::Fmod>("fmod", input, other);
}
Tensor fmod_(const Tensor& input, const Operand& other) {
  const CalledOp called("fmod_");
  return integer_division<scalar::Fmod>("fmod", input, other, &input);
}
Tensor remainder(const Operand& input, const Operand& other) {
  return integer_division<scalar::Remainder>("remainder", input, other);
}
Tensor remainder_(const Tensor& input, const Operand& other) {
  const CalledOp called("remainder_");
  return integer_division<scalar::Remainder>("remainder", input, other, &input);
}

// The operand with its tensor, which `kept` holds, in `dtype`.
static Operand in_dtype(const Operand& operand, DType dtype, Tensor& kept) {
  if (!operand.tensor) return operand;
  kept = operand.tensor->to(dtype);
  return kept;
}

static Tensor rounded_quotient(const Operand& a, const Operand& b, const char* rounding_mode) {
  check_operands("div", {{"input", a}, {"other", b}});
  if (!rounding_mode) return div(a, b);
  const std::string_view mode = rounding_mode;
  if (mode == "floor") return floor_divide(a, b);
  check(mode == "trunc", "div", "rounding_mode must be trunc or floor", mode);
  const DType common = common_dtype("div", a, b);
  if (is_integral(common)) return floor_divide(sub(a, fmod(a, b)), b);
  if (!is_half(common)) return trunc(div(a, b));
  // A quotient that is rounded to a half type may be another integer.
  Tensor kept[2];
  const Operand x = in_dtype(a, DType::f32, kept[0]), y = in_dtype(b, DType::f32, kept[1]);
  return trunc(div(x, y)).to(common);
}
Tensor div(const Operand& input, const Operand& other, const char* rounding_mode) {
  const CalledOp called("div");
  return rounded_quotient(input, other, rounding_mode);
}
// Writes the result of a function of `input` and another operand over the former.
static Tensor write_over(const char* op, const Tensor& input, const Tensor& result) {
  check(can_cast(result.dtype(), input.dtype()), op,
        "the result's dtype must be castable to that of the tensor written in place",
        result.dtype(), " into ", input.dtype());
  return input.copy_(result);
}
// What such a function reads, for gradients may need it afterwards.
static Tensor before_write(const Tensor& input, const Operand& other) {
  return needs_gradient(input) || (other.tensor && needs_gradient(*other.tensor)) ? input.clone()
                                                                                  : input;
}
Tensor div_(const Tensor& input, const Operand& other, const char* rounding_mode) {
  const CalledOp called("div_");
  check_operands("div", {{"input", input}, {"other", other}});
  return write_over("div_", input,
                    rounded_quotient(before_write(input, other), other, rounding_mode));
}

// x^3 as two products, a tenth of the time of a power.
static Tensor cube(const Tensor& x, const Operand& three) {
  Tensor result = square(x.detach());
  mul_(result, x.detach());
  if (needs_gradient(x)) kernel::binary_op<scalar::Pow>.gradient()(result, x, three, {});
  return result;
}

static Tensor pow_into(const Operand& base, const Operand& exponent, const Tensor* out) {
  check_operands("pow", {{"input", base}, {"exponent", exponent}});
  if (is_complex(base.dtype()) || is_complex(exponent.dtype()))
    return binary<scalar::Pow>(base, exponent, out);
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
  const bool exact = floating && !is_half(a.tensor->dtype());
  if (exact && !out && !b.tensor && b.number.to_double() == 3 && !kernel::is_traced())
    return cube(*a.tensor, b);
  return binary<scalar::Pow>(a, b, out);
}
Tensor pow(const Operand& input, const Operand& exponent) {
  const CalledOp called("pow");
  return pow_into(input, exponent, nullptr);
}
Tensor pow_(const Tensor& input, const Operand& exponent) {
  const CalledOp called("pow_");
  return pow_into(input, exponent, &input);
}
static DType power_dtype(const Operand& a, const Operand& b) {
  return is_complex(common_dtype("float_power", a, b)) ? DType::c128 : DType::f64;
}
Tensor float_power(const Operand& input, const Operand& exponent) {
  const CalledOp called("float_power");
  check_operands("float_power", {{"input", input}, {"exponent", exponent}});
  const DType dtype = power_dtype(input, exponent);
  Tensor kept[2];
  return pow(in_dtype(input, dtype, kept[0]), in_dtype(exponent, dtype, kept[1]));
}
Tensor float_power_(const Tensor& input, const Operand& exponent) {
  const CalledOp called("float_power_");
  check_operands("float_power", {{"input", input}, {"exponent", exponent}});
  return write_over("float_power_", input, float_power(before_write(input, exponent), exponent));
}
Tensor minimum(const Operand& input, const Operand& other) {
  return binary<scalar::Minimum>(input, other);
}
Tensor minimum_(const Tensor& input, const Operand& other) {
  return binary<scalar::Minimum>(input, other, &input);
}
Tensor maximum(const Operand& input, const Operand& other) {
  return binary<scalar::Maximum>(input, other);
}
Tensor maximum_(const Tensor& input, const Operand& other) {
  return binary<scalar::Maximum>(input, other, &input);
}
Tensor atan2(const Operand& input, const Operand& other) {
  return binary<scalar::Atan2>(input, other);
}
Tensor atan2_(const Tensor& input, const Operand& other) {
  return binary<scalar::Atan2>(input, other, &input);
}
Tensor hypot(const Operand& input, const Operand& other) {
  return binary<scalar::Hypot>(input, other);
}
Tensor hypot_(const Tensor& input, const Operand& other) {
  return binary<scalar::Hypot>(input, other, &input);
}
Tensor copysign(const Operand& input, const Operand& other) {
  return binary<scalar::Copysign>(input, other);
}
Tensor copysign_(const Tensor& input, const Operand& other) {
  return binary<scalar::Copysign>(input, other, &input);
}
static Tensor heaviside_into(const Operand& input, const Operand& values, const Tensor* out) {
  check_operands("heaviside", {{"input", input}, {"values", values}});
  return binary<scalar::Heaviside>(input, values, out);
}
Tensor heaviside(const Operand& input, const Operand& values) {
  return heaviside_into(input, values, nullptr);
}
Tensor heaviside_(const Tensor& input, const Operand& values) {
  const CalledOp called("heaviside_");
  return heaviside_into(input, values, &input);
}
Tensor ldexp(const Operand& input, const Operand& other) {
  return binary<scalar::Ldexp>(input, other);
}
Tensor ldexp_(const Tensor& input, const Operand& other) {
  return binary<scalar::Ldexp>(input, other, &input);
}
Tensor xlogy(const Operand& input, const Operand& other) {
  return binary<scalar::Xlogy>(input, other);
}
Tensor xlogy_(const Tensor& input, const Operand& other) {
  return binary<scalar::Xlogy>(input, other, &input);
}
Tensor igamma(const Operand& input, const Operand& other) {
  return binary<scalar::Igamma>(input, other);
}
Tensor igamma_(const Tensor& input, const Operand& other) {
  return binary<scalar::Igamma>(input, other, &input);
}
Tensor igammac(const Operand& input, const Operand& other) {
  return binary<scalar::Igammac>(input, other);
}
Tensor igammac_(const Tensor& input, const Operand& other) {
  return binary<scalar::Igammac>(input, other, &input);
}
Tensor logaddexp(const Operand& input, const Operand& other) {
  return binary<scalar::Logaddexp>(input, other);
}
Tensor logaddexp2(const Operand& input, const Operand& other) {
  return binary<scalar::Logaddexp2>(input, other);
}
// A vector of weights as it broadcasts: one for each channel, the second dimension.
static Tensor weights_of_channels(const Tensor& input, const Tensor& weight) {
  if (input.dim() == 0 && weight.numel() == 1) return weight.view({});
  if (input.dim() < 2 || weight.numel() == 1) return weight;
  check(input.size(1) == weight.numel(), "prelu", "weight must have a number for each channel",
        weight.shape(), " for ", input.shape());
  Shape shape = Dims::filled(input.dim() - 1, 1);
  shape[0] = weight.numel();
  return input.dim() == 2 ? weight : weight.view(shape);
}
static Tensor prelu_into(const Operand& input, const Operand& weight, const Tensor* out) {
  check_operands("prelu", {{"input", input}, {"weight", weight}});
  if (!input.tensor || !weight.tensor || weight.tensor->dim() != 1)
    return binary<scalar::Prelu>(input, weight, out);
  return binary<scalar::Prelu>(input, weights_of_channels(*input.tensor, *weight.tensor), out);
}
Tensor prelu(const Operand& input, const Operand& weight) {
  return prelu_into(input, weight, nullptr);
}
Tensor prelu_(const Tensor& input, const Operand& weight) {
  const CalledOp called("prelu_");
  return prelu_into(input, weight, &input);
}
Tensor eq(const Operand& input, const Operand& other) { return binary<scalar::Eq>(input, other); }
Tensor eq_(const Tensor& input, const Operand& other) {
  return binary<scalar::Eq>(input, other, &input);
}
Tensor ne(const Operand& input, const Operand& other) { return binary<scalar::Ne>(input, other); }
Tensor ne_(const Tensor& input, const Operand& other) {
  return binary<scalar::Ne>(input, other, &input);
}
Tensor lt(const Operand& input, const Operand& other) { return binary<scalar::Lt>(input, other); }
Tensor lt_(const Tensor& input, const Operand& other) {
  return binary<scalar::Lt>(input, other, &input);
}
Tensor le(const Operand& input, const Operand& other) { return binary<scalar::Le>(input, other); }
Tensor le_(const Tensor& input, const Operand& other) {
  return binary<scalar::Le>(input, other, &input);
}
Tensor gt(const Operand& input, const Operand& other) { return binary<scalar::Gt>(input, other); }
Tensor gt_(const Tensor& input, const Operand& other) {
  return binary<scalar::Gt>(input, other, &input);
}
Tensor ge(const Operand& input, const Operand& other) { return binary<scalar::Ge>(input, other); }
Tensor ge_(const Tensor& input, const Operand& other) {
  return binary<scalar::Ge>(input, other, &input);
}
Tensor logical_and(const Operand& input, const Operand& other) {
  return binary<scalar::LogicalAnd>(input, other);
}
Tensor logical_and_(const Tensor& input, const Operand& other) {
  return binary<scalar::LogicalAnd>(input, other, &input);
}
Tensor logical_or(const Operand& input, const Operand& other) {
  return binary<scalar::LogicalOr>(input, other);
}
Tensor logical_or_(const Tensor& input, const Operand& other) {
  return binary<scalar::LogicalOr>(input, other, &input);
}
Tensor logical_xor(const Operand& input, const Operand& other) {
  return binary<scalar::LogicalXor>(input, other);
}
Tensor logical_xor_(const Tensor& input, const Operand& other) {
  return binary<scalar::LogicalXor>(input, other, &input);
}
Tensor bitwise_and(const Operand& input, const Operand& other) {
  return binary<scalar::BitwiseAnd>(input, other);
}
Tensor bitwise_and_(const Tensor& input, const Operand& other) {
  return binary<scalar::BitwiseAnd>(input, other, &input);
}
Tensor bitwise_or(const Operand& input, const Operand& other) {
  return binary<scalar::BitwiseOr>(input, other);
}
Tensor bitwise_or_(const Tensor& input, const Operand& other) {
  return binary<scalar::BitwiseOr>(input, other, &input);
}
Tensor bitwise_xor(const Operand& input, const Operand& other) {
  return binary<scalar::BitwiseXor>(input, other);
}
Tensor bitwise_xor_(const Tensor& input, const Operand& other) {
  return binary<scalar::BitwiseXor>(input, other, &input);
}

// F of integers that aren't bools.
template <class F>
static Tensor of_integers(const Operand& a, const Operand& b, const Tensor* out = nullptr) {
  const DType common = common_dtype(F::info.name, a, b);
  check(common != DType::boolean, F::info.name, "dtype must be an integer, not bool", common);
  return binary<F>(a, b, out);
}
Tensor bitwise_left_shift(const Operand& input, const Operand& other) {
  return of_integers<scalar::ShiftLeft>(input, other);
}
Tensor bitwise_left_shift_(const Tensor& input, const Operand& other) {
  const CalledOp called("bitwise_left_shift_");
  return of_integers<scalar::ShiftLeft>(input, other, &input);
}
Tensor bitwise_right_shift(const Operand& input, const Operand& other) {
  return of_integers<scalar::ShiftRight>(input, other);
}
Tensor bitwise_right_shift_(const Tensor& input, const Operand& other) {
  const CalledOp called("bitwise_right_shift_");
  return of_integers<scalar::ShiftRight>(input, other, &input);
}

Tensor gcd(const Operand& input, const Operand& other) {
  return of_integers<scalar::Gcd>(input, other);
}
Tensor gcd_(const Tensor& input, const Operand& other) {
  const CalledOp called("gcd_");
  return of_integers<scalar::Gcd>(input, other, &input);
}
Tensor lcm(const Operand& input, const Operand& other) {
  return of_integers<scalar::Lcm>(input, other);
}
Tensor lcm_(const Tensor& input, const Operand& other) {
  const CalledOp called("lcm_");
  return of_integers<scalar::Lcm>(input, other, &input);
}

static Tensor next_number(const Operand& a, const Operand& b, const Tensor* out) {
  check_operands("nextafter", {{"input", a}, {"other", b}});
  // A half type's next number is none of f32, in which it would be computed.
  const DType common = common_dtype("nextafter", a, b);
  check(!is_half(common), "nextafter", "dtype must be f32 or f64", common);
  return binary<scalar::Nextafter>(a, b, out);
}
Tensor nextafter(const Operand& input, const Operand& other) {
  return next_number(input, other, nullptr);
}
Tensor nextafter_(const Tensor& input, const Operand& other) {
  const CalledOp called("nextafter_");
  return next_number(input, other, &input);
}

Tensor where(const Tensor& condition, const Operand& input, const Operand& other) {
  const CalledOp called("where");
  check_operands("where", {{"condition", condition}, {"input", input}, {"other", other}});
  check(condition.dtype() == DType::boolean, "where", "the condition must be bool",
        condition.dtype());
  for (const Operand* operand : {&input, &other}) {
    if (!operand->tensor) check_fits("where", operand->number, common_dtype("where", input, other));
  }
  return ternary<scalar::Where>(condition, input, other);
}

static Tensor lerp_into(const Tensor& start, const Tensor& end, const Operand& weight,
                        const Tensor* out) {
  check_operands("lerp", {{"input", start}, {"end", end}, {"weight", weight}});
  if (!weight.tensor) check_fits("lerp", weight.number, start.dtype());
  return ternary<scalar::Lerp>(start, end, weight, out);
}
Tensor lerp(const Tensor& input, const Tensor& end, const Operand& weight) {
  return lerp_into(input, end, weight, nullptr);
}
Tensor lerp_(const Tensor& input, const Tensor& end, const Operand& weight) {
  const CalledOp called("lerp_");
  return lerp_into(input, end, weight, &input);
}
template <class F>
static Tensor add_term(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value,
                       const Tensor* out = nullptr) {
  check_operands(F::info.name, {{"input", input}, {"tensor1", a}, {"tensor2", b}});
  const Operand operands[] = {input, a, b};
  const DType common = result_type(operands);
  if (is_complex(common)) {
    const CalledOp called(F::info.name);
    const Tensor x = a.to(common), y = b.to(common);
    const Tensor term = F::info.accept == scalar::Accept::floating ? div(x, y) : mul(x, y);
    return add_into(input, term, value, out);
  }
  check(F::info.accept == scalar::Accept::floating || is_floating(common) || !value.is_floating(),
        F::info.name, "value must be an integer for integer operands", value, " for ", common);
  return ternary<F>(input, a, b, out, {fitting(F::info.name, value, common)});
}
Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  return add_term<scalar::Addcmul>(input, tensor1, tensor2, value);
}
Tensor addcmul_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                const Scalar& value) {
  const CalledOp called("addcmul_");
  return add_term<scalar::Addcmul>(input, tensor1, tensor2, value, &input);
}
Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value) {
  return add_term<scalar::Addcdiv>(input, tensor1, tensor2, value);
}
Tensor addcdiv_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                const Scalar& value) {
  const CalledOp called("addcdiv_");
  return add_term<scalar::Addcdiv>(input, tensor1, tensor2, value, &input);
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
  const Scalar number = is_complex(dtype)         ? value.number
                        : is_floating(dtype)      ? Scalar(value.number.to_double())
                        : dtype == DType::boolean ? Scalar(value.number.to_bool())
                                                  : Scalar(value.number.to_int());
  return ternary<scalar::Where>(mask, number, input, out);
}
Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value) {
  const CalledOp called("masked_fill");
  return masked_fill_into(input, mask, value, nullptr);
}
Tensor masked_fill_(const Tensor& input, const Tensor& mask, const Operand& value) {
  const CalledOp called("masked_fill_");
  return masked_fill_into(input, mask, value, &input);
}

}  // namespace aorta
