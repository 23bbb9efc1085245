#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/loss.h>

namespace aorta::cpu {

/// The sum of the losses of elements [first, end), or the losses themselves; `outside` becomes true
/// when an input lies outside the loss's domain.
using LossFunction = double (*)(const LossArgs& args, int64_t first, int64_t end, bool& outside);
/// The gradients of elements [first, end).
using LossBackwardFunction = void (*)(const LossArgs& args, int64_t first, int64_t end);

/// Lines [first, end) of x and y, side by side or each one contiguous: their sums, or the gradients
/// of their elements.
using LineProductsFunction = void (*)(const LineProductsArgs& args, int64_t first, int64_t end);

/// An instruction set's loops.
struct LossLoops {
  LossFunction (*forward)(LossKind kind, DType dtype);
  LossBackwardFunction (*backward)(LossKind kind, DType dtype);
  LineProductsFunction (*line_products)(DType dtype);
  LineProductsFunction (*line_products_backward)(DType dtype);
};
AORTA_ISA_TABLE(LossLoops, loss_loops)

}  // namespace aorta::cpu
