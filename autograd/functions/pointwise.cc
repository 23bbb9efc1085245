#include <aorta/autograd/functions/expression.h>
#include <aorta/autograd/record.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/scalar/op_list.h>

#include <cmath>

namespace aorta::autograd {
namespace {

using namespace scalar;

// ---- Unary: formulas stand with the functors. Out of a plain backward pass they are one kernel;
// one that records itself composes them of ops.

Tensor to_tensor(const Expression& expression) {
  return expression.is_number() ? Tensor() : expression.tensor();  // the only number is 0
}

template <class F>
Tensor from_saved(const Tensor& g, const Tensor& saved, const F& functor) {
  if (!grad_enabled()) {
    const GradientOf<F> gradient{functor};
    const Operand inputs[] = {g, saved};
    return run_pointwise(binary_op<GradientOf<F>>, &gradient, inputs);
  }
  // As the kernel computes it: a half type has no place for what stands between.
  const DType wide = compute_dtype(g.dtype());
  const Expression gradient(g.to(wide)), value(saved.to(wide));
  if constexpr (GradientFromOutput<F>)
    return to_tensor(functor.gradient_from_output(gradient, value)).to(g.dtype());
  else
    return to_tensor(functor.gradient_from_input(gradient, value)).to(g.dtype());
}

template <class F>
void unary_gradient(const Tensor& output, const Tensor& input, const F& functor) {
  const char* const name = F::info.name;
  if constexpr (GradientFromOutput<F>) {
    record(name, output, {&input}, [functor, y = Saved::output(output)](Gradients& g) {
      g.input() = from_saved(g.output(), g.saved(y), functor);
    });
  } else if constexpr (GradientFromInput<F>) {
    record(name, output, {&input}, [functor, x = Saved(input, 0)](Gradients& g) {
      g.input() = from_saved(g.output(), g.saved(x), functor);
    });
  } else {
    record(name, output, {&input}, [functor](Gradients& g) {
      g.input() = to_tensor(functor.gradient(Expression(g.output())));
    });
  }
}

// One closure for all that have none of their own.
constexpr auto kZeros = [](Gradients&) {};

// Comparisons and other questions have gradients of zeros. Only their in-place forms come here:
// they write into a tensor of a floating dtype.
template <class F>
void flat_unary_gradient(const Tensor& output, const Tensor& input, const F&) {
  record(F::info.name, output, {&input}, kZeros);
}
template <class F>
void flat_binary_gradient(const Tensor& output, const Operand& a, const Operand& b, const F&) {
  record(F::info.name, output, {a.tensor, b.tensor}, kZeros);
}

template <class F>
void register_unary() {
  if constexpr (GradientFromOutput<F> || GradientAlone<F>)
    unary_op<F>.set_gradient(unary_gradient<F>, 0);
  else if constexpr (GradientFromInput<F>)
    unary_op<F>.set_gradient(unary_gradient<F>, 1);
  else
    unary_op<F>.set_gradient(flat_unary_gradient<F>, 0);
}

template <class... Fs>
void register_all_unary(TypeList<Fs...>) {
  (register_unary<Fs>(), ...);
}
template <class... Fs>
void register_flat_binary(TypeList<Fs...>) {
  (binary_op<Fs>.set_gradient(flat_binary_gradient<Fs>, 0), ...);
}

// ---- Binary and ternary: composed. Each gradient is summed over what was broadcast.

Tensor fit(const Tensor& gradient, const Gradients& g, size_t i) {
  return sum_to_size(gradient, g.input_shape(i));
}

bool needs(const Operand& operand) { return operand.tensor && operand.tensor->requires_grad(); }

// An operand that the gradient of another one reads.
SavedOperand save(const Operand& operand, int place, bool wanted) {
  return wanted ? SavedOperand(operand, place) : SavedOperand();
}

void add_gradient(const Tensor& output, const Operand& a, const Operand& b, const Add&) {
  record("add", output, {a.tensor, b.tensor}, [](Gradients& g) {
    if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
    if (g.wanted(1)) g.input(1) = fit(g.output(), g, 1);
  });
}

Scalar to_scalar(const Number& number) { return number.to<double>(); }

void add_scaled_gradient(const Tensor& output, const Operand& a, const Operand& b,
                         const AddScaled& f) {
  record("add", output, {a.tensor, b.tensor}, [alpha = to_scalar(f.alpha)](Gradients& g) {
    if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
    if (g.wanted(1)) g.input(1) = fit(g.output() * alpha, g, 1);
  });
}

void sub_gradient(const Tensor& output, const Operand& a, const Operand& b, const Sub&) {
  record("sub", output, {a.tensor, b.tensor}, [](Gradients& g) {
    if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
    if (g.wanted(1)) g.input(1) = fit(neg(g.output()), g, 1);
  });
}

void sub_scaled_gradient(const Tensor& output, const Operand& a, const Operand& b,
                         const SubScaled& f) {
  record("sub", output, {a.tensor, b.tensor}, [alpha = -f.alpha.to<double>()](Gradients& g) {
    if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
    if (g.wanted(1)) g.input(1) = fit(g.output() * alpha, g, 1);
  });
}

void mul_gradient(const Tensor& output, const Operand& a, const Operand& b, const Mul&) {
  record("mul", output, {a.tensor, b.tensor},
         [x = save(a, 0, needs(b)), y = save(b, 1, needs(a))](Gradients& g) {
           if (g.wanted(0)) g.input(0) = fit(mul(g.output(), g.saved(y)), g, 0);
           if (g.wanted(1)) g.input(1) = fit(mul(g.output(), g.saved(x)), g, 1);
         });
}

void div_gradient(const Tensor& output, const Operand& a, const Operand& b, const Div&) {
  record("div", output, {a.tensor, b.tensor},
         [x = save(a, 0, needs(b)), y = SavedOperand(b, 1)](Gradients& g) {
           if (g.wanted(0)) g.input(0) = fit(div(g.output(), g.saved(y)), g, 0);
           if (!g.wanted(1)) return;
           // In this order, for a quotient of gradients may have no place in a half type.
           const Tensor slope = div(div(g.saved(x), g.saved(y)), g.saved(y));
           g.input(1) = fit(neg(g.output() * slope), g, 1);
         });
}

// y * floor(x / y) is what remainder and fmod take off x: constant but for y.
template <class F>
void remainder_gradient(const Tensor& output, const Operand& a, const Operand& b, const F&) {
  record(F::info.name, output, {a.tensor, b.tensor},
         [x = save(a, 0, needs(b)), y = save(b, 1, needs(b))](Gradients& g) {
           if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
           if (!g.wanted(1)) return;
           const auto top = g.saved(x), bottom = g.saved(y);
           // Less the quotient that the exact rest leaves, and no rounded one.
           const Tensor turns = std::is_same_v<F, Fmod>
                                    ? round(div(sub(fmod(top, bottom), top), bottom))
                                    : neg(floor_divide(top, bottom));
           g.input(1) = fit(g.output() * turns, g, 1);
         });
}

// y x^(y-1), and 0 where y = 0.
Tensor pow_slope(const Value& base, const Value& exponent) {
  if (exponent.is_number()) {
    const double y = exponent.number.to_double();
    return pow(base, y - 1) * exponent.number;
  }
  return where(eq(exponent, 0), 0, mul(exponent, pow(base, sub(exponent, 1))));
}

// x^y log x, and 0 where x = 0 and y >= 0.
Tensor exponential_slope(const Value& base, const Value& exponent, const Tensor& power) {
  if (base.is_number()) {
    const double x = base.number.to_double();
    return x == 0 ? where(ge(exponent, 0), 0, power * -INFINITY) : power * std::log(x);
  }
  const Tensor flat = logical_and(eq(base, 0), ge(exponent.as_tensor(power), 0));
  const DType wide = promote(base.tensor.dtype(), power.dtype());
  return where(flat, 0, power * log(base.tensor.to(wide)));
}

void pow_gradient(const Tensor& output, const Operand& a, const Operand& b, const Pow&) {
  const Saved power = needs(b) ? Saved::output(output) : Saved();
  record("pow", output, {a.tensor, b.tensor},
         [x = SavedOperand(a, 0), y = SavedOperand(b, 1), power](Gradients& g) {
           const Value base = g.saved(x), exponent = g.saved(y);
           const bool constant = exponent.is_number() && exponent.number.to_double() == 0;
           if (g.wanted(0) && !constant)
             g.input(0) = fit(g.output() * pow_slope(base, exponent), g, 0);
           if (g.wanted(1)) {
             const Tensor slope = exponential_slope(base, exponent, g.saved(power));
             g.input(1) = fit(g.output() * slope, g, 1);
           }
         });
}

// Where both are equal, each takes half.
template <class F>
void extremum_gradient(const Tensor& output, const Operand& a, const Operand& b, const F&) {
  record(F::info.name, output, {a.tensor, b.tensor},
         [x = SavedOperand(a, 0), y = SavedOperand(b, 1)](Gradients& g) {
           const Value first = g.saved(x), second = g.saved(y);
           const Tensor half = where(eq(first, second), g.output() * 0.5, g.output());
           const Tensor second_only =
               std::is_same_v<F, Maximum> ? gt(second, first) : lt(second, first);
           const Tensor first_only =
               std::is_same_v<F, Maximum> ? gt(first, second) : lt(first, second);
           if (g.wanted(0)) g.input(0) = fit(where(second_only, 0, half), g, 0);
           if (g.wanted(1)) g.input(1) = fit(where(first_only, 0, half), g, 1);
         });
}

void atan2_gradient(const Tensor& output, const Operand& a, const Operand& b, const Atan2&) {
  record("atan2", output, {a.tensor, b.tensor},
         [sy = SavedOperand(a, 0), sx = SavedOperand(b, 1)](Gradients& g) {
           const Tensor y = g.saved(sy).as_tensor(g.output());
           const Tensor x = g.saved(sx).as_tensor(g.output());
           // By the length twice, for its square may have no place in the dtype; 0 at the origin.
           const Tensor length = hypot(y, x);
           const Tensor safe = where(eq(length, 0), 1, length);
           const Tensor scaled = g.output() / safe;
           if (g.wanted(0)) g.input(0) = fit(scaled * (x / safe), g, 0);
           if (g.wanted(1)) g.input(1) = fit(neg(scaled * (y / safe)), g, 1);
         });
}

void hypot_gradient(const Tensor& output, const Operand& a, const Operand& b, const Hypot&) {
  record("hypot", output, {a.tensor, b.tensor},
         [x = SavedOperand(a, 0), y = SavedOperand(b, 1), h = Saved::output(output)](Gradients& g) {
           const Tensor length = g.saved(h);
           if (g.wanted(0)) g.input(0) = fit(mul(g.output(), div(g.saved(x), length)), g, 0);
           if (g.wanted(1)) g.input(1) = fit(mul(g.output(), div(g.saved(y), length)), g, 1);
         });
}

// The sign is a constant of both, and 0 at 0, where the magnitude has a kink.
void copysign_gradient(const Tensor& output, const Operand& a, const Operand& b, const Copysign&) {
  record("copysign", output, {a.tensor, b.tensor},
         [sx = save(a, 0, needs(a)), sy = save(b, 1, needs(a))](Gradients& g) {
           if (!g.wanted(0)) return;
           const Tensor turned =
               mul(sign(g.saved(sx).tensor), copysign(1, g.saved(sy).as_tensor(g.output())));
           g.input(0) = fit(g.output() * turned, g, 0);
         });
}

// Neighbours of neighbours are as far apart; where there is no way to go it is PyTorch's 0.
void nextafter_gradient(const Tensor& output, const Operand& a, const Operand& b,
                        const Nextafter&) {
  record("nextafter", output, {a.tensor, b.tensor},
         [sx = save(a, 0, needs(a)), sy = save(b, 1, needs(a))](Gradients& g) {
           if (!g.wanted(0)) return;
           const Tensor goes = ne(g.saved(sx), g.saved(sy));
           g.input(0) = fit(where(goes, g.output(), 0), g, 0);
         });
}

void heaviside_gradient(const Tensor& output, const Operand& a, const Operand& b,
                        const Heaviside&) {
  record("heaviside", output, {a.tensor, b.tensor}, [sx = save(a, 0, needs(b))](Gradients& g) {
    if (!g.wanted(1)) return;
    const Tensor at_zero = eq(g.saved(sx).as_tensor(g.output()), 0);
    g.input(1) = fit(where(at_zero, g.output(), 0), g, 1);
  });
}

void ldexp_gradient(const Tensor& output, const Operand& a, const Operand& b, const Ldexp&) {
  const Saved result = needs(b) ? Saved::output(output) : Saved();
  record("ldexp", output, {a.tensor, b.tensor}, [sy = save(b, 1, needs(a)), result](Gradients& g) {
    if (g.wanted(0)) g.input(0) = fit(ldexp(g.output(), g.saved(sy)), g, 0);
    if (g.wanted(1)) g.input(1) = fit(g.output() * g.saved(result) * M_LN2, g, 1);
  });
}

// Where x log(y) is cut off at x = 0, so is its slope, unless y is positive.
void xlogy_gradient(const Tensor& output, const Operand& a, const Operand& b, const Xlogy&) {
  record("xlogy", output, {a.tensor, b.tensor},
         [sx = SavedOperand(a, 0), sy = SavedOperand(b, 1)](Gradients& g) {
           const Value x = g.saved(sx), y = g.saved(sy);
           if (g.wanted(0)) {
             const Tensor cut = logical_and(eq(x, 0), le(y.as_tensor(g.output()), 0));
             g.input(0) = fit(where(cut, 0, xlogy(g.output(), y)), g, 0);
           }
           if (g.wanted(1)) g.input(1) = fit(g.output() * div(x, y), g, 1);
         });
}

// x^(a-1) e^-x / gamma(a).
template <class F>
void incomplete_gamma_gradient(const Tensor& output, const Operand& a, const Operand& x, const F&) {
  record(F::info.name, output, {a.tensor, x.tensor},
         [sa = save(a, 0, needs(x)), sx = save(x, 1, needs(x))](Gradients& g) {
           check(!g.wanted(0), F::info.name, "there is no derivative by a", g.output().shape());
           if (!g.wanted(1)) return;
           const DType wide = compute_dtype(g.output().dtype());
           const Tensor at = g.saved(sx).as_tensor(g.output()).to(wide);
           const Tensor power = g.saved(sa).as_tensor(g.output()).to(wide);
           const Tensor density = exp(xlogy(power - 1, at) - at - lgamma(power));
           const Tensor slope = std::is_same_v<F, Igammac> ? -density : density;
           g.input(1) = fit((g.output().to(wide) * slope).to(g.output().dtype()), g, 1);
         });
}

// Each one's share of the sum of powers: sigmoid of the difference, in powers of e or 2.
template <class F>
void logaddexp_gradient(const Tensor& output, const Operand& a, const Operand& b, const F&) {
  record(F::info.name, output, {a.tensor, b.tensor},
         [x = SavedOperand(a, 0), y = SavedOperand(b, 1)](Gradients& g) {
           const Tensor off = sub(g.saved(x), g.saved(y));
           const Tensor natural = std::is_same_v<F, Logaddexp2> ? off * M_LN2 : off;
           if (g.wanted(0)) g.input(0) = fit(g.output() * sigmoid(natural), g, 0);
           if (g.wanted(1)) g.input(1) = fit(g.output() * sigmoid(neg(natural)), g, 1);
         });
}

void prelu_gradient(const Tensor& output, const Operand& a, const Operand& b, const Prelu&) {
  record("prelu", output, {a.tensor, b.tensor},
         [sx = SavedOperand(a, 0), sw = save(b, 1, needs(a))](Gradients& g) {
           const Tensor x = g.saved(sx).as_tensor(g.output());
           const Tensor positive = gt(x, 0);
           if (g.wanted(0))
             g.input(0) = fit(where(positive, g.output(), mul(g.output(), g.saved(sw))), g, 0);
           if (g.wanted(1)) g.input(1) = fit(where(positive, 0, mul(g.output(), x)), g, 1);
         });
}

void where_gradient(const Tensor& output, const Operand& condition, const Operand& a,
                    const Operand& b, const Where&) {
  record("where", output, {nullptr, a.tensor, b.tensor},
         [mask = SavedOperand(condition, 0)](Gradients& g) {
           const Value is_a = g.saved(mask);
           if (g.wanted(1)) g.input(1) = fit(where(is_a.tensor, g.output(), 0), g, 1);
           if (g.wanted(2)) g.input(2) = fit(where(is_a.tensor, 0, g.output()), g, 2);
         });
}

void lerp_gradient(const Tensor& output, const Operand& start, const Operand& end,
                   const Operand& weight, const Lerp&) {
  record("lerp", output, {start.tensor, end.tensor, weight.tensor},
         [s = save(start, 0, needs(weight)), e = save(end, 1, needs(weight)),
          w = SavedOperand(weight, 2)](Gradients& g) {
           const Tensor share = g.saved(w).as_tensor(g.output());
           if (g.wanted(0)) g.input(0) = fit(g.output() * (1 - share), g, 0);
           if (g.wanted(1)) g.input(1) = fit(mul(g.output(), share), g, 1);
           if (g.wanted(2)) g.input(2) = fit(mul(g.output(), sub(g.saved(e), g.saved(s))), g, 2);
         });
}

void addcmul_gradient(const Tensor& output, const Operand& input, const Operand& a,
                      const Operand& b, const Addcmul& f) {
  record("addcmul", output, {input.tensor, a.tensor, b.tensor},
         [x = save(a, 1, needs(b)), y = save(b, 2, needs(a)),
          value = to_scalar(f.value)](Gradients& g) {
           if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
           if (g.wanted(1)) g.input(1) = fit(mul(g.output() * value, g.saved(y)), g, 1);
           if (g.wanted(2)) g.input(2) = fit(mul(g.output() * value, g.saved(x)), g, 2);
         });
}

void addcdiv_gradient(const Tensor& output, const Operand& input, const Operand& a,
                      const Operand& b, const Addcdiv& f) {
  record(
      "addcdiv", output, {input.tensor, a.tensor, b.tensor},
      [x = save(a, 1, needs(b)), y = SavedOperand(b, 2), value = to_scalar(f.value)](Gradients& g) {
        if (g.wanted(0)) g.input(0) = fit(g.output(), g, 0);
        const Tensor by_y = div(g.output() * value, g.saved(y));
        if (g.wanted(1)) g.input(1) = fit(by_y, g, 1);
        if (g.wanted(2)) g.input(2) = fit(neg(div(mul(by_y, g.saved(x)), g.saved(y))), g, 2);
      });
}

// Which gradients read the first input, which a write in place overwrites.
constexpr unsigned kNone = 0, kFirst = 1, kSecond = 2, kThird = 4;

}  // namespace

void register_pointwise() {
  register_all_unary(UnaryOps{});
  register_flat_binary(BinaryOps{});  // but for these:
  binary_op<Add>.set_gradient(add_gradient, kNone);
  binary_op<AddScaled>.set_gradient(add_scaled_gradient, kNone);
  binary_op<Sub>.set_gradient(sub_gradient, kNone);
  binary_op<SubScaled>.set_gradient(sub_scaled_gradient, kNone);
  binary_op<Mul>.set_gradient(mul_gradient, kSecond);
  binary_op<Div>.set_gradient(div_gradient, kSecond);
  binary_op<Fmod>.set_gradient(remainder_gradient<Fmod>, kSecond);
  binary_op<Remainder>.set_gradient(remainder_gradient<Remainder>, kSecond);
  binary_op<Pow>.set_gradient(pow_gradient, kFirst | kSecond);
  binary_op<Minimum>.set_gradient(extremum_gradient<Minimum>, kFirst | kSecond);
  binary_op<Maximum>.set_gradient(extremum_gradient<Maximum>, kFirst | kSecond);
  binary_op<Atan2>.set_gradient(atan2_gradient, kFirst | kSecond);
  binary_op<Hypot>.set_gradient(hypot_gradient, kFirst | kSecond);
  binary_op<Copysign>.set_gradient(copysign_gradient, kFirst);
  binary_op<Heaviside>.set_gradient(heaviside_gradient, kSecond);
  binary_op<Nextafter>.set_gradient(nextafter_gradient, kNone);
  binary_op<Ldexp>.set_gradient(ldexp_gradient, kNone);
  binary_op<Xlogy>.set_gradient(xlogy_gradient, kFirst | kSecond);
  binary_op<Igamma>.set_gradient(incomplete_gamma_gradient<Igamma>, kFirst | kSecond);
  binary_op<Igammac>.set_gradient(incomplete_gamma_gradient<Igammac>, kFirst | kSecond);
  binary_op<Logaddexp>.set_gradient(logaddexp_gradient<Logaddexp>, kFirst | kSecond);
  binary_op<Logaddexp2>.set_gradient(logaddexp_gradient<Logaddexp2>, kFirst | kSecond);
  binary_op<Prelu>.set_gradient(prelu_gradient, kFirst | kSecond);
  ternary_op<Where>.set_gradient(where_gradient, kNone);
  ternary_op<Lerp>.set_gradient(lerp_gradient, kThird);
  ternary_op<Addcmul>.set_gradient(addcmul_gradient, kNone);
  ternary_op<Addcdiv>.set_gradient(addcdiv_gradient, kNone);
}

}  // namespace aorta::autograd
