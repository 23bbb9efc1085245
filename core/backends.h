#pragma once

#include <cstdint>
#include <string>

/// What the libraries behind a GPU may do: PyTorch's torch.backends. The switches hold for the
/// whole process, from the next op on, and are nothing to the CPU.
namespace aorta::backends {

namespace cuda::matmul {
/// Whether f32 products may take tensor cores, which round what they multiply to TF32: 10 bits
/// behind the point instead of 23. Sums stay f32. Off at the start, as in PyTorch.
bool allow_tf32();
void set_allow_tf32(bool allowed);
}  // namespace cuda::matmul

/// cuDNN, which convolutions are computed by where it has an engine for them (docs/devices.md).
namespace cudnn {
/// True when CUDA is available and cuDNN 9 is there. Never throws.
bool is_available();
/// 91900 for 9.19.0; 0 where it isn't available.
int64_t version();
/// Why `is_available()` is false, in one line; empty when it is true.
std::string unavailable_reason();

/// Off, kernels of Aorta's own compute every convolution and attention. On at the start
/// (AORTA_CUDNN=0 in the environment: off).
bool enabled();
void set_enabled(bool enabled);
/// TF32, as above, for convolutions in f32. Off at the start; PyTorch's is on.
bool allow_tf32();
void set_allow_tf32(bool allowed);
/// Whether engines that give other bits from run to run are left out, and those for attention's
/// gradients, which don't say whether they do. Off at the start.
bool deterministic();
void set_deterministic(bool deterministic);
/// Whether the first convolution of a kind times the engines that the heuristics advise, and keeps
/// the fastest, instead of taking the first. Off at the start. On, that call takes longer, and two
/// runs of a program may take different engines.
bool benchmark();
void set_benchmark(bool benchmark);
}  // namespace cudnn

/// NCCL, which carries collectives from GPU to GPU where each rank has one (docs/parallel.md).
namespace nccl {
/// True when CUDA is available and NCCL is there. Never throws.
bool is_available();
/// 22809 for 2.28.9; 0 where it isn't available.
int64_t version();
/// Why `is_available()` is false, in one line; empty when it is true.
std::string unavailable_reason();

/// Off, tensors on GPUs go the way of the group's own engine. On at the start (AORTA_NCCL=0 in the
/// environment: off).
bool enabled();
void set_enabled(bool enabled);
}  // namespace nccl

}  // namespace aorta::backends
