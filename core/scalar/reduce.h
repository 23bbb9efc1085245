#pragma once

// Every reduction as a reducer: a plain struct, parameters inside, with
//   State<T>                       what is kept while elements of compute type T come in
//   init<T>()                      the state of no elements
//   accumulate<T>(state, x, i)     takes in the element at position i of the reduced dimensions
//   combine<T>(state, other)       joins the states of two disjoint sets of elements
//   finish<T>(state, n)            the result, a Value<T>, of n elements
//   second<T>(state, n)            where has_second: the second result, a Second<T>
// T is float, double, int64_t, int32_t, uint8_t or bool, as far as `accept` admits them. Sums of
// floats are kept in double, so that their order costs no accuracy.

#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/pointwise_info.h>
#include <aorta/core/scalar/wrapping.h>

namespace aorta::scalar {

/// What sums, products and counts of T are kept in.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
/// What they are given back in.
template <class T>
using SumValue = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;

/// The bounds of T, infinite where T has infinities.
template <class T>
AORTA_INLINE constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}
template <class T>
AORTA_INLINE constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::min();
}

/// What sums have in common: `term(x)` is summed.
template <class Derived>
struct SumOfTerms {
  static constexpr bool has_second = false;
  template <class T>
  using State = Accumulator<T>;
  template <class T>
  AORTA_INLINE State<T> init() const {
    return 0;
  }
  template <class T>
  AORTA_INLINE void accumulate(State<T>& state, T x, int64_t) const {
    state = wrapping_add(state, static_cast<const Derived*>(this)->template term<T>(x));
  }
  template <class T>
  AORTA_INLINE void combine(State<T>& state, const State<T>& other) const {
    state = wrapping_add(state, other);
  }
};

/// Sum of x.
struct Sum : SumOfTerms<Sum> {
  static constexpr Accept accept = Accept::any;
  template <class T>
  using Value = SumValue<T>;
  template <class T>
  AORTA_INLINE Accumulator<T> term(T x) const {
    return static_cast<Accumulator<T>>(x);
  }
  template <class T>
  AORTA_INLINE Value<T> finish(const State<T>& state, int64_t) const {
    return static_cast<Value<T>>(state);
  }
};

/// Sum of x over their number; NaN of none.
struct Mean : SumOfTerms<Mean> {
  static constexpr Accept accept = Accept::floating;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(x);
  }
  template <class T>
  AORTA_INLINE T finish(const State<T>& state, int64_t count) const {
    return static_cast<T>(state / static_cast<double>(count));
  }
};

/// Product of x.
struct Prod {
  static constexpr Accept accept = Accept::any;
  static constexpr bool has_second = false;
  template <class T>
  using State = Accumulator<T>;
  template <class T>
  using Value = SumValue<T>;
  template <class T>
  AORTA_INLINE State<T> init() const {
    return 1;
  }
  template <class T>
  AORTA_INLINE void accumulate(State<T>& state, T x, int64_t) const {
    state = wrapping_mul(state, static_cast<State<T>>(x));
  }
  template <class T>
  AORTA_INLINE void combine(State<T>& state, const State<T>& other) const {
    state = wrapping_mul(state, other);
  }
  template <class T>
  AORTA_INLINE Value<T> finish(const State<T>& state, int64_t) const {
    return static_cast<Value<T>>(state);
  }
};

/// Whether x takes the place of y as the largest (smallest) so far; NaN takes it from any number.
template <bool largest, class T>
AORTA_INLINE bool is_better(T x, T y) {
  const bool beyond = largest ? x > y : x < y;
  if constexpr (std::is_floating_point_v<T>)
    return beyond | (x != x);
  else
    return beyond;
}

/// The largest or smallest f(x); NaN if any is.
template <bool largest, class Derived>
struct Extremum {
  static constexpr bool has_second = false;
  template <class T>
  using State = T;
  template <class T>
  using Value = T;
  template <class T>
  AORTA_INLINE T init() const {
    return largest ? lowest<T>() : highest<T>();
  }
  template <class T>
  AORTA_INLINE void accumulate(T& state, T x, int64_t) const {
    const T y = static_cast<const Derived*>(this)->template term<T>(x);
    state = is_better<largest>(y, state) ? y : state;
  }
  template <class T>
  AORTA_INLINE void combine(T& state, const T& other) const {
    state = is_better<largest>(other, state) ? other : state;
  }
  template <class T>
  AORTA_INLINE T finish(const T& state, int64_t) const {
    return state;
  }
};

