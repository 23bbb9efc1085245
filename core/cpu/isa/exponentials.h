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
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lanes[l] += lanes[l + width];
  }
  return lanes[0];
}

}  // namespace
}  // namespace aorta::cpu::AORTA_ISA
