#include <aorta/core/cpu/isa/row.h>
#include <aorta/core/cpu/softmax.h>
#include <aorta/core/scalar/math.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

// Independent partial results in a line, the same for every instruction set.
constexpr int kLanes = 32;

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

// The sum of exp(x - shift), each stored too when `keep`.
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

template <class T>
void softmax_line(char* y, const char* x, int64_t, int64_t length, int64_t, bool log) {
  const T shift = largest_of<T>(x, length);
  if (log) {
    const T total = static_cast<T>(scalar::log(sum_exponentials<T, false>(y, x, length, shift)));
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) store(y, i, load<T>(x, i) - shift - total);
  } else {
    const T total = static_cast<T>(sum_exponentials<T, true>(y, x, length, shift));
#pragma GCC ivdep
    for (int64_t i = 0; i < length; ++i) store(y, i, load<T>(y, i) / total);
  }
}

// As a line, with a line in each lane.
template <class T>
void softmax_columns(char* output, const char* input, int64_t row_stride, int64_t length,
                     int64_t columns, bool log) {
  T shift[kSoftmaxColumns], total[kSoftmaxColumns];
  double sum[kSoftmaxColumns] = {};
  for (int64_t c = 0; c < columns; ++c) shift[c] = -scalar::kInfinity<T>;
  for (int64_t r = 0; r < length; ++r) {
    const char* const x = input + r * row_stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) shift[c] = scalar::maximum(load<T>(x, c), shift[c]);
  }
  for (int64_t r = 0; r < length; ++r) {
    const char* const x = input + r * row_stride;
    char* const y = output + r * row_stride;
    if (log) {
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c)
        sum[c] += static_cast<double>(scalar::exp(load<T>(x, c) - shift[c]));
      continue;
    }
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) {
      const T e = scalar::exp(load<T>(x, c) - shift[c]);
      store(y, c, e);
      sum[c] += static_cast<double>(e);
    }
  }
  for (int64_t c = 0; c < columns; ++c)
    total[c] = static_cast<T>(log ? scalar::log(sum[c]) : sum[c]);
  for (int64_t r = 0; r < length; ++r) {
    const char* const x = input + r * row_stride;
    char* const y = output + r * row_stride;
    if (log) {
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) store(y, c, load<T>(x, c) - shift[c] - total[c]);
    } else {
#pragma GCC ivdep
      for (int64_t c = 0; c < columns; ++c) store(y, c, load<T>(y, c) / total[c]);
    }
  }
}

}  // namespace

SoftmaxFunction softmax_line(bool is_double) {
  return is_double ? softmax_line<double> : softmax_line<float>;
}
SoftmaxFunction softmax_columns(bool is_double) {
  return is_double ? softmax_columns<double> : softmax_columns<float>;
}

}  // namespace aorta::cpu::AORTA_ISA
