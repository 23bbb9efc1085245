#pragma once

#include <aorta/core/dispatch/pointwise_args.h>

namespace aorta {

// The pointwise ops. Names, defaults, broadcasting and type promotion are PyTorch's; the formulas,
// with what happens at NaN, infinities and the ends, stand beside the functors in core/scalar. `f_`
// writes its result into its first argument and returns it. An Operand is a tensor or a number.
// Errors: operands on different devices, shapes that don't broadcast, a dtype that the op doesn't
// take (docs/dtypes.md), and, in place, a result that doesn't fit or can't be cast.

/// -x.
Tensor neg(const Tensor& input);
Tensor neg_(const Tensor& self);
/// |x|.
Tensor abs(const Tensor& input);
Tensor abs_(const Tensor& self);
/// -1, 0 or 1; 0 for NaN.
Tensor sign(const Tensor& input);
Tensor sign_(const Tensor& self);
/// x*x.
Tensor square(const Tensor& input);
Tensor square_(const Tensor& self);
/// 1/x.
Tensor reciprocal(const Tensor& input);
Tensor reciprocal_(const Tensor& self);
/// The largest integer <= x.
Tensor floor(const Tensor& input);
Tensor floor_(const Tensor& self);
/// The smallest integer >= x.
Tensor ceil(const Tensor& input);
Tensor ceil_(const Tensor& self);
/// To the nearest integer, ties to even.
Tensor round(const Tensor& input);
Tensor round_(const Tensor& self);
/// The integer part.
Tensor trunc(const Tensor& input);
Tensor trunc_(const Tensor& self);
/// x - trunc(x).
Tensor frac(const Tensor& input);
Tensor frac_(const Tensor& self);
Tensor sqrt(const Tensor& input);
Tensor sqrt_(const Tensor& self);
/// 1/sqrt(x).
Tensor rsqrt(const Tensor& input);
Tensor rsqrt_(const Tensor& self);
Tensor exp(const Tensor& input);
Tensor exp_(const Tensor& self);
/// 2^x.
Tensor exp2(const Tensor& input);
Tensor exp2_(const Tensor& self);
/// exp(x) - 1, accurate near 0.
Tensor expm1(const Tensor& input);
Tensor expm1_(const Tensor& self);
Tensor log(const Tensor& input);
Tensor log_(const Tensor& self);
/// log(1 + x), accurate near 0.
Tensor log1p(const Tensor& input);
Tensor log1p_(const Tensor& self);
Tensor log2(const Tensor& input);
Tensor log2_(const Tensor& self);
Tensor log10(const Tensor& input);
Tensor log10_(const Tensor& self);
Tensor sin(const Tensor& input);
Tensor sin_(const Tensor& self);
Tensor cos(const Tensor& input);
Tensor cos_(const Tensor& self);
Tensor tan(const Tensor& input);
Tensor tan_(const Tensor& self);
Tensor asin(const Tensor& input);
Tensor asin_(const Tensor& self);
Tensor acos(const Tensor& input);
Tensor acos_(const Tensor& self);
Tensor atan(const Tensor& input);
Tensor atan_(const Tensor& self);
Tensor sinh(const Tensor& input);
Tensor sinh_(const Tensor& self);
Tensor cosh(const Tensor& input);
Tensor cosh_(const Tensor& self);
Tensor tanh(const Tensor& input);
Tensor tanh_(const Tensor& self);
Tensor asinh(const Tensor& input);
Tensor asinh_(const Tensor& self);
Tensor acosh(const Tensor& input);
Tensor acosh_(const Tensor& self);
Tensor atanh(const Tensor& input);
Tensor atanh_(const Tensor& self);
/// 2/sqrt(pi) * integral of exp(-t^2) from 0 to x.
Tensor erf(const Tensor& input);
Tensor erf_(const Tensor& self);
/// 1 - erf(x), accurate for large x.
Tensor erfc(const Tensor& input);
Tensor erfc_(const Tensor& self);
/// The y whose erf(y) is x; infinite at -1 and 1, NaN beyond.
Tensor erfinv(const Tensor& input);
Tensor erfinv_(const Tensor& self);
/// log|gamma(x)|.
Tensor lgamma(const Tensor& input);
Tensor lgamma_(const Tensor& self);
/// The derivative of lgamma: NaN at -1, -2, ...
Tensor digamma(const Tensor& input);
Tensor digamma_(const Tensor& self);
/// The n-th derivative of digamma; n = 0 is digamma itself.
Tensor polygamma(int64_t n, const Tensor& input);
Tensor polygamma_(int64_t n, const Tensor& self);
/// 1 / (1 + exp(-x)).
Tensor sigmoid(const Tensor& input);
Tensor sigmoid_(const Tensor& self);
/// log(x / (1 - x)), NaN outside [0, 1]; of x clamped to [eps, 1 - eps] where there is an eps.
Tensor logit(const Tensor& input, std::optional<double> eps = {});
Tensor logit_(const Tensor& self, std::optional<double> eps = {});
/// max(x, 0).
Tensor relu(const Tensor& input);
Tensor relu_(const Tensor& self);
/// min(max(x, 0), 6).
Tensor relu6(const Tensor& input);
Tensor relu6_(const Tensor& self);
/// Self-normalising ELU (Klambauer et al. 2017).
Tensor selu(const Tensor& input);
Tensor selu_(const Tensor& self);
/// x * sigmoid(x).
Tensor silu(const Tensor& input);
Tensor silu_(const Tensor& self);
/// x * tanh(softplus(x)) (Misra 2019).
Tensor mish(const Tensor& input);
Tensor mish_(const Tensor& self);
/// log(sigmoid(x)).
Tensor logsigmoid(const Tensor& input);
Tensor logsigmoid_(const Tensor& self);
/// x / (1 + |x|).
Tensor softsign(const Tensor& input);
Tensor softsign_(const Tensor& self);
/// min(max(x + 3, 0), 6) / 6.
Tensor hardsigmoid(const Tensor& input);
Tensor hardsigmoid_(const Tensor& self);
/// x * hardsigmoid(x).
Tensor hardswish(const Tensor& input);
Tensor hardswish_(const Tensor& self);
/// x - tanh(x).
Tensor tanhshrink(const Tensor& input);
Tensor tanhshrink_(const Tensor& self);
Tensor isnan(const Tensor& input);
Tensor isnan_(const Tensor& self);
Tensor isinf(const Tensor& input);
Tensor isinf_(const Tensor& self);
Tensor isfinite(const Tensor& input);
Tensor isfinite_(const Tensor& self);
Tensor logical_not(const Tensor& input);
Tensor logical_not_(const Tensor& self);
Tensor bitwise_not(const Tensor& input);
Tensor bitwise_not_(const Tensor& self);

/// How gelu is computed: by erf, or approximated by tanh.
enum class GeluApproximation : uint8_t { none, tanh };
/// x * Phi(x), by erf or by the tanh approximation (Hendrycks & Gimpel 2016).
Tensor gelu(const Tensor& input, GeluApproximation approximate = GeluApproximation::none);
Tensor gelu_(const Tensor& self, GeluApproximation approximate = GeluApproximation::none);
/// x for x > 0, else negative_slope * x.
Tensor leaky_relu(const Tensor& input, const Scalar& negative_slope = 0.01);
Tensor leaky_relu_(const Tensor& self, const Scalar& negative_slope = 0.01);
/// x for x > 0, else alpha * (exp(x) - 1) (Clevert et al. 2015).
Tensor elu(const Tensor& input, const Scalar& alpha = 1.0);
Tensor elu_(const Tensor& self, const Scalar& alpha = 1.0);
/// max(0, x) + min(0, alpha * (exp(x / alpha) - 1)).
Tensor celu(const Tensor& input, const Scalar& alpha = 1.0);
Tensor celu_(const Tensor& self, const Scalar& alpha = 1.0);
/// log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold.
Tensor softplus(const Tensor& input, double beta = 1, double threshold = 20);
Tensor softplus_(const Tensor& self, double beta = 1, double threshold = 20);
/// x limited to [min, max].
Tensor hardtanh(const Tensor& input, const Scalar& min = -1.0, const Scalar& max = 1.0);
Tensor hardtanh_(const Tensor& self, const Scalar& min = -1.0, const Scalar& max = 1.0);
/// x where x > threshold, else value.
Tensor threshold(const Tensor& input, const Scalar& threshold, const Scalar& value);
Tensor threshold_(const Tensor& self, const Scalar& threshold, const Scalar& value);
/// x where |x| > lambda, else 0.
Tensor hardshrink(const Tensor& input, double lambda = 0.5);
Tensor hardshrink_(const Tensor& self, double lambda = 0.5);
/// x moved towards 0 by lambda, and 0 within it.
Tensor softshrink(const Tensor& input, double lambda = 0.5);
Tensor softshrink_(const Tensor& self, double lambda = 0.5);
/// max(x, min); NaN stays.
Tensor clamp_min(const Tensor& input, const Scalar& min);
Tensor clamp_min_(const Tensor& self, const Scalar& min);
Tensor clamp_min(const Tensor& input, const Tensor& min);
Tensor clamp_min_(const Tensor& self, const Tensor& min);
/// min(x, max); NaN stays.
Tensor clamp_max(const Tensor& input, const Scalar& max);
Tensor clamp_max_(const Tensor& self, const Scalar& max);
Tensor clamp_max(const Tensor& input, const Tensor& max);
Tensor clamp_max_(const Tensor& self, const Tensor& max);
/// x limited to [min, max], either of which may be left out; NaN stays; max wins where min > max.
Tensor clamp(const Tensor& input, std::optional<Scalar> min, std::optional<Scalar> max = {});
Tensor clamp_(const Tensor& self, std::optional<Scalar> min, std::optional<Scalar> max = {});
/// Clamps to bounds by element, which are broadcast; a bound that isn't defined is left out.
Tensor clamp(const Tensor& input, const Tensor& min, const Tensor& max = {});
Tensor clamp_(const Tensor& self, const Tensor& min, const Tensor& max = {});

/// a + alpha * b; of bools: or.
Tensor add(const Operand& a, const Operand& b, const Scalar& alpha = 1);
Tensor add_(const Tensor& self, const Operand& other, const Scalar& alpha = 1);
/// a - alpha * b.
Tensor sub(const Operand& a, const Operand& b, const Scalar& alpha = 1);
Tensor sub_(const Tensor& self, const Operand& other, const Scalar& alpha = 1);
/// a * b; of bools: and.
Tensor mul(const Operand& a, const Operand& b);
Tensor mul_(const Tensor& self, const Operand& other);
/// True division: integers become f32 first.
Tensor div(const Operand& a, const Operand& b);
Tensor div_(const Tensor& self, const Operand& other);
/// floor(a / b). Here and in fmod and remainder an integer divided by 0 is an error, but on a GPU
/// only when the 0 is a number: in a tensor there it gives 0.
Tensor floor_divide(const Operand& a, const Operand& b);
Tensor floor_divide_(const Tensor& self, const Operand& other);
/// The remainder with the sign of a, as C's fmod.
Tensor fmod(const Operand& a, const Operand& b);
Tensor fmod_(const Tensor& self, const Operand& other);
/// The remainder with the sign of b, as Python's %.
Tensor remainder(const Operand& a, const Operand& b);
Tensor remainder_(const Tensor& self, const Operand& other);
/// a to the power b; integers to a negative number are an error, to a negative tensor 0, 1 or -1.
Tensor pow(const Operand& a, const Operand& b);
Tensor pow_(const Tensor& self, const Operand& other);
/// The smaller; NaN if either is.
Tensor minimum(const Operand& a, const Operand& b);
Tensor minimum_(const Tensor& self, const Operand& other);
/// The larger; NaN if either is.
Tensor maximum(const Operand& a, const Operand& b);
Tensor maximum_(const Tensor& self, const Operand& other);
/// The angle of the point (b, a), in (-pi, pi].
Tensor atan2(const Operand& a, const Operand& b);
Tensor atan2_(const Tensor& self, const Operand& other);
/// sqrt(a^2 + b^2).
Tensor hypot(const Operand& a, const Operand& b);
Tensor hypot_(const Tensor& self, const Operand& other);
/// a * log(b), and 0 where a is 0, but NaN where b is.
Tensor xlogy(const Operand& a, const Operand& b);
Tensor xlogy_(const Tensor& self, const Operand& other);
/// log(exp(a) + exp(b)), exact for numbers of any size.
Tensor logaddexp(const Operand& a, const Operand& b);
/// log2(2^a + 2^b).
Tensor logaddexp2(const Operand& a, const Operand& b);
/// a for a > 0, else b * a.
Tensor prelu(const Operand& a, const Operand& b);
Tensor prelu_(const Tensor& self, const Operand& other);
/// a == b, as bool.
Tensor eq(const Operand& a, const Operand& b);
Tensor eq_(const Tensor& self, const Operand& other);
/// a != b.
Tensor ne(const Operand& a, const Operand& b);
Tensor ne_(const Tensor& self, const Operand& other);
/// a < b.
Tensor lt(const Operand& a, const Operand& b);
Tensor lt_(const Tensor& self, const Operand& other);
/// a <= b.
Tensor le(const Operand& a, const Operand& b);
Tensor le_(const Tensor& self, const Operand& other);
/// a > b.
Tensor gt(const Operand& a, const Operand& b);
Tensor gt_(const Tensor& self, const Operand& other);
/// a >= b.
Tensor ge(const Operand& a, const Operand& b);
Tensor ge_(const Tensor& self, const Operand& other);
Tensor logical_and(const Operand& a, const Operand& b);
Tensor logical_and_(const Tensor& self, const Operand& other);
Tensor logical_or(const Operand& a, const Operand& b);
Tensor logical_or_(const Tensor& self, const Operand& other);
Tensor logical_xor(const Operand& a, const Operand& b);
Tensor logical_xor_(const Tensor& self, const Operand& other);
Tensor bitwise_and(const Operand& a, const Operand& b);
Tensor bitwise_and_(const Tensor& self, const Operand& other);
Tensor bitwise_or(const Operand& a, const Operand& b);
Tensor bitwise_or_(const Tensor& self, const Operand& other);
Tensor bitwise_xor(const Operand& a, const Operand& b);
Tensor bitwise_xor_(const Tensor& self, const Operand& other);
Tensor bitwise_left_shift(const Operand& a, const Operand& b);
Tensor bitwise_left_shift_(const Tensor& self, const Operand& other);
Tensor bitwise_right_shift(const Operand& a, const Operand& b);
Tensor bitwise_right_shift_(const Tensor& self, const Operand& other);

/// a where the condition (bool) holds, else b.
Tensor where(const Tensor& condition, const Operand& a, const Operand& b);
/// start + weight * (end - start).
Tensor lerp(const Tensor& start, const Tensor& end, const Operand& weight);
Tensor lerp_(const Tensor& self, const Tensor& end, const Operand& weight);
/// input + value * a * b.
Tensor addcmul(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor addcmul_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value = 1);
/// input + value * a / b.
Tensor addcdiv(const Tensor& input, const Tensor& a, const Tensor& b, const Scalar& value = 1);
Tensor addcdiv_(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& value = 1);
/// value where the mask (bool, broadcast) holds, else input; value is a number or 0-d, becomes of
/// the input's dtype (2.5 in integers is 2), and must fit it.
Tensor masked_fill(const Tensor& input, const Tensor& mask, const Operand& value);
Tensor masked_fill_(const Tensor& self, const Tensor& mask, const Operand& value);

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
