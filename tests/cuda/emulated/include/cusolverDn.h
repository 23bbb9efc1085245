#pragma once

// The part of cuSOLVER that cuda/linalg.cc uses, declared by us; see cuda_runtime.h.

#include <cstddef>
#include <cstdint>

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <library_types.h>

enum cusolverStatus_t {
  CUSOLVER_STATUS_SUCCESS = 0,
  CUSOLVER_STATUS_NOT_INITIALIZED = 1,
  CUSOLVER_STATUS_ALLOC_FAILED = 2,
  CUSOLVER_STATUS_INVALID_VALUE = 3,
  CUSOLVER_STATUS_EXECUTION_FAILED = 6,
  CUSOLVER_STATUS_INTERNAL_ERROR = 7,
};
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cusolverEigMode_t { CUSOLVER_EIG_MODE_NOVECTOR = 0, CUSOLVER_EIG_MODE_VECTOR = 1 };

using cusolverDnHandle_t = struct cusolverDnContext*;
using cusolverDnParams_t = struct cusolverDnParams*;
using gesvdjInfo_t = struct gesvdjInfo*;

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);

cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t triangle, int64_t n,
                                             cudaDataType type, const void* a, int64_t leading,
                                             cudaDataType compute, size_t* bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasFillMode_t triangle, int64_t n, cudaDataType type, void* a,
                                  int64_t leading, cudaDataType compute, void* memory, size_t bytes,
                                  void* host, size_t host_bytes, int* info);

cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             int64_t m, int64_t n, cudaDataType type, const void* a,
                                             int64_t leading, cudaDataType compute, size_t* bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t leading,
                                  int64_t* pivots, cudaDataType compute, void* memory, size_t bytes,
                                  void* host, size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                  cublasOperation_t operation, int64_t n, int64_t columns,
                                  cudaDataType type, const void* a, int64_t leading,
                                  const int64_t* pivots, cudaDataType b_type, void* b,
                                  int64_t b_leading, int* info);

cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             int64_t m, int64_t n, cudaDataType type, const void* a,
                                             int64_t leading, cudaDataType scales_type,
                                             const void* scales, cudaDataType compute,
                                             size_t* bytes, size_t* host_bytes);
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m,
                                  int64_t n, cudaDataType type, void* a, int64_t leading,
                                  cudaDataType scales_type, void* scales, cudaDataType compute,
                                  void* memory, size_t bytes, void* host, size_t host_bytes,
                                  int* info);
cusolverStatus_t cusolverDnSorgqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k,
                                             const float* a, int leading, const float* scales,
                                             int* items);
cusolverStatus_t cusolverDnDorgqr_bufferSize(cusolverDnHandle_t handle, int m, int n, int k,
                                             const double* a, int leading, const double* scales,
                                             int* items);
cusolverStatus_t cusolverDnSorgqr(cusolverDnHandle_t handle, int m, int n, int k, float* a,
                                  int leading, const float* scales, float* memory, int items,
                                  int* info);
cusolverStatus_t cusolverDnDorgqr(cusolverDnHandle_t handle, int m, int n, int k, double* a,
                                  int leading, const double* scales, double* memory, int items,
                                  int* info);

cusolverStatus_t cusolverDnSsytrf_bufferSize(cusolverDnHandle_t handle, int n, float* a,
                                             int leading, int* items);
cusolverStatus_t cusolverDnDsytrf_bufferSize(cusolverDnHandle_t handle, int n, double* a,
                                             int leading, int* items);
cusolverStatus_t cusolverDnSsytrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  float* a, int leading, int* pivots, float* memory, int items,
                                  int* info);
cusolverStatus_t cusolverDnDsytrf(cusolverDnHandle_t handle, cublasFillMode_t triangle, int n,
                                  double* a, int leading, int* pivots, double* memory, int items,
                                  int* info);

