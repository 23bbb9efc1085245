#pragma once

#include <aorta/core/ops/attention.h>

namespace aorta::cuda {

/// Whether cuDNN is asked for it before our own kernels are. It isn't for
///
/// - f32 and f64: its engines take halves,
/// - masks other than the causal one, and dropout, whose numbers are ours,
/// - head sizes E and Ev that 8 doesn't divide, or past 256,
/// - a single query or key, and scales that aren't positive,
/// - rows that don't begin at multiples of 16 bytes, or whose columns lie apart,
/// - what broadcasts (strides of 0): grouped queries' keys and values,
/// - tensors that reach over 2^31 elements or more (`Limits`), 2^16 batches or heads.
///
/// Whether cuDNN is there, and has an engine that does nothing it may not, is seen when it is
/// asked.
bool suits_cudnn(const kernel::AttentionKernelArgs& args);
/// Whether it computes the gradients, which say where they lie too.
bool suits_cudnn(const kernel::AttentionBackwardArgs& args);

}  // namespace aorta::cuda
