#pragma once

// The types that NVIDIA's libraries name alike, declared by us; see cuda_runtime.h.

enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_C_32F = 4,
  CUDA_C_64F = 5,
  CUDA_R_16BF = 14,
};
using cudaDataType = cudaDataType_t;
