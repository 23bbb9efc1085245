#include <aorta/core/ops/pointwise.h>

#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/onnx/operators.h>

#include <cstring>
#include <limits>

namespace aorta::onnx {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Operand&, const Operand&);

template <Unary f>
Operator unary() {
  return {[](const Node&) -> Run { return [](const Inputs& x) -> Tensors { return {f(x[0])}; }; }};
}

template <Binary f>
Operator binary() {
  return {
      [](const Node&) -> Run { return [](const Inputs& x) -> Tensors { return {f(x[0], x[1])}; }; },
      2, 2};
}

Tensor plus(const Operand& a, const Operand& b) { return add(a, b); }
Tensor minus(const Operand& a, const Operand& b) { return sub(a, b); }

// Max, Min, Sum of any number of inputs.
template <Binary f>
Tensor fold(const Inputs& x) {
  Tensor result = x[0];
  for (size_t i = 1; i < x.size(); ++i) result = f(result, x[i]);
  return result;
}

template <Binary f>
Operator folded() {
  return {
      [](const Node&) -> Run { return [](const Inputs& x) -> Tensors { return {fold<f>(x)}; }; }, 1,
      kAnyNumber};
}

// f(x, number) with the number of an attribute.
template <Tensor (*f)(const Tensor&, double)>
Run with_number(const Node& node, const char* attribute, double otherwise) {
  const double number = node.number(attribute, otherwise);
  return [number](const Inputs& x) -> Tensors { return {f(x[0], number)}; };
}

// Integers are cut towards zero.
Tensors quotient(const Inputs& x) {
  const Tensor &a = x[0], &b = x[1];
  if (is_floating(a.dtype())) return {div(a, b)};
  return {floor_divide(sub(a, fmod(a, b)), b)};
}

// The result has the base's dtype.
Tensors power(const Inputs& x) {
  const Tensor &base = x[0], &exponent = x[1];
  if (base.dtype() == exponent.dtype() || !is_floating(exponent.dtype()))
    return {pow(base, exponent.to(base.dtype()))};
  return {pow(base.to(f64), exponent.to(f64)).to(base.dtype())};
}

Run modulo(const Node& node) {
  const bool truncated = node.flag("fmod", false);
  return [truncated](const Inputs& x) -> Tensors {
    return {truncated ? fmod(x[0], x[1]) : remainder(x[0], x[1])};
  };
}

Tensors average(const Inputs& x) {
  Tensor total = summable(x[0]);
  for (size_t i = 1; i < x.size(); ++i) total = add(total, x[i]);
  return {div(total, static_cast<double>(x.size())).to(x[0].dtype())};
}

Run shift(const Node& node) {
  const bool left = node.choice("direction", {"", "LEFT", "RIGHT"}) == 1;
  node.check(node.has("direction"), "attribute direction must be given", "none");
  return [left](const Inputs& x) -> Tensors {
    return {left ? bitwise_left_shift(x[0], x[1]) : bitwise_right_shift(x[0], x[1])};
  };
}

// A vector of slopes belongs to the last dimension, as in NumPy: prelu's belongs to the channels.
Tensor sloped(const Operand& x, const Operand& slope) {
  const bool along_last = x.tensor->dim() > 1 && slope.tensor->dim() == 1;
  return prelu(x, along_last ? slope.tensor->unsqueeze(0) : *slope.tensor);
}

// Where the bounds cross, the upper one.
Run clip(const Node& node) {
  if (node.opset() >= 11) {
    return [](const Inputs& x) -> Tensors {
      Tensor y = x[0];
      if (x.has(1)) y = clamp_min(y, x[1]);
      if (x.has(2)) y = clamp_max(y, x[2]);
      return {y};
    };
  }
  const double least = std::numeric_limits<float>::lowest();
  const double min = node.number("min", least), max = node.number("max", -least);
  return [=](const Inputs& x) -> Tensors { return {clamp_max(clamp_min(x[0], min), max)}; };
}

