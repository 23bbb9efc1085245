#pragma once

#include <aorta/core/cpu/isa.h>
#include <aorta/core/ops/loss.h>

namespace aorta::cpu {

/// The sum of the losses of elements [first, end), or the losses themselves; `outside` becomes true
/// when an input lies outside the loss's domain.
using LossFunction = double (*)(const LossArgs& args, int64_t first, int64_t end, bool& outside);
/// The gradients of elements [first, end).
using LossBackwardFunction = void (*)(const LossArgs& args, int64_t first, int64_t end);

/// Lines [first, end) of x and y, side by side or each one contiguous, to sums[3 * line + 0..2].
using LineProductsFunction = void (*)(const LineProductsArgs& args, int64_t first, int64_t end);

AORTA_EACH_ISA(LossFunction loss_function(LossKind kind, DType dtype);
               LossBackwardFunction loss_backward_function(LossKind kind, DType dtype);
               LineProductsFunction line_products_function(DType dtype);)

}  // namespace aorta::cpu
