// Bugs in calls of cuFFT and cuSOLVER.
#include <aorta/tests/cuda/emulated/planted.h>
#include <cufftXt.h>
#include <cusolverDn.h>

#include <cmath>
#include <complex>

namespace aorta::emulated {
namespace {

using Complex = std::complex<float>;
using PlantedFft = Planted;
using PlantedSolver = Planted;

/// Two lines of four complex numbers, as each test spoils them.
struct Transform {
  Complex* in = on_device(std::vector<Complex>{1, 0, 0, 0, 1, 1, 1, 1});
  Complex* out = on_device(std::vector<Complex>(8, 7));
  void* workspace = on_device(std::vector<char>(4096));
  cufftHandle plan = 0;
  size_t bytes = 0;
  cudaDataType in_type = CUDA_C_32F;
  cudaStream_t stream = nullptr;

  cufftResult make() {
    long long n = 4, in_size = 4, out_size = 4;
    if (plan == 0) cufftCreate(&plan);
    cufftSetAutoAllocation(plan, 0);
    return cufftXtMakePlanMany(plan, 1, &n, &in_size, 1, 4, in_type, &out_size, 1, 4, CUDA_C_32F, 2,
                               &bytes, CUDA_C_32F);
  }
  cufftResult run(int direction = CUFFT_FORWARD) {
    cufftSetStream(plan, stream);
    cufftSetWorkArea(plan, workspace);
    return cufftXtExec(plan, in, out, direction);
  }
};

}  // namespace

TEST_F(PlantedFft, RightIsRight) {
  Transform transform;
  EXPECT_EQ(transform.make(), CUFFT_SUCCESS);
  EXPECT_EQ(transform.run(), CUFFT_SUCCESS);
  EXPECT_EQ(found(), "");
  const std::vector<Complex> wanted{1, 1, 1, 1, 4, 0, 0, 0};
  const std::vector<Complex> results = on_host(transform.out, 8);
  for (size_t i = 0; i < 8; ++i) EXPECT_LT(std::abs(results[i] - wanted[i]), 1e-6) << i;
}

TEST_F(PlantedFft, PlansThatAreNone) {
  Transform transform;
  EXPECT_EQ(transform.run(), CUFFT_INVALID_PLAN);
  EXPECT_TRUE(finds("the plan is one that was made, and not destroyed"));
  EXPECT_EQ(transform.make(), CUFFT_SUCCESS);
  EXPECT_EQ(transform.make(), CUFFT_INVALID_SIZE);
  EXPECT_TRUE(finds("a plan is made once, of lines of numbers that have its precision"));
  EXPECT_EQ(cufftDestroy(transform.plan), CUFFT_SUCCESS);
  EXPECT_EQ(transform.run(), CUFFT_INVALID_PLAN);
  EXPECT_TRUE(finds("the plan is one that was made, and not destroyed"));
  Transform other;
  other.in_type = CUDA_C_64F;
  EXPECT_EQ(other.make(), CUFFT_INVALID_SIZE);
  EXPECT_TRUE(finds("a plan is made once, of lines of numbers that have its precision"));
}

TEST_F(PlantedFft, WhatIsTransformed) {
  Transform transform;
  EXPECT_EQ(transform.make(), CUFFT_SUCCESS);
  Complex* const in = transform.in;
  transform.in = reinterpret_cast<Complex*>(reinterpret_cast<float*>(in) + 1);
  EXPECT_EQ(transform.run(), CUFFT_INVALID_VALUE);
  EXPECT_TRUE(finds("numbers are aligned as complex ones"));
  transform.in = transform.out;
  EXPECT_EQ(transform.run(), CUFFT_INVALID_VALUE);
  EXPECT_TRUE(finds("this double transforms out of place"));
  transform.in = in + 4;  // beyond its end
  EXPECT_EQ(transform.run(), CUFFT_EXEC_FAILED);
  EXPECT_TRUE(finds("operands lie in memory of the device"));
  transform.in = in;
  transform.workspace = nullptr;
  EXPECT_EQ(transform.run(), CUFFT_EXEC_FAILED);
  EXPECT_TRUE(finds("operands lie in memory of the device"));
  void* unwritten = nullptr;
  cudaMalloc(&unwritten, 64);
  transform = Transform();
  EXPECT_EQ(transform.make(), CUFFT_SUCCESS);
  transform.in = static_cast<Complex*>(unwritten);
  EXPECT_EQ(transform.run(), CUFFT_SUCCESS);
  EXPECT_TRUE(finds("operands lie in memory of the device that is allocated and written"));
}

TEST_F(PlantedFft, DirectionsAndStreams) {
  Transform transform;
  transform.in_type = CUDA_R_32F;
  EXPECT_EQ(transform.make(), CUFFT_SUCCESS);
  EXPECT_EQ(transform.run(CUFFT_INVERSE), CUFFT_INVALID_VALUE);
  EXPECT_TRUE(finds("a direction that the plan's types have"));
  cudaSetDevice(1);
  transform.stream = new_stream();
  cudaSetDevice(0);
  EXPECT_EQ(transform.run(), CUFFT_EXEC_FAILED);
  EXPECT_TRUE(finds("the stream is one of the handle's device"));
}

namespace {

/// Two symmetric matrices of 2 x 2, as each test spoils them.
struct Decomposition {
  double* a = on_device(std::vector<double>{4, 2, 2, 5, 1, 0, 0, 1});
  double* values = on_device(std::vector<double>(4, 7));
  void* memory = on_device(std::vector<char>(4096));
  int* info = on_device(std::vector<int>(2, 7));
  cusolverDnHandle_t handle = nullptr;
  int64_t leading = 2;
  int64_t less = 0;
  std::vector<char> host = std::vector<char>(4096);
  size_t bytes = 0, host_bytes = 0;