// Attributes of a cast that matter to dtypes of 8 bits alone, which Aorta has not.
void pass_rounding(const Node& node) {
  node.integer("saturate", 1);
  node.text("round_mode", "up");
}

Run cast(const Node& node) {
  const std::optional<DType> dtype = node.dtype("to");
  node.check(dtype.has_value(), "attribute to must be given", "none");
  pass_rounding(node);
  return [to = *dtype](const Inputs& x) -> Tensors { return {x[0].to(to)}; };
}

Run cast_like(const Node& node) {
  pass_rounding(node);
  return [](const Inputs& x) -> Tensors { return {x[0].to(x[1].dtype())}; };
}

Run is_infinite(const Node& node) {
  const bool negative = node.flag("detect_negative", true);
  const bool positive = node.flag("detect_positive", true);
  return [=](const Inputs& x) -> Tensors {
    Tensor result = isinf(x[0]);
    if (!negative) result = logical_and(result, gt(x[0], 0));
    if (!positive) result = logical_and(result, lt(x[0], 0));
    return {result};
  };
}

// gamma * (x where x > 0, alpha * (e^x - 1) elsewhere).
Run scaled_elu(const Node& node) {
  const double alpha = node.number("alpha", 1.67326319217681884765625);
  const double gamma = node.number("gamma", 1.05070102214813232421875);
  return [=](const Inputs& x) -> Tensors { return {mul(elu(x[0], alpha), gamma)}; };
}

Run hard_sigmoid(const Node& node) {
  const double alpha = node.number("alpha", 0.2), beta = node.number("beta", 0.5);
  return [=](const Inputs& x) -> Tensors { return {clamp(add(mul(x[0], alpha), beta), 0, 1)}; };
}

Run gelu_of(const Node& node) {
  const auto approximation = node.choice("approximate", {"none", "tanh"}) == 1
                                 ? GeluApproximation::tanh
                                 : GeluApproximation::none;
  return [=](const Inputs& x) -> Tensors { return {gelu(x[0], approximation)}; };
}

// x + bias below -lambd, x - bias above lambd, 0 between.
Run shrink(const Node& node) {
  const double bias = node.number("bias", 0), lambd = node.number("lambd", 0.5);
  return [=](const Inputs& x) -> Tensors {
    const Tensor zero = zeros_like(x[0]);
    const Tensor low = where(lt(x[0], -lambd), add(x[0], bias).to(x[0].dtype()), zero);
    return {where(gt(x[0], lambd), sub(x[0], bias).to(x[0].dtype()), low)};
  };
}

// The bits as those of another dtype of the same size; there is no gradient.
Run bit_cast(const Node& node) {
  const std::optional<DType> dtype = node.dtype("to");
  node.check(dtype.has_value(), "attribute to must be given", "none");
  return [=](const Inputs& x) -> Tensors {
    check(item_size(x[0].dtype()) == item_size(*dtype) && *dtype != boolean, "BitCast",
          "dtypes must be of one size, and not to bool", x[0].dtype(), " to ", *dtype);
    const Tensor from = x[0].detach().cpu().contiguous();
    Tensor y = zeros(from.shape(), {.dtype = *dtype});
    if (from.numel() > 0) std::memcpy(y.data(), from.data(), static_cast<size_t>(from.nbytes()));
    return {y.to(x[0].device())};
  };
}

Tensor leaky(const Tensor& x, double slope) { return leaky_relu(x, slope); }
Tensor elu_of(const Tensor& x, double alpha) { return elu(x, alpha); }
Tensor celu_of(const Tensor& x, double alpha) { return celu(x, alpha); }
Tensor above(const Tensor& x, double limit) { return threshold(x, limit, 0); }
Tensor swish(const Tensor& x, double alpha) { return mul(x, sigmoid(mul(x, alpha))); }
// Everywhere, not only up to a threshold.
Tensor soft_plus(const Tensor& x) { return logaddexp(x, zeros_like(x)); }

}  // namespace

