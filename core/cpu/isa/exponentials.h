#pragma once

// Sums of exponentials along a line. Included only by cpu/isa/*.cc.

#include <aorta/core/body/softmax.h>
#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/scalar/math.h>

#include <type_traits>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Independent partial results in a line, the same for every instruction set.
inline constexpr int kLanes = 32;

/// The elements of a line from `first` on, fewer than kLanes, as a block that padding fills: a
/// block is vectorised, and single elements aren't.
template <class T>
struct Rest {
  T block[kLanes];
  AORTA_INLINE Rest(const char* line, int64_t first, int64_t length, T padding) {
    const T* const x = reinterpret_cast<const T*>(line) + first;
    const int rest = static_cast<int>(length - first);
    for (int l = 0; l < kLanes; ++l) block[l] = l < rest ? x[l] : padding;
  }
  const char* data() const { return reinterpret_cast<const char*>(block); }
};

/// Stores as many elements of a block as there are from `first` on.
template <class T>
AORTA_INLINE void store_rest(char* line, int64_t first, int64_t length, const T* block) {
  T* const y = reinterpret_cast<T*>(line) + first;
  const int rest = static_cast<int>(length - first);
  for (int l = 0; l < kLanes; ++l) {
    if (l < rest) y[l] = block[l];
  }
}

/// Joins all lanes in the first one, as a tree.
template <int width, class T, class Join>
AORTA_INLINE void join_lanes(T* lanes, const Join& join) {
  for (int l = 0; l < width; ++l) lanes[l] = join(lanes[l], lanes[l + width]);
  if constexpr (width > 1) join_lanes<width / 2>(lanes, join);
}

/// The largest of n elements; NaN wins.
template <class T>
AORTA_INLINE T largest_of(const char* x, int64_t n) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = -scalar::kInfinity<T>;
  const auto take = [&](const char* block) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) lanes[l] = scalar::maximum(load<T>(block, l), lanes[l]);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) take(x + i * static_cast<int64_t>(sizeof(T)));
  if (i < n) take(Rest<T>(x, i, n, -scalar::kInfinity<T>).data());
  join_lanes<kLanes / 2>(lanes, [](T a, T b) { return scalar::maximum(a, b); });
  return lanes[0];
}

/// The sum of all lanes, as a tree.
AORTA_INLINE double joined(double* lanes) {
  join_lanes<kLanes / 2>(lanes, [](double a, double b) { return a + b; });
  return lanes[0];
}

/// The sum of exp(x - shift), each stored too when `keep`.
template <class T, bool keep>
AORTA_INLINE double sum_exponentials(char* y, const char* x, int64_t n, T shift) {
  double lanes[kLanes] = {};
  const auto take = [&](char* to, const char* block) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) {
      const T e = body::softmax_power(load<T>(block, l), shift);
      if constexpr (keep) store(to, l, e);
      lanes[l] += static_cast<double>(e);
    }
  };
  constexpr int64_t item = sizeof(T);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) take(keep ? y + i * item : nullptr, x + i * item);
  if constexpr (std::is_same_v<T, double>) {
    // An exponential of a double is a call, so those that are left out count.
    for (int l = 0; i < n; ++i, ++l) {
      const T e = body::softmax_power(load<T>(x, i), shift);
      if constexpr (keep) store(y, i, e);
      lanes[l] += e;
    }
  } else if (i < n) {
    // exp(-infinity) is 0; where shift is -infinity too, all of the line is NaN.
    const Rest<T> rest(x, i, n, -scalar::kInfinity<T>);
    T block[kLanes];
    take(reinterpret_cast<char*>(block), rest.data());
    if constexpr (keep) store_rest(y, i, n, block);
  }
  return joined(lanes);
}

/// Lines that lie side by side, one in each column; a row begins `stride` bytes after the last one.
struct ColumnLines {
  const char* data;
  int64_t stride, length, columns;
};

/// Finds the largest of each line, as largest_of does of one.
template <class T>
AORTA_INLINE void largest_of_each(T* largest, const ColumnLines& x) {
  for (int64_t c = 0; c < x.columns; ++c) largest[c] = -scalar::kInfinity<T>;
  for (int64_t r = 0; r < x.length; ++r) {
    const char* const row = x.data + r * x.stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < x.columns; ++c)
      largest[c] = scalar::maximum(load<T>(row, c), largest[c]);
  }
}

/// Sums each line as sum_exponentials does one; y has the layout of x.
template <class T, bool keep>
AORTA_INLINE void sum_exponentials_of_each(double* sums, char* y, const ColumnLines& x,
                                           const T* shift) {
  for (int64_t c = 0; c < x.columns; ++c) sums[c] = 0;
  for (int64_t r = 0; r < x.length; ++r) {
    const char* const row = x.data + r * x.stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < x.columns; ++c) {
      const T e = body::softmax_power(load<T>(row, c), shift[c]);
      if constexpr (keep) store(y + r * x.stride, c, e);
      sums[c] += static_cast<double>(e);
    }
  }
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
