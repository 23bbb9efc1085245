#pragma once

// One element of an optimizer's step, once for the CPU and CUDA. A rule is a functor
// rule(numbers, p, g, s): parameter p and states s[0 .. states) change, gradient g doesn't.
// docs/optimizers.md has the formulas in one table.

#include <aorta/core/scalar/basic.h>

#include <cstdint>

namespace aorta {

/// The rules of the op `update`. A paper_ rule is the publication's where PyTorch's differs.
enum class UpdateRule : uint8_t {
  sgd,
  sgd_momentum,
  sgd_nesterov,
  paper_momentum,
  paper_look_ahead,  // moves the parameter to the point where Nesterov takes the gradient
  paper_nesterov,
  adagrad,
  paper_adagrad,
  adadelta,
  adam,
  adam_amsgrad,
  rmsprop,
  rmsprop_centered,
  rmsprop_momentum,
  rmsprop_centered_momentum,
  adamax,
  nadam,
  radam,
  rprop,
  asgd,
  average,  // p moves to the value in g by a share, of averages of parameters
  scale,    // p = factor * p; reads no gradient
  clamp,    // p between -limit and limit; reads no gradient
};
inline constexpr int kUpdateRules = static_cast<int>(UpdateRule::clamp) + 1;
inline constexpr int kMaxUpdateStates = 3;

/// The numbers of a step, one for all elements of a tensor. Each rule reads some of them.
template <class T>
struct UpdateNumbers {
  T step_size = 0;      // learning rate, corrected where the rule has a correction
  T sign = 1;           // of the gradient: -1 maximizes
  T weight_decay = 0;   // added to the gradient, times the parameter
  T shrink = 1;         // of the parameter before the step: decoupled weight decay
  T momentum = 0;       // of the first state, or beta1
  T mix = 1;            // the gradient's share of it
  T decay = 0;          // of the second state: beta2, alpha or rho
  T square_mix = 1;     // the squared gradient's share of it
  T eps = 0;            // see the rule
  T root_scale = 1;     // what the root of the second state is divided by: bias correction
  T gradient_step = 0;  // nadam: step size of the gradient itself

  UpdateNumbers() = default;
  template <class U>
  AORTA_INLINE explicit UpdateNumbers(const UpdateNumbers<U>& n)
      : step_size(static_cast<T>(n.step_size)),
        sign(static_cast<T>(n.sign)),
        weight_decay(static_cast<T>(n.weight_decay)),
        shrink(static_cast<T>(n.shrink)),
        momentum(static_cast<T>(n.momentum)),
        mix(static_cast<T>(n.mix)),
        decay(static_cast<T>(n.decay)),
        square_mix(static_cast<T>(n.square_mix)),
        eps(static_cast<T>(n.eps)),
        root_scale(static_cast<T>(n.root_scale)),
        gradient_step(static_cast<T>(n.gradient_step)) {}
};

}  // namespace aorta

namespace aorta::scalar {

/// The gradient that a rule sees: its sign first, then coupled weight decay. Without decay an
/// infinite parameter doesn't make it NaN.
template <class T>
AORTA_INLINE T effective_gradient(const UpdateNumbers<T>& n, T p, T g) {
  const T signed_gradient = n.sign * g;
  return n.weight_decay != T(0) ? signed_gradient + n.weight_decay * p : signed_gradient;
}
/// A running average: a + share * (value - a).
template <class T>
AORTA_INLINE T moved(T a, T value, T share) {
  return a + share * (value - a);
}

struct SgdUpdate {
  static constexpr int states = 0;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T*) const {
    p -= n.step_size * effective_gradient(n, p, g);
  }
};

/// s[0] is the velocity b. On a tensor's first step `mix` is 1: dampening comes later.
template <bool nesterov>
struct MomentumUpdate {
  static constexpr int states = 1;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    s[0] = n.momentum * s[0] + n.mix * g;
    p -= n.step_size * (nesterov ? g + n.momentum * s[0] : s[0]);
  }
};

