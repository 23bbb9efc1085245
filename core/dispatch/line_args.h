#pragma once

#include <aorta/core/tensor.h>

#include <span>
#include <string>

namespace aorta::kernel {

/// A dense tensor seen along one dimension: `outer` x `length` x `inner` elements in memory, where
/// a line is the `length` elements at distance `inner`. Line (o, i) starts at element
/// o * length * inner + i.
struct Lines {
  int64_t outer = 1, length = 1, inner = 1;
  int64_t count() const { return outer * inner; }
};

/// `input` itself when it has no gaps, in whatever order its dimensions lie, else a contiguous
/// copy. Doesn't record gradients.
Tensor dense(const Tensor& input);

/// The elements of a dense tensor, in the order of memory.
Tensor flat_memory(const Tensor& input);

/// "12 tensors (9a3f01c25b7d4e60)": how many dense tensors, and a number that their shapes and the
/// order of their memory give.
std::string layouts_text(std::span<const Tensor> tensors);

/// The lines of a dense tensor along `dim` (of a 0-d one: its element).
Lines lines_of(const Tensor& input, int dim);

/// A tensor whose dimensions lie in the order of a dense `like`, with `length` elements along
/// `dim`.
Tensor empty_lines(const Tensor& like, int dim, int64_t length, DType dtype);

}  // namespace aorta::kernel
