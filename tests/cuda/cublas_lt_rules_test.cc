// Rules of cuBLASLt: attributes, what the heuristics refuse, and what a product refuses.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace aorta::rules {
namespace {

using CublasLtAttributes = LibraryRules;

constexpr int kMostResults = 8;

/// D (m, n) = A (m, k) B (k, n) + beta C, of f32, as each case spoils it.
struct LtProduct {
  uint64_t m = 16, n = 16, k = 16;
  uint64_t rows_b = 0, rows_c = 0, rows_d = 0;  // 0: those that fit
  int64_t leading_a = 0, leading_c = 0, leading_d = 0;
  cudaDataType_t a = CUDA_R_32F, b = CUDA_R_32F, c = CUDA_R_32F, d = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale = CUDA_R_32F;
  int32_t batch = 1, batch_a = 0;  // 0: the others'
  int64_t stride_d = 256;
  bool has_epilogue = false;
  const void* bias = nullptr;
  int32_t bias_type = -1;
  uint64_t most_workspace = 0;
  int requested = 1;

  // What the operands are.
  float *a_data = nullptr, *b_data = nullptr, *c_data = nullptr, *d_data = nullptr;
  float alpha = 1, beta = 0;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  cudaStream_t stream = nullptr;

  // What they become, and what the heuristics find.
  cublasLtMatmulDescOpaque_t product = {};
  cublasLtMatrixLayoutOpaque_t layout_a = {}, layout_b = {}, layout_c = {}, layout_d = {};
  cublasLtMatmulHeuristicResult_t results[kMostResults] = {};
  int found = 0;

  cublasStatus_t choose(cublasLtHandle_t handle) {
    describe();
    cublasLtMatmulPreferenceOpaque_t preference;
    cublasLtMatmulPreferenceInit(&preference);
    cublasLtMatmulPreferenceSetAttribute(&preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &most_workspace, sizeof most_workspace);
    found = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle, &product, &layout_a, &layout_b, &layout_c,
                                          &layout_d, &preference, requested, results, &found);
  }
  cublasStatus_t run(cublasLtHandle_t handle, bool with_algorithm = true) {
    describe();
    return cublasLtMatmul(handle, &product, &alpha, a_data, &layout_a, b_data, &layout_b, &beta,
                          c_data, &layout_c, d_data, &layout_d,
                          with_algorithm ? &results[0].algo : nullptr, workspace, workspace_bytes,
                          stream);
  }

 private:
  void describe() {
    cublasLtMatmulDescInit(&product, compute, scale);
    if (has_epilogue) {
      const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue,
                                     sizeof epilogue);
    }
    if (bias) {
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                     sizeof bias);
    }
    if (bias_type >= 0) {
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &bias_type,
                                     sizeof bias_type);
    }
    const uint64_t c_rows = rows_c ? rows_c : m, d_rows = rows_d ? rows_d : m;
    lay_out(layout_a, a, m, k, leading_a, batch_a ? batch_a : batch, 256);
    lay_out(layout_b, b, rows_b ? rows_b : k, n, 0, batch, 256);
    lay_out(layout_c, c, c_rows, n, leading_c, batch, 256);
    lay_out(layout_d, d, d_rows, n, leading_d, batch, stride_d);
  }
  static void lay_out(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, uint64_t rows,
                      uint64_t columns, int64_t leading, int32_t batches, int64_t stride) {
    cublasLtMatrixLayoutInit(&layout, type, rows, columns,
                             leading ? leading : static_cast<int64_t>(rows));
    cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batches,
                                     sizeof batches);
    cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride,
                                     sizeof stride);
  }
};

class CublasLt : public Rules {
 protected:
  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    static cublasLtHandle_t of_all = nullptr;
    if (!of_all) {
      ASSERT_EQ(cublasLtCreate(&of_all), CUBLAS_STATUS_SUCCESS);
    }
    handle_ = of_all;
  }

  /// A product that has operands and an algorithm.
  LtProduct chosen(LtProduct product = {}) {
    EXPECT_EQ(product.choose(handle_), CUBLAS_STATUS_SUCCESS);
    EXPECT_GE(product.found, 1);
    product.a_data = operand(product.m * product.k);
    product.b_data = operand(product.k * product.n);
    product.c_data = operand(2 * product.m * product.n);
    product.d_data = operand(2 * product.m * product.n);
    return product;
  }
  float* operand(uint64_t elements) {
    void* const data = device_memory(elements * sizeof(float));
    EXPECT_EQ(cudaMemsetAsync(data, 0, elements * sizeof(float), nullptr), cudaSuccess);
    return static_cast<float*>(data);
  }
  void heuristics_refuse(LtProduct product, cublasStatus_t status = CUBLAS_STATUS_INVALID_VALUE) {
    EXPECT_EQ(product.choose(handle_), status);
    EXPECT_EQ(product.found, 0);
  }
  // The double may have none to advise.
  void heuristics_take(LtProduct product) {
    const cublasStatus_t status = product.choose(handle_);
    if (kEmulated && status == CUBLAS_STATUS_NOT_SUPPORTED) return;
    EXPECT_EQ(status, CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(product.found, 1);
  }

  cublasLtHandle_t handle_ = nullptr;
};

}  // namespace

