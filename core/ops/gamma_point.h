#pragma once

#include <aorta/core/body/gamma_point.h>
#include <aorta/core/dispatch/op_table.h>
#include <aorta/core/tensor.h>

namespace aorta::kernel {

using body::GammaPart;
/// A part of GammaPoint for each pair of a concentration and a number, floating tensors of one
/// shape and device; computed in f64, of x's dtype. Records no gradient.
Tensor gamma_point(GammaPart part, const Tensor& a, const Tensor& x);

/// All are f64 and contiguous, of one shape.
using GammaPointKernel = void (*)(GammaPart part, const Tensor& a, const Tensor& x,
                                  const Tensor& out);
extern Op<GammaPointKernel, NoGradient> gamma_point_op;

}  // namespace aorta::kernel
