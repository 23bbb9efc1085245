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

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator-(const Expression& a);
Expression abs(const Expression& x);
Expression rsqrt(const Expression& x);
Expression exp(const Expression& x);
Expression sin(const Expression& x);
Expression cos(const Expression& x);
Expression sinh(const Expression& x);
Expression cosh(const Expression& x);
Expression tanh(const Expression& x);
Expression sigmoid(const Expression& x);
Expression erfc(const Expression& x);
Expression erfcx(const Expression& x);
Expression i0(const Expression& x);
Expression i0e(const Expression& x);
Expression i1(const Expression& x);
Expression i1e(const Expression& x);
Expression mantissa_of(const Expression& x);
Expression digamma(const Expression& x);
Expression polygamma(int n, const Expression& x);
Expression minimum(const Expression& a, const Expression& b);
Condition operator<(const Expression& a, const Expression& b);
Condition operator<=(const Expression& a, const Expression& b);
Condition operator>(const Expression& a, const Expression& b);
Condition operator>=(const Expression& a, const Expression& b);
Condition operator&(const Condition& a, const Condition& b);
Condition operator|(const Condition& a, const Condition& b);
Expression select(const Condition& condition, const Expression& a, const Expression& b);

}  // namespace aorta::autograd
