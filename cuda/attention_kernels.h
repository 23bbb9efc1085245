#pragma once

#include <aorta/core/ops/attention.h>

namespace aorta::cuda {

// Attention by kernels of our own, which take any (attention.cu, attention_backward.cu).

void attention_by_kernels(const kernel::AttentionKernelArgs& args);
void attention_backward_by_kernels(const kernel::AttentionBackwardArgs& args);

}  // namespace aorta::cuda
