#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/tests/onnx/operators.h>

namespace aorta::onnx {
namespace {

constexpr double kUlps = 4e-7;  // a few units in the last place of f32

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Operand&, const Operand&);

template <Unary f>
Operator unary(double relative = 0) {
  return {[](const Case& c) -> Tensors { return {f(c.inputs[0])}; }, relative};
}

template <Binary f>
Operator binary(double relative = 0) {
  return {[](const Case& c) -> Tensors { return {f(c.inputs[0], c.inputs[1])}; }, relative};
}

// Max, Min, Sum of any number of inputs.
template <class F>
Tensor fold(const Case& c, const F& f) {
  Tensor result = c.inputs[0];
  for (size_t i = 1; i < c.inputs.size(); ++i) result = f(result, c.inputs[i]);
  return result;
}

Tensor plus(const Operand& a, const Operand& b) { return add(a, b); }
Tensor minus(const Operand& a, const Operand& b) { return sub(a, b); }

// Integers are cut towards zero.
Tensor quotient(const Case& c) {
  const Tensor &a = c.inputs[0], &b = c.inputs[1];
  if (is_floating(a.dtype())) return div(a, b);
  return div(sub(a, fmod(a, b)), b).to(a.dtype());
}

DType dtype_of_number(int64_t number) {
  switch (number) {
    case 1:
      return f32;
    case 10:
      return f16;
    case 11:
      return f64;
    case 16:
      return bf16;
    default:
      fail("onnx", "a dtype that Aorta has", number);
  }
}

Tensor clip(const Case& c) {
  Tensor x = c.inputs[0];
  if (c.has(1)) x = maximum(x, c.inputs[1]);
  return c.has(2) ? minimum(x, c.inputs[2]) : x;
}

Tensor is_infinite(const Case& c) {
  const Tensor& x = c.inputs[0];
  Tensor result = isinf(x);
  if (!c.integer("detect_negative", 1)) result = logical_and(result, gt(x, 0));
  if (!c.integer("detect_positive", 1)) result = logical_and(result, lt(x, 0));
  return result;
}

// gamma * (x where x > 0, alpha * (e^x - 1) elsewhere).
Tensor scaled_elu(const Case& c) {
  const double alpha = c.number("alpha", 1.67326319217681884765625);
  return mul(elu(c.inputs[0], alpha), c.number("gamma", 1.05070102214813232421875));
}

Tensor hard_sigmoid(const Case& c) {
  return clamp(add(mul(c.inputs[0], c.number("alpha", 0.2)), c.number("beta", 0.5)), 0, 1);
}

}  // namespace

void add_pointwise(Operators& table) {
  table["Abs"] = unary<abs>();
  table["Asin"] = unary<asin>(kUlps);
  table["Asinh"] = unary<asinh>(kUlps);
  table["Atan"] = unary<atan>(kUlps);
  table["Atanh"] = unary<atanh>(kUlps);
  table["BitwiseNot"] = unary<bitwise_not>();
  table["Ceil"] = unary<ceil>();
  table["Erf"] = unary<erf>(kUlps);
  table["Exp"] = unary<exp>(kUlps);
  table["Floor"] = unary<floor>();
  table["IsNaN"] = unary<isnan>();
  table["Log"] = unary<log>(kUlps);
  table["Mish"] = unary<mish>(kUlps);
  table["Neg"] = unary<neg>();
  table["Not"] = unary<logical_not>();
  table["Reciprocal"] = unary<reciprocal>();
  table["Relu"] = unary<relu>();
  table["Round"] = unary<round>();
  table["Sigmoid"] = unary<sigmoid>(kUlps);
  table["Sign"] = unary<sign>();
  table["Sin"] = unary<sin>(kUlps);
  table["Sinh"] = unary<sinh>(kUlps);
  table["Softsign"] = unary<softsign>(kUlps);
  table["Sqrt"] = unary<sqrt>();
  table["Tan"] = unary<tan>(kUlps);
  table["Tanh"] = unary<tanh>(kUlps);

  table["Add"] = binary<plus>();
  table["And"] = binary<logical_and>();
  table["BitwiseAnd"] = binary<bitwise_and>();
  table["BitwiseOr"] = binary<bitwise_or>();
  table["Equal"] = binary<eq>();
  table["Greater"] = binary<gt>();
  table["GreaterOrEqual"] = binary<ge>();
  table["Less"] = binary<lt>();
  table["LessOrEqual"] = binary<le>();
  table["Mul"] = binary<mul>();
  table["Or"] = binary<logical_or>();
  table["PRelu"] = binary<prelu>();
  table["Sub"] = binary<minus>();
  table["Xor"] = binary<logical_xor>();
  table["Div"] = {[](const Case& c) -> Tensors { return {quotient(c)}; }};
  // The result has the base's dtype.
  table["Pow"] = {[](const Case& c) -> Tensors {
                    return {pow(c.inputs[0].to(f64), c.inputs[1]).to(c.inputs[0].dtype())};
                  },
                  kUlps};
  table["Mod"] = {[](const Case& c) -> Tensors {
    return {c.integer("fmod", 0) ? fmod(c.inputs[0], c.inputs[1])
                                 : remainder(c.inputs[0], c.inputs[1])};
  }};
  table["Max"] = {[](const Case& c) -> Tensors { return {fold(c, maximum)}; }};
  table["Min"] = {[](const Case& c) -> Tensors { return {fold(c, minimum)}; }};
  table["Sum"] = {[](const Case& c) -> Tensors { return {fold(c, plus)}; }, kUlps};
  table["Mean"] = {[](const Case& c) -> Tensors {
                     return {div(fold(c, plus), static_cast<double>(c.inputs.size()))};
                   },
                   kUlps};

  table["Cast"] = {[](const Case& c) -> Tensors {
    return {c.inputs[0].to(dtype_of_number(c.integer("to", 1)))};
  }};
  table["Clip"] = {[](const Case& c) -> Tensors { return {clip(c)}; }};
  table["Celu"] = {
      [](const Case& c) -> Tensors { return {celu(c.inputs[0], c.number("alpha", 1))}; }, kUlps};
  table["Gelu"] = {[](const Case& c) -> Tensors {
                     return {gelu(c.inputs[0], c.text("approximate", "none") == "tanh"
                                                   ? GeluApproximation::tanh
                                                   : GeluApproximation::none)};
                   },
                   1e-6, 1e-7};
  table["HardSigmoid"] = {[](const Case& c) -> Tensors { return {hard_sigmoid(c)}; }, kUlps, 1e-7};
  table["IsInf"] = {[](const Case& c) -> Tensors { return {is_infinite(c)}; }};
  table["LeakyRelu"] = {
      [](const Case& c) -> Tensors { return {leaky_relu(c.inputs[0], c.number("alpha", 0.01))}; },
      kUlps};
  table["Selu"] = {[](const Case& c) -> Tensors { return {scaled_elu(c)}; }, 1e-6, 2e-7};
}

}  // namespace aorta::onnx
