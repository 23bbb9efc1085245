#include <aorta/core/body/softmax.h>
#include <aorta/core/cpu/isa/exponentials.h>
#include <aorta/core/cpu/softmax.h>

namespace aorta::cpu::AORTA_ISA {
namespace {

template <class T, bool log>
void softmax_line(char* y, const char* x, int64_t, int64_t length, int64_t) {
  const T largest = largest_of<T>(x, length);
  const T scale = body::softmax_scale<log, T>(sum_exponentials<T, !log>(y, x, length, largest));
#pragma GCC ivdep
  for (int64_t i = 0; i < length; ++i) {
    const T part = log ? load<T>(x, i) - largest : load<T>(y, i);
    store(y, i, body::softmax_result<log>(part, scale));
  }
}

// Does what softmax_line does, with a line in each lane.
template <class T, bool log>
void softmax_columns(char* output, const char* input, int64_t row_stride, int64_t length,
                     int64_t columns) {
  const ColumnLines lines{input, row_stride, length, columns};
  T largest[kSoftmaxColumns], scale[kSoftmaxColumns];
  double sum[kSoftmaxColumns];
  largest_of_each(largest, lines);
  sum_exponentials_of_each<T, !log>(sum, output, lines, largest);
  for (int64_t c = 0; c < columns; ++c) scale[c] = body::softmax_scale<log, T>(sum[c]);
  for (int64_t r = 0; r < length; ++r) {
    const char* const x = input + r * row_stride;
    char* const y = output + r * row_stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < columns; ++c) {
      const T part = log ? load<T>(x, c) - largest[c] : load<T>(y, c);
      store(y, c, body::softmax_result<log>(part, scale[c]));
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

template <class Function, template <class, bool> class Loop>
Function choose(bool is_double, bool log) {
  if (is_double) return log ? Loop<double, true>::run : Loop<double, false>::run;
  return log ? Loop<float, true>::run : Loop<float, false>::run;
}
template <class T, bool log>
struct Line {
  static constexpr SoftmaxFunction run = softmax_line<T, log>;
};
template <class T, bool log>
struct Columns {
  static constexpr SoftmaxFunction run = softmax_columns<T, log>;
};
template <class T, bool log>
struct BackwardLine {
  static constexpr SoftmaxBackwardFunction run = backward_line<T, log>;
};
template <class T, bool log>
struct BackwardColumns {
  static constexpr SoftmaxBackwardFunction run = backward_columns<T, log>;
};

}  // namespace

const SoftmaxLoops softmax_loops = {choose<SoftmaxFunction, Line>, choose<SoftmaxFunction, Columns>,
                                    choose<SoftmaxBackwardFunction, BackwardLine>,
                                    choose<SoftmaxBackwardFunction, BackwardColumns>};

}  // namespace aorta::cpu::AORTA_ISA
