#pragma once

#include <aorta/core/cpu/isa.h>

namespace aorta::cpu {

/// softmax, or its logarithm, of `columns` lines of `length` elements of float (double); elements
/// of a line lie `row_stride` bytes apart, lines side by side. Input and output may be one.
using SoftmaxFunction = void (*)(char* output, const char* input, int64_t row_stride,
                                 int64_t length, int64_t columns);

/// The gradient of the input, from that of the result and the result, for lines that lie so.
using SoftmaxBackwardFunction = void (*)(char* input, const char* gradient, const char* output,
                                         int64_t row_stride, int64_t length, int64_t columns);

/// The most columns of a call.
inline constexpr int64_t kSoftmaxColumns = 64;

/// An instruction set's loops over one contiguous line (columns = 1), or over several lines.
struct SoftmaxLoops {
  SoftmaxFunction (*line)(bool is_double, bool log);
  SoftmaxFunction (*columns)(bool is_double, bool log);
  SoftmaxBackwardFunction (*line_backward)(bool is_double, bool log);
  SoftmaxBackwardFunction (*columns_backward)(bool is_double, bool log);
};
AORTA_ISA_TABLE(SoftmaxLoops, softmax_loops)

}  // namespace aorta::cpu
