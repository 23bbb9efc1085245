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
  int64_t leading_a = 4, leading_d = 4;
  void* workspace = nullptr;
  uint64_t columns_then = 4;  // of B and D, when the algorithm was chosen
  uint64_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;
  bool with_algorithm = true, c_like_d = true, needs_bias = false;
  uint64_t most_workspace = 0;
  mutable uint64_t wanted_workspace = 0;  // what the algorithm asked for
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
  cudaDataType_t type_d = CUDA_R_32F;
  int32_t batch = 1, batch_d = 1;
  int64_t batch_stride = 16, batch_stride_d = 16;
  uint64_t rows_b = 4;

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
    if (bias || needs_bias) {
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                     sizeof epilogue);
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                     sizeof bias);
    }
    cublasLtMatmulHeuristicResult_t result{};
    const cublasStatus_t status = choose(handle, product, result);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    cublasLtMatrixLayoutOpaque_t left, right, out, added;
    layouts(left, right, out, 4);
    cublasLtMatrixLayoutInit(&added, CUDA_R_32F, 4, 4, 5);
    return cublasLtMatmul(
        handle, &product, &alpha, a, &left, b, &right, &beta, c, c_like_d ? &out : &added, d, &out,
        with_algorithm ? &result.algo : nullptr, workspace, workspace_bytes, stream);
  }

 private:
  void layouts(cublasLtMatrixLayoutOpaque_t& left, cublasLtMatrixLayoutOpaque_t& right,
               cublasLtMatrixLayoutOpaque_t& out, uint64_t columns) const {
    cublasLtMatrixLayoutInit(&left, CUDA_R_32F, 4, 4, leading_a);
    cublasLtMatrixLayoutInit(&right, CUDA_R_32F, rows_b, columns, 4);
    cublasLtMatrixLayoutInit(&out, type_d, 4, columns, leading_d);
    set_batch(left, batch, batch_stride);
    set_batch(right, batch, batch_stride);
    set_batch(out, batch_d, batch_stride_d);
  }
  static void set_batch(cublasLtMatrixLayoutOpaque_t& layout, int32_t batches, int64_t stride) {
    cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches,
                                     sizeof batches);
    cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  }
  cublasStatus_t choose(cublasLtHandle_t handle, cublasLtMatmulDescOpaque_t& product,
                        cublasLtMatmulHeuristicResult_t& result) const {
    cublasLtMatrixLayoutOpaque_t left, right, out, added;
    layouts(left, right, out, columns_then);
    cublasLtMatrixLayoutInit(&added, CUDA_R_32F, 4, 4, 5);
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulPreferenceInit(&preference);
    for (int i = 0; i < 4; ++i) {
      const auto which = static_cast<cublasLtMatmulPreferenceAttributes_t>(
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES + i);
      cublasLtMatmulPreferenceSetAttribute(&preference, which, &alignment, sizeof alignment);
    }
    cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &most_workspace, sizeof most_workspace);
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, &product, &left, &right, c_like_d ? &out : &added,
                                       &out, &preference, 1, &result, &count);
    wanted_workspace = result.workspaceSize;
    return status;
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

TEST_F(PlantedMatmul, DescriptionsThatAreNone) {
  const auto refused = [&](const Product& product, const char* rule,
                           cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
    EXPECT_EQ(product.run(), status);
    EXPECT_TRUE(finds(rule));
  };
  Product sizes;
  sizes.rows_b = 3;
  refused(sizes, "D (m, n) = op(A) (m, k) op(B) (k, n), and C is like D");
  Product types;
  types.type_d = CUDA_R_16F;
  refused(types, "the types are a row of the table of supported ones", CUBLAS_STATUS_NOT_SUPPORTED);
  Product batches;
  batches.batch = 2;
  refused(batches, "all have one number of batches");
  Product over;
  over.batch = over.batch_d = 2;
  over.batch_stride_d = 8;
  refused(over, "the matrices of D don't overlap");
  Product epilogue;
  epilogue.bias = epilogue.b;
  epilogue.epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  refused(epilogue, "a bias needs the epilogue that adds it");
  Product bias;
  bias.needs_bias = true;
  refused(bias, "the bias is there, and of D's type");
}

TEST_F(PlantedMatmul, CallsThatAreNone) {
  const auto refused = [&](const Product& product, const char* rule) {
    EXPECT_EQ(product.run(), CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_TRUE(finds(rule));
  };
  Product chosen;
  chosen.with_algorithm = false;
  refused(chosen, "an algorithm that the heuristic gave");
  Product device;
  cudaSetDevice(1);
  device.stream = new_stream();
  cudaSetDevice(0);
  refused(device, "the stream is one of the handle's device");
  Product shared;
  shared.beta = 1;
  shared.c = shared.d + 4;
  refused(shared, "C is D, or shares no memory with it");
  Product in_place;
  in_place.c = in_place.d;
  in_place.c_like_d = false;
  refused(in_place, "where C is D their layouts are equal");
  // Some algorithms want a workspace.
  Product small;
  small.most_workspace = 1024;
  for (; small.wanted_workspace == 0 && small.leading_a < 20; ++small.leading_a) small.run();
  EXPECT_EQ(small.wanted_workspace, 1024u);
  EXPECT_TRUE(finds("the workspace is as large as the algorithm asked, got 0 of 1024"));
  Product odd;
  odd.workspace = odd.c + 4;
  odd.workspace_bytes = 64;
  refused(odd, "the workspace is aligned to 256 bytes");
  Product freed;
  freed.workspace = on_device(std::vector<char>(256));
  freed.workspace_bytes = 256;
  cudaFree(freed.workspace);
  refused(freed, "operands lie in memory of the device, got the workspace in freed memory");
  Product bias;
  bias.bias = on_device(std::vector<float>(2, 1));
  refused(bias, "operands lie in memory of the device, got the bias in 16 bytes of");
  void* unwritten = nullptr;
  cudaMalloc(&unwritten, 16);
  bias.bias = static_cast<const float*>(unwritten);
  EXPECT_EQ(bias.run(), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(
      finds("operands lie in memory of the device that is allocated and written, got the bias in"));
}

TEST_F(PlantedMatmul, AttributesThatAreNone) {
  cublasLtMatrixLayoutOpaque_t layout{};
  cublasLtMatmulDescOpaque_t product{};
  cublasLtMatmulPreferenceOpaque_t preference{};
  const int64_t value = 1;
  const char* const rule = "the attribute is known, and of its size";
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value,
                                             sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds(rule));
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSC, &value, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds(rule));
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE,
                                                 &value, 4),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds(rule));
  int found_algorithms = 0;
  const auto ask = [&](cublasLtHandle_t handle, int results) {
    return cublasLtMatmulAlgoGetHeuristic(handle, &product, &layout, &layout, &layout, &layout,
                                          &preference, results, nullptr, &found_algorithms);
  };
  EXPECT_EQ(ask(nullptr, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_TRUE(finds("the handle is one that was made"));
  static cublasLtHandle_t handle = nullptr;  // as long as the program, as in cuda/
  ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(ask(handle, 0), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(finds("at least one result is asked for"));
}

}  // namespace aorta::emulated