/// The largest x; NaN if any is.
struct Max : Extremum<true, Max> {
  static constexpr Accept accept = Accept::any;
  template <class T>
  AORTA_INLINE T term(T x) const {
    return x;
  }
};

/// The smallest x; NaN if any is.
struct Min : Extremum<false, Min> {
  static constexpr Accept accept = Accept::any;
  template <class T>
  AORTA_INLINE T term(T x) const {
    return x;
  }
};

/// A value and where it was; index -1 of nothing.
template <class T>
struct ValueIndex {
  T value;
  int64_t index;
};

/// The largest (smallest) x and the first place where it is; the first NaN if there is one.
template <bool largest>
struct ExtremumIndex {
  static constexpr Accept accept = Accept::any;
  static constexpr bool has_second = true;
  template <class T>
  using State = ValueIndex<T>;
  template <class T>
  using Value = T;
  template <class T>
  using Second = int64_t;
  template <class T>
  AORTA_INLINE ValueIndex<T> init() const {
    return {largest ? lowest<T>() : highest<T>(), -1};
  }
  template <class T>
  AORTA_INLINE void accumulate(ValueIndex<T>& state, T x, int64_t index) const {
    combine<T>(state, ValueIndex<T>{x, index});
  }
  template <class T>
  AORTA_INLINE void combine(ValueIndex<T>& state, const ValueIndex<T>& other) const {
    if (other.index < 0) return;
    const bool other_better = is_better<largest>(other.value, state.value);
    const bool better = is_better<largest>(state.value, other.value);
    // Both NaN is "better" on either side, equals on neither: then the lower index wins.
    if (state.index < 0 || (other_better && !better) ||
        (other_better == better && other.index < state.index)) {
      state = other;
    }
  }
  template <class T>
  AORTA_INLINE T finish(const ValueIndex<T>& state, int64_t) const {
    return state.value;
  }
  template <class T>
  AORTA_INLINE int64_t second(const ValueIndex<T>& state, int64_t) const {
    return state.index;
  }
};
struct ArgMax : ExtremumIndex<true> {};
struct ArgMin : ExtremumIndex<false> {};

/// An integer as wide as T, so that truths are kept in vectors of one width with their elements.
template <class T>
using Mask = std::conditional_t<sizeof(T) == 8, uint64_t,
                                std::conditional_t<sizeof(T) == 4, uint32_t, uint8_t>>;

/// Whether any x is not zero (NaN isn't); false of none.
struct Any {
  static constexpr Accept accept = Accept::any;
  static constexpr bool has_second = false;
  template <class T>
  using State = Mask<T>;
  template <class T>
  using Value = bool;
  template <class T>
  AORTA_INLINE State<T> init() const {
    return 0;
  }
  template <class T>
  AORTA_INLINE void accumulate(State<T>& state, T x, int64_t) const {
    state = x != T(0) ? State<T>(1) : state;
  }
  template <class T>
  AORTA_INLINE void combine(State<T>& state, const State<T>& other) const {
    state = static_cast<State<T>>(state | other);
  }
  template <class T>
  AORTA_INLINE bool finish(const State<T>& state, int64_t) const {
    return state != 0;
  }
};

/// Whether no x is zero; true of none.
struct All {
  static constexpr Accept accept = Accept::any;
  static constexpr bool has_second = false;
  template <class T>
  using State = Mask<T>;
  template <class T>
  using Value = bool;
  template <class T>
  AORTA_INLINE State<T> init() const {
    return 1;
  }
  template <class T>
  AORTA_INLINE void accumulate(State<T>& state, T x, int64_t) const {
    state = x == T(0) ? State<T>(0) : state;
  }
  template <class T>
  AORTA_INLINE void combine(State<T>& state, const State<T>& other) const {
    state = static_cast<State<T>>(state & other);
  }
  template <class T>
  AORTA_INLINE bool finish(const State<T>& state, int64_t) const {
    return state != 0;
  }
};

}  // namespace aorta::scalar
