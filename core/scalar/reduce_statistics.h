#pragma once

// Reducers of norms, variance and log-sum-exp. (The interface: core/scalar/reduce.h.)

#include <aorta/core/scalar/reduce.h>

namespace aorta::scalar {

/// The number of x that are not zero (NaN isn't).
struct CountNonzero {
  static constexpr Accept accept = Accept::any;
  static constexpr bool has_second = false;
  template <class T>
  using State = int64_t;
  template <class T>
  using Value = int64_t;
  template <class T>
  AORTA_INLINE int64_t init() const {
    return 0;
  }
  template <class T>
  AORTA_INLINE void accumulate(int64_t& state, T x, int64_t) const {
    state += x != T(0) ? 1 : 0;
  }
  template <class T>
  AORTA_INLINE void combine(int64_t& state, const int64_t& other) const {
    state += other;
  }
  template <class T>
  AORTA_INLINE int64_t finish(const int64_t& state, int64_t) const {
    return state;
  }
};

/// The number of x that are not zero, as T.
struct Norm0 : SumOfTerms<Norm0> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return x != T(0) ? 1.0 : 0.0;
  }
  template <class T>
  AORTA_INLINE T finish(const double& state, int64_t) const {
    return static_cast<T>(state);
  }
};

/// Sum of |x|.
struct Norm1 : SumOfTerms<Norm1> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(abs(x));
  }
  template <class T>
  AORTA_INLINE T finish(const double& state, int64_t) const {
    return static_cast<T>(state);
  }
};

/// sqrt(sum of x^2). Squares of floats can't overflow in double; those of doubles can.
struct Norm2 : SumOfTerms<Norm2> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(x) * static_cast<double>(x);
  }
  template <class T>
  AORTA_INLINE T finish(const double& state, int64_t) const {
    return static_cast<T>(sqrt(state));
  }
};

/// (sum of |x|^p)^(1/p).
struct NormP : SumOfTerms<NormP> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(pow(abs(x), static_cast<T>(p)));
  }
  template <class T>
  AORTA_INLINE T finish(const double& state, int64_t) const {
    return static_cast<T>(pow(state, 1.0 / p));
  }
  double p = 2;
};

/// The largest |x|.
struct NormInfinity : Extremum<true, NormInfinity> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  AORTA_INLINE T term(T x) const {
    return abs(x);
  }
};

/// The smallest |x|.
struct NormMinusInfinity : Extremum<false, NormMinusInfinity> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  AORTA_INLINE T term(T x) const {
    return abs(x);
  }
};

/// Mean and sum of squared deviations from it.
struct MomentState {
  double count, mean, deviations;
};

/// sum of (x - mean)^2 / (n - correction), or its root, and the mean. States are joined by Chan,
/// Golub & LeVeque's rule (1983), elements by Welford's (1962): neither cancels.
struct Moments {
  static constexpr Accept accept = Accept::floating;
  static constexpr bool has_second = true;
  template <class T>
  using State = MomentState;
  template <class T>
  using Value = T;
  template <class T>
  using Second = T;
  template <class T>
  AORTA_INLINE MomentState init() const {
    return {0, 0, 0};
  }
  template <class T>
  AORTA_INLINE void accumulate(MomentState& state, T x, int64_t) const {
    const double difference = static_cast<double>(x) - state.mean;
    state.count += 1;
    state.mean += difference / state.count;
    state.deviations += difference * (static_cast<double>(x) - state.mean);
  }
  template <class T>
  AORTA_INLINE void combine(MomentState& state, const MomentState& other) const {
    if (other.count == 0) return;
    const double count = state.count + other.count;
    const double difference = other.mean - state.mean;
    const double share = other.count / count;
    state.mean += difference * share;
    state.deviations += other.deviations + difference * difference * (state.count * share);
    state.count = count;
  }
  template <class T>
  AORTA_INLINE T finish(const MomentState& state, int64_t count) const {
    const double freedom = static_cast<double>(count) - correction;
    const double variance = state.deviations / (freedom > 0 ? freedom : 0.0);
    return static_cast<T>(root ? sqrt(variance) : variance);
  }
  template <class T>
  AORTA_INLINE T second(const MomentState& state, int64_t count) const {
    return count == 0 ? kNaN<T> : static_cast<T>(state.mean);
  }
  double correction = 1;
  bool root = false;  // the standard deviation instead of the variance
};

/// Sum of exp(x - largest), where the largest is finite (else 0).
template <class T>
struct LogSumExpState {
  T largest;
  double sum;
};

/// log(sum of exp(x)), without overflow: largest + log(sum of exp(x - largest)).
struct LogSumExp {
  static constexpr Accept accept = Accept::floating;
  static constexpr bool has_second = false;
  template <class T>
  using State = LogSumExpState<T>;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE State<T> init() const {
    return {-kInfinity<T>, 0};
  }
  template <class T>
  AORTA_INLINE void accumulate(State<T>& state, T x, int64_t) const {
    combine<T>(state, State<T>{x, isfinite(x) ? 1.0 : 0.0});
  }
  template <class T>
  AORTA_INLINE void combine(State<T>& state, const State<T>& other) const {
    const T largest = maximum(state.largest, other.largest);
    if (isfinite(largest)) {
      state.sum = state.sum * static_cast<double>(exp(state.largest - largest)) +
                  other.sum * static_cast<double>(exp(other.largest - largest));
    }
    state.largest = largest;
  }
  template <class T>
  AORTA_INLINE T finish(const State<T>& state, int64_t) const {
    if (!isfinite(state.largest)) return state.largest;
    return static_cast<T>(static_cast<double>(state.largest) + log(state.sum));
  }
};

}  // namespace aorta::scalar
