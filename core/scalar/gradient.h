#pragma once

// Gradients of unary pointwise ops. A functor F says in one of three members how the gradient g of
// its result becomes that of its input: `gradient_from_output(g, y)`, `gradient_from_input(g, x)`
// or `gradient(g)`. T is a compute type, or autograd's expression type: so one formula makes the
// fused kernels of both devices and, out of differentiable ops, second and higher derivatives.

#include <aorta/core/scalar/pointwise_info.h>

namespace aorta::scalar {

template <class F>
concept GradientFromOutput = requires(const F& f, float v) {
  f.gradient_from_output(v, v);
};
template <class F>
concept GradientFromInput = requires(const F& f, float v) {
  f.gradient_from_input(v, v);
};
template <class F>
concept GradientAlone = requires(const F& f, float v) {
  f.gradient(v);
};

/// "exp_backward".
template <class F>
struct GradientName {
  char text[32] = {};
  constexpr GradientName() {
    int length = 0;
    for (const char* c = F::info.name; *c; ++c) text[length++] = *c;
    for (const char* c = "_backward"; *c; ++c) text[length++] = *c;
  }
};
template <class F>
inline constexpr GradientName<F> gradient_name;

/// The gradient of F's input, from that of its result and the saved input or result.
template <class F>
struct GradientOf {
  static constexpr PointwiseInfo info{gradient_name<F>.text, Accept::floating, Compute::promote,
                                      Result::same};
  F functor;
  template <class T>
  AORTA_INLINE T operator()(T g, T saved) const {
    if constexpr (GradientFromOutput<F>)
      return functor.gradient_from_output(g, saved);
    else
      return functor.gradient_from_input(g, saved);
  }
};

}  // namespace aorta::scalar
