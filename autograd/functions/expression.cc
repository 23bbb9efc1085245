// Out of line, or each formula of a hundred would hold all of it again.
#include <aorta/autograd/functions/expression.h>

namespace aorta::autograd {

Expression operator+(const Expression& a, const Expression& b) {
  return Expression(add(a.operand(), b.operand()));
}
Expression operator-(const Expression& a, const Expression& b) {
  return Expression(sub(a.operand(), b.operand()));
}
Expression operator*(const Expression& a, const Expression& b) {
  return Expression(mul(a.operand(), b.operand()));
}
Expression operator/(const Expression& a, const Expression& b) {
  return Expression(div(a.operand(), b.operand()));
}
Expression operator-(const Expression& a) { return Expression(neg(a.tensor())); }
Expression abs(const Expression& x) { return Expression(aorta::abs(x.tensor())); }
Expression rsqrt(const Expression& x) { return Expression(aorta::rsqrt(x.tensor())); }
Expression exp(const Expression& x) { return Expression(aorta::exp(x.tensor())); }
Expression sin(const Expression& x) { return Expression(aorta::sin(x.tensor())); }
Expression cos(const Expression& x) { return Expression(aorta::cos(x.tensor())); }
Expression sinh(const Expression& x) { return Expression(aorta::sinh(x.tensor())); }
Expression cosh(const Expression& x) { return Expression(aorta::cosh(x.tensor())); }
Expression tanh(const Expression& x) { return Expression(aorta::tanh(x.tensor())); }
Expression sigmoid(const Expression& x) { return Expression(aorta::sigmoid(x.tensor())); }
Expression erfc(const Expression& x) { return Expression(aorta::erfc(x.tensor())); }
Expression erfcx(const Expression& x) { return Expression(aorta::erfcx(x.tensor())); }
Expression i0(const Expression& x) { return Expression(aorta::i0(x.tensor())); }
Expression i0e(const Expression& x) { return Expression(aorta::i0e(x.tensor())); }
Expression i1(const Expression& x) { return Expression(aorta::i1(x.tensor())); }
Expression i1e(const Expression& x) { return Expression(aorta::i1e(x.tensor())); }
Expression mantissa_of(const Expression& x) { return Expression(frexp(x.tensor()).mantissa); }
Expression digamma(const Expression& x) { return Expression(aorta::digamma(x.tensor())); }
Expression polygamma(int n, const Expression& x) {
  return Expression(aorta::polygamma(n, x.tensor()));
}
Expression minimum(const Expression& a, const Expression& b) {
  return Expression(aorta::minimum(a.operand(), b.operand()));
}
Condition operator<(const Expression& a, const Expression& b) {
  return {lt(a.operand(), b.operand())};
}
Condition operator<=(const Expression& a, const Expression& b) {
  return {le(a.operand(), b.operand())};
}
Condition operator>(const Expression& a, const Expression& b) {
  return {gt(a.operand(), b.operand())};
}
Condition operator>=(const Expression& a, const Expression& b) {
  return {ge(a.operand(), b.operand())};
}
Condition operator&(const Condition& a, const Condition& b) {
  return {logical_and(a.tensor, b.tensor)};
}
Condition operator|(const Condition& a, const Condition& b) {
  return {logical_or(a.tensor, b.tensor)};
}
Expression select(const Condition& condition, const Expression& a, const Expression& b) {
  return Expression(where(condition.tensor, a.operand(), b.operand()));
}

}  // namespace aorta::autograd
