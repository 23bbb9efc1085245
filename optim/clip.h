#pragma once

#include <aorta/core/tensor.h>

#include <vector>

namespace aorta::optim {

// Clipping of gradients, as torch.nn.utils has it: between backward() and the optimizer's step. A
// sparse gradient is coalesced for it.

/// The norm of all elements of all tensors together, 0-d, on the first one's device; f64 where one
/// of them is, else f32. norm_type may be infinity. Errors: a NaN or infinite norm, if
/// `error_if_nonfinite`.
Tensor get_total_norm(const List<Tensor>& tensors, double norm_type = 2,
                      bool error_if_nonfinite = false);

/// Scales the gradients of the parameters that have one by min(max_norm / (norm + 1e-6), 1), in
/// place, and returns their norm before. A NaN norm makes them NaN. Gradients on a GPU are scaled
/// there, without waiting for the norm. Where parameters are parts (nn::fully_shard) the norm is of
/// the whole tensors, and all ranks call it.
Tensor clip_grad_norm_(const List<Tensor>& parameters, double max_norm, double norm_type = 2,
                       bool error_if_nonfinite = false);
/// The scaling alone, with a norm that is known.
void clip_grads_with_norm_(const List<Tensor>& parameters, double max_norm,
                           const Tensor& total_norm);

/// Puts every element of the gradients between -clip_value and clip_value, in place.
void clip_grad_value_(const List<Tensor>& parameters, double clip_value);

}  // namespace aorta::optim
