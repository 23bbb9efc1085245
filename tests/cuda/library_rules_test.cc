// Rules of cuFFT and cuSOLVER: plans, and the operands of decompositions.
#include <aorta/tests/cuda/runtime_rules.h>
#include <cufftXt.h>
#include <cusolverDn.h>

#include <gtest/gtest.h>

#include <vector>

namespace aorta::rules {
namespace {

/// A plan of two lines of four complex numbers.
class Cufft : public Rules {
 protected:
  static constexpr const char* kName = "libcufft.so.12";
  decltype(&cufftCreate) create = Symbol{kName, "cufftCreate"};
  decltype(&cufftDestroy) destroy = Symbol{kName, "cufftDestroy"};
  decltype(&cufftSetAutoAllocation) set_auto = Symbol{kName, "cufftSetAutoAllocation"};
  decltype(&cufftXtMakePlanMany) make_plan = Symbol{kName, "cufftXtMakePlanMany"};
  decltype(&cufftSetWorkArea) set_work_area = Symbol{kName, "cufftSetWorkArea"};
  decltype(&cufftXtExec) execute = Symbol{kName, "cufftXtExec"};

  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    if (!execute) GTEST_SKIP() << kName << " isn't found";
    in = device_memory(kBytes);
    out = device_memory(kBytes);
    cudaMemsetAsync(in, 0, kBytes, nullptr);
  }

  cufftResult make(cufftHandle plan, cudaDataType in_type = CUDA_C_32F, long long n = 4) {
    long long in_size = n, out_size = n;
    return make_plan(plan, 1, &n, &in_size, 1, 4, in_type, &out_size, 1, 4, CUDA_C_32F, 2,
                     &workspace, CUDA_C_32F);
  }
  cufftHandle made() {
    cufftHandle plan = 0;
    EXPECT_EQ(create(&plan), CUFFT_SUCCESS);
    EXPECT_EQ(set_auto(plan, 0), CUFFT_SUCCESS);
    EXPECT_EQ(make(plan), CUFFT_SUCCESS);
    EXPECT_EQ(set_work_area(plan, device_memory(workspace > 0 ? workspace : 1)), CUFFT_SUCCESS);
    return plan;
  }

  static constexpr size_t kBytes = 256;
  void *in = nullptr, *out = nullptr;
  size_t workspace = 0;
};

/// A symmetric matrix of 2 x 2.
class Cusolver : public Rules {
 protected:
  static constexpr const char* kName = "libcusolver.so.12";
  decltype(&cusolverDnCreate) create = Symbol{kName, "cusolverDnCreate"};
  decltype(&cusolverDnCreateParams) create_params = Symbol{kName, "cusolverDnCreateParams"};
  decltype(&cusolverDnXpotrf_bufferSize) size = Symbol{kName, "cusolverDnXpotrf_bufferSize"};
  decltype(&cusolverDnXpotrf) factor = Symbol{kName, "cusolverDnXpotrf"};
  decltype(&cusolverDnCreateGesvdjInfo) create_jacobi = Symbol{kName, "cusolverDnCreateGesvdjInfo"};
  decltype(&cusolverDnDgesvdjBatched) svd = Symbol{kName, "cusolverDnDgesvdjBatched"};

  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    if (!svd) GTEST_SKIP() << kName << " isn't found";
    ASSERT_EQ(create(&handle), CUSOLVER_STATUS_SUCCESS);
    ASSERT_EQ(create_params(&params), CUSOLVER_STATUS_SUCCESS);
    ASSERT_EQ(create_jacobi(&jacobi), CUSOLVER_STATUS_SUCCESS);
    const std::vector<double> values{4, 2, 2, 5};
    a = device_memory(sizeof(double) * 4);
    cudaMemcpyAsync(a, values.data(), sizeof(double) * 4, cudaMemcpyHostToDevice, nullptr);
    ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
    info = static_cast<int*>(device_memory(sizeof(int)));
    ASSERT_EQ(size(handle, params, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F, a, 2, CUDA_R_64F, &bytes,
                   &host_bytes),
              CUSOLVER_STATUS_SUCCESS);
    memory = device_memory(bytes > 0 ? bytes : 1);
    host.resize(host_bytes + 1);
  }

  cusolverStatus_t run(int64_t leading, size_t given) {
    return factor(handle, params, CUBLAS_FILL_MODE_LOWER, 2, CUDA_R_64F, a, leading, CUDA_R_64F,
                  memory, given, host.data(), host_bytes, info);
  }

  cusolverDnHandle_t handle = nullptr;
  cusolverDnParams_t params = nullptr;
  gesvdjInfo_t jacobi = nullptr;
  void *a = nullptr, *memory = nullptr;
  int* info = nullptr;
  size_t bytes = 0, host_bytes = 0;
  std::vector<char> host;
};

}  // namespace

TEST_F(Cufft, APlanTransforms) {
  EXPECT_EQ(execute(made(), in, out, CUFFT_FORWARD), CUFFT_SUCCESS);
}

TEST_F(Cufft, PlansThatAreNone) {
  EXPECT_EQ(execute(12345, in, out, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
  EXPECT_EQ(destroy(12345), CUFFT_INVALID_PLAN);
  const cufftHandle plan = made();
  EXPECT_EQ(destroy(plan), CUFFT_SUCCESS);
  EXPECT_EQ(execute(plan, in, out, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
}

TEST_F(Cufft, APlanThatIsntMade) {
  cufftHandle plan = 0;
  ASSERT_EQ(create(&plan), CUFFT_SUCCESS);
  EXPECT_EQ(execute(plan, in, out, CUFFT_FORWARD), CUFFT_INVALID_PLAN);
}

TEST_F(Cufft, APlanOfNoNumbers) {
  cufftHandle plan = 0;
  ASSERT_EQ(create(&plan), CUFFT_SUCCESS);
  EXPECT_EQ(make(plan, CUDA_C_32F, 0), CUFFT_INVALID_SIZE);
}

TEST_F(Cusolver, AMatrixIsDecomposed) {
  EXPECT_EQ(run(2, bytes), CUSOLVER_STATUS_SUCCESS);
  int found = 7;
  cudaMemcpyAsync(&found, info, sizeof found, cudaMemcpyDeviceToHost, nullptr);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(found, 0);
}

TEST_F(Cusolver, ALeadingDimensionSpansAColumn) {
  EXPECT_EQ(run(1, bytes), CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_F(Cusolver, AWorkspaceIsAsLargeAsWasAskedFor) {
  if (bytes == 0) GTEST_SKIP() << "this library asks for none";
  stricter(run(2, bytes - 1), CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_F(Cusolver, MatricesOfABatchAreSmall) {
  double* const values = static_cast<double*>(a);
  EXPECT_EQ(svd(handle, CUSOLVER_EIG_MODE_NOVECTOR, 33, 2, values, 33, values, values, 33, values,
                2, static_cast<double*>(memory), 1, info, jacobi, 1),
            CUSOLVER_STATUS_INVALID_VALUE);
}

}  // namespace aorta::rules
