#pragma once

#include <cuda_runtime.h>

namespace aorta::cuda {

/// Throws "op: CUDA must succeed, got NAME (description)".
[[noreturn]] void throw_cuda_error(cudaError_t error, const char* op);

/// Throws unless a CUDA call of `op` succeeded.
inline void check_cuda(cudaError_t error, const char* op) {
  if (error != cudaSuccess) [[unlikely]]
    throw_cuda_error(error, op);
}

/// Throws while `stream` is captured into a graph, for an op whose numbers are its own at each
/// call: a seed, a step count. Each replay would take those of the capture.
void refuse_capture(const char* op, cudaStream_t stream);

/// True when AORTA_LAUNCH_BLOCKING=1 or CUDA_LAUNCH_BLOCKING=1: every launch is waited for, so that
/// a kernel's error names the kernel's op and not a later one.
bool synchronous_launches();

/// Where launches are waited for: waits for what `op` just queued on `stream`, and throws when it
/// failed.
void check_finished(const char* op, cudaStream_t stream);

}  // namespace aorta::cuda
