#pragma once

#include <aorta/core/ops/attention.h>

namespace aorta::cuda {

// Attention by cuDNN, where it suits (attention_shape.h). False where cuDNN isn't there or is older
// than 9.16, has no engine for it that does nothing it may not, or no room for what that needs.
// Errors name the op.

bool attention_by_cudnn(const kernel::AttentionKernelArgs& args);

/// Not in deterministic mode: engines of 9.19 that add to the query's gradient in an order of
/// chance don't say so.
bool attention_backward_by_cudnn(const kernel::AttentionBackwardArgs& args);

}  // namespace aorta::cuda
