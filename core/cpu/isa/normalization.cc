#include <aorta/core/cpu/compute.h>
#include <aorta/core/cpu/isa/half_row.h>
#include <aorta/core/cpu/normalization.h>
#include <aorta/core/scalar/math.h>
#include <aorta/core/scalar/normalization.h>

#include <type_traits>

namespace aorta::cpu::AORTA_ISA {
namespace {

// Elements that are loaded together, and independent partial results of a run: the same number for
// every instruction set, and so are the results.
constexpr int kLanes = kHalfBlock;
// Columns whose partial results lie in the first-level cache.
constexpr int64_t kColumns = 256;
// Rows that are taken in one pass over the partial results, and those that are summed in f32.
constexpr int kRowsAtOnce = 8;
constexpr int64_t kBlockRows = 64;

// Elements beyond the last kLanes have partial results of their own: an index that varies would
// keep the others in memory.
template <class C>
AORTA_INLINE void join(C* sums, const C* rest) {
  for (int l = 0; l < kLanes; ++l) sums[l] += rest[l];
}
// The sum of all, as a tree.
template <int lanes, class C>
AORTA_INLINE double joined(C* sums) {
  if constexpr (lanes == 1) {
    return static_cast<double>(sums[0]);
  } else {
    for (int l = 0; l < lanes / 2; ++l) sums[l] += sums[l + lanes / 2];
    return joined<lanes / 2>(sums);
  }
}

// False where the shift is so far from the mean, in deviations, that the subtraction above cancels
// what counts, and where numbers overflow or are NaN.
AORTA_INLINE bool is_good(double shift, const NormMoments& m) {
  const double distance = m.mean - shift;
  return distance * distance * m.count <= 16 * m.squares && m.squares - m.squares == 0;
}

template <class T>
struct Loops {
  using C = Compute<T>;
  static constexpr bool converts = !std::is_same_v<T, C>;

  AORTA_INLINE static C load(const T* x, int64_t i) { return static_cast<C>(x[i]); }
  // kLanes elements.
  AORTA_INLINE static void load_block(C* block, const T* x) {
    if constexpr (converts) {
      widen(block, x);
    } else {
      for (int l = 0; l < kLanes; ++l) block[l] = x[l];
    }
  }

  // Asks for kLanes elements ahead of use; they may lie behind the end.
  AORTA_INLINE static void prefetch(const T* x) {
    constexpr int bytes = kLanes * static_cast<int>(sizeof(T));
    for (int i = 0; i < bytes; i += 64) __builtin_prefetch(reinterpret_cast<const char*>(x) + i);
  }

  // y[i] = f(x[i], i)
  template <class F>
  AORTA_INLINE static void transform(T* y, const T* x, int64_t n, const F& f) {
    int64_t i = 0;
    if constexpr (converts) {
      for (; i + kLanes <= n; i += kLanes) {
        C in[kLanes], out[kLanes];
        widen(in, x + i);
        for (int l = 0; l < kLanes; ++l) out[l] = f(in[l], i + l);
        narrow(y + i, out);
      }
    }
#pragma GCC ivdep
    for (int64_t k = i; k < n; ++k) y[k] = T(f(load(x, k), k));
  }
  // y[i] = f(g[i], x[i], i)
  template <class F>
  AORTA_INLINE static void transform(T* y, const T* g, const T* x, int64_t n, const F& f) {
    int64_t i = 0;
    if constexpr (converts) {
      for (; i + kLanes <= n; i += kLanes) {
        C gradient[kLanes], in[kLanes], out[kLanes];
        widen(gradient, g + i);
        widen(in, x + i);
        for (int l = 0; l < kLanes; ++l) out[l] = f(gradient[l], in[l], i + l);
        narrow(y + i, out);
      }
    }
#pragma GCC ivdep
    for (int64_t k = i; k < n; ++k) y[k] = T(f(load(g, k), load(x, k), k));
  }