cusolverStatus_t cusolverDnXsyevBatched_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t vectors,
    cublasFillMode_t triangle, int64_t n, cudaDataType type, const void* a, int64_t leading,
    cudaDataType values_type, const void* values, cudaDataType compute, size_t* bytes,
    size_t* host_bytes, int64_t batch);
cusolverStatus_t cusolverDnXsyevBatched(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                        cusolverEigMode_t vectors, cublasFillMode_t triangle,
                                        int64_t n, cudaDataType type, void* a, int64_t leading,
                                        cudaDataType values_type, void* values,
                                        cudaDataType compute, void* memory, size_t bytes,
                                        void* host, size_t host_bytes, int* info, int64_t batch);

cusolverStatus_t cusolverDnCreateGesvdjInfo(gesvdjInfo_t* jacobi);
cusolverStatus_t cusolverDnSgesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                              int reduced, int m, int n, const float* a,
                                              int leading, const float* values, const float* left,
                                              int left_leading, const float* right,
                                              int right_leading, int* items, gesvdjInfo_t jacobi);
cusolverStatus_t cusolverDnSgesvdj(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                   int reduced, int m, int n, float* a, int leading, float* values,
                                   float* left, int left_leading, float* right, int right_leading,
                                   float* memory, int items, int* info, gesvdjInfo_t jacobi);
cusolverStatus_t cusolverDnDgesvdj_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                              int reduced, int m, int n, const double* a,
                                              int leading, const double* values, const double* left,
                                              int left_leading, const double* right,
                                              int right_leading, int* items, gesvdjInfo_t jacobi);
cusolverStatus_t cusolverDnDgesvdj(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                   int reduced, int m, int n, double* a, int leading,
                                   double* values, double* left, int left_leading, double* right,
                                   int right_leading, double* memory, int items, int* info,
                                   gesvdjInfo_t jacobi);
cusolverStatus_t cusolverDnSgesvdjBatched_bufferSize(
    cusolverDnHandle_t handle, cusolverEigMode_t vectors, int m, int n, const float* a, int leading,
    const float* values, const float* left, int left_leading, const float* right, int right_leading,
    int* items, gesvdjInfo_t jacobi, int batch);
cusolverStatus_t cusolverDnSgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                          int m, int n, float* a, int leading, float* values,
                                          float* left, int left_leading, float* right,
                                          int right_leading, float* memory, int items, int* info,
                                          gesvdjInfo_t jacobi, int batch);
cusolverStatus_t cusolverDnDgesvdjBatched_bufferSize(
    cusolverDnHandle_t handle, cusolverEigMode_t vectors, int m, int n, const double* a,
    int leading, const double* values, const double* left, int left_leading, const double* right,
    int right_leading, int* items, gesvdjInfo_t jacobi, int batch);
cusolverStatus_t cusolverDnDgesvdjBatched(cusolverDnHandle_t handle, cusolverEigMode_t vectors,
                                          int m, int n, double* a, int leading, double* values,
                                          double* left, int left_leading, double* right,
                                          int right_leading, double* memory, int items, int* info,
                                          gesvdjInfo_t jacobi, int batch);

cusolverStatus_t cusolverDnXgeev_bufferSize(
    cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t left_vectors,
    cusolverEigMode_t right_vectors, int64_t n, cudaDataType type, const void* a, int64_t leading,
    cudaDataType values_type, const void* values, cudaDataType left_type, const void* left,
    int64_t left_leading, cudaDataType right_type, const void* right, int64_t right_leading,
    cudaDataType compute, size_t* bytes, size_t* host_bytes);
cusolverStatus_t cusolverDnXgeev(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                 cusolverEigMode_t left_vectors, cusolverEigMode_t right_vectors,
                                 int64_t n, cudaDataType type, void* a, int64_t leading,
                                 cudaDataType values_type, void* values, cudaDataType left_type,
                                 void* left, int64_t left_leading, cudaDataType right_type,
                                 void* right, int64_t right_leading, cudaDataType compute,
                                 void* memory, size_t bytes, void* host, size_t host_bytes,
                                 int* info);
}
