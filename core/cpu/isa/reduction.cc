#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/cpu/reduction.h>
#include <aorta/core/scalar/reduce_list.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

using scalar::LogSumExp;
using scalar::Moments;

// Independent partial results in a row: enough vectors to hide the latency of an addition. The
// number is the same for every instruction set, and so are the results.
constexpr int kLanes = 32;
// Elements of a row, or rows of a column, that are passed over twice while they lie in the cache.
constexpr int64_t kBlock = 1024;
constexpr int64_t kBlockRows = 128;
constexpr int64_t kBlockColumns = 512;
// Rows that are taken in one pass over the states of columns. Rows that lie 4 KB apart share the
// few ways of a set of the first-level cache with them.
constexpr int kRowsAtOnce = 8;

template <class T>
AORTA_INLINE int64_t least(T a, T b) {
  return a < b ? a : b;
}

// Reduces n contiguous elements by lanes, which are then joined as a tree.
template <class R, class T>
AORTA_INLINE typename R::template State<T> reduce_lanes(const R& reducer, const char* x,
                                                        int64_t n) {
  using State = typename R::template State<T>;
  State lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = reducer.template init<T>();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) reducer.template accumulate<T>(lanes[l], load<T>(x, i + l), 0);
  }
  for (int l = 0; i < n; ++i, ++l) reducer.template accumulate<T>(lanes[l], load<T>(x, i), 0);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) reducer.template combine<T>(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

// Reducers whose state is a number.
template <class R, class T>
struct Loops {
  using State = typename R::template State<T>;

  static void row(const R& reducer, State& state, const char* x, int64_t n, int64_t) {
    reducer.template combine<T>(state, reduce_lanes<R, T>(reducer, x, n));
  }

  static void columns(const R& reducer, State* states, const char* tile, int64_t row_stride,
                      int64_t rows, int64_t columns, int64_t) {
    int64_t r = 0;
    for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        State state = states[c];
#pragma GCC unroll 8
        for (int k = 0; k < kRowsAtOnce; ++k)
          reducer.template accumulate<T>(state, load<T>(x + k * row_stride, c), 0);
        states[c] = state;
      }
    }
    for (; r < rows; ++r) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        State state = states[c];
        reducer.template accumulate<T>(state, load<T>(x, c), 0);
        states[c] = state;
      }
    }
  }
};

// The largest or smallest and its place: first the value of a block, by lanes, and only where it is
// better than the best so far, its place in the block.
template <bool largest, class T>
struct PlaceLoops {
  using R = std::conditional_t<largest, scalar::ArgMax, scalar::ArgMin>;
  using Value = std::conditional_t<largest, scalar::Max, scalar::Min>;
  using State = scalar::ValueIndex<T>;
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

  static void row(const R& reducer, State& state, const char* x, int64_t n, int64_t position) {
    for (int64_t i = 0; i < n; i += kBlock) {
      const char* const block = x + i * static_cast<int64_t>(sizeof(T));
      const T best = reduce_lanes<Value, T>(Value{}, block, least(kBlock, n - i));
      const bool better = scalar::is_better<largest>(best, state.value);
      const bool worse = scalar::is_better<largest>(state.value, best);
      if (state.index >= 0 && (!better || worse)) continue;
      int64_t j = 0;
      while (load<T>(block, j) != best && load<T>(block, j) == load<T>(block, j)) ++j;
      reducer.template combine<T>(state, State{best, position + i + j});
    }
  }

  // Places within a block are kept as integers as wide as the elements (but for the narrow ones),
  // in vectors beside theirs.
  static void block(const R& reducer, State* states, const char* tile, int64_t row_stride,
                    int64_t rows, int64_t columns, int64_t position) {
    T best[kBlockColumns];
    Index place[kBlockColumns];
    for (int64_t c = 0; c < columns; ++c) {
      best[c] = load<T>(tile, c);
      place[c] = 0;
    }
    for (int64_t r = 1; r < rows; ++r) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        const T value = load<T>(x, c);
        const bool better = scalar::is_better<largest>(value, best[c]) & (best[c] == best[c]);
        place[c] = better ? static_cast<Index>(r) : place[c];
        best[c] = better ? value : best[c];
      }
    }
    for (int64_t c = 0; c < columns; ++c)
      reducer.template combine<T>(states[c], State{best[c], position + place[c]});
  }

  static void columns(const R& reducer, State* states, const char* tile, int64_t row_stride,
                      int64_t rows, int64_t columns, int64_t position) {
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      for (int64_t c = 0; c < columns; c += kBlockColumns) {
        block(reducer, states + c, tile + r * row_stride + c * static_cast<int64_t>(sizeof(T)),
              row_stride, least(kBlockRows, rows - r), least(kBlockColumns, columns - c),
              position + r);
      }
    }
  }
};