  // y[i] = f(a[i], b[i], c[i], i)
  template <class F>
  AORTA_INLINE static void transform(T* y, const T* a, const T* b, const T* c, int64_t n,
                                     const F& f) {
    int64_t i = 0;
    if constexpr (converts) {
      for (; i + kLanes <= n; i += kLanes) {
        C first[kLanes], second[kLanes], third[kLanes], out[kLanes];
        widen(first, a + i);
        widen(second, b + i);
        widen(third, c + i);
        for (int l = 0; l < kLanes; ++l) out[l] = f(first[l], second[l], third[l], i + l);
        narrow(y + i, out);
      }
    }
#pragma GCC ivdep
    for (int64_t k = i; k < n; ++k) y[k] = T(f(load(a, k), load(b, k), load(c, k), k));
  }

  // With sums in A.
  template <class A>
  AORTA_INLINE static NormMoments moments_about(double shift, const T* x, int64_t n, int64_t runs,
                                                int64_t step) {
    const A from = static_cast<A>(shift);
    A sum[kLanes] = {}, squares[kLanes] = {}, rest[2][kLanes] = {};
    for (int64_t r = 0; r < runs; ++r, x += step) {
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        C values[kLanes];
        load_block(values, x + i);
        for (int l = 0; l < kLanes; ++l) {
          const A difference = static_cast<A>(values[l]) - from;
          sum[l] += difference;
          squares[l] += difference * difference;
        }
      }
      for (int l = 0; i < n; ++i, ++l) {
        const A difference = static_cast<A>(load(x, i)) - from;
        rest[0][l] += difference;
        rest[1][l] += difference * difference;
      }
    }
    join(sum, rest[0]);
    join(squares, rest[1]);
    return scalar::moments_from(static_cast<double>(from), static_cast<double>(n * runs),
                                joined<kLanes>(sum), joined<kLanes>(squares));
  }

  static NormMoments run_moments(const void* data, int64_t n, int64_t runs, int64_t step) {
    const T* const x = static_cast<const T*>(data);
    const double shift = static_cast<double>(load(x, 0));
    const NormMoments m = moments_about<C>(shift, x, n, runs, step);
    if (is_good(shift, m)) return m;
    const bool finite = m.mean - m.mean == 0;
    return moments_about<double>(finite ? m.mean : shift, x, n, runs, step);
  }

  // y = (x - mean) scale + shift of a run or, by arrays, of columns; relu turns it into the greater
  // of that and 0, and hides the gradient where y isn't above 0. NaN stays.
  template <bool relu>
  struct RunMap {
    C mean, scale, shift;
    AORTA_INLINE explicit RunMap(const NormMap& map)
        : mean(static_cast<C>(map.mean)),
          scale(static_cast<C>(map.scale)),
          shift(static_cast<C>(map.shift)) {}
    AORTA_INLINE C distance(C x, int64_t) const { return x - mean; }
    AORTA_INLINE C operator()(C x, int64_t) const {
      return rectified<relu>(scalar::normalised(x, mean, scale, shift));
    }
    AORTA_INLINE C slope(C g, C x, int64_t) const {
      return masked<relu>(g, relu ? scalar::normalised(x, mean, scale, shift) : C(1));
    }
  };
  template <bool relu>
  struct ColumnMap {
    const C *mean, *scale, *shift;
    AORTA_INLINE explicit ColumnMap(const NormColumnMap& map, int64_t from = 0)
        : mean(static_cast<const C*>(map.mean) + from),
          scale(static_cast<const C*>(map.scale) + from),
          shift(static_cast<const C*>(map.shift) + from) {}
    AORTA_INLINE C distance(C x, int64_t c) const { return x - mean[c]; }
    AORTA_INLINE C operator()(C x, int64_t c) const {
      return rectified<relu>(scalar::normalised(x, mean[c], scale[c], shift[c]));
    }
    AORTA_INLINE C slope(C g, C x, int64_t c) const {
      return masked<relu>(g, relu ? scalar::normalised(x, mean[c], scale[c], shift[c]) : C(1));
    }
  };
  template <bool relu>
  AORTA_INLINE static C rectified(C y) {
    return relu ? scalar::rectified(y) : y;
  }
  template <bool relu>
  AORTA_INLINE static C masked(C g, C y) {
    return relu ? scalar::masked(g, y) : g;
  }

