#include <aorta/core/scalar/op_list.h>
#include <aorta/onnx/export_call.h>

#include <cmath>

// Pointwise ops of two and three operands.
namespace aorta::onnx {
namespace {

using scalar::Number;

struct Pair {
  std::string a, b;
  DType dtype;
};
DType promoted(const ExportCall& call) {
  const DType dtype = call.common_dtype(), output = call.output().dtype();
  return is_floating(output) && !is_floating(dtype) ? output : dtype;
}
Pair pair_in(const ExportCall& call, DType dtype) {
  return {call.operand(0, dtype), call.operand(1, dtype), dtype};
}
// Both operands in the dtype in which an operator computes, or in that of several together.
Pair pair_of(const ExportCall& call) { return pair_in(call, promoted(call)); }
Pair composed_pair_of(const ExportCall& call) {
  return pair_in(call, compute_dtype(promoted(call)));
}
// What was computed in `dtype`, as the op's result, which may have been written in place.
Names result(const ExportCall& call, const std::string& value, DType dtype) {
  return {call.cast(value, dtype, call.output().dtype())};
}
std::string number(const ExportCall& call, const Number& value, DType dtype) {
  if (is_floating(dtype)) return call.number(value.to<double>(), dtype);
  return call.number(value.to<int64_t>(), dtype);
}

Names arithmetic(const ExportCall& call, const char* op_type) {
  const Pair p = pair_of(call);
  return result(call, call.node(op_type, {p.a, p.b}), p.dtype);
}
Names add(const ExportCall& call) {
  const Pair p = pair_of(call);
  const bool is_bool = p.dtype == DType::boolean;
  return result(call, call.node(is_bool ? "Or" : "Add", {p.a, p.b}), p.dtype);
}
Names sub(const ExportCall& call) { return arithmetic(call, "Sub"); }
Names mul(const ExportCall& call) {
  const Pair p = pair_of(call);
  const bool is_bool = p.dtype == DType::boolean;
  return result(call, call.node(is_bool ? "And" : "Mul", {p.a, p.b}), p.dtype);
}
Names div(const ExportCall& call) { return arithmetic(call, "Div"); }
Names pow(const ExportCall& call) { return arithmetic(call, "Pow"); }
Names minimum(const ExportCall& call) { return arithmetic(call, "Min"); }
Names maximum(const ExportCall& call) { return arithmetic(call, "Max"); }
Names prelu(const ExportCall& call) {
  const Pair p = pair_of(call);
  const int lead = call.has(1) ? call.input(1).dim() : 0;
  call.check(call.has(0) && lead <= call.input(0).dim(), "weight must broadcast to the input", lead,
             " dimensions");
  return result(call, call.node("PRelu", {p.a, p.b}), p.dtype);
}

Names scaled(const ExportCall& call, const char* op_type, const Number& alpha) {
  const Pair p = composed_pair_of(call);
  const std::string b = call.node("Mul", {p.b, number(call, alpha, p.dtype)});
  return result(call, call.node(op_type, {p.a, b}), p.dtype);
}
Names add_scaled(const ExportCall& call) {
  return scaled(call, "Add", call.functor<scalar::AddScaled>().alpha);
}
Names sub_scaled(const ExportCall& call) {
  return scaled(call, "Sub", call.functor<scalar::SubScaled>().alpha);
}

// The exact rest of a division of floats, with the sign of the dividend, and whether the divisor
// has the other one.
struct Rest {
  std::string value, is_across;
};
Rest rest_of(const ExportCall& call, const Pair& p) {
  const std::string zero = call.number(0, p.dtype);
  const std::string value = call.node("Mod", {p.a, p.b}, {attribute("fmod", 1)});
  const std::string some = call.node("Not", {call.node("Equal", {value, zero})});
  const std::string differ =
      call.node("Xor", {call.node("Less", {value, zero}), call.node("Less", {p.b, zero})});
  return {value, call.node("And", {some, differ})};
}

// ONNX divides integers towards zero; Mod's sign is the divisor's. Quotients of floats are whole
// without the rest, and rounded where they have lost that.
Names floor_divide(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  if (!is_floating(p.dtype)) {
    const std::string whole = call.node("Sub", {p.a, call.node("Mod", {p.a, p.b})});
    return result(call, call.node("Div", {whole, p.b}), p.dtype);
  }
  const Rest rest = rest_of(call, p);
  const std::string cut = call.node("Div", {call.node("Sub", {p.a, rest.value}), p.b});
  const std::string step = call.cast(rest.is_across, DType::boolean, p.dtype);
  const std::string whole = call.node("Round", {call.node("Sub", {cut, step})});
  const std::string by_zero = call.node("Equal", {p.b, call.number(0, p.dtype)});
  return result(call, call.node("Where", {by_zero, call.node("Div", {p.a, p.b}), whole}), p.dtype);
}
Names fmod(const ExportCall& call) {
  const Pair p = pair_of(call);
  return result(call, call.node("Mod", {p.a, p.b}, {attribute("fmod", 1)}), p.dtype);
}
Names remainder(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  if (!is_floating(p.dtype)) return result(call, call.node("Mod", {p.a, p.b}), p.dtype);
  const Rest rest = rest_of(call, p);
  const std::string across = call.node("Add", {rest.value, p.b});
  return result(call, call.node("Where", {rest.is_across, across, rest.value}), p.dtype);
}
// The larger times sqrt(1 + ratio^2), so that no square overflows; of equals the ratio is 1.
Names hypot(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  const std::string a = call.node("Abs", {p.a}), b = call.node("Abs", {p.b});
  const std::string most = call.node("Max", {a, b}), least = call.node("Min", {a, b});
  const std::string one = call.number(1, p.dtype);
  const std::string ratio =
      call.node("Where", {call.node("Equal", {a, b}), one, call.node("Div", {least, most})});
  const std::string squares = call.node("Add", {call.node("Mul", {ratio, ratio}), one});
  return result(call, call.node("Mul", {most, call.node("Sqrt", {squares})}), p.dtype);
}
// atan(y / x) is the angle but for half a turn where x is negative, or -0. Where both are 0 their
// quotient counts as 0, and where both are infinite it is that of their signs.
Names atan2(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  const std::string zero = call.number(0, p.dtype), half_turn = call.number(M_PI, p.dtype);
  const std::string no_size =
      call.node("And", {call.node("Equal", {p.a, zero}), call.node("Equal", {p.b, zero})});
  const std::string no_end =
      call.node("And", {call.node("IsInf", {p.a}), call.node("IsInf", {p.b})});
  const std::string signs = call.node("Mul", {call.node("Sign", {p.a}), call.node("Sign", {p.b})});
  const std::string quotient = call.node(
      "Where", {no_size, zero, call.node("Where", {no_end, signs, call.node("Div", {p.a, p.b})})});
  const std::string turn =
      call.node("Where", {sign_bit(call, p.a, p.dtype), call.node("Neg", {half_turn}), half_turn});
  const std::string behind = call.node("Where", {sign_bit(call, p.b, p.dtype), turn, zero});
  return result(call, call.node("Add", {call.node("Atan", {quotient}), behind}), p.dtype);
}
Names xlogy(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  const std::string zero = call.number(0, p.dtype);
  const std::string product = call.node("Mul", {p.a, call.node("Log", {p.b})});
  return result(call, call.node("Where", {call.node("Equal", {p.a, zero}), zero, product}),
                p.dtype);
}
// -|a - b|; of equals, two that are infinite among them, 0.
std::string closeness(const ExportCall& call, const Pair& p) {
  const std::string apart = call.node("Neg", {call.node("Abs", {call.node("Sub", {p.a, p.b})})});
  return call.node("Where", {call.node("Equal", {p.a, p.b}), call.number(0, p.dtype), apart});
}
Names logaddexp(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  return result(call, log_sum(call, p.a, p.b, p.dtype), p.dtype);
}
Names logaddexp2(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  const std::string scaled = call.node("Mul", {closeness(call, p), call.number(M_LN2, p.dtype)});
  const std::string rest =
      call.node("Div", {call.node("Softplus", {scaled}), call.number(M_LN2, p.dtype)});
  return result(call, call.node("Add", {call.node("Max", {p.a, p.b}), rest}), p.dtype);
}
Names ldexp(const ExportCall& call) {
  const Pair p = composed_pair_of(call);
  const std::string power = call.node("Pow", {call.number(2, p.dtype), p.b});
  return result(call, call.node("Mul", {p.a, power}), p.dtype);
}
Names copysign(const ExportCall& call) {
  const Pair p = pair_of(call);
  const std::string size = call.node("Abs", {p.a});
  const std::string negative = sign_bit(call, p.b, p.dtype);
  return result(call, call.node("Where", {negative, call.node("Neg", {size}), size}), p.dtype);
}
Names heaviside(const ExportCall& call) {
  const Pair p = pair_of(call);
  const std::string zero = call.number(0, p.dtype);
  const std::string side = call.cast(call.node("Greater", {p.a, zero}), DType::boolean, p.dtype);
  return result(call, call.node("Where", {call.node("Equal", {p.a, zero}), p.b, side}), p.dtype);
}

// ---- To bool.

Names compare(const ExportCall& call, const char* op_type) {
  const DType dtype = call.common_dtype();
  const bool of_bool = dtype == DType::boolean && std::string(op_type) != "Equal";
  const DType compared = of_bool ? DType::i32 : dtype;
  const std::string value =
      call.node(op_type, {call.operand(0, compared), call.operand(1, compared)});
  return result(call, value, DType::boolean);
}
Names eq(const ExportCall& call) { return compare(call, "Equal"); }
Names ne(const ExportCall& call) {
  const DType dtype = call.common_dtype();
  const std::string equal = call.node("Equal", {call.operand(0, dtype), call.operand(1, dtype)});
  return result(call, call.node("Not", {equal}), DType::boolean);
}
Names lt(const ExportCall& call) { return compare(call, "Less"); }
Names le(const ExportCall& call) { return compare(call, "LessOrEqual"); }
Names gt(const ExportCall& call) { return compare(call, "Greater"); }
Names ge(const ExportCall& call) { return compare(call, "GreaterOrEqual"); }

Names logical(const ExportCall& call, const char* op_type) {
  const std::string value =
      call.node(op_type, {call.operand(0, DType::boolean), call.operand(1, DType::boolean)});
  return result(call, value, DType::boolean);
}
Names logical_and(const ExportCall& call) { return logical(call, "And"); }
Names logical_or(const ExportCall& call) { return logical(call, "Or"); }
Names logical_xor(const ExportCall& call) { return logical(call, "Xor"); }

Names bitwise(const ExportCall& call, const char* of_bool, const char* of_integers) {
  return arithmetic(call, call.common_dtype() == DType::boolean ? of_bool : of_integers);
}
Names bitwise_and(const ExportCall& call) { return bitwise(call, "And", "BitwiseAnd"); }
Names bitwise_or(const ExportCall& call) { return bitwise(call, "Or", "BitwiseOr"); }
Names bitwise_xor(const ExportCall& call) { return bitwise(call, "Xor", "BitwiseXor"); }

// ONNX shifts unsigned integers alone: of others products with powers of 2 and whole quotients. A
// negative shift, or one beyond the width, leaves the sign of what is shifted to the right.
struct Shift {
  Pair p;
  std::string bad, power, once_more;  // once_more: 2 where the power would be the sign bit's
};
Shift shift_of(const ExportCall& call) {
  Shift s{pair_of(call), {}, {}, {}};
  const DType dtype = s.p.dtype;
  const int64_t width = dtype == DType::i64 ? 64 : 32;
  const auto number_of = [&](int64_t value) { return call.number(value, dtype); };
  const std::string last = number_of(width - 1), one = number_of(1), two = number_of(2);
  s.bad = call.node(
      "Or", {call.node("Less", {s.p.b, number_of(0)}), call.node("Greater", {s.p.b, last})});
  const std::string by = call.node("Where", {s.bad, number_of(0), s.p.b});
  const std::string is_last = call.node("Equal", {by, last});
  s.once_more = call.node("Where", {is_last, two, one});
  const std::string less = call.node("Where", {is_last, number_of(width - 2), by});
  s.power = call.node("Pow", {two, less});
  return s;
}
Names bitwise_left_shift(const ExportCall& call) {
  if (call.common_dtype() == DType::u8) {
    const Pair p = pair_of(call);
    return result(call, call.node("BitShift", {p.a, p.b}, {attribute("direction", "LEFT")}),
                  p.dtype);
  }
  const Shift s = shift_of(call);
  const std::string product = call.node("Mul", {call.node("Mul", {s.p.a, s.power}), s.once_more});
  return result(call, call.node("Where", {s.bad, call.number(int64_t{0}, s.p.dtype), product}),
                s.p.dtype);
}
Names bitwise_right_shift(const ExportCall& call) {
  if (call.common_dtype() == DType::u8) {
    const Pair p = pair_of(call);
    return result(call, call.node("BitShift", {p.a, p.b}, {attribute("direction", "RIGHT")}),
                  p.dtype);
  }
  const Shift s = shift_of(call);
  const DType dtype = s.p.dtype;
  const auto halved = [&](const std::string& x, const std::string& divisor) {
    return call.node("Div", {call.node("Sub", {x, call.node("Mod", {x, divisor})}), divisor});
  };
  const std::string quotient = halved(halved(s.p.a, s.power), s.once_more);
  const std::string negative = call.node("Less", {s.p.a, call.number(int64_t{0}, dtype)});
  const std::string sign = call.node(
      "Where", {negative, call.number(int64_t{-1}, dtype), call.number(int64_t{0}, dtype)});
  return result(call, call.node("Where", {s.bad, sign, quotient}), dtype);
}

// ---- Of three operands.

Names where(const ExportCall& call) {
  const DType dtype = call.common_dtype(1);
  const std::string value = call.node(
      "Where", {call.operand(0, DType::boolean), call.operand(1, dtype), call.operand(2, dtype)});
  return result(call, value, dtype);
}
Names lerp(const ExportCall& call) {
  const DType dtype = compute_dtype(call.common_dtype());
  const std::string a = call.operand(0, dtype);
  const std::string way = call.node("Sub", {call.operand(1, dtype), a});
  const std::string step = call.node("Mul", {way, call.operand(2, dtype)});
  return result(call, call.node("Add", {a, step}), dtype);
}
Names add_term(const ExportCall& call, const char* op_type, const Number& value) {
  const DType dtype = compute_dtype(call.common_dtype());
  std::string term = call.node(op_type, {call.operand(1, dtype), call.operand(2, dtype)});
  if (value.to<double>() != 1) term = call.node("Mul", {term, number(call, value, dtype)});
  return result(call, call.node("Add", {call.operand(0, dtype), term}), dtype);
}
Names addcmul(const ExportCall& call) {
  return add_term(call, "Mul", call.functor<scalar::Addcmul>().value);
}
Names addcdiv(const ExportCall& call) {
  return add_term(call, "Div", call.functor<scalar::Addcdiv>().value);
}

}  // namespace

// The larger, and log(1 + exp(-|a - b|)).
std::string log_sum(const ExportCall& call, const std::string& a, const std::string& b,
                    DType dtype) {
  const std::string rest = call.node("Softplus", {closeness(call, {a, b, dtype})});
  return call.node("Add", {call.node("Max", {a, b}), rest});
}

void add_pointwise_binary_exports(Exports& table) {
  table["add"] = add;
  table["add_scaled"] = add_scaled;
  table["sub"] = sub;
  table["sub_scaled"] = sub_scaled;
  table["mul"] = mul;
  table["div"] = div;
  table["floor_divide"] = floor_divide;
  table["fmod"] = fmod;
  table["remainder"] = remainder;
  table["pow"] = pow;
  table["minimum"] = minimum;
  table["maximum"] = maximum;
  table["hypot"] = hypot;
  table["atan2"] = atan2;
  table["xlogy"] = xlogy;
  table["logaddexp"] = logaddexp;
  table["logaddexp2"] = logaddexp2;
  table["ldexp"] = ldexp;
  table["copysign"] = copysign;
  table["heaviside"] = heaviside;
  table["prelu"] = prelu;
  table["eq"] = eq;
  table["ne"] = ne;
  table["lt"] = lt;
  table["le"] = le;
  table["gt"] = gt;
  table["ge"] = ge;
  table["logical_and"] = logical_and;
  table["logical_or"] = logical_or;
  table["logical_xor"] = logical_xor;
  table["bitwise_and"] = bitwise_and;
  table["bitwise_or"] = bitwise_or;
  table["bitwise_xor"] = bitwise_xor;
  table["bitwise_left_shift"] = bitwise_left_shift;
  table["bitwise_right_shift"] = bitwise_right_shift;
  table["where"] = where;
  table["lerp"] = lerp;
  table["addcmul"] = addcmul;
  table["addcdiv"] = addcdiv;
}

}  // namespace aorta::onnx
