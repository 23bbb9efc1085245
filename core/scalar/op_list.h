#pragma once

// The one list of pointwise ops: the CPU kernels, the CUDA kernels, the gradients and the tests are
// made by iterating it.

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
    Cosh, Tanh, Asinh, Acosh, Atanh, Erf, Erfc, Sigmoid, Relu, Relu6, LeakyRelu, Elu, Selu, Celu,
    Gelu, GeluTanh, Silu, Mish, Softplus, LogSigmoid, Softsign, Hardtanh, Hardsigmoid, Hardswish,
    Threshold, Hardshrink, Softshrink, Tanhshrink, IsNan, IsInf, IsFinite, LogicalNot, BitwiseNot>;

using BinaryOps = TypeList<  //
    Add, AddScaled, Sub, SubScaled, Mul, Div, FloorDivide, Fmod, Remainder, Pow, Minimum, Maximum,
    Atan2, Hypot, Prelu, Eq, Ne, Lt, Le, Gt, Ge, LogicalAnd, LogicalOr, LogicalXor, BitwiseAnd,
    BitwiseOr, BitwiseXor, ShiftLeft, ShiftRight>;

using TernaryOps = TypeList<Where, Lerp, Addcmul, Addcdiv>;

}  // namespace aorta::scalar
