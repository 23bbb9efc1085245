#include <aorta/core/ops/pointwise.h>
#include <aorta/core/tensor_methods.h>

namespace aorta {

Tensor TensorMethods::neg() const { return aorta::neg(self()); }
const Tensor& TensorMethods::neg_() const { return aorta::neg_(self()), self(); }
Tensor TensorMethods::abs() const { return aorta::abs(self()); }
const Tensor& TensorMethods::abs_() const { return aorta::abs_(self()), self(); }
Tensor TensorMethods::sign() const { return aorta::sign(self()); }
const Tensor& TensorMethods::sign_() const { return aorta::sign_(self()), self(); }
Tensor TensorMethods::square() const { return aorta::square(self()); }
const Tensor& TensorMethods::square_() const { return aorta::square_(self()), self(); }
Tensor TensorMethods::reciprocal() const { return aorta::reciprocal(self()); }
const Tensor& TensorMethods::reciprocal_() const { return aorta::reciprocal_(self()), self(); }
Tensor TensorMethods::floor() const { return aorta::floor(self()); }
const Tensor& TensorMethods::floor_() const { return aorta::floor_(self()), self(); }
Tensor TensorMethods::ceil() const { return aorta::ceil(self()); }
const Tensor& TensorMethods::ceil_() const { return aorta::ceil_(self()), self(); }
Tensor TensorMethods::round() const { return aorta::round(self()); }
Tensor TensorMethods::round(int64_t decimals) const { return aorta::round(self(), decimals); }
const Tensor& TensorMethods::round_(int64_t decimals) const {
  return aorta::round_(self(), decimals), self();
}
const Tensor& TensorMethods::round_() const { return aorta::round_(self()), self(); }
Tensor TensorMethods::trunc() const { return aorta::trunc(self()); }
const Tensor& TensorMethods::trunc_() const { return aorta::trunc_(self()), self(); }
Tensor TensorMethods::frac() const { return aorta::frac(self()); }
const Tensor& TensorMethods::frac_() const { return aorta::frac_(self()), self(); }
Tensor TensorMethods::sqrt() const { return aorta::sqrt(self()); }
const Tensor& TensorMethods::sqrt_() const { return aorta::sqrt_(self()), self(); }
Tensor TensorMethods::rsqrt() const { return aorta::rsqrt(self()); }
const Tensor& TensorMethods::rsqrt_() const { return aorta::rsqrt_(self()), self(); }
Tensor TensorMethods::exp() const { return aorta::exp(self()); }
const Tensor& TensorMethods::exp_() const { return aorta::exp_(self()), self(); }
Tensor TensorMethods::exp2() const { return aorta::exp2(self()); }
const Tensor& TensorMethods::exp2_() const { return aorta::exp2_(self()), self(); }
Tensor TensorMethods::expm1() const { return aorta::expm1(self()); }
const Tensor& TensorMethods::expm1_() const { return aorta::expm1_(self()), self(); }
Tensor TensorMethods::log() const { return aorta::log(self()); }
const Tensor& TensorMethods::log_() const { return aorta::log_(self()), self(); }
Tensor TensorMethods::log1p() const { return aorta::log1p(self()); }
const Tensor& TensorMethods::log1p_() const { return aorta::log1p_(self()), self(); }
Tensor TensorMethods::log2() const { return aorta::log2(self()); }
const Tensor& TensorMethods::log2_() const { return aorta::log2_(self()), self(); }
Tensor TensorMethods::log10() const { return aorta::log10(self()); }
const Tensor& TensorMethods::log10_() const { return aorta::log10_(self()), self(); }
Tensor TensorMethods::sin() const { return aorta::sin(self()); }
const Tensor& TensorMethods::sin_() const { return aorta::sin_(self()), self(); }
Tensor TensorMethods::cos() const { return aorta::cos(self()); }
const Tensor& TensorMethods::cos_() const { return aorta::cos_(self()), self(); }
Tensor TensorMethods::tan() const { return aorta::tan(self()); }
const Tensor& TensorMethods::tan_() const { return aorta::tan_(self()), self(); }
Tensor TensorMethods::asin() const { return aorta::asin(self()); }
const Tensor& TensorMethods::asin_() const { return aorta::asin_(self()), self(); }
Tensor TensorMethods::acos() const { return aorta::acos(self()); }
const Tensor& TensorMethods::acos_() const { return aorta::acos_(self()), self(); }
Tensor TensorMethods::atan() const { return aorta::atan(self()); }
const Tensor& TensorMethods::atan_() const { return aorta::atan_(self()), self(); }
Tensor TensorMethods::sinh() const { return aorta::sinh(self()); }
const Tensor& TensorMethods::sinh_() const { return aorta::sinh_(self()), self(); }
Tensor TensorMethods::cosh() const { return aorta::cosh(self()); }
const Tensor& TensorMethods::cosh_() const { return aorta::cosh_(self()), self(); }
Tensor TensorMethods::tanh() const { return aorta::tanh(self()); }
const Tensor& TensorMethods::tanh_() const { return aorta::tanh_(self()), self(); }
Tensor TensorMethods::asinh() const { return aorta::asinh(self()); }
const Tensor& TensorMethods::asinh_() const { return aorta::asinh_(self()), self(); }
Tensor TensorMethods::acosh() const { return aorta::acosh(self()); }
const Tensor& TensorMethods::acosh_() const { return aorta::acosh_(self()), self(); }
Tensor TensorMethods::atanh() const { return aorta::atanh(self()); }
const Tensor& TensorMethods::atanh_() const { return aorta::atanh_(self()), self(); }
Tensor TensorMethods::erf() const { return aorta::erf(self()); }
const Tensor& TensorMethods::erf_() const { return aorta::erf_(self()), self(); }
Tensor TensorMethods::erfc() const { return aorta::erfc(self()); }
const Tensor& TensorMethods::erfc_() const { return aorta::erfc_(self()), self(); }
Tensor TensorMethods::erfinv() const { return aorta::erfinv(self()); }
const Tensor& TensorMethods::erfinv_() const { return aorta::erfinv_(self()), self(); }
Tensor TensorMethods::lgamma() const { return aorta::lgamma(self()); }
const Tensor& TensorMethods::lgamma_() const { return aorta::lgamma_(self()), self(); }
Tensor TensorMethods::i0() const { return aorta::i0(self()); }
const Tensor& TensorMethods::i0_() const { return aorta::i0_(self()), self(); }
Tensor TensorMethods::digamma() const { return aorta::digamma(self()); }
const Tensor& TensorMethods::digamma_() const { return aorta::digamma_(self()), self(); }
Tensor TensorMethods::polygamma(int64_t n) const { return aorta::polygamma(n, self()); }
const Tensor& TensorMethods::polygamma_(int64_t n) const {
  return aorta::polygamma_(n, self()), self();
}
Tensor TensorMethods::mvlgamma(int64_t p) const { return aorta::mvlgamma(self(), p); }
const Tensor& TensorMethods::mvlgamma_(int64_t p) const {
  return aorta::mvlgamma_(self(), p), self();
}
Frexp TensorMethods::frexp() const { return aorta::frexp(self()); }
Tensor TensorMethods::sigmoid() const { return aorta::sigmoid(self()); }
const Tensor& TensorMethods::sigmoid_() const { return aorta::sigmoid_(self()), self(); }
Tensor TensorMethods::relu() const { return aorta::relu(self()); }
const Tensor& TensorMethods::relu_() const { return aorta::relu_(self()), self(); }
Tensor TensorMethods::logical_not() const { return aorta::logical_not(self()); }
const Tensor& TensorMethods::logical_not_() const { return aorta::logical_not_(self()), self(); }
Tensor TensorMethods::bitwise_not() const { return aorta::bitwise_not(self()); }
const Tensor& TensorMethods::bitwise_not_() const { return aorta::bitwise_not_(self()), self(); }
Tensor TensorMethods::isnan() const { return aorta::isnan(self()); }
Tensor TensorMethods::isinf() const { return aorta::isinf(self()); }
Tensor TensorMethods::isfinite() const { return aorta::isfinite(self()); }
Tensor TensorMethods::isposinf() const { return aorta::isposinf(self()); }
Tensor TensorMethods::isneginf() const { return aorta::isneginf(self()); }
Tensor TensorMethods::signbit() const { return aorta::signbit(self()); }
Tensor TensorMethods::sinc() const { return aorta::sinc(self()); }
const Tensor& TensorMethods::sinc_() const { return aorta::sinc_(self()), self(); }
Tensor TensorMethods::logit(std::optional<double> eps) const { return aorta::logit(self(), eps); }
const Tensor& TensorMethods::logit_(std::optional<double> eps) const {
  return aorta::logit_(self(), eps), self();
}
Tensor TensorMethods::hardshrink(double lambda) const { return aorta::hardshrink(self(), lambda); }
Tensor TensorMethods::prelu(const Operand& weight) const { return aorta::prelu(self(), weight); }
Tensor TensorMethods::clamp_min(const Scalar& min) const { return aorta::clamp_min(self(), min); }
Tensor TensorMethods::clamp_min(const Tensor& min) const { return aorta::clamp_min(self(), min); }
const Tensor& TensorMethods::clamp_min_(const Scalar& min) const {
  return aorta::clamp_min_(self(), min), self();
}
const Tensor& TensorMethods::clamp_min_(const Tensor& min) const {
  return aorta::clamp_min_(self(), min), self();
}
Tensor TensorMethods::clamp_max(const Scalar& max) const { return aorta::clamp_max(self(), max); }
Tensor TensorMethods::clamp_max(const Tensor& max) const { return aorta::clamp_max(self(), max); }
const Tensor& TensorMethods::clamp_max_(const Scalar& max) const {
  return aorta::clamp_max_(self(), max), self();
}
const Tensor& TensorMethods::clamp_max_(const Tensor& max) const {
  return aorta::clamp_max_(self(), max), self();
}
Tensor TensorMethods::clamp(std::optional<Scalar> min, std::optional<Scalar> max) const {
  return aorta::clamp(self(), min, max);
}
Tensor TensorMethods::clamp(const Tensor& min) const { return aorta::clamp(self(), min); }
Tensor TensorMethods::clamp(const Tensor& min, const Tensor& max) const {
  return aorta::clamp(self(), min, max);
}
const Tensor& TensorMethods::clamp_(std::optional<Scalar> min, std::optional<Scalar> max) const {
  return aorta::clamp_(self(), min, max), self();
}
const Tensor& TensorMethods::clamp_(const Tensor& min) const {
  return aorta::clamp_(self(), min), self();
}
const Tensor& TensorMethods::clamp_(const Tensor& min, const Tensor& max) const {
  return aorta::clamp_(self(), min, max), self();
}
Tensor TensorMethods::add(const Operand& other, const Scalar& alpha) const {
  return aorta::add(self(), other, alpha);
}
Tensor TensorMethods::sub(const Operand& other, const Scalar& alpha) const {
  return aorta::sub(self(), other, alpha);
}
const Tensor& TensorMethods::add_(const Operand& other, const Scalar& alpha) const {
  return aorta::add_(self(), other, alpha), self();
}
const Tensor& TensorMethods::sub_(const Operand& other, const Scalar& alpha) const {
  return aorta::sub_(self(), other, alpha), self();
}
Tensor TensorMethods::mul(const Operand& other) const { return aorta::mul(self(), other); }
const Tensor& TensorMethods::mul_(const Operand& other) const {
  return aorta::mul_(self(), other), self();
}
Tensor TensorMethods::div(const Operand& other) const { return aorta::div(self(), other); }
const Tensor& TensorMethods::div_(const Operand& other) const {
  return aorta::div_(self(), other), self();
}
Tensor TensorMethods::div(const Operand& other, const char* rounding_mode) const {
  return aorta::div(self(), other, rounding_mode);
}
const Tensor& TensorMethods::div_(const Operand& other, const char* rounding_mode) const {
  return aorta::div_(self(), other, rounding_mode), self();
}
Tensor TensorMethods::floor_divide(const Operand& other) const {
  return aorta::floor_divide(self(), other);
}
const Tensor& TensorMethods::floor_divide_(const Operand& other) const {
  return aorta::floor_divide_(self(), other), self();
}
Tensor TensorMethods::fmod(const Operand& other) const { return aorta::fmod(self(), other); }
const Tensor& TensorMethods::fmod_(const Operand& other) const {
  return aorta::fmod_(self(), other), self();
}
Tensor TensorMethods::remainder(const Operand& other) const {
  return aorta::remainder(self(), other);
}
const Tensor& TensorMethods::remainder_(const Operand& other) const {
  return aorta::remainder_(self(), other), self();
}
Tensor TensorMethods::pow(const Operand& exponent) const { return aorta::pow(self(), exponent); }
const Tensor& TensorMethods::pow_(const Operand& exponent) const {
  return aorta::pow_(self(), exponent), self();
}
Tensor TensorMethods::float_power(const Operand& exponent) const {
  return aorta::float_power(self(), exponent);
}
const Tensor& TensorMethods::float_power_(const Operand& exponent) const {
  return aorta::float_power_(self(), exponent), self();
}
Tensor TensorMethods::gcd(const Operand& other) const { return aorta::gcd(self(), other); }
const Tensor& TensorMethods::gcd_(const Operand& other) const {
  return aorta::gcd_(self(), other), self();
}
Tensor TensorMethods::lcm(const Operand& other) const { return aorta::lcm(self(), other); }
const Tensor& TensorMethods::lcm_(const Operand& other) const {
  return aorta::lcm_(self(), other), self();
}
Tensor TensorMethods::nextafter(const Operand& other) const {
  return aorta::nextafter(self(), other);
}
const Tensor& TensorMethods::nextafter_(const Operand& other) const {
  return aorta::nextafter_(self(), other), self();
}
Tensor TensorMethods::minimum(const Operand& other) const { return aorta::minimum(self(), other); }
Tensor TensorMethods::maximum(const Operand& other) const { return aorta::maximum(self(), other); }
Tensor TensorMethods::min(const Tensor& other) const { return aorta::min(self(), other); }
Tensor TensorMethods::max(const Tensor& other) const { return aorta::max(self(), other); }
Tensor TensorMethods::atan2(const Operand& other) const { return aorta::atan2(self(), other); }
const Tensor& TensorMethods::atan2_(const Operand& other) const {
  return aorta::atan2_(self(), other), self();
}
Tensor TensorMethods::hypot(const Operand& other) const { return aorta::hypot(self(), other); }
const Tensor& TensorMethods::hypot_(const Operand& other) const {
  return aorta::hypot_(self(), other), self();
}
Tensor TensorMethods::copysign(const Operand& other) const {
  return aorta::copysign(self(), other);
}
const Tensor& TensorMethods::copysign_(const Operand& other) const {
  return aorta::copysign_(self(), other), self();
}
Tensor TensorMethods::heaviside(const Operand& values) const {
  return aorta::heaviside(self(), values);
}
const Tensor& TensorMethods::heaviside_(const Operand& values) const {
  return aorta::heaviside_(self(), values), self();
}
Tensor TensorMethods::ldexp(const Operand& other) const { return aorta::ldexp(self(), other); }
const Tensor& TensorMethods::ldexp_(const Operand& other) const {
  return aorta::ldexp_(self(), other), self();
}
Tensor TensorMethods::igamma(const Operand& other) const { return aorta::igamma(self(), other); }
const Tensor& TensorMethods::igamma_(const Operand& other) const {
  return aorta::igamma_(self(), other), self();
}
Tensor TensorMethods::igammac(const Operand& other) const { return aorta::igammac(self(), other); }
const Tensor& TensorMethods::igammac_(const Operand& other) const {
  return aorta::igammac_(self(), other), self();
}
Tensor TensorMethods::xlogy(const Operand& other) const { return aorta::xlogy(self(), other); }
const Tensor& TensorMethods::xlogy_(const Operand& other) const {
  return aorta::xlogy_(self(), other), self();
}
Tensor TensorMethods::logaddexp(const Operand& other) const {
  return aorta::logaddexp(self(), other);
}
Tensor TensorMethods::logaddexp2(const Operand& other) const {
  return aorta::logaddexp2(self(), other);
}
Tensor TensorMethods::eq(const Operand& other) const { return aorta::eq(self(), other); }
const Tensor& TensorMethods::eq_(const Operand& other) const {
  return aorta::eq_(self(), other), self();
}
Tensor TensorMethods::ne(const Operand& other) const { return aorta::ne(self(), other); }
const Tensor& TensorMethods::ne_(const Operand& other) const {
  return aorta::ne_(self(), other), self();
}
Tensor TensorMethods::lt(const Operand& other) const { return aorta::lt(self(), other); }
const Tensor& TensorMethods::lt_(const Operand& other) const {
  return aorta::lt_(self(), other), self();
}
Tensor TensorMethods::le(const Operand& other) const { return aorta::le(self(), other); }
const Tensor& TensorMethods::le_(const Operand& other) const {
  return aorta::le_(self(), other), self();
}
Tensor TensorMethods::gt(const Operand& other) const { return aorta::gt(self(), other); }
const Tensor& TensorMethods::gt_(const Operand& other) const {
  return aorta::gt_(self(), other), self();
}
Tensor TensorMethods::ge(const Operand& other) const { return aorta::ge(self(), other); }
const Tensor& TensorMethods::ge_(const Operand& other) const {
  return aorta::ge_(self(), other), self();
}
Tensor TensorMethods::logical_and(const Operand& other) const {
  return aorta::logical_and(self(), other);
}
const Tensor& TensorMethods::logical_and_(const Operand& other) const {
  return aorta::logical_and_(self(), other), self();
}
Tensor TensorMethods::logical_or(const Operand& other) const {
  return aorta::logical_or(self(), other);
}
const Tensor& TensorMethods::logical_or_(const Operand& other) const {
  return aorta::logical_or_(self(), other), self();
}
Tensor TensorMethods::logical_xor(const Operand& other) const {
  return aorta::logical_xor(self(), other);
}
const Tensor& TensorMethods::logical_xor_(const Operand& other) const {
  return aorta::logical_xor_(self(), other), self();
}
Tensor TensorMethods::bitwise_and(const Operand& other) const {
  return aorta::bitwise_and(self(), other);
}
const Tensor& TensorMethods::bitwise_and_(const Operand& other) const {
  return aorta::bitwise_and_(self(), other), self();
}
Tensor TensorMethods::bitwise_or(const Operand& other) const {
  return aorta::bitwise_or(self(), other);
}
const Tensor& TensorMethods::bitwise_or_(const Operand& other) const {
  return aorta::bitwise_or_(self(), other), self();
}
Tensor TensorMethods::bitwise_xor(const Operand& other) const {
  return aorta::bitwise_xor(self(), other);
}
const Tensor& TensorMethods::bitwise_xor_(const Operand& other) const {
  return aorta::bitwise_xor_(self(), other), self();
}
Tensor TensorMethods::bitwise_left_shift(const Operand& other) const {
  return aorta::bitwise_left_shift(self(), other);
}
const Tensor& TensorMethods::bitwise_left_shift_(const Operand& other) const {
  return aorta::bitwise_left_shift_(self(), other), self();
}
Tensor TensorMethods::bitwise_right_shift(const Operand& other) const {
  return aorta::bitwise_right_shift(self(), other);
}
const Tensor& TensorMethods::bitwise_right_shift_(const Operand& other) const {
  return aorta::bitwise_right_shift_(self(), other), self();
}
Tensor TensorMethods::where(const Tensor& condition, const Operand& other) const {
  return aorta::where(condition, self(), other);
}
Tensor TensorMethods::lerp(const Tensor& end, const Operand& weight) const {
  return aorta::lerp(self(), end, weight);
}
const Tensor& TensorMethods::lerp_(const Tensor& end, const Operand& weight) const {
  return aorta::lerp_(self(), end, weight), self();
}
Tensor TensorMethods::addcmul(const Tensor& tensor1, const Tensor& tensor2,
                              const Scalar& value) const {
  return aorta::addcmul(self(), tensor1, tensor2, value);
}
const Tensor& TensorMethods::addcmul_(const Tensor& tensor1, const Tensor& tensor2,
                                      const Scalar& value) const {
  return aorta::addcmul_(self(), tensor1, tensor2, value), self();
}
Tensor TensorMethods::addcdiv(const Tensor& tensor1, const Tensor& tensor2,
                              const Scalar& value) const {
  return aorta::addcdiv(self(), tensor1, tensor2, value);
}
const Tensor& TensorMethods::addcdiv_(const Tensor& tensor1, const Tensor& tensor2,
                                      const Scalar& value) const {
  return aorta::addcdiv_(self(), tensor1, tensor2, value), self();
}
Tensor TensorMethods::masked_fill(const Tensor& mask, const Operand& value) const {
  return aorta::masked_fill(self(), mask, value);
}
const Tensor& TensorMethods::masked_fill_(const Tensor& mask, const Operand& value) const {
  return aorta::masked_fill_(self(), mask, value), self();
}

}  // namespace aorta
