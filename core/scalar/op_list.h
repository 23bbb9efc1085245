#pragma once

// The one list of pointwise ops: the CPU kernels, the CUDA kernels, the gradients and the tests are
// made by iterating it.

#include <aorta/core/scalar/gradient.h>
#include <aorta/core/scalar/pointwise.h>
#include <aorta/core/scalar/selection.h>

namespace aorta::scalar {

template <class... Ts>
struct TypeList {
  static constexpr int size = sizeof...(Ts);
};

using UnaryOps = TypeList<  //
    Neg, Abs, Sign, Square, Reciprocal, Floor, Ceil, Round, Trunc, Frac, Clamp, ClampMin, ClampMax,
    Sqrt, Rsqrt, Exp, Exp2, Expm1, Log, Log1p, Log2, Log10, Sin, Cos, Tan, Asin, Acos, Atan, Sinh,
    Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfc, Erfinv, Erfcx, LogNdtr, I0, I0e, I1, I1e, Lgamma,
    Digamma, Polygamma, Sigmoid, Logit, Relu, Relu6, LeakyRelu, Elu, Selu, Celu, Gelu, GeluTanh,
    Silu, Mish, Softplus, LogSigmoid, Softsign, Hardtanh, Hardsigmoid, Hardswish, Threshold,
    Hardshrink, Softshrink, Tanhshrink, Sinc, Frexp, FrexpExponent, IsNan, IsInf, IsPosInf,
    IsNegInf, IsFinite, Signbit, LogicalNot, BitwiseNot>;

using BinaryOps = TypeList<  //
    Add, AddScaled, Sub, SubScaled, Mul, Div, FloorDivide, Fmod, Remainder, Pow, Minimum, Maximum,
    Atan2, Hypot, Copysign, Heaviside, Ldexp, Xlogy, Igamma, Igammac, Logaddexp, Logaddexp2, Prelu,
    Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor, BitwiseAnd, BitwiseOr, BitwiseXor,
    ShiftLeft, ShiftRight, Gcd, Lcm, Nextafter>;

using TernaryOps = TypeList<Where, Lerp, Addcmul, Addcdiv>;

template <class... Lists>
struct Join;
template <class... As>
struct Join<TypeList<As...>> {
  using type = TypeList<As...>;
};
template <class... As, class... Bs, class... Lists>
struct Join<TypeList<As...>, TypeList<Bs...>, Lists...> {
  using type = typename Join<TypeList<As..., Bs...>, Lists...>::type;
};
template <class F>
using GradientOrNone = std::conditional_t<GradientFromOutput<F> || GradientFromInput<F>,
                                          TypeList<GradientOf<F>>, TypeList<>>;
template <class... Fs>
constexpr auto gradients_of(TypeList<Fs...>) {
  return typename Join<GradientOrNone<Fs>...>::type{};
}

/// Binary ops (gradient of the result, saved tensor): the gradient of each unary op that has one.
using GradientOps = decltype(gradients_of(UnaryOps{}));

}  // namespace aorta::scalar
