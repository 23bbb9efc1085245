#pragma once

#include <aorta/core/dtype.h>

#include <library_types.h>

namespace aorta::cuda {

/// What NVIDIA's libraries call a floating or complex dtype.
inline cudaDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::c64:
      return CUDA_C_32F;
    case DType::c128:
      return CUDA_C_64F;
    default:
      return CUDA_R_32F;
  }
}

}  // namespace aorta::cuda
