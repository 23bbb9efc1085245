#pragma once

#include <aorta/core/dtype.h>
#include <aorta/core/scalar/convert.h>
#include <aorta/core/scalar/math.h>

#include <cstdint>
#include <type_traits>

namespace aorta::body {

/// T steps, N samples, C classes, targets of up to S classes; everything is contiguous. A sample's
/// target with a blank before, behind and between its classes has 2 S + 1 states. The compute type
/// is f64 for f64, else f32.
struct CtcArgs {
  int64_t steps = 0, batch = 0, classes = 0, longest = 0;
  int64_t blank = 0;
  DType dtype = DType::f32;                 // of log_probs and the gradient
  const void* log_probs = nullptr;          // (T, N, C)
  const int64_t* targets = nullptr;         // (N, S), in [0, C)
  const int64_t* input_lengths = nullptr;   // (N), in [0, T]
  const int64_t* target_lengths = nullptr;  // (N), in [0, S]
  void* alpha = nullptr;                    // (N, T, 2 S + 1) in the compute type: see CtcSample
  void* losses = nullptr;                   // (N) in the compute type
  // The following are the backward kernel's, which reads alpha and losses.
  const void* gradient = nullptr;  // (N) in the compute type: of the losses
  bool zero_infinity = false;      // infinite losses have a gradient of 0
  void* beta = nullptr;            // (N, 2, 2 S + 1) in the compute type: two rows
  int64_t* chain = nullptr;        // (N, 2 S + 1): see CtcSample::link
  void* output = nullptr;          // (T, N, C): of log_probs
};

/// log(exp(a) + exp(b) + exp(c)).
template <class C>
AORTA_INLINE C log_add(C a, C b, C c) {
  const C largest = scalar::maximum(scalar::maximum(a, b), c);
  const C shift = largest == -scalar::kInfinity<C> ? C(0) : largest;
  return shift +
         scalar::log(scalar::exp(a - shift) + scalar::exp(b - shift) + scalar::exp(c - shift));
}

/// One sample, with elements of type T.
template <class T>
struct CtcSample {
  using C = std::conditional_t<scalar::is_half_type<T>, float, T>;
  static constexpr C kNever = -scalar::kInfinity<C>;

  const T* log_probs;  // of step 0; a step is `stride` further
  int64_t stride, classes, steps, states, width, blank;
  const int64_t* targets;
  C* alpha;  // (T, width): the logarithm of what reaches a state of a step from the beginning
  int64_t* chain;

  AORTA_INLINE CtcSample(const CtcArgs& args, int64_t n)
      : log_probs(static_cast<const T*>(args.log_probs) + n * args.classes),
        stride(args.batch * args.classes),
        classes(args.classes),
        steps(args.input_lengths[n]),
        states(2 * args.target_lengths[n] + 1),
        width(2 * args.longest + 1),
        blank(args.blank),
        targets(args.targets + n * args.longest),
        alpha(static_cast<C*>(args.alpha) + n * args.steps * width),
        chain(args.chain ? args.chain + n * width : nullptr) {}

  AORTA_INLINE int64_t label(int64_t s) const { return s % 2 == 0 ? blank : targets[s / 2]; }
  AORTA_INLINE C log_prob(int64_t t, int64_t c) const {
    return scalar::convert_value<C>(log_probs[t * stride + c]);
  }
  /// Whether state s is reached from s - 2, past a blank that may be left out.
  AORTA_INLINE bool skips(int64_t s) const { return s >= 2 && label(s) != label(s - 2); }

  /// Fills alpha of step t and state s, from those of the step before.
  AORTA_INLINE void forward(int64_t t, int64_t s) const {
    C before;
    if (s > 2 * t + 1) {
      before = kNever;  // a step leads at most two states on
    } else if (t == 0) {
      before = C(0);
    } else {
      const C* const row = alpha + (t - 1) * width;
      before = log_add(row[s], s > 0 ? row[s - 1] : kNever, skips(s) ? row[s - 2] : kNever);
    }
    alpha[t * width + s] = before + log_prob(t, label(s));
  }
  /// The negative logarithm of the sum over all paths, alpha being there.
  AORTA_INLINE C loss() const {
    if (steps == 0) return states == 1 ? C(0) : scalar::kInfinity<C>;
    const C* const row = alpha + (steps - 1) * width;
    return -log_add(row[states - 1], states > 1 ? row[states - 2] : kNever, kNever);
  }

  /// The logarithm of what reaches the end from state s of step t, that of the state included, from
  /// the row of the step behind.
  AORTA_INLINE C backward(int64_t t, int64_t s, const C* behind) const {
    C after;
    if (s + 2 * (steps - t) < states) {
      after = kNever;
    } else if (t == steps - 1) {
      after = C(0);
    } else {
      after = log_add(behind[s], s + 1 < states ? behind[s + 1] : kNever,
                      s + 2 < states && skips(s + 2) ? behind[s + 2] : kNever);
    }
    return after + log_prob(t, label(s));
  }
  /// Links the states of a class: chain[s] becomes the next one, or -1; of one that isn't the first
  /// of its class less by `width` + 1.
  AORTA_INLINE void link(int64_t s) const {
    const int64_t own = label(s);
    int64_t next = s + 1, before = s - 1;
    while (next < states && label(next) != own) ++next;
    while (before >= 0 && label(before) != own) --before;
    chain[s] = (next < states ? next : -1) - (before >= 0 ? width + 1 : 0);
  }
  AORTA_INLINE bool is_first(int64_t s) const { return chain[s] >= -1; }
  /// The gradient of the loss by the log-probability of the class of state s, the first of its
  /// class, in step t: exp(log_prob) less the share of the paths that are in one of its states.
  AORTA_INLINE C gradient(int64_t t, int64_t s, const C* beta, C loss) const {
    const C* const row = alpha + t * width;
    const C own = log_prob(t, label(s));
    if (own == kNever) return loss - loss;  // no path goes there; NaN where none goes anywhere
    C sum = 0;
    for (int64_t at = s; at >= 0;) {
      sum += scalar::exp(row[at] + beta[at] - own + loss);
      const int64_t next = chain[at];
      at = next < -1 ? next + width + 1 : next;
    }
    return scalar::exp(own) - sum;
  }
  /// The gradient for a class that has no state; NaN where no path is.
  AORTA_INLINE C gradient_elsewhere(int64_t t, int64_t c, C loss) const {
    return scalar::exp(log_prob(t, c)) + (loss - loss);
  }
};

}  // namespace aorta::body
