#include <aorta/core/body/softmax.h>
#include <aorta/core/cpu/isa/exponentials.h>
#include <aorta/core/cpu/softmax.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

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

// Does what softmax_line does, with a line in each lane.
template <class T>
void softmax_columns(char* output, const char* input, int64_t row_stride, int64_t length,
                     int64_t columns, bool log) {
  const ColumnLines lines{input, row_stride, length, columns};
  T shift[kSoftmaxColumns], total[kSoftmaxColumns];
  double sum[kSoftmaxColumns];
  largest_of_each(shift, lines);
  if (log)
    sum_exponentials_of_each<T, false>(sum, nullptr, lines, shift);
  else
    sum_exponentials_of_each<T, true>(sum, output, lines, shift);
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

template <class T, bool log>
void backward_line(char* input, const char* gradient, const char* output, int64_t, int64_t length,
                   int64_t) {
  constexpr int64_t item = sizeof(T);
  double lanes[kLanes] = {};
  const auto take = [&](const char* g, const char* y) __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l)
      lanes[l] += static_cast<double>(body::softmax_term<log>(load<T>(g, l), load<T>(y, l)));
  };
  const int64_t whole = length / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) take(gradient + i * item, output + i * item);
  const Rest<T> g(gradient, whole, length, 0), y(output, whole, length, 0);
  if (whole < length) take(g.data(), y.data());
  const T sum = static_cast<T>(joined(lanes));
  const auto give = [&](char* to, const char* from_g, const char* from_y)
      __attribute__((always_inline)) {
#pragma GCC ivdep
    for (int l = 0; l < kLanes; ++l)
      store(to, l, body::softmax_gradient<log>(load<T>(from_g, l), load<T>(from_y, l), sum));
  };
  for (int64_t i = 0; i < whole; i += kLanes)
    give(input + i * item, gradient + i * item, output + i * item);
  if (whole == length) return;
  T block[kLanes];
  give(reinterpret_cast<char*>(block), g.data(), y.data());
  store_rest(input, whole, length, block);
}

// Does the same with a line in each lane.
template <class T, bool log>
void backward_columns(char* input, const char* gradient, const char* output, int64_t row_stride,
                      int64_t length, int64_t columns) {
  double sums[kSoftmaxColumns] = {};
  for (int64_t r = 0; r < length; ++r) {
    const char* const g = gradient + r * row_stride;
    const char* const y = output + r * row_stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c)
      sums[c] += static_cast<double>(body::softmax_term<log>(load<T>(g, c), load<T>(y, c)));
  }
  for (int64_t r = 0; r < length; ++r) {
    const char* const g = gradient + r * row_stride;
    const char* const y = output + r * row_stride;
    char* const x = input + r * row_stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) {
      const T sum = static_cast<T>(sums[c]);
      store(x, c, body::softmax_gradient<log>(load<T>(g, c), load<T>(y, c), sum));
    }
  }
}

template <template <class, bool> class Loop>
SoftmaxBackwardFunction choose_backward(bool is_double, bool log) {
  if (is_double) return log ? Loop<double, true>::run : Loop<double, false>::run;
  return log ? Loop<float, true>::run : Loop<float, false>::run;
}
template <class T, bool log>
struct BackwardLine {
  static constexpr SoftmaxBackwardFunction run = backward_line<T, log>;
};
template <class T, bool log>
struct BackwardColumns {
  static constexpr SoftmaxBackwardFunction run = backward_columns<T, log>;
};

}  // namespace

const SoftmaxLoops softmax_loops = {
    [](bool is_double) { return is_double ? softmax_line<double> : softmax_line<float>; },
    [](bool is_double) { return is_double ? softmax_columns<double> : softmax_columns<float>; },
    choose_backward<BackwardLine>, choose_backward<BackwardColumns>};

}  // namespace aorta::cpu::AORTA_ISA
