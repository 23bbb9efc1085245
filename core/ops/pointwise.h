#pragma once

#include <aorta/core/dispatch/pointwise_args.h>

#include <math.h>  // abs and kin of numbers beside tensors', which C's of int would stand for  // IWYU pragma: export

namespace aorta {

// The pointwise ops. Names, defaults, broadcasting and type promotion are PyTorch's; the formulas,
// with what happens at NaN, infinities and the ends, stand beside the functors in core/scalar. `f_`
// writes its result into its first argument and returns it. An Operand is a tensor or a number.
// Errors: operands on different devices, shapes that don't broadcast, a dtype that the op doesn't
// take (docs/dtypes.md), and, in place, a result that doesn't fit or can't be cast.

/// -x.
Tensor neg(const Tensor& input);
Tensor neg_(const Tensor& input);
/// |x|.
Tensor abs(const Tensor& input);
Tensor abs_(const Tensor& input);
/// -1, 0 or 1; 0 for NaN.
Tensor sign(const Tensor& input);
Tensor sign_(const Tensor& input);
/// x*x.
Tensor square(const Tensor& input);
Tensor square_(const Tensor& input);
/// 1/x.
Tensor reciprocal(const Tensor& input);
Tensor reciprocal_(const Tensor& input);
/// The largest integer <= x.
Tensor floor(const Tensor& input);
Tensor floor_(const Tensor& input);
/// The smallest integer >= x.
Tensor ceil(const Tensor& input);
Tensor ceil_(const Tensor& input);
/// To the nearest integer, ties to even.
Tensor round(const Tensor& input);
Tensor round_(const Tensor& input);
/// To so many decimals: round(x 10^d) / 10^d, or for negative ones, which zeros before the point
/// stand for, round(x / 10^-d) 10^-d; half types in f32. Floating dtypes.
Tensor round(const Tensor& input, int64_t decimals);
Tensor round_(const Tensor& input, int64_t decimals);
/// The integer part.
Tensor trunc(const Tensor& input);
Tensor trunc_(const Tensor& input);
/// x - trunc(x).
Tensor frac(const Tensor& input);
Tensor frac_(const Tensor& input);
Tensor sqrt(const Tensor& input);
Tensor sqrt_(const Tensor& input);
/// 1/sqrt(x).
Tensor rsqrt(const Tensor& input);
Tensor rsqrt_(const Tensor& input);
Tensor exp(const Tensor& input);
Tensor exp_(const Tensor& input);
/// 2^x.
Tensor exp2(const Tensor& input);
Tensor exp2_(const Tensor& input);
/// exp(x) - 1, accurate near 0.
Tensor expm1(const Tensor& input);
Tensor expm1_(const Tensor& input);
Tensor log(const Tensor& input);
Tensor log_(const Tensor& input);
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& input);
Tensor log1p_(const Tensor& input);
Tensor log2(const Tensor& input);
Tensor log2_(const Tensor& input);
Tensor log10(const Tensor& input);
Tensor log10_(const Tensor& input);
Tensor sin(const Tensor& input);
Tensor sin_(const Tensor& input);
Tensor cos(const Tensor& input);
Tensor cos_(const Tensor& input);
Tensor tan(const Tensor& input);
Tensor tan_(const Tensor& input);
Tensor asin(const Tensor& input);
Tensor asin_(const Tensor& input);
Tensor acos(const Tensor& input);
Tensor acos_(const Tensor& input);
Tensor atan(const Tensor& input);
Tensor atan_(const Tensor& input);
Tensor sinh(const Tensor& input);
Tensor sinh_(const Tensor& input);
Tensor cosh(const Tensor& input);
Tensor cosh_(const Tensor& input);
Tensor tanh(const Tensor& input);
Tensor tanh_(const Tensor& input);
Tensor asinh(const Tensor& input);
Tensor asinh_(const Tensor& input);
Tensor acosh(const Tensor& input);
Tensor acosh_(const Tensor& input);
Tensor atanh(const Tensor& input);
Tensor atanh_(const Tensor& input);
/// 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& input);
Tensor erf_(const Tensor& input);
/// 1 - erf(x), accurate for large x.
Tensor erfc(const Tensor& input);
Tensor erfc_(const Tensor& input);
/// The y whose erf(y) is x; infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Tensor& input);
Tensor erfinv_(const Tensor& input);
/// e^(x^2) erfc(x), which doesn't vanish where erfc does.
Tensor erfcx(const Tensor& input);
/// log of the normal distribution function, exact far below 0 too.
Tensor log_ndtr(const Tensor& input);
/// The modified Bessel function of the first kind of order 0 (NIST DLMF 10.25).
Tensor i0(const Tensor& input);
Tensor i0_(const Tensor& input);
/// e^-|x| i0(x), which doesn't overflow.
Tensor i0e(const Tensor& input);
/// The modified Bessel function of the first kind of order 1.
Tensor i1(const Tensor& input);
/// e^-|x| i1(x).
Tensor i1e(const Tensor& input);
/// log|gamma(x)|.
Tensor lgamma(const Tensor& input);
Tensor lgamma_(const Tensor& input);
/// The derivative of lgamma: NaN at -1, -2, ...
Tensor digamma(const Tensor& input);
Tensor digamma_(const Tensor& input);
/// The n-th derivative of digamma; n = 0 is digamma itself.
Tensor polygamma(int64_t n, const Tensor& input);
Tensor polygamma_(int64_t n, const Tensor& input);
/// The logarithm of the gamma function of p x p matrices: the sum of lgamma(x - i / 2) over i = 0,
/// ..., p - 1, and p (p - 1) / 4 log(pi). Composed of lgamma and sum. Errors: p < 1;
/// bool.
Tensor mvlgamma(const Tensor& input, int64_t p);
Tensor mvlgamma_(const Tensor& input, int64_t p);
/// What frexp gives: input = mantissa 2^exponent.
struct Frexp {
  Tensor mantissa;  // of the input's dtype, in [0.5, 1) but for its sign
  Tensor exponent;  // i32
};
/// Exact, of floating dtypes. 0, infinities and NaN are their mantissas, with exponents 0.
Frexp frexp(const Tensor& input);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& input);
Tensor sigmoid_(const Tensor& input);
/// log(x / (1 - x)), NaN outside [0, 1]; of x clamped to [eps, 1 - eps] where there is an eps.
Tensor logit(const Tensor& input, std::optional<double> eps = {});
Tensor logit_(const Tensor& input, std::optional<double> eps = {});
/// max(x, 0).
Tensor relu(const Tensor& input);
Tensor relu_(const Tensor& input);
/// min(max(x, 0), 6).
Tensor relu6(const Tensor& input);
Tensor relu6_(const Tensor& input);
/// Self-normalising ELU (Klambauer et al. 2017).
Tensor selu(const Tensor& input);
Tensor selu_(const Tensor& input);
/// x * sigmoid(x).
Tensor silu(const Tensor& input);
Tensor silu_(const Tensor& input);
/// x * tanh(softplus(x)) (Misra 2019).
Tensor mish(const Tensor& input);
Tensor mish_(const Tensor& input);
/// log(sigmoid(x)).
Tensor logsigmoid(const Tensor& input);
Tensor logsigmoid_(const Tensor& input);
/// x / (1 + |x|).
Tensor softsign(const Tensor& input);
Tensor softsign_(const Tensor& input);
/// min(max(x + 3, 0), 6) / 6.
Tensor hardsigmoid(const Tensor& input);
Tensor hardsigmoid_(const Tensor& input);
/// x * hardsigmoid(x).
Tensor hardswish(const Tensor& input);
Tensor hardswish_(const Tensor& input);
/// x - tanh(x).
Tensor tanhshrink(const Tensor& input);
Tensor tanhshrink_(const Tensor& input);
Tensor isnan(const Tensor& input);
Tensor isnan_(const Tensor& input);
Tensor isinf(const Tensor& input);
Tensor isinf_(const Tensor& input);
Tensor isfinite(const Tensor& input);
Tensor isfinite_(const Tensor& input);
Tensor isposinf(const Tensor& input);
Tensor isneginf(const Tensor& input);
/// Whether the sign is set, as of -0.0.
Tensor signbit(const Tensor& input);
/// sin(pi x) / (pi x); 1 at 0.
Tensor sinc(const Tensor& input);
Tensor sinc_(const Tensor& input);
Tensor logical_not(const Tensor& input);
Tensor logical_not_(const Tensor& input);
Tensor bitwise_not(const Tensor& input);
Tensor bitwise_not_(const Tensor& input);

