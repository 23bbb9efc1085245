#pragma once

// Sums of exponentials along a line. Included only by cpu/isa/*.cc.

#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/scalar/math.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

/// Independent partial results in a line, the same for every instruction set.
inline constexpr int kLanes = 32;

/// The largest of n elements; NaN wins.
template <class T>
AORTA_INLINE T largest_of(const char* x, int64_t n) {
  T lanes[kLanes];
  for (int l = 0; l < kLanes; ++l) lanes[l] = -scalar::kInfinity<T>;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) lanes[l] = scalar::maximum(load<T>(x, i + l), lanes[l]);
  }
  for (int l = 0; i < n; ++i, ++l) lanes[l] = scalar::maximum(load<T>(x, i), lanes[l]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] = scalar::maximum(lanes[l], lanes[l + width]);
  }
  return lanes[0];
}

/// The sum of all lanes, as a tree.
AORTA_INLINE double joined(double* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

/// The sum of exp(x - shift), each stored too when `keep`.
template <class T, bool keep>
AORTA_INLINE double sum_exponentials(char* y, const char* x, int64_t n, T shift) {
  double lanes[kLanes] = {};
  const auto take = [&](int l, int64_t i) __attribute__((always_inline)) {
    const T e = scalar::exp(load<T>(x, i) - shift);
    if constexpr (keep) store(y, i, e);
    lanes[l] += static_cast<double>(e);
  };
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l) take(l, i + l);
  }
  for (int l = 0; i < n; ++i, ++l) take(l, i);
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
      const T e = scalar::exp(load<T>(row, c) - shift[c]);
      if constexpr (keep) store(y + r * x.stride, c, e);
      sums[c] += static_cast<double>(e);
    }
  }
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