  static void run_map(void* output, const void* data, int64_t n, int64_t runs, int64_t step,
                      const NormMap& map) {
    map.relu ? run_map(output, data, n, runs, step, RunMap<true>(map))
             : run_map(output, data, n, runs, step, RunMap<false>(map));
  }
  template <class Map>
  AORTA_INLINE static void run_map(void* output, const void* data, int64_t n, int64_t runs,
                                   int64_t step, const Map& map) {
    T* y = static_cast<T*>(output);
    const T* x = static_cast<const T*>(data);
    for (int64_t r = 0; r < runs; ++r, x += step, y += step) transform(y, x, n, map);
  }

  static void run_sum(void* output, const void* data, const void* residual, int64_t n, int64_t runs,
                      int64_t step, const NormMap& given) {
    const RunMap<false> map(given);
    for (int64_t r = 0; r < runs; ++r) {
      transform(
          static_cast<T*>(output) + r * step, static_cast<const T*>(data) + r * step,
          static_cast<const T*>(residual) + r * step,
          n, [&](C x, C added, int64_t i) __attribute__((always_inline)) {
            return rectified<true>(map(x, i) + added);
          });
    }
  }

  static void run_masked(void* output, const void* gradient, const void* data, const void* residual,
                         int64_t n, int64_t runs, int64_t step, const NormMap& given) {
    const RunMap<false> map(given);
    for (int64_t r = 0; r < runs; ++r) {
      transform(
          static_cast<T*>(output) + r * step, static_cast<const T*>(gradient) + r * step,
          static_cast<const T*>(data) + r * step, static_cast<const T*>(residual) + r * step,
          n, [&](C g, C x, C added, int64_t i) __attribute__((always_inline)) {
            return masked<true>(g, map(x, i) + added);
          });
    }
  }

  static NormSums run_sums(const void* gradient, const void* data, int64_t n, int64_t runs,
                           int64_t step, const NormMap& map) {
    return map.relu ? run_sums(gradient, data, n, runs, step, RunMap<true>(map))
                    : run_sums(gradient, data, n, runs, step, RunMap<false>(map));
  }
  template <class Map>
  AORTA_INLINE static NormSums run_sums(const void* gradient, const void* data, int64_t n,
                                        int64_t runs, int64_t step, const Map& map) {
    const T* g = static_cast<const T*>(gradient);
    const T* x = static_cast<const T*>(data);
    C sum[kLanes] = {}, product[kLanes] = {}, rest[2][kLanes] = {};
    for (int64_t r = 0; r < runs; ++r, x += step, g += step) {
      int64_t i = 0;
      for (; i + kLanes <= n; i += kLanes) {
        C values[kLanes], gradients[kLanes];
        load_block(values, x + i);
        load_block(gradients, g + i);
        for (int l = 0; l < kLanes; ++l) {
          const C slope = map.slope(gradients[l], values[l], l);
          sum[l] += slope;
          product[l] += slope * map.distance(values[l], l);
        }
      }
      for (int l = 0; i < n; ++i, ++l) {
        const C slope = map.slope(load(g, i), load(x, i), l);
        rest[0][l] += slope;
        rest[1][l] += slope * map.distance(load(x, i), l);
      }
    }
    join(sum, rest[0]);
    join(product, rest[1]);
    return {joined<kLanes>(sum), joined<kLanes>(product)};
  }

  static void run_backward(void* output, const void* gradient, const void* data, int64_t n,
                           int64_t runs, int64_t step, const NormBackwardMap& map) {
    map.forward.relu
        ? run_backward(output, gradient, data, n, runs, step, map, RunMap<true>(map.forward))
        : run_backward(output, gradient, data, n, runs, step, map, RunMap<false>(map.forward));
  }
  template <class Map>
  AORTA_INLINE static void run_backward(void* output, const void* gradient, const void* data,
                                        int64_t n, int64_t runs, int64_t step,
                                        const NormBackwardMap& map, const Map& forward) {
    T* dx = static_cast<T*>(output);
    const T* g = static_cast<const T*>(gradient);
    const T* x = static_cast<const T*>(data);
    const C of_gradient = static_cast<C>(map.of_gradient);
    const C of_input = static_cast<C>(map.of_input), constant = static_cast<C>(map.constant);
    for (int64_t r = 0; r < runs; ++r, x += step, g += step, dx += step) {
      transform(
          dx, g, x, n, [&](C slope, C value, int64_t i) __attribute__((always_inline)) {
            return scalar::norm_gradient(forward.slope(slope, value, i), forward.distance(value, i),
                                         of_gradient, of_input, constant);
          });
    }
  }