// ---- Attributes.

TEST_F(CublasLtAttributes, OfALayoutOfAnotherSize) {
  cublasLtMatrixLayoutOpaque_t layout;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
  const int64_t value = 1;
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &value,
                                             sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtAttributes, OfALayoutThatAreUnknown) {
  cublasLtMatrixLayoutOpaque_t layout;
  ASSERT_EQ(cublasLtMatrixLayoutInit(&layout, CUDA_R_32F, 4, 4, 4), CUBLAS_STATUS_SUCCESS);
  const int64_t value = 1;
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(
                &layout, static_cast<cublasLtMatrixLayoutAttribute_t>(9999), &value, sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtAttributes, OfAProductOfAnotherSize) {
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  const int64_t value = CUBLAS_OP_T;
  EXPECT_EQ(
      cublasLtMatmulDescSetAttribute(&product, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof value),
      CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtAttributes, OfAProductThatAreUnknown) {
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  const int32_t value = 1;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(
                &product, static_cast<cublasLtMatmulDescAttributes_t>(9999), &value, sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtAttributes, OfAPreferenceOfAnotherSize) {
  cublasLtMatmulPreferenceOpaque_t preference;
  ASSERT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
  const uint32_t value = 1024;
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(
                &preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &value, sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLtAttributes, OfAPreferenceThatAreUnknown) {
  cublasLtMatmulPreferenceOpaque_t preference;
  ASSERT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
  const uint32_t value = 1;
  EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(
                &preference, static_cast<cublasLtMatmulPreferenceAttributes_t>(9999), &value,
                sizeof value),
            CUBLAS_STATUS_INVALID_VALUE);
}

// ---- Heuristics.

TEST_F(CublasLt, HeuristicsFindAnAlgorithm) {
  LtProduct product;
  EXPECT_EQ(product.choose(handle_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.found, 1);
  EXPECT_EQ(product.results[0].state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(product.results[0].workspaceSize, 0u) << "no more than the preference allows";
}

TEST_F(CublasLt, HeuristicsWithoutAHandle) {
  in_own_process(CUBLAS_STATUS_NOT_INITIALIZED, [] { return LtProduct().choose(nullptr); });
}

TEST_F(CublasLt, HeuristicsWithoutARequest) { heuristics_refuse({.requested = 0}); }

TEST_F(CublasLt, HeuristicsOfRowsThatDoNotFit) { heuristics_refuse({.rows_b = 8}); }

TEST_F(CublasLt, HeuristicsOfAResultThatDoesNotFit) { heuristics_refuse({.rows_d = 32}); }

TEST_F(CublasLt, HeuristicsOfAnAddendUnlikeTheResult) { heuristics_refuse({.rows_c = 8}); }

TEST_F(CublasLt, HeuristicsOfALeadingDimensionBelowARow) { heuristics_refuse({.leading_a = 8}); }

TEST_F(CublasLt, HeuristicsOfAResultWhoseLeadingDimensionIsBelowARow) {
  heuristics_refuse({.leading_d = 15});
}

TEST_F(CublasLt, HeuristicsOfNoRows) { heuristics_refuse({.m = 0}); }

TEST_F(CublasLt, HeuristicsOfNoInnerElements) { heuristics_take({.k = 0}); }

TEST_F(CublasLt, HeuristicsOfBatchesThatDiffer) { heuristics_refuse({.batch = 2, .batch_a = 3}); }

TEST_F(CublasLt, HeuristicsOfNoBatch) { heuristics_take({.batch = 0}); }

TEST_F(CublasLt, HeuristicsOfResultsThatOverlap) {
  LtProduct product{.batch = 2, .stride_d = 128};
  stricter(product.choose(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, HeuristicsOfAResultOfAnotherType) {
  heuristics_refuse({.d = CUDA_R_16F}, CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, HeuristicsOfFactorsOfTwoTypes) {
  heuristics_refuse({.a = CUDA_R_16F, .b = CUDA_R_16BF});
}

TEST_F(CublasLt, HeuristicsOfAnAddendOfAnotherType) { heuristics_refuse({.c = CUDA_R_64F}); }

TEST_F(CublasLt, HeuristicsOfSumsWiderThanTheOperands) {
  heuristics_refuse({.compute = CUBLAS_COMPUTE_64F, .scale = CUDA_R_64F},
                    CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, HeuristicsOfSumsNarrowerThanTheOperands) {
  heuristics_refuse({.compute = CUBLAS_COMPUTE_16F}, CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, HeuristicsOfFactorsOfAnotherTypeThanTheSums) {
  heuristics_refuse({.scale = CUDA_R_64F});
}

TEST_F(CublasLt, HeuristicsOfTf32InF64) {
  heuristics_refuse({.a = CUDA_R_64F,
                     .b = CUDA_R_64F,
                     .c = CUDA_R_64F,
                     .d = CUDA_R_64F,
                     .compute = CUBLAS_COMPUTE_32F_FAST_TF32,
                     .scale = CUDA_R_64F},
                    CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, HeuristicsOfABiasThatIsNotThere) {
  LtProduct product{.has_epilogue = true};
  stricter(product.choose(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, HeuristicsOfABiasOfAnotherType) {
  heuristics_refuse({.has_epilogue = true, .bias = operand(16), .bias_type = CUDA_R_16F});
}

TEST_F(CublasLt, HeuristicsOfABiasWithoutItsEpilogue) {
  LtProduct product{.bias = operand(16)};
  stricter(product.choose(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

// ---- Products.

TEST_F(CublasLt, AProductIsComputed) {
  LtProduct product = chosen();
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_SUCCESS);
  product.beta = 1;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_SUCCESS);
  product.c_data = product.d_data;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(CublasLt, ARefusedProductLeavesNoErrorOfTheRuntime) {
  LtProduct product = chosen();
  product.leading_d = 15;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(CublasLt, AProductWhoseSizesDoNotFit) {
  LtProduct product = chosen();
  product.rows_b = 8;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AProductWithoutAnAlgorithm) {
  LtProduct product = chosen();
  stricter(product.run(handle_, false), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AProductByTheAlgorithmOfAnother) {
  if (!kEmulated) GTEST_SKIP() << kUndefined;
  LtProduct product = chosen();
  product.n = 8;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AProductOnAnotherDevicesStream) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  LtProduct product = chosen();
  cudaSetDevice(1);
  product.stream = new_stream();
  cudaSetDevice(0);
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AResultThatLiesOnAFactor) {
  LtProduct product = chosen();
  product.d_data = product.a_data;
  stricter(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AnAddendThatLiesPartlyOnTheResult) {
  LtProduct product = chosen();
  product.beta = 1;
  product.c_data = product.d_data + 64;
  stricter(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AnAddendInPlaceOfAnotherLayout) {
  LtProduct product = chosen({.leading_c = 32});
  product.beta = 1;
  product.c_data = product.d_data;
  EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, AFactorLessAlignedThanWasSaid) {
  stricter_in_own_process(CUBLAS_STATUS_INVALID_VALUE, [&] {
    LtProduct product = chosen();
    product.a_data = operand(product.m * product.k + 1) + 1;
    return product.run(handle_);
  });
}

TEST_F(CublasLt, AResultLessAlignedThanWasSaid) {
  stricter_in_own_process(CUBLAS_STATUS_INVALID_VALUE, [&] {
    LtProduct product = chosen();
    product.d_data += 1;
    return product.run(handle_);
  });
}

TEST_F(CublasLt, LessWorkspaceThanTheAlgorithmAsked) {
  for (uint64_t k = 1024; k <= 64 << 10; k += k / 2) {
    LtProduct product{.m = 64, .n = 64, .k = k, .most_workspace = 32 << 20};
    product.requested = kMostResults;
    if (product.choose(handle_) != CUBLAS_STATUS_SUCCESS) continue;
    const auto end = product.results + product.found;
    const auto wants = std::find_if(product.results, end,
                                    [](const auto& result) { return result.workspaceSize > 0; });
    if (wants == end) continue;
    product = chosen(product);
    product.results[0] = *wants;
    EXPECT_EQ(product.run(handle_), CUBLAS_STATUS_INVALID_VALUE);
    return;
  }
  GTEST_SKIP() << "no algorithm wants a workspace";
}

}  // namespace aorta::rules
