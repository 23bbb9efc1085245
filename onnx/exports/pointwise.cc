#include <aorta/core/scalar/op_list.h>
#include <aorta/onnx/export_call.h>

#include <cmath>

// Pointwise ops of one tensor.
namespace aorta::onnx {
namespace {

using scalar::Number;

// The input in the dtype of the result.
std::string x_of(const ExportCall& call) { return call.operand(0, call.output().dtype()); }

std::string number(const ExportCall& call, const Scalar& value) {
  return call.number(value, call.output().dtype());
}
std::string bound(const ExportCall& call, const Number& value) {
  if (is_floating(call.output().dtype())) return number(call, value.to<double>());
  return number(call, value.to<int64_t>());
}

// log(1 + exp(x)) and its kin.
std::string softplus(const ExportCall& call, const std::string& x) {
  return call.node("Softplus", {x});
}

// What has an ONNX operator of the same meaning, by its name.
const std::map<std::string, const char*>& same_operators() {
  static const std::map<std::string, const char*> table{
      {"neg", "Neg"},           {"abs", "Abs"},
      {"sign", "Sign"},         {"reciprocal", "Reciprocal"},
      {"floor", "Floor"},       {"ceil", "Ceil"},
      {"round", "Round"},       {"sqrt", "Sqrt"},
      {"exp", "Exp"},           {"log", "Log"},
      {"sin", "Sin"},           {"cos", "Cos"},
      {"tan", "Tan"},           {"asin", "Asin"},
      {"acos", "Acos"},         {"atan", "Atan"},
      {"sinh", "Sinh"},         {"cosh", "Cosh"},
      {"tanh", "Tanh"},         {"asinh", "Asinh"},
      {"acosh", "Acosh"},       {"atanh", "Atanh"},
      {"erf", "Erf"},           {"sigmoid", "Sigmoid"},
      {"relu", "Relu"},         {"mish", "Mish"},
      {"softsign", "Softsign"}, {"hardswish", "HardSwish"}};
  return table;
}

Names same(const ExportCall& call) {
  return {call.node(same_operators().at(call.op()), {x_of(call)})};
}
// ONNX rounds floating values alone.
Names rounding(const ExportCall& call) {
  return is_floating(call.output().dtype()) ? same(call) : Names{x_of(call)};
}

Names square(const ExportCall& call) {
  const std::string x = x_of(call);
  return {call.node("Mul", {x, x})};
}
Names trunc(const ExportCall& call) {
  const std::string x = x_of(call);
  if (!is_floating(call.output().dtype())) return {x};
  const std::string size = call.node("Floor", {call.node("Abs", {x})});
  return {call.node("Mul", {call.node("Sign", {x}), size})};
}
Names frac(const ExportCall& call) { return {call.node("Sub", {x_of(call), trunc(call)[0]})}; }
Names rsqrt(const ExportCall& call) {
  return {call.node("Reciprocal", {call.node("Sqrt", {x_of(call)})})};
}
Names exp2(const ExportCall& call) { return {call.node("Pow", {number(call, 2.0), x_of(call)})}; }
Names expm1(const ExportCall& call) {
  return {call.node("Sub", {call.node("Exp", {x_of(call)}), number(call, 1.0)})};
}
Names log1p(const ExportCall& call) {
  return {call.node("Log", {call.node("Add", {x_of(call), number(call, 1.0)})})};
}
Names log_of_base(const ExportCall& call, double base) {
  return {call.node("Mul", {call.node("Log", {x_of(call)}), number(call, 1 / std::log(base))})};
}
Names log2(const ExportCall& call) { return log_of_base(call, 2); }
Names log10(const ExportCall& call) { return log_of_base(call, 10); }
Names erfc(const ExportCall& call) {
  return {call.node("Sub", {number(call, 1.0), call.node("Erf", {x_of(call)})})};
}
Names logit(const ExportCall& call) {
  const double eps = call.functor<scalar::Logit>().eps;
  std::string x = x_of(call);
  if (eps >= 0) x = call.node("Clip", {x, number(call, eps), number(call, 1 - eps)});
  const std::string rest = call.node("Sub", {number(call, 1.0), x});
  return {call.node("Log", {call.node("Div", {x, rest})})};
}

Names sinc(const ExportCall& call) {
  const std::string x = x_of(call), angle = call.node("Mul", {x, number(call, M_PI)});
  const std::string ratio = call.node("Div", {call.node("Sin", {angle}), angle});
  return {
      call.node("Where", {call.node("Equal", {x, number(call, 0.0)}), number(call, 1.0), ratio})};
}

Names clamp(const ExportCall& call) {
  const auto& f = call.functor<scalar::Clamp>();
  return {call.node("Clip", {x_of(call), bound(call, f.min), bound(call, f.max)})};
}
Names clamp_min(const ExportCall& call) {
  return {call.node("Clip", {x_of(call), bound(call, call.functor<scalar::ClampMin>().min)})};
}
Names clamp_max(const ExportCall& call) {
  return {call.node("Clip", {x_of(call), "", bound(call, call.functor<scalar::ClampMax>().max)})};
}
Names relu6(const ExportCall& call) {
  return {call.node("Clip", {x_of(call), number(call, 0), number(call, 6)})};
}
Names hardtanh(const ExportCall& call) {
  const auto& f = call.functor<scalar::Hardtanh>();
  return {call.node("Clip", {x_of(call), bound(call, f.min), bound(call, f.max)})};
}
// Attributes are f32: a number of f64 that isn't is a constant.
bool is_attribute(const ExportCall& call, double value) {
  return call.output().dtype() != f64 || static_cast<double>(static_cast<float>(value)) == value;
}
Names leaky_relu(const ExportCall& call) {
  const double slope = call.functor<scalar::LeakyRelu>().negative_slope;
  if (!is_attribute(call, slope)) return {call.node("PRelu", {x_of(call), number(call, slope)})};
  return {call.node("LeakyRelu", {x_of(call)}, {attribute("alpha", slope)})};
}
std::string elu(const ExportCall& call, const std::string& x, double alpha) {
  if (is_attribute(call, alpha)) return call.node("Elu", {x}, {attribute("alpha", alpha)});
  const std::string scaled = call.node("Mul", {call.node("Elu", {x}), number(call, alpha)});
  return call.node("Where", {call.node("Greater", {x, number(call, 0.0)}), x, scaled});
}
Names elu(const ExportCall& call) {
  return {elu(call, x_of(call), call.functor<scalar::Elu>().alpha)};
}
Names selu(const ExportCall& call) {
  constexpr double alpha = 1.6732632423543772848, scale = 1.0507009873554804934;
  const std::string x = x_of(call);
  if (is_attribute(call, alpha)) return {call.node("Selu", {x})};
  return {call.node("Mul", {elu(call, x, alpha), number(call, scale)})};
}
// alpha * elu(x / alpha), for Celu is of f32 alone.
Names celu(const ExportCall& call) {
  const std::string alpha = call.number(call.functor<scalar::Celu>().alpha, call.computed_dtype());
  const std::string value = call.node("Elu", {call.node("Div", {call.computed(0), alpha})});
  return {call.rounded(call.node("Mul", {value, alpha}))};
}
Names gelu(const ExportCall& call) {
  const DType dtype = call.computed_dtype();
  const std::string x = call.computed(0);
  const std::string erf = call.node("Erf", {call.node("Mul", {x, call.number(M_SQRT1_2, dtype)})});
  const std::string both = call.node("Add", {erf, call.number(1.0, dtype)});
  const std::string half = call.node("Mul", {x, call.number(0.5, dtype)});
  return {call.rounded(call.node("Mul", {half, both}))};
}
Names gelu_tanh(const ExportCall& call) {
  const DType dtype = call.computed_dtype();
  const std::string x = call.computed(0);
  const std::string cube = call.node("Mul", {call.node("Mul", {x, x}), x});
  const std::string rest = call.node("Mul", {cube, call.number(0.044715, dtype)});
  const std::string inner = call.node("Add", {x, rest});
  const std::string twice = call.node("Mul", {inner, call.number(2 * std::sqrt(2 / M_PI), dtype)});
  return {call.rounded(call.node("Mul", {x, call.node("Sigmoid", {twice})}))};
}
Names silu(const ExportCall& call) {
  const std::string x = x_of(call);
  return {call.node("Mul", {x, call.node("Sigmoid", {x})})};
}
// Above the threshold x itself; from 20 on f32 has no difference.
Names softplus(const ExportCall& call) {
  const auto& f = call.functor<scalar::Softplus>();
  const std::string x = x_of(call);
  if (f.beta == 1 && f.threshold >= 20) return {softplus(call, x)};
  const std::string beta = number(call, f.beta), scaled = call.node("Mul", {x, beta});
  const std::string value = call.node("Div", {softplus(call, scaled), beta});
  const std::string above = call.node("Greater", {scaled, number(call, f.threshold)});
  return {call.node("Where", {above, x, value})};
}
Names logsigmoid(const ExportCall& call) {
  return {call.node("Neg", {softplus(call, call.node("Neg", {x_of(call)}))})};
}
Names hardsigmoid(const ExportCall& call) {
  const std::string x = x_of(call);
  if (is_attribute(call, 1.0 / 6))
    return {call.node("HardSigmoid", {x}, {attribute("alpha", 1.0 / 6), attribute("beta", 0.5)})};
  const std::string scaled = call.node("Mul", {x, number(call, 1.0 / 6)});
  const std::string moved = call.node("Add", {scaled, number(call, 0.5)});
  return {call.node("Clip", {moved, number(call, 0.0), number(call, 1.0)})};
}
Names threshold(const ExportCall& call) {
  const auto& f = call.functor<scalar::Threshold>();
  const std::string x = x_of(call);
  const std::string below = call.node("LessOrEqual", {x, bound(call, f.threshold)});
  return {call.node("Where", {below, bound(call, f.value), x})};
}
// A Shrink of NaN would be 0.
Names hardshrink(const ExportCall& call) {
  const DType dtype = call.computed_dtype();
  const std::string x = call.computed(0);
  const std::string lambda = call.number(call.functor<scalar::Hardshrink>().lambd, dtype);
  const std::string is_small = call.node("LessOrEqual", {call.node("Abs", {x}), lambda});
  return {call.rounded(call.node("Where", {is_small, call.number(0.0, dtype), x}))};
}
Names softshrink(const ExportCall& call) {
  const DType dtype = call.computed_dtype();
  const std::string x = call.computed(0);
  const double lambda = call.functor<scalar::Softshrink>().lambd;
  const Names clip{x, call.number(-lambda, dtype), call.number(lambda, dtype)};
  return {call.rounded(call.node("Sub", {x, call.node("Clip", clip)}))};
}
Names tanhshrink(const ExportCall& call) {
  const std::string x = x_of(call);
  return {call.node("Sub", {x, call.node("Tanh", {x})})};
}

// |x| = mantissa 2^exponent by products with powers of 2, which are exact: of a halving series of
// k, 2^-k where the mantissa is at least 2^(k - 1), and then 2^k where it is below 2^-k. What is 0,
// infinite or NaN ends outside of [1/2, 1).
struct MantissaExponent {
  std::string mantissa, exponent, is_there;
};
MantissaExponent parts_of(const ExportCall& call) {
  const DType dtype = call.computed_dtype();
  std::string m = call.node("Abs", {call.computed(0)}), e = call.number(0, dtype);
  const auto step = [&](const char* comparison, double bound, double factor, double exponent) {
    const std::string goes = call.node(comparison, {m, call.number(bound, dtype)});
    const std::string by =
        call.node("Where", {goes, call.number(factor, dtype), call.number(1, dtype)});
    const std::string more =
        call.node("Where", {goes, call.number(exponent, dtype), call.number(0, dtype)});
    m = call.node("Mul", {m, by});
    e = call.node("Add", {e, more});
  };
  const int largest = dtype == DType::f64 ? 512 : 64;  // subnormal numbers need it twice
  for (int k = largest; k > 0; k /= 2)
    step("GreaterOrEqual", std::ldexp(1, k - 1), std::ldexp(1, -k), k);
  step("GreaterOrEqual", 1, 0.5, 1);
  step("Less", std::ldexp(1, -largest), std::ldexp(1, largest), -largest);
  for (int k = largest; k > 0; k /= 2) step("Less", std::ldexp(1, -k), std::ldexp(1, k), -k);
  const std::string large = call.node("GreaterOrEqual", {m, call.number(0.5, dtype)});
  return {m, e, call.node("And", {large, call.node("Less", {m, call.number(1, dtype)})})};
}
Names frexp(const ExportCall& call) {
  const MantissaExponent parts = parts_of(call);
  const std::string x = call.computed(0), zero = call.number(0, call.computed_dtype());
  const std::string is_negative = call.node("Less", {x, zero});
  const std::string signed_one =
      call.node("Where", {is_negative, call.node("Neg", {parts.mantissa}), parts.mantissa});
  return {call.rounded(call.node("Where", {parts.is_there, signed_one, x}))};
}
Names frexp_exponent(const ExportCall& call) {
  const MantissaExponent parts = parts_of(call);
  const std::string zero = call.number(0, call.computed_dtype());
  return {call.rounded(call.node("Where", {parts.is_there, parts.exponent, zero}))};
}

// ---- To bool. ONNX's take floating inputs alone.

Names isnan(const ExportCall& call) {
  call.check(is_floating(call.input(0).dtype()), "dtype must be floating", call.input(0).dtype());
  return {call.node("IsNaN", {call[0]})};
}
Names isinf(const ExportCall& call) {
  call.check(is_floating(call.input(0).dtype()), "dtype must be floating", call.input(0).dtype());
  return {call.node("IsInf", {call[0]})};
}
Names isposinf(const ExportCall& call) {
  call.check(is_floating(call.input(0).dtype()), "dtype must be floating", call.input(0).dtype());
  return {call.node("IsInf", {call[0]}, {attribute("detect_negative", 0)})};
}
Names isneginf(const ExportCall& call) {
  call.check(is_floating(call.input(0).dtype()), "dtype must be floating", call.input(0).dtype());
  return {call.node("IsInf", {call[0]}, {attribute("detect_positive", 0)})};
}
Names signbit(const ExportCall& call) { return {sign_bit(call, call[0], call.input(0).dtype())}; }
Names isfinite(const ExportCall& call) {
  return {call.node("Not", {call.node("Or", {isnan(call)[0], isinf(call)[0]})})};
}
Names logical_not(const ExportCall& call) {
  return {call.node("Not", {call.operand(0, DType::boolean)})};
}
Names bitwise_not(const ExportCall& call) {
  const bool is_bool = call.input(0).dtype() == DType::boolean;
  return {call.node(is_bool ? "Not" : "BitwiseNot", {call[0]})};
}

}  // namespace

// That of -0 stands in its reciprocal; that of NaN is lost.
std::string sign_bit(const ExportCall& call, const std::string& x, DType dtype) {
  const std::string zero = call.number(0, dtype), negative = call.node("Less", {x, zero});
  if (!is_floating(dtype)) return negative;
  return call.node("Or", {negative, call.node("Less", {call.node("Reciprocal", {x}), zero})});
}

void add_pointwise_exports(Exports& table) {
  for (const auto& [op, op_type] : same_operators()) table[op] = same;
  for (const char* const op : {"floor", "ceil", "round"}) table[op] = rounding;
  table["square"] = square;
  table["trunc"] = trunc;
  table["frac"] = frac;
  table["rsqrt"] = rsqrt;
  table["exp2"] = exp2;
  table["expm1"] = expm1;
  table["log1p"] = log1p;
  table["log2"] = log2;
  table["log10"] = log10;
  table["erfc"] = erfc;
  table["logit"] = logit;
  table["clamp"] = clamp;
  table["clamp_min"] = clamp_min;
  table["clamp_max"] = clamp_max;
  table["relu6"] = relu6;
  table["hardtanh"] = hardtanh;
  table["leaky_relu"] = leaky_relu;
  table["elu"] = elu;
  table["selu"] = selu;
  table["celu"] = celu;
  table["gelu"] = gelu;
  table["gelu_tanh"] = gelu_tanh;
  table["silu"] = silu;
  table["softplus"] = softplus;
  table["logsigmoid"] = logsigmoid;
  table["hardsigmoid"] = hardsigmoid;
  table["threshold"] = threshold;
  table["hardshrink"] = hardshrink;
  table["softshrink"] = softshrink;
  table["tanhshrink"] = tanhshrink;
  table["isnan"] = isnan;
  table["isinf"] = isinf;
  table["isfinite"] = isfinite;
  table["isposinf"] = isposinf;
  table["isneginf"] = isneginf;
  table["signbit"] = signbit;
  table["sinc"] = sinc;
  table["frexp"] = frexp;
  table["frexp_exponent"] = frexp_exponent;
  table["logical_not"] = logical_not;
  table["bitwise_not"] = bitwise_not;
}

}  // namespace aorta::onnx