  // Sums of rows into columns: take(first[l], second[l], g, x, column) for every element, kLanes
  // columns and up to kRowsAtOnce rows at a time. `g` may be null.
  template <class A, class Take>
  AORTA_INLINE static void sum_columns(A* first, A* second, const T* g, const T* x, int64_t rows,
                                       int64_t columns, int64_t n, const Take& take) {
    for (int64_t r = 0; r < rows; r += kRowsAtOnce) {
      const int at_once = static_cast<int>(least(kRowsAtOnce, rows - r));
      const T* const row = x + r * columns;
      const T* const gradient_row = g ? g + r * columns : row;
      int64_t c = 0;
      for (; c + kLanes <= n; c += kLanes) {
        A a[kLanes], b[kLanes];
        for (int l = 0; l < kLanes; ++l) {
          a[l] = first[c + l];
          b[l] = second[c + l];
        }
        for (int k = 0; k < at_once; ++k) {
          C values[kLanes], gradients[kLanes];
          const int64_t at = k * columns + c;
          prefetch(row + at + kRowsAtOnce * columns);
          load_block(values, row + at);
          if (g) {
            prefetch(gradient_row + at + kRowsAtOnce * columns);
            load_block(gradients, gradient_row + at);
          }
#pragma GCC ivdep
          for (int l = 0; l < kLanes; ++l)
            take(a[l], b[l], g ? gradients[l] : C(0), values[l], c + l);
        }
        for (int l = 0; l < kLanes; ++l) {
          first[c + l] = a[l];
          second[c + l] = b[l];
        }
      }
      for (int k = 0; k < at_once; ++k) {
#pragma GCC ivdep
        for (int64_t i = c; i < n; ++i) {
          take(first[i], second[i], load(gradient_row, k * columns + i), load(row, k * columns + i),
               i);
        }
      }
    }
  }

  // Computes the moments of `n` columns about `shift`, with sums in A. Returns false where a shift
  // was too far off.
  template <class A>
  AORTA_INLINE static bool column_moments_about(const double* shift, double* mean, double* squares,
                                                const T* x, int64_t rows, int64_t columns,
                                                int64_t n) {
    A from[kColumns];
    double total[kColumns] = {}, total_squares[kColumns] = {};
    for (int64_t c = 0; c < n; ++c) from[c] = static_cast<A>(shift[c]);
    for (int64_t r = 0; r < rows; r += kBlockRows) {
      A sum[kColumns] = {}, square[kColumns] = {};
      sum_columns(
          sum, square, nullptr, x + r * columns, least(kBlockRows, rows - r), columns,
          n, [&](A & a, A & b, C, C value, int64_t c) __attribute__((always_inline)) {
            const A difference = static_cast<A>(value) - from[c];
            a += difference;
            b += difference * difference;
          });
      for (int64_t c = 0; c < n; ++c) {
        total[c] += static_cast<double>(sum[c]);
        total_squares[c] += static_cast<double>(square[c]);
      }
    }
    bool good = true;
    for (int64_t c = 0; c < n; ++c) {
      const double start = static_cast<double>(from[c]);
      const NormMoments m =
          scalar::moments_from(start, static_cast<double>(rows), total[c], total_squares[c]);
      good &= is_good(start, m);
      mean[c] = m.mean;
      squares[c] = m.squares;
    }
    return good;
  }

  static void column_moments(double* mean, double* squares, const void* data, int64_t rows,
                             int64_t columns) {
    for (int64_t from = 0; from < columns; from += kColumns) {
      const int64_t n = least(kColumns, columns - from);
      const T* const x = static_cast<const T*>(data) + from;
      double shift[kColumns];
      for (int64_t c = 0; c < n; ++c) shift[c] = static_cast<double>(load(x, c));
      if (column_moments_about<C>(shift, mean + from, squares + from, x, rows, columns, n))
        continue;
      for (int64_t c = 0; c < n; ++c) {
        const double better = mean[from + c];
        if (better - better == 0) shift[c] = better;
      }
      column_moments_about<double>(shift, mean + from, squares + from, x, rows, columns, n);
    }
  }