/// The velocity holds the learning rate: v = gamma v + alpha g, p -= v.
struct PaperMomentumUpdate {
  static constexpr int states = 1;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    s[0] = n.momentum * s[0] + n.step_size * effective_gradient(n, p, g);
    p -= s[0];
  }
};
/// s[1] keeps the parameter, which goes to p - gamma v.
struct PaperLookAhead {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T, T* s) const {
    s[1] = p;
    p -= n.momentum * s[0];
  }
};
/// The step after it: from the parameter that was kept, with the gradient at p - gamma v.
struct PaperNesterovUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    s[0] = n.momentum * s[0] + n.step_size * effective_gradient(n, p, g);
    p = s[1] - s[0];
  }
};

/// s[0] is the sum of squares; the paper has eps inside the root.
template <bool paper>
struct AdagradUpdate {
  static constexpr int states = 1;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    s[0] += g * g;
    p -= n.step_size * (g / (paper ? sqrt(s[0] + n.eps) : sqrt(s[0]) + n.eps));
  }
};

/// s[0] averages squared gradients, s[1] squared steps before the learning rate.
struct AdadeltaUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    s[0] = n.decay * s[0] + n.square_mix * (g * g);
    const T delta = sqrt(s[1] + n.eps) / sqrt(s[0] + n.eps) * g;
    s[1] = n.decay * s[1] + n.square_mix * (delta * delta);
    p -= n.step_size * delta;
  }
};

/// s[0] averages gradients, s[1] their squares, s[2] is the largest s[1] so far.
template <bool amsgrad>
struct AdamUpdate {
  static constexpr int states = amsgrad ? 3 : 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    p *= n.shrink;
    s[0] = moved(s[0], g, n.mix);
    s[1] = n.decay * s[1] + n.square_mix * (g * g);
    T square = s[1];
    if constexpr (amsgrad) {
      s[2] = s[2] >= square ? s[2] : square;  // a NaN stays
      square = s[2];
    }
    p -= n.step_size * (s[0] / (sqrt(square) / n.root_scale + n.eps));
  }
};

/// s[0] averages squared gradients; then, where there is one, the average gradient and the
/// velocity.
template <bool centered, bool momentum>
struct RmspropUpdate {
  static constexpr int states = 1 + (centered ? 1 : 0) + (momentum ? 1 : 0);
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    s[0] = n.decay * s[0] + n.square_mix * (g * g);
    T square = s[0];
    if constexpr (centered) {
      s[1] = moved(s[1], g, n.square_mix);
      square -= s[1] * s[1];
    }
    T step = g / (sqrt(square) + n.eps);
    if constexpr (momentum) {
      s[states - 1] = n.momentum * s[states - 1] + step;
      step = s[states - 1];
    }
    p -= n.step_size * step;
  }
};

/// s[0] averages gradients, s[1] is their decayed largest magnitude.
struct AdamaxUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    s[0] = moved(s[0], g, n.mix);
    const T decayed = n.decay * s[1], size = (g < T(0) ? -g : g) + n.eps;
    s[1] = decayed > size ? decayed : size;  // a NaN gradient stays one
    p -= n.step_size * (s[0] / s[1]);
  }
};

/// Adam with Nesterov's momentum, whose weights are in the step sizes.
struct NadamUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    p *= n.shrink;
    s[0] = moved(s[0], g, n.mix);
    s[1] = n.decay * s[1] + n.square_mix * (g * g);
    const T root = sqrt(s[1]) / n.root_scale + n.eps;
    p -= n.gradient_step * (g / root);
    p -= n.step_size * (s[0] / root);
  }
};

/// Adam whose step isn't divided by the root of s[1] while its variance is unknown: `root_scale` 0.
struct RadamUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    p *= n.shrink;
    s[0] = moved(s[0], g, n.mix);
    s[1] = n.decay * s[1] + n.square_mix * (g * g);
    const T scale = n.root_scale != T(0) ? n.root_scale / (sqrt(s[1]) + n.eps) : T(1);
    p -= n.step_size * (s[0] * scale);
  }
};

