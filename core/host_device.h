#pragma once

// The only file that asks which compiler reads it. Scalar maths and loop bodies are written once
// and compiled by g++ for the CPU and by nvcc for the GPU.

/// AORTA_HOST_DEVICE marks a function that runs on the CPU and on a CUDA device.
#ifdef __CUDACC__
#define AORTA_HOST_DEVICE __host__ __device__
#else
#define AORTA_HOST_DEVICE
#endif

/// AORTA_INLINE marks an AORTA_HOST_DEVICE function that is always inlined: it leaves no
/// symbol behind, so a copy compiled for AVX-512 can't be linked into code that runs on an older
/// CPU.
#ifdef __CUDACC__
#define AORTA_INLINE AORTA_HOST_DEVICE __forceinline__
#else
#define AORTA_INLINE AORTA_HOST_DEVICE __attribute__((always_inline)) inline
#endif

/// AORTA_HAS_FMA is 1 where a fused multiply-add is one instruction.
#if defined(__CUDA_ARCH__) || defined(__FMA__)
#define AORTA_HAS_FMA 1
#else
#define AORTA_HAS_FMA 0
#endif

/// AORTA_ISA names the instruction set that a file is compiled for: v2, v3, v4, or base outside
/// `aorta_isa_library`. It is also the namespace of such a file's kernels.
#ifndef AORTA_ISA
#define AORTA_ISA base
#endif