void add_pointwise(Operators& table) {
  table["Abs"] = unary<abs>();
  table["Acos"] = unary<acos>();
  table["Acosh"] = unary<acosh>();
  table["Asin"] = unary<asin>();
  table["Asinh"] = unary<asinh>();
  table["Atan"] = unary<atan>();
  table["Atanh"] = unary<atanh>();
  table["BitwiseNot"] = unary<bitwise_not>();
  table["Ceil"] = unary<ceil>();
  table["Cos"] = unary<cos>();
  table["Cosh"] = unary<cosh>();
  table["Erf"] = unary<erf>();
  table["Exp"] = unary<exp>();
  table["Floor"] = unary<floor>();
  table["HardSwish"] = unary<hardswish>();
  table["IsNaN"] = unary<isnan>();
  table["Log"] = unary<log>();
  table["Mish"] = unary<mish>();
  table["Neg"] = unary<neg>();
  table["Not"] = unary<logical_not>();
  table["Reciprocal"] = unary<reciprocal>();
  table["Relu"] = unary<relu>();
  table["Round"] = unary<round>();
  table["Sigmoid"] = unary<sigmoid>();
  table["Sign"] = unary<sign>();
  table["Sin"] = unary<sin>();
  table["Sinh"] = unary<sinh>();
  table["Softplus"] = unary<soft_plus>();
  table["Softsign"] = unary<softsign>();
  table["Sqrt"] = unary<sqrt>();
  table["Tan"] = unary<tan>();
  table["Tanh"] = unary<tanh>();
  table["Identity"] = {
      [](const Node&) -> Run { return [](const Inputs& x) -> Values { return {x.value(0)}; }; }};

  table["Add"] = binary<plus>();
  table["And"] = binary<logical_and>();
  table["BitwiseAnd"] = binary<bitwise_and>();
  table["BitwiseOr"] = binary<bitwise_or>();
  table["BitwiseXor"] = binary<bitwise_xor>();
  table["Equal"] = binary<eq>();
  table["Greater"] = binary<gt>();
  table["GreaterOrEqual"] = binary<ge>();
  table["Less"] = binary<lt>();
  table["LessOrEqual"] = binary<le>();
  table["Mul"] = binary<mul>();
  table["Or"] = binary<logical_or>();
  table["PRelu"] = binary<sloped>();
  table["Sub"] = binary<minus>();
  table["Xor"] = binary<logical_xor>();
  table["Div"] = {[](const Node&) -> Run { return quotient; }, 2, 2};
  table["Pow"] = {[](const Node&) -> Run { return power; }, 2, 2, 1, {1}};
  table["Mod"] = {modulo, 2, 2};
  table["BitShift"] = {shift, 2, 2};
  table["Where"] = {[](const Node&) -> Run {
                      return [](const Inputs& x) -> Tensors { return {where(x[0], x[1], x[2])}; };
                    },
                    3, 3};
  table["Max"] = folded<maximum>();
  table["Min"] = folded<minimum>();
  table["Sum"] = folded<plus>();
  table["Mean"] = {[](const Node&) -> Run { return average; }, 1, kAnyNumber};

  table["BitCast"] = {bit_cast};
  table["Cast"] = {cast};
  table["CastLike"] = {cast_like, 2, 2};
  table["Clip"] = {clip, 1, 3, 1, {1, 2}};
  table["Celu"] = {[](const Node& node) { return with_number<celu_of>(node, "alpha", 1); }};
  table["Elu"] = {[](const Node& node) { return with_number<elu_of>(node, "alpha", 1); }};
  table["LeakyRelu"] = {[](const Node& node) { return with_number<leaky>(node, "alpha", 0.01); }};
  table["Swish"] = {[](const Node& node) { return with_number<swish>(node, "alpha", 1); }};
  table["ThresholdedRelu"] = {
      [](const Node& node) { return with_number<above>(node, "alpha", 1); }};
  table["Gelu"] = {gelu_of};
  table["HardSigmoid"] = {hard_sigmoid};
  table["IsInf"] = {is_infinite};
  table["Selu"] = {scaled_elu};
  table["Shrink"] = {shrink};
}

}  // namespace aorta::onnx
