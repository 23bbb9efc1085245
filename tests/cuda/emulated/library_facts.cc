// What cufftXt.h and cusolverDn.h say of their names, ours and the toolkit's; apart, for they
// include all of the runtime.
#include <cufftXt.h>
#include <cusolverDn.h>

#include <aorta/tests/cuda/emulated/fact_macros.h>
#include <aorta/tests/cuda/emulated/header_facts.h>

namespace aorta::emulated {

std::map<std::string, std::string> AORTA_LIBRARY_FACTS() {
  return {
      // clang-format off
VALUE(CUDA_C_32F)
VALUE(CUDA_C_64F)
VALUE(CUFFT_SUCCESS)
VALUE(CUFFT_INVALID_PLAN)
VALUE(CUFFT_ALLOC_FAILED)
VALUE(CUFFT_INVALID_VALUE)
VALUE(CUFFT_INTERNAL_ERROR)
VALUE(CUFFT_EXEC_FAILED)
VALUE(CUFFT_SETUP_FAILED)
VALUE(CUFFT_INVALID_SIZE)
VALUE(CUFFT_FORWARD)
VALUE(CUFFT_INVERSE)
VALUE(CUSOLVER_STATUS_SUCCESS)
VALUE(CUSOLVER_STATUS_NOT_INITIALIZED)
VALUE(CUSOLVER_STATUS_ALLOC_FAILED)
VALUE(CUSOLVER_STATUS_INVALID_VALUE)
VALUE(CUSOLVER_STATUS_EXECUTION_FAILED)
VALUE(CUSOLVER_STATUS_INTERNAL_ERROR)
VALUE(CUBLAS_FILL_MODE_LOWER)
VALUE(CUBLAS_FILL_MODE_UPPER)
VALUE(CUSOLVER_EIG_MODE_NOVECTOR)
VALUE(CUSOLVER_EIG_MODE_VECTOR)
CALL(cufftCreate)
CALL(cufftDestroy)
CALL(cufftSetAutoAllocation)
CALL(cufftXtMakePlanMany)
CALL(cufftSetStream)
CALL(cufftSetWorkArea)
CALL(cufftXtExec)
CALL(cusolverDnCreate)
CALL(cusolverDnCreateParams)
CALL(cusolverDnCreateGesvdjInfo)
CALL(cusolverDnSetStream)
CALL(cusolverDnXpotrf_bufferSize)
CALL(cusolverDnXpotrf)
CALL(cusolverDnXgetrf_bufferSize)
CALL(cusolverDnXgetrf)
CALL(cusolverDnXgetrs)
CALL(cusolverDnXgeqrf_bufferSize)
CALL(cusolverDnXgeqrf)
CALL(cusolverDnSorgqr_bufferSize)
CALL(cusolverDnDorgqr_bufferSize)
CALL(cusolverDnSorgqr)
CALL(cusolverDnDorgqr)
CALL(cusolverDnSsytrf_bufferSize)
CALL(cusolverDnDsytrf_bufferSize)
CALL(cusolverDnSsytrf)
CALL(cusolverDnDsytrf)
CALL(cusolverDnXsyevBatched_bufferSize)
CALL(cusolverDnXsyevBatched)
CALL(cusolverDnSgesvdj_bufferSize)
CALL(cusolverDnDgesvdj_bufferSize)
CALL(cusolverDnSgesvdj)
CALL(cusolverDnDgesvdj)
CALL(cusolverDnSgesvdjBatched_bufferSize)
CALL(cusolverDnDgesvdjBatched_bufferSize)
CALL(cusolverDnSgesvdjBatched)
CALL(cusolverDnDgesvdjBatched)
CALL(cusolverDnXgeev_bufferSize)
CALL(cusolverDnXgeev)
      // clang-format on
  };
}

}  // namespace aorta::emulated
