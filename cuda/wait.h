#pragma once

#include <cuda_runtime.h>

namespace aorta::cuda {

/// Waits for a copy from or to the host's memory, which its owner may then give up. Where that
/// can't be waited for, all of the device's work is, as far as CUDA lets it, and `op` throws.
/// Throws too what earlier ops on the stream have found (first_bad.h).
void wait_for_copy(int device, cudaStream_t stream, const char* op);

}  // namespace aorta::cuda