/// How gelu is computed: by erf, or approximated by tanh.
enum class GeluApproximation : uint8_t { none, tanh };
/// x * Phi(x), by erf or by the tanh approximation (Hendrycks & Gimpel 2016).
Tensor gelu(const Tensor& input, GeluApproximation approximate = GeluApproximation::none);
Tensor gelu_(const Tensor& input, GeluApproximation approximate = GeluApproximation::none);
/// x for x > 0, else negative_slope * x.
Tensor leaky_relu(const Tensor& input, const Scalar& negative_slope = 0.01);
Tensor leaky_relu_(const Tensor& input, const Scalar& negative_slope = 0.01);
/// x for x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2015).
Tensor elu(const Tensor& input, const Scalar& alpha = 1.0);
Tensor elu_(const Tensor& input, const Scalar& alpha = 1.0);
/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
Tensor celu(const Tensor& input, const Scalar& alpha = 1.0);
Tensor celu_(const Tensor& input, const Scalar& alpha = 1.0);
/// log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
Tensor softplus(const Tensor& input, double beta = 1, double threshold = 20);
Tensor softplus_(const Tensor& input, double beta = 1, double threshold = 20);
/// x limited to [min, max].
Tensor hardtanh(const Tensor& input, const Scalar& min = -1.0, const Scalar& max = 1.0);
Tensor hardtanh_(const Tensor& input, const Scalar& min = -1.0, const Scalar& max = 1.0);
/// x where x > threshold, else value.
Tensor threshold(const Tensor& input, const Scalar& threshold, const Scalar& value);
Tensor threshold_(const Tensor& input, const Scalar& threshold, const Scalar& value);
/// x where |x| > lambda, else 0.
Tensor hardshrink(const Tensor& input, double lambda = 0.5);
Tensor hardshrink_(const Tensor& input, double lambda = 0.5);
/// x moved towards 0 by lambda, and 0 within it.
Tensor softshrink(const Tensor& input, double lambda = 0.5);
Tensor softshrink_(const Tensor& input, double lambda = 0.5);
/// max(x, min); NaN stays.
Tensor clamp_min(const Tensor& input, const Scalar& min);
Tensor clamp_min_(const Tensor& input, const Scalar& min);
Tensor clamp_min(const Tensor& input, const Tensor& min);
Tensor clamp_min_(const Tensor& input, const Tensor& min);
/// min(x, max); NaN stays.
Tensor clamp_max(const Tensor& input, const Scalar& max);
Tensor clamp_max_(const Tensor& input, const Scalar& max);
Tensor clamp_max(const Tensor& input, const Tensor& max);
Tensor clamp_max_(const Tensor& input, const Tensor& max);
/// x limited to [min, max], either of which may be left out; NaN stays; max wins where min > max.
Tensor clamp(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor clamp_(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max = {});
/// Clamps to bounds by element, which are broadcast; a bound that isn't defined is left out.
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max = {});
Tensor clamp_(const Tensor& input, const Tensor& min, const Tensor& max = {});