  static void column_map(void* output, const void* data, int64_t rows, int64_t columns,
                         const NormColumnMap& map) {
    map.relu ? column_map(output, data, rows, columns, ColumnMap<true>(map))
             : column_map(output, data, rows, columns, ColumnMap<false>(map));
  }
  template <class Map>
  AORTA_INLINE static void column_map(void* output, const void* data, int64_t rows, int64_t columns,
                                      const Map& map) {
    for (int64_t r = 0; r < rows; ++r) {
      transform(static_cast<T*>(output) + r * columns, static_cast<const T*>(data) + r * columns,
                columns, map);
    }
  }

  static void column_sum(void* output, const void* data, const void* residual, int64_t rows,
                         int64_t columns, const NormColumnMap& given) {
    const ColumnMap<false> map(given);
    for (int64_t at = 0; at < rows * columns; at += columns) {
      transform(
          static_cast<T*>(output) + at, static_cast<const T*>(data) + at,
          static_cast<const T*>(residual) + at,
          columns, [&](C x, C added, int64_t c) __attribute__((always_inline)) {
            return rectified<true>(map(x, c) + added);
          });
    }
  }

  static void column_masked(void* output, const void* gradient, const void* data,
                            const void* residual, int64_t rows, int64_t columns,
                            const NormColumnMap& given) {
    const ColumnMap<false> map(given);
    for (int64_t at = 0; at < rows * columns; at += columns) {
      transform(
          static_cast<T*>(output) + at, static_cast<const T*>(gradient) + at,
          static_cast<const T*>(data) + at, static_cast<const T*>(residual) + at,
          columns, [&](C g, C x, C added, int64_t c) __attribute__((always_inline)) {
            return masked<true>(g, map(x, c) + added);
          });
    }
  }

  static void column_sums(double* gradient_sums, double* product_sums, const void* gradient,
                          const void* data, int64_t rows, int64_t columns,
                          const NormColumnMap& map) {
    map.relu ? column_sums<ColumnMap<true>>(gradient_sums, product_sums, gradient, data, rows,
                                            columns, map)
             : column_sums<ColumnMap<false>>(gradient_sums, product_sums, gradient, data, rows,
                                             columns, map);
  }
  template <class Map>
  AORTA_INLINE static void column_sums(double* gradient_sums, double* product_sums,
                                       const void* gradient, const void* data, int64_t rows,
                                       int64_t columns, const NormColumnMap& maps) {
    for (int64_t from = 0; from < columns; from += kColumns) {
      const int64_t n = least(kColumns, columns - from);
      const T* const x = static_cast<const T*>(data) + from;
      const T* const g = static_cast<const T*>(gradient) + from;
      const Map map(maps, from);
      for (int64_t c = from; c < from + n; ++c) gradient_sums[c] = product_sums[c] = 0;
      for (int64_t r = 0; r < rows; r += kBlockRows) {
        C sum[kColumns] = {}, product[kColumns] = {};
        sum_columns(
            sum, product, g + r * columns, x + r * columns, least(kBlockRows, rows - r), columns,
            n, [&](C & a, C & b, C given, C value, int64_t c) __attribute__((always_inline)) {
              const C slope = map.slope(given, value, c);
              a += slope;
              b += slope * map.distance(value, c);
            });
        for (int64_t c = 0; c < n; ++c) {
          gradient_sums[from + c] += static_cast<double>(sum[c]);
          product_sums[from + c] += static_cast<double>(product[c]);
        }
      }
    }
  }

  static void column_backward(void* output, const void* gradient, const void* data, int64_t rows,
                              int64_t columns, const NormColumnBackwardMap& map) {
    map.forward.relu
        ? column_backward(output, gradient, data, rows, columns, map, ColumnMap<true>(map.forward))
        : column_backward(output, gradient, data, rows, columns, map,
                          ColumnMap<false>(map.forward));
  }
  template <class Map>
  AORTA_INLINE static void column_backward(void* output, const void* gradient, const void* data,
                                           int64_t rows, int64_t columns,
                                           const NormColumnBackwardMap& map, const Map& forward) {
    const C* const of_gradient = static_cast<const C*>(map.of_gradient);
    const C* const of_input = static_cast<const C*>(map.of_input);
    const C* const constant = static_cast<const C*>(map.constant);
    for (int64_t r = 0; r < rows; ++r) {
      transform(
          static_cast<T*>(output) + r * columns, static_cast<const T*>(gradient) + r * columns,
          static_cast<const T*>(data) + r * columns,
          columns, [&](C slope, C value, int64_t c) __attribute__((always_inline)) {
            return scalar::norm_gradient(forward.slope(slope, value, c), forward.distance(value, c),
                                         of_gradient[c], of_input[c], constant[c]);
          });
    }
  }

