#pragma once

#include <aorta/core/ops/attention.h>

namespace aorta::cuda {

/// The kernel of attention's backward pass, which has a file of its own.
void run_attention_backward(const kernel::AttentionBackwardArgs& args);

}  // namespace aorta::cuda