template <class T>
struct Loops<scalar::ArgMax, T> : PlaceLoops<true, T> {};
template <class T>
struct Loops<scalar::ArgMin, T> : PlaceLoops<false, T> {};

// Moments: sums of distances, and of squared ones, from the first element of a block. As that is
// one of the n elements, its squared distance from their mean is at most n times their variance, so
// the subtraction at the end costs a factor of n in accuracy at worst: nothing in double.
template <class T>
struct Loops<Moments, T> {
  using State = scalar::MomentState;

  AORTA_INLINE static State joined(double shift, double count, double sum, double squares) {
    const double mean = sum / count;
    return {count, shift + mean, scalar::maximum(squares - sum * mean, 0.0)};
  }

  static State block(const char* x, int64_t n) {
    const double shift = static_cast<double>(load<T>(x, 0));
    double sum[kLanes] = {};
    double squares[kLanes] = {};
    const auto take = [&](int l, T value) __attribute__((always_inline)) {
      const double difference = static_cast<double>(value) - shift;
      sum[l] += difference;
      squares[l] += difference * difference;
    };
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) take(l, load<T>(x, i + l));
    }
    for (int l = 0; i < n; ++i, ++l) take(l, load<T>(x, i));
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int l = 0; l < width; ++l) {
        sum[l] += sum[l + width];
        squares[l] += squares[l + width];
      }
    }
    return joined(shift, static_cast<double>(n), sum[0], squares[0]);
  }

  static void row(const Moments& reducer, State& state, const char* x, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; i += kBlock) {
      reducer.template combine<T>(
          state, block(x + i * static_cast<int64_t>(sizeof(T)), least(kBlock, n - i)));
    }
  }

  static void block(const Moments& reducer, State* states, const char* tile, int64_t row_stride,
                    int64_t rows, int64_t columns) {
    double shift[kBlockColumns];
    double sum[kBlockColumns] = {};
    double squares[kBlockColumns] = {};
    for (int64_t c = 0; c < columns; ++c) shift[c] = static_cast<double>(load<T>(tile, c));
    const auto take = [&]<int at_once>(std::integral_constant<int, at_once>, int64_t r) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) {
        double total = sum[c], total_squares = squares[c];
#pragma GCC unroll 8
        for (int k = 0; k < at_once; ++k) {
          const double difference = static_cast<double>(load<T>(x + k * row_stride, c)) - shift[c];
          total += difference;
          total_squares += difference * difference;
        }
        sum[c] = total;
        squares[c] = total_squares;
      }
    };
    int64_t r = 0;
    for (; r + kRowsAtOnce <= rows; r += kRowsAtOnce)
      take(std::integral_constant<int, kRowsAtOnce>{}, r);
    for (; r < rows; ++r) take(std::integral_constant<int, 1>{}, r);
    for (int64_t c = 0; c < columns; ++c) {
      reducer.template combine<T>(states[c],
                                  joined(shift[c], static_cast<double>(rows), sum[c], squares[c]));
    }
  }

  static void columns(const Moments& reducer, State* states, const char* tile, int64_t row_stride,
                      int64_t rows, int64_t columns, int64_t) {
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      for (int64_t c = 0; c < columns; c += kBlockColumns) {
        block(reducer, states + c, tile + r * row_stride + c * static_cast<int64_t>(sizeof(T)),
              row_stride, least(kBlockRows, rows - r), least(kBlockColumns, columns - c));
      }
    }
  }
};

// exp(x - shift).
struct Exponentials : scalar::SumOfTerms<Exponentials> {
  template <class T>
  AORTA_INLINE double term(T x) const {
    return static_cast<double>(scalar::exp(x - static_cast<T>(shift)));
  }
  double shift = 0;
};

// log-sum-exp: a block's largest element first, then the exponentials relative to it.
template <class T>
struct Loops<LogSumExp, T> {
  using State = scalar::LogSumExpState<T>;

  static void row(const LogSumExp& reducer, State& state, const char* x, int64_t n, int64_t) {
    for (int64_t i = 0; i < n; i += kBlock) {
      const char* const block = x + i * static_cast<int64_t>(sizeof(T));
      const int64_t size = least(kBlock, n - i);
      State part = reducer.template init<T>();
      part.largest = reduce_lanes<scalar::Max, T>(scalar::Max{}, block, size);
      if (scalar::isfinite(part.largest)) {
        Exponentials exponentials;
        exponentials.shift = static_cast<double>(part.largest);
        part.sum = reduce_lanes<Exponentials, T>(exponentials, block, size);
      }
      reducer.template combine<T>(state, part);
    }
  }

