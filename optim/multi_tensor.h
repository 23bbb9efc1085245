#pragma once

// One pass over a list of tensors, for the files of this room.

#include <aorta/core/ops/update.h>

namespace aorta::optim {

/// Applies a rule without state to all targets, in place; `values`, if any, are its gradients and
/// have the targets' shapes, one each. One call of the kernel for each dtype and device; what isn't
/// dense, or not paired in memory, is copied around it.
void update_all(UpdateRule rule, const UpdateNumbers<double>& numbers,
                std::span<const Tensor> targets, std::span<const Tensor> values = {});

/// Multiplies all targets by `factor` (0-d), which no host waits for: each device reads it.
void scale_all(const Tensor& factor, std::span<const Tensor> targets);

/// True when the elements fill memory without gaps, in the order of the strides.
bool is_dense(const Tensor& tensor);
/// True when a tensor of the shape has these strides, but for dimensions of size 1.
bool has_strides(const Tensor& tensor, const Strides& strides);

}  // namespace aorta::optim