/// input + alpha * other; of bools: or.
Tensor add(const Operand& input, const Operand& other, const Scalar& alpha = 1);
Tensor add_(const Tensor& input, const Operand& other, const Scalar& alpha = 1);
/// input - alpha * other.
Tensor sub(const Operand& input, const Operand& other, const Scalar& alpha = 1);
Tensor sub_(const Tensor& input, const Operand& other, const Scalar& alpha = 1);
/// input * other; of bools: and.
Tensor mul(const Operand& input, const Operand& other);
Tensor mul_(const Tensor& input, const Operand& other);
/// True division: integers become f32 first.
Tensor div(const Operand& input, const Operand& other);
Tensor div_(const Tensor& input, const Operand& other);
/// The quotient rounded towards 0 ("trunc"; of integers an integer, of half types computed in f32)
/// or down ("floor", as floor_divide), and without a mode not at all. Rounded its gradient is 0.
Tensor div(const Operand& input, const Operand& other, const char* rounding_mode);
Tensor div_(const Tensor& input, const Operand& other, const char* rounding_mode);
/// floor(input / other). Here and in fmod and remainder an integer divided by 0 is an error, but on
/// a GPU only when the 0 is a number: in a tensor there it gives 0.
Tensor floor_divide(const Operand& input, const Operand& other);
Tensor floor_divide_(const Tensor& input, const Operand& other);
/// The remainder with the sign of input, as C's fmod.
Tensor fmod(const Operand& input, const Operand& other);
Tensor fmod_(const Tensor& input, const Operand& other);
/// The remainder with the sign of other, as Python's %.
Tensor remainder(const Operand& input, const Operand& other);
Tensor remainder_(const Tensor& input, const Operand& other);
/// input to the power exponent; integers to a negative number are an error, to a negative tensor 0,
/// 1 or -1.
Tensor pow(const Operand& input, const Operand& exponent);
Tensor pow_(const Tensor& input, const Operand& exponent);
/// pow in f64, or c128 where one is complex. In place the result is rounded to the input's dtype,
/// which isn't an integer.
Tensor float_power(const Operand& input, const Operand& exponent);
Tensor float_power_(const Tensor& input, const Operand& exponent);
/// The greatest common divisor (least common multiple) of the magnitudes of integers; not negative
/// but where the dtype doesn't hold it.
Tensor gcd(const Operand& input, const Operand& other);
Tensor gcd_(const Tensor& input, const Operand& other);
Tensor lcm(const Operand& input, const Operand& other);
Tensor lcm_(const Tensor& input, const Operand& other);
/// The dtype's next number after input on the way to other; f32 and f64.
Tensor nextafter(const Operand& input, const Operand& other);
Tensor nextafter_(const Tensor& input, const Operand& other);
/// The smaller; NaN if either is.
Tensor minimum(const Operand& input, const Operand& other);
Tensor minimum_(const Tensor& input, const Operand& other);
/// The larger; NaN if either is.
Tensor maximum(const Operand& input, const Operand& other);
Tensor maximum_(const Tensor& input, const Operand& other);
/// minimum and maximum of tensors under PyTorch's other names.
inline Tensor min(const Tensor& input, const Tensor& other) { return minimum(input, other); }
inline Tensor max(const Tensor& input, const Tensor& other) { return maximum(input, other); }
/// The angle of the point (other, input), in (-pi, pi].
Tensor atan2(const Operand& input, const Operand& other);
Tensor atan2_(const Tensor& input, const Operand& other);
/// sqrt(input^2 + other^2).
Tensor hypot(const Operand& input, const Operand& other);
Tensor hypot_(const Tensor& input, const Operand& other);
/// |input| with the sign of other, which counts at zeros too.
Tensor copysign(const Operand& input, const Operand& other);
Tensor copysign_(const Tensor& input, const Operand& other);
/// 0 where input is below 0 or NaN, 1 above it, and values at 0.
Tensor heaviside(const Operand& input, const Operand& values);
Tensor heaviside_(const Tensor& input, const Operand& values);
/// input * 2^other.
Tensor ldexp(const Operand& input, const Operand& other);
Tensor ldexp_(const Tensor& input, const Operand& other);
/// input * log(other), and 0 where input is 0, but NaN where other is.
Tensor xlogy(const Operand& input, const Operand& other);
Tensor xlogy_(const Tensor& input, const Operand& other);
/// The regularised lower incomplete gamma function P(a, x) of a = input and x = other (NIST
/// DLMF 8.2.4): the integral of t^(a-1) e^-t from 0 to x over gamma(a). Floating dtypes. NaN where
/// a or x is negative, and of two zeros. Its derivative is that by x; that by a is an error of the
/// backward pass, as in PyTorch.
Tensor igamma(const Operand& input, const Operand& other);
Tensor igamma_(const Tensor& input, const Operand& other);
/// The upper one: 1 - igamma(a, x), without cancellation.
Tensor igammac(const Operand& input, const Operand& other);
Tensor igammac_(const Tensor& input, const Operand& other);
/// log(exp(input) + exp(other)), exact for numbers of any size.
Tensor logaddexp(const Operand& input, const Operand& other);
/// log2(2^input + 2^other).
Tensor logaddexp2(const Operand& input, const Operand& other);
/// input where it is above 0, else weight * input. A weight (C) belongs to the channels of an input
/// (N, C, *); any other broadcasts.
Tensor prelu(const Operand& input, const Operand& weight);
Tensor prelu_(const Tensor& input, const Operand& weight);
/// input == other, as bool.
Tensor eq(const Operand& input, const Operand& other);
Tensor eq_(const Tensor& input, const Operand& other);
/// input != other.
Tensor ne(const Operand& input, const Operand& other);
Tensor ne_(const Tensor& input, const Operand& other);
/// input < other.
Tensor lt(const Operand& input, const Operand& other);
Tensor lt_(const Tensor& input, const Operand& other);
/// input <= other.
Tensor le(const Operand& input, const Operand& other);
Tensor le_(const Tensor& input, const Operand& other);
/// input > other.
Tensor gt(const Operand& input, const Operand& other);
Tensor gt_(const Tensor& input, const Operand& other);
/// input >= other.
Tensor ge(const Operand& input, const Operand& other);
Tensor ge_(const Tensor& input, const Operand& other);
Tensor logical_and(const Operand& input, const Operand& other);
Tensor logical_and_(const Tensor& input, const Operand& other);
Tensor logical_or(const Operand& input, const Operand& other);
Tensor logical_or_(const Tensor& input, const Operand& other);
Tensor logical_xor(const Operand& input, const Operand& other);
Tensor logical_xor_(const Tensor& input, const Operand& other);
Tensor bitwise_and(const Operand& input, const Operand& other);
Tensor bitwise_and_(const Tensor& input, const Operand& other);
Tensor bitwise_or(const Operand& input, const Operand& other);
Tensor bitwise_or_(const Tensor& input, const Operand& other);
Tensor bitwise_xor(const Operand& input, const Operand& other);
Tensor bitwise_xor_(const Tensor& input, const Operand& other);
Tensor bitwise_left_shift(const Operand& input, const Operand& other);
Tensor bitwise_left_shift_(const Tensor& input, const Operand& other);
Tensor bitwise_right_shift(const Operand& input, const Operand& other);
Tensor bitwise_right_shift_(const Tensor& input, const Operand& other);

