#pragma once

#include <aorta/core/ops/pointwise.h>

namespace aorta::autograd {

/// The type T in which a functor's gradient formula (core/scalar/gradient.h) builds differentiable
/// ops instead of computing a number: a tensor, or a constant of the formula.
class Expression {
 public:
  explicit Expression(Tensor tensor) : tensor_(std::move(tensor)) {}
  explicit Expression(double number) : number_(number) {}

  bool is_number() const { return !tensor_.defined(); }
  const Tensor& tensor() const { return tensor_; }
  Operand operand() const { return is_number() ? Operand(number_) : Operand(tensor_); }

 private:
  Tensor tensor_;
  Scalar number_ = 0;
};

/// A truth value an element.
struct Condition {
  Tensor tensor;
};

inline Expression operator+(const Expression& a, const Expression& b) {
  return Expression(add(a.operand(), b.operand()));
}
inline Expression operator-(const Expression& a, const Expression& b) {
  return Expression(sub(a.operand(), b.operand()));
}
inline Expression operator*(const Expression& a, const Expression& b) {
  return Expression(mul(a.operand(), b.operand()));
}
inline Expression operator/(const Expression& a, const Expression& b) {
  return Expression(div(a.operand(), b.operand()));
}
inline Expression operator-(const Expression& a) { return Expression(neg(a.tensor())); }
inline Expression abs(const Expression& x) { return Expression(aorta::abs(x.tensor())); }
inline Expression rsqrt(const Expression& x) { return Expression(aorta::rsqrt(x.tensor())); }
inline Expression exp(const Expression& x) { return Expression(aorta::exp(x.tensor())); }
inline Expression sin(const Expression& x) { return Expression(aorta::sin(x.tensor())); }
inline Expression cos(const Expression& x) { return Expression(aorta::cos(x.tensor())); }
inline Expression sinh(const Expression& x) { return Expression(aorta::sinh(x.tensor())); }
inline Expression cosh(const Expression& x) { return Expression(aorta::cosh(x.tensor())); }
inline Expression tanh(const Expression& x) { return Expression(aorta::tanh(x.tensor())); }
inline Expression sigmoid(const Expression& x) { return Expression(aorta::sigmoid(x.tensor())); }
inline Expression erfc(const Expression& x) { return Expression(aorta::erfc(x.tensor())); }
inline Expression minimum(const Expression& a, const Expression& b) {
  return Expression(aorta::minimum(a.operand(), b.operand()));
}
inline Condition operator<(const Expression& a, const Expression& b) {
  return {lt(a.operand(), b.operand())};
}
inline Condition operator<=(const Expression& a, const Expression& b) {
  return {le(a.operand(), b.operand())};
}
inline Condition operator>(const Expression& a, const Expression& b) {
  return {gt(a.operand(), b.operand())};
}
inline Condition operator>=(const Expression& a, const Expression& b) {
  return {ge(a.operand(), b.operand())};
}
inline Condition operator&(const Condition& a, const Condition& b) {
  return {logical_and(a.tensor, b.tensor)};
}
inline Condition operator|(const Condition& a, const Condition& b) {
  return {logical_or(a.tensor, b.tensor)};
}
inline Expression select(const Condition& condition, const Expression& a, const Expression& b) {
  return Expression(where(condition.tensor, a.operand(), b.operand()));
}

}  // namespace aorta::autograd
