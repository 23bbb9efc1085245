#pragma once

// The part of cuFFT that cuda/fft.cc uses, declared by us; see cuda_runtime.h.

#include <cstddef>

#include <cuda_runtime.h>
#include <library_types.h>

enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
};
using cufftResult = cufftResult_t;
#define CUFFT_FORWARD (-1)
#define CUFFT_INVERSE 1

using cufftHandle = int;

extern "C" {
cufftResult cufftCreate(cufftHandle* plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic);
cufftResult cufftXtMakePlanMany(cufftHandle plan, int rank, long long* n, long long* in_sizes,
                                long long in_step, long long in_between, cudaDataType in_type,
                                long long* out_sizes, long long out_step, long long out_between,
                                cudaDataType out_type, long long batch, size_t* workspace,
                                cudaDataType compute_type);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftSetWorkArea(cufftHandle plan, void* workspace);
cufftResult cufftXtExec(cufftHandle plan, void* in, void* out, int direction);
}