/// input where the condition (bool) holds, else other.
Tensor where(const Tensor& condition, const Operand& input, const Operand& other);
/// input + weight * (end - input).
Tensor lerp(const Tensor& input, const Tensor& end, const Operand& weight);
Tensor lerp_(const Tensor& input, const Tensor& end, const Operand& weight);
/// input + value * tensor1 * tensor2.
Tensor addcmul(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value = 1);
Tensor addcmul_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                const Scalar& value = 1);
/// input + value * tensor1 / tensor2.
Tensor addcdiv(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
               const Scalar& value = 1);
Tensor addcdiv_(const Tensor& input, const Tensor& tensor1, const Tensor& tensor2,
                const Scalar& value = 1);
/// value where the mask (bool, broadcast) holds, else input; value is a number or 0-d, becomes of
/// the input's dtype (2.5 in integers is 2), and must fit it.
Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value);
Tensor masked_fill_(const Tensor& input, const Tensor& mask, const Operand& value);

/// The functions above as operators. A comparison gives a bool tensor; `a / b` is true division and
/// `a % b` has the sign of b, as in Python.
inline Tensor operator-(const Tensor& a) { return neg(a); }
inline Tensor operator!(const Tensor& a) { return logical_not(a); }
inline Tensor operator~(const Tensor& a) { return bitwise_not(a); }
inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
inline Tensor operator%(const Operand& a, const Operand& b) { return remainder(a, b); }
inline Tensor operator==(const Operand& a, const Operand& b) { return eq(a, b); }
inline Tensor operator!=(const Operand& a, const Operand& b) { return ne(a, b); }
inline Tensor operator<(const Operand& a, const Operand& b) { return lt(a, b); }
inline Tensor operator<=(const Operand& a, const Operand& b) { return le(a, b); }
inline Tensor operator>(const Operand& a, const Operand& b) { return gt(a, b); }
inline Tensor operator>=(const Operand& a, const Operand& b) { return ge(a, b); }
inline Tensor operator&(const Operand& a, const Operand& b) { return bitwise_and(a, b); }
inline Tensor operator|(const Operand& a, const Operand& b) { return bitwise_or(a, b); }
inline Tensor operator^(const Operand& a, const Operand& b) { return bitwise_xor(a, b); }
inline Tensor operator<<(const Operand& a, const Operand& b) { return bitwise_left_shift(a, b); }
inline Tensor operator>>(const Operand& a, const Operand& b) { return bitwise_right_shift(a, b); }
inline const Tensor& operator+=(const Tensor& a, const Operand& b) {
  add_(a, b);
  return a;
}
inline const Tensor& operator-=(const Tensor& a, const Operand& b) {
  sub_(a, b);
  return a;
}
inline const Tensor& operator*=(const Tensor& a, const Operand& b) {
  mul_(a, b);
  return a;
}
inline const Tensor& operator/=(const Tensor& a, const Operand& b) {
  div_(a, b);
  return a;
}
inline const Tensor& operator%=(const Tensor& a, const Operand& b) {
  remainder_(a, b);
  return a;
}
inline const Tensor& operator&=(const Tensor& a, const Operand& b) {
  bitwise_and_(a, b);
  return a;
}
inline const Tensor& operator|=(const Tensor& a, const Operand& b) {
  bitwise_or_(a, b);
  return a;
}
inline const Tensor& operator^=(const Tensor& a, const Operand& b) {
  bitwise_xor_(a, b);
  return a;
}

}  // namespace aorta
