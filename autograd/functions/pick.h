#pragma once

#include <aorta/core/tensor.h>

namespace aorta::autograd {

/// The gradient entry of ops that pick elements along a dimension (max, sort, topk).
void pick_gradient(Tensor& values, const Tensor& input, const Tensor& indices, int dim,
                   bool keepdim);

}  // namespace aorta::autograd
