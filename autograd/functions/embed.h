#pragma once

#include <aorta/core/ops/creation.h>

namespace aorta::autograd {

/// Zeros of `shape` but for the part that `view_of(zeros)` names, which holds `part`.
template <class ViewOf>
Tensor embed(const Tensor& part, const Shape& shape, ViewOf view_of) {
  const Tensor whole = zeros(shape, {.dtype = part.dtype(), .device = part.device()});
  view_of(whole).copy_(part);
  return whole;
}

}  // namespace aorta::autograd
