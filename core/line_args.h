#pragma once

#include <aorta/core/tensor.h>

namespace aorta {

/// A dense tensor seen along one dimension: `outer` x `length` x `inner` elements in memory, where
/// a line is the `length` elements at distance `inner`. Line (o, i) starts at element
/// o * length * inner + i.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t count() const { return outer * inner; }
};

/// `input` itself when it is dense in some order of its dimensions, else a contiguous copy.
Tensor dense(const Tensor& input);

/// The lines of a dense tensor along `dim` (of a 0-d one: its element).
Lines lines_of(const Tensor& input, int dim);

/// The sizes (2, 3, 4) of a tensor with strides (1, 8, 2), say, and another dtype.
Tensor empty_like_dense(const Tensor& input, DType dtype);

}  // namespace aorta