/// s[0] is the gradient before, 0 where its sign has turned; s[1] is the element's own step size,
/// between `eps` and `step_size`: times `decay` where the sign turns, times `momentum` where it
/// stays. Only the gradient's sign moves the parameter.
struct RpropUpdate {
  static constexpr int states = 2;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = n.sign * g;
    const T product = g * s[0];
    const bool turned = product < T(0);
    const T size = s[1] * (product > T(0) ? n.momentum : turned ? n.decay : T(1));
    s[1] = size < n.eps ? n.eps : size > n.step_size ? n.step_size : size;
    g = turned ? T(0) : g;
    p -= g > T(0) ? s[1] : g < T(0) ? -s[1] : g;  // a NaN gradient stays one
    s[0] = g;
  }
};

/// s[0] averages the parameter; `mix` is 1 while it is the parameter itself.
struct AsgdUpdate {
  static constexpr int states = 1;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T* s) const {
    g = effective_gradient(n, p, g);
    p = p * n.shrink - n.step_size * g;
    s[0] = n.mix == T(1) ? p : moved(s[0], p, n.mix);
  }
};

/// An average's step towards the value g, by the share `mix`.
struct AverageUpdate {
  static constexpr int states = 0;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T g, T*) const {
    p = moved(p, g, n.mix);
  }
};
struct ScaleUpdate {
  static constexpr int states = 0;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T, T*) const {
    p *= n.shrink;
  }
};
/// Between -step_size and step_size; NaN stays.
struct ClampUpdate {
  static constexpr int states = 0;
  template <class T>
  AORTA_INLINE void operator()(const UpdateNumbers<T>& n, T& p, T, T*) const {
    const T limit = n.step_size;
    p = p > limit ? limit : p < -limit ? -limit : p;
  }
};

/// use(functor) with the functor of a rule.
template <class Use>
AORTA_INLINE auto with_update(UpdateRule rule, const Use& use) {
  switch (rule) {
    case UpdateRule::sgd:
      return use(SgdUpdate{});
    case UpdateRule::sgd_momentum:
      return use(MomentumUpdate<false>{});
    case UpdateRule::sgd_nesterov:
      return use(MomentumUpdate<true>{});
    case UpdateRule::paper_momentum:
      return use(PaperMomentumUpdate{});
    case UpdateRule::paper_look_ahead:
      return use(PaperLookAhead{});
    case UpdateRule::paper_nesterov:
      return use(PaperNesterovUpdate{});
    case UpdateRule::adagrad:
      return use(AdagradUpdate<false>{});
    case UpdateRule::paper_adagrad:
      return use(AdagradUpdate<true>{});
    case UpdateRule::adadelta:
      return use(AdadeltaUpdate{});
    case UpdateRule::adam:
      return use(AdamUpdate<false>{});
    case UpdateRule::adam_amsgrad:
      return use(AdamUpdate<true>{});
    case UpdateRule::rmsprop:
      return use(RmspropUpdate<false, false>{});
    case UpdateRule::rmsprop_centered:
      return use(RmspropUpdate<true, false>{});
    case UpdateRule::rmsprop_momentum:
      return use(RmspropUpdate<false, true>{});
    case UpdateRule::rmsprop_centered_momentum:
      return use(RmspropUpdate<true, true>{});
    case UpdateRule::adamax:
      return use(AdamaxUpdate{});
    case UpdateRule::nadam:
      return use(NadamUpdate{});
    case UpdateRule::radam:
      return use(RadamUpdate{});
    case UpdateRule::rprop:
      return use(RpropUpdate{});
    case UpdateRule::asgd:
      return use(AsgdUpdate{});
    case UpdateRule::average:
      return use(AverageUpdate{});
    case UpdateRule::scale:
      return use(ScaleUpdate{});
    case UpdateRule::clamp:
      break;
  }
  return use(ClampUpdate{});
}

}  // namespace aorta::scalar
