#pragma once

#include <aorta/core/tensor.h>

#include <vector>

namespace aorta::nn {

// All parameters as one vector, for methods that are written so, as torch.nn.utils has them.

/// The elements of all tensors, one after another and each in row-major order: (sum of numel).
/// Tensors of one dtype and device; gradients go back to each. Errors: no tensor at all.
Tensor parameters_to_vector(const List<Tensor>& parameters);
/// Copies a vector's elements back into the tensors, without a gradient. Errors:
/// "vector_to_parameters: vector must be (N) with the elements of all parameters, got [3] for 4".
void vector_to_parameters(const Tensor& vector, const List<Tensor>& parameters);

}  // namespace aorta::nn