  Decomposition() { cusolverDnCreate(&handle); }
  cusolverStatus_t factor() {
    cusolverDnXpotrf_bufferSize(handle, nullptr, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F, a, 2,
                                CUDA_R_64F, &bytes, &host_bytes);
    return cusolverDnXpotrf(handle, nullptr, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F, a, leading,
                            CUDA_R_64F, memory, bytes - static_cast<size_t>(less), host.data(),
                            host_bytes, info);
  }
  cusolverStatus_t values_of(int rows) {
    int items = 0;
    cusolverDnDgesvdjBatched_bufferSize(handle, CUSOLVER_EIG_MODE_NOVECTOR, rows, 2, a, rows,
                                        values, a, rows, a, 2, &items, nullptr, 1);
    return cusolverDnDgesvdjBatched(handle, CUSOLVER_EIG_MODE_NOVECTOR, rows, 2, a, rows, values,
                                    values, rows, values, 2, static_cast<double*>(memory), items,
                                    info, nullptr, 1);
  }
};

}  // namespace

TEST_F(PlantedSolver, RightIsRight) {
  Decomposition one;
  EXPECT_EQ(one.factor(), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(one.a, 4), (std::vector<double>{2, 1, 2, 2})) << "the other triangle stays";
  EXPECT_EQ(on_host(one.info, 2), (std::vector<int>{0, 7}));
  Decomposition other;
  EXPECT_EQ(other.values_of(2), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  EXPECT_NEAR(on_host(other.values, 1)[0], (9 + std::sqrt(17)) / 2, 1e-12);
}

TEST_F(PlantedSolver, OperandsAndWorkspaces) {
  Decomposition one;
  one.leading = 1;
  EXPECT_EQ(one.factor(), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("a leading dimension spans a column"));
  one.leading = 2;
  one.less = 1;
  EXPECT_EQ(one.factor(), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("a workspace is as large as was asked for"));
  one.less = 0;
  one.a = nullptr;
  EXPECT_EQ(one.factor(), CUSOLVER_STATUS_EXECUTION_FAILED);
  EXPECT_TRUE(finds("operands lie in memory of the device"));
  one.handle = nullptr;
  EXPECT_EQ(one.factor(), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("the handle is one that was made"));
}

TEST_F(PlantedSolver, WhatARoutineTakes) {
  Decomposition one;
  EXPECT_EQ(one.values_of(33), CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("matrices of a batch have 32 rows and columns at most"));
  EXPECT_EQ(cusolverDnXgeev(one.handle, nullptr, CUSOLVER_EIG_MODE_VECTOR, CUSOLVER_EIG_MODE_VECTOR,
                            2, CUDA_R_64F, one.a, 2, CUDA_C_64F, one.values, CUDA_R_64F, nullptr, 2,
                            CUDA_R_64F, one.a, 2, CUDA_R_64F, one.memory, 4096, one.host.data(),
                            4096, one.info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("this double has right eigenvectors alone"));
  int items = 0, pivots[2];
  EXPECT_EQ(cusolverDnDsytrf_bufferSize(one.handle, 2, nullptr, 2, &items),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(cusolverDnDsytrf(one.handle, CUBLAS_FILL_MODE_UPPER, 2, one.a, 2, pivots,
                             static_cast<double*>(one.memory), items, one.info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("this double has lower triangles alone"));
}

}  // namespace aorta::emulated
