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

}  // namespace

const SoftmaxLoops softmax_loops = {
    [](bool is_double) { return is_double ? softmax_line<double> : softmax_line<float>; },
    [](bool is_double) { return is_double ? softmax_columns<double> : softmax_columns<float>; }};

}  // namespace aorta::cpu::AORTA_ISA