  using Hat = RunMap<false>;

  static void line_map(void* output, const void* data, int64_t n, const NormMap& map,
                       const void* weights, const void* biases) {
    T* const y = static_cast<T*>(output);
    const T* const x = static_cast<const T*>(data);
    const C* const weight = static_cast<const C*>(weights);
    const C* const bias = static_cast<const C*>(biases);
    const Hat hat(map);
    transform(
        y, x, n, [&](C value, int64_t i) __attribute__((always_inline)) {
          return hat(value, i) * weight[i] + bias[i];
        });
  }

  template <bool keeps>
  AORTA_INLINE static NormSums line_sums(const T* g, const T* x, int64_t n, const Hat& hat,
                                         const C* weight, C* of_weight, C* of_bias) {
    C sum[kLanes] = {}, product[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      C values[kLanes], gradients[kLanes];
      load_block(values, x + i);
      load_block(gradients, g + i);
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) {
        const C x_hat = hat(values[l], l), weighted = gradients[l] * weight[i + l];
        sum[l] += weighted;
        product[l] += weighted * x_hat;
        if constexpr (keeps) {
          of_weight[i + l] += gradients[l] * x_hat;
          of_bias[i + l] += gradients[l];
        }
      }
    }
    if (i < n) {
      C rest[2][kLanes] = {};
      for (int l = 0; i < n; ++i, ++l) {
        const C slope = load(g, i), x_hat = hat(load(x, i), i), weighted = slope * weight[i];
        rest[0][l] += weighted;
        rest[1][l] += weighted * x_hat;
        if constexpr (keeps) {
          of_weight[i] += slope * x_hat;
          of_bias[i] += slope;
        }
      }
      join(sum, rest[0]);
      join(product, rest[1]);
    }
    return {joined<kLanes>(sum), joined<kLanes>(product)};
  }

  static NormSums line_sums(const void* gradient, const void* data, int64_t n, const NormMap& map,
                            const void* weights, void* weight_sums, void* bias_sums) {
    const T* const g = static_cast<const T*>(gradient);
    const T* const x = static_cast<const T*>(data);
    const C* const weight = static_cast<const C*>(weights);
    C* const of_weight = static_cast<C*>(weight_sums);
    C* const of_bias = static_cast<C*>(bias_sums);
    if (of_weight) return line_sums<true>(g, x, n, Hat(map), weight, of_weight, of_bias);
    return line_sums<false>(g, x, n, Hat(map), weight, nullptr, nullptr);
  }

  static void line_backward(void* output, const void* gradient, const void* data, int64_t n,
                            const NormMap& map, const void* weights, double mean_gradient,
                            double mean_product) {
    T* const dx = static_cast<T*>(output);
    const T* const g = static_cast<const T*>(gradient);
    const T* const x = static_cast<const T*>(data);
    const C* const weight = static_cast<const C*>(weights);
    const C less = static_cast<C>(mean_gradient), slope = static_cast<C>(mean_product);
    const Hat hat(map);
    transform(
        dx, g, x, n, [&](C gradient_value, C value, int64_t i) __attribute__((always_inline)) {
          return scalar::line_norm_gradient(hat.scale, gradient_value * weight[i], hat(value, i),
                                            less, slope);
        });
  }

  static constexpr NormLoops loops{run_moments, run_map,       run_sum,        run_masked,
                                   run_sums,    run_backward,  column_moments, column_map,
                                   column_sum,  column_masked, column_sums,    column_backward,
                                   line_map,    line_sums,     line_backward};
};

}  // namespace

const NormLoops& norm_loops(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return Loops<double>::loops;
    case DType::f16:
      return Loops<Half>::loops;
    case DType::bf16:
      return Loops<BFloat16>::loops;
    default:
      return Loops<float>::loops;
  }
}

}  // namespace aorta::cpu::AORTA_ISA