  static void block(const LogSumExp& reducer, State* states, const char* tile, int64_t row_stride,
                    int64_t rows, int64_t columns) {
    T largest[kBlockColumns], shift[kBlockColumns];
    double sum[kBlockColumns] = {};
    for (int64_t c = 0; c < columns; ++c) largest[c] = load<T>(tile, c);
    for (int64_t r = 1; r < rows; ++r) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) largest[c] = scalar::maximum(largest[c], load<T>(x, c));
    }
    for (int64_t c = 0; c < columns; ++c)
      shift[c] = scalar::isfinite(largest[c]) ? largest[c] : T(0);
    for (int64_t r = 0; r < rows; ++r) {
      const char* const x = tile + r * row_stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c)
        sum[c] += static_cast<double>(scalar::exp(load<T>(x, c) - shift[c]));
    }
    for (int64_t c = 0; c < columns; ++c) {
      reducer.template combine<T>(states[c],
                                  State{largest[c], scalar::isfinite(largest[c]) ? sum[c] : 0.0});
    }
  }

  static void columns(const LogSumExp& reducer, State* states, const char* tile, int64_t row_stride,
                      int64_t rows, int64_t columns, int64_t) {
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      for (int64_t c = 0; c < columns; c += kBlockColumns) {
        block(reducer, states + c, tile + r * row_stride + c * static_cast<int64_t>(sizeof(T)),
              row_stride, least(kBlockRows, rows - r), least(kBlockColumns, columns - c));
      }
    }
  }
};

// The entries of the table.
template <class R, class T>
struct Entry {
  using State = typename R::template State<T>;
  static_assert(sizeof(State) <= kMaxStateSize);

  static const R& typed(const void* reducer) { return *static_cast<const R*>(reducer); }
  static State* typed(char* states) { return reinterpret_cast<State*>(states); }
  static const State* typed(const char* states) { return reinterpret_cast<const State*>(states); }

  static void init(const void* reducer, char* states, int64_t n) {
    const State empty = typed(reducer).template init<T>();
    for (int64_t i = 0; i < n; ++i) typed(states)[i] = empty;
  }

  static void rows(const void* reducer, char* states, const char* tile, int64_t row_stride,
                   int64_t rows, int64_t columns, int64_t position) {
    const R r = typed(reducer);
    for (int64_t i = 0; i < rows; ++i)
      Loops<R, T>::row(r, typed(states)[i], tile + i * row_stride, columns, position);
  }

  static void columns(const void* reducer, char* states, const char* tile, int64_t row_stride,
                      int64_t rows, int64_t columns, int64_t position) {
    const R r = typed(reducer);
    Loops<R, T>::columns(r, typed(states), tile, row_stride, rows, columns, position);
  }

  static void combine(const void* reducer, char* states, const char* others, int64_t n) {
    const R r = typed(reducer);
    for (int64_t i = 0; i < n; ++i) r.template combine<T>(typed(states)[i], typed(others)[i]);
  }

  static void finish(const void* reducer, const char* states, int64_t n, int64_t count,
                     char* values, char* seconds) {
    const R r = typed(reducer);
    if (values) {
      for (int64_t i = 0; i < n; ++i)
        store(values, i, r.template finish<T>(typed(states)[i], count));
    }
    if constexpr (R::has_second) {
      if (!seconds) return;
      for (int64_t i = 0; i < n; ++i)
        store(seconds, i, r.template second<T>(typed(states)[i], count));
    }
  }

  static constexpr DType second_dtype() {
    if constexpr (R::has_second)
      return dtype_of<typename R::template Second<T>>;
    else
      return DType::i64;
  }

  static constexpr ReduceLoops loops{sizeof(State),  dtype_of<typename R::template Value<T>>,
                                     second_dtype(), init,
                                     rows,           columns,
                                     combine,        finish};
};

template <int count>
struct LoopTable {
  ReduceLoops loops[count * kDTypeCount] = {};
};

template <class R, class T>
constexpr void set_entry(ReduceLoops* of_reducer) {
  if constexpr (scalar::reduces<R, T>())
    of_reducer[static_cast<int>(dtype_of<T>)] = Entry<R, T>::loops;
}

template <class... Rs>
constexpr LoopTable<sizeof...(Rs)> make_table(TypeList<Rs...>) {
  LoopTable<sizeof...(Rs)> table;
  const auto fill = [&]<class R>(const R*, ReduceLoops* of_reducer) {
    set_entry<R, float>(of_reducer);
    set_entry<R, double>(of_reducer);
    set_entry<R, int64_t>(of_reducer);
    set_entry<R, int32_t>(of_reducer);
    set_entry<R, uint8_t>(of_reducer);
    set_entry<R, bool>(of_reducer);
  };
  int i = 0;
  (fill(static_cast<const Rs*>(nullptr), table.loops + kDTypeCount * i++), ...);
  return table;
}

constexpr auto kTable = make_table(scalar::ReduceOps{});

}  // namespace

const ReduceLoops* reduce_loops() { return kTable.loops; }

}  // namespace aorta::cpu::AORTA_ISA
