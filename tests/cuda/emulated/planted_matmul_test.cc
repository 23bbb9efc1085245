// Bugs in calls of cuBLASLt. The numbers are those of the list of cases in README.md.
#include <aorta/tests/cuda/emulated/planted.h>
#include <cublasLt.h>

#include <cmath>

namespace aorta::emulated {
namespace {

/// D (4, 4) = A (4, 4) B (4, 4) + beta C, of f32, as each test spoils it.
struct Product {
  float *a, *b, *c, *d;
  const float* bias = nullptr;
  float alpha = 1, beta = 0;
  uint32_t alignment = 16;
  int64_t leading_d = 4;
  void* workspace = nullptr;
  uint64_t columns_then = 4;  // of B and D, when the algorithm was chosen

  Product()
      : a(on_device(std::vector<float>(64, 1))),
        b(on_device(std::vector<float>(64, 1))),
        c(on_device(std::vector<float>(64, NAN))),
        d(on_device(std::vector<float>(64, 7))) {}

  cublasStatus_t run() const {
    static cublasLtHandle_t handle = nullptr;  // of all products
    if (!handle) cublasLtCreate(&handle);
    cublasLtMatmulDescOpaque_t product;
    cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    if (bias) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                     sizeof epilogue);
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                     sizeof bias);
    }
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = choose(handle, product, result);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    cublasLtMatrixLayoutOpaque_t left, right, out;
    layouts(left, right, out, 4);
    return cublasLtMatmul(handle, &product, &alpha, a, &left, b, &right, &beta, c, &out, d, &out,
                          &result.algo, workspace, result.workspaceSize, nullptr);
  }

 private:
  void layouts(cublasLtMatrixLayoutOpaque_t& left, cublasLtMatrixLayoutOpaque_t& right,
               cublasLtMatrixLayoutOpaque_t& out, uint64_t columns) const {
    cublasLtMatrixLayoutInit(&left, CUDA_R_32F, 4, 4, 4);
    cublasLtMatrixLayoutInit(&right, CUDA_R_32F, 4, columns, 4);
    cublasLtMatrixLayoutInit(&out, CUDA_R_32F, 4, columns, leading_d);
  }
  cublasStatus_t choose(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t& product,
                        cublasLtMatmulHeuristicResult_t& result) const {
    cublasLtMatrixLayoutOpaque_t left, right, out;
    layouts(left, right, out, columns_then);
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulPreferenceInit(&preference);
    for (int i = 0; i < 4; ++i) {
      const auto which = static_cast<cublasLtMatmulPreferenceAttributes_t>(
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i);
      cublasLtMatmulPreferenceSetAttribute(&preference, which, &alignment, sizeof alignment);
    }
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, &product, &left, &right, &out, &out, &preference,
                                          1, &result, &count);
  }
};

using PlantedMatmul = Planted;

}  // namespace

// 24, as it should be: where beta is 0 nobody reads C, which is full of NaN.
TEST_F(PlantedMatmul, RightIsRight) {
  Product product;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(product.d, 16), std::vector<float>(16, 4));
  EXPECT_EQ(on_host(product.d + 16, 4), std::vector<float>(4, 7)) << "and no more is written";
  product.bias = on_device(std::vector<float>{1, 2, 3, 4});
  EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(product.d, 5), (std::vector<float>{5, 6, 7, 8, 5}));
}

TEST_F(PlantedMatmul, LessAlignedThanWasSaid) {
  Product product;
  product.a += 1;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("an operand is aligned as the preferences said"));
  product.alignment = 4;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  product.bias = product.b + 1;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("a bias is aligned to 16 bytes"));
}

TEST_F(PlantedMatmul, ResultsThatLieOnOperands) {
  Product product;
  product.d = product.a;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("D shares no memory with A or B"));
}

TEST_F(PlantedMatmul, LayoutsThatAreNone) {
  Product product;
  product.leading_d = 3;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("a leading dimension spans a column"));
}

TEST_F(PlantedMatmul, AnAlgorithmForAnotherProblem) {
  Product product;
  product.columns_then = 8;
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("an algorithm is used for the problem that it was chosen for"));
}

TEST_F(PlantedMatmul, OperandsThatAreFreedOrUnwritten) {
  Product product;
  cudaFree(product.b);
  EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("freed memory of cuda:0"));
  void* unwritten = nullptr;
  cudaMalloc(&unwritten, 256);
  product.b = static_cast<float*>(unwritten);
  EXPECT_EQ(product.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(finds("bytes never written"));
}

}  // namespace aorta::emulated
