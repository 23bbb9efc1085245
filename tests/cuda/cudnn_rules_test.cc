// Rules of cuDNN's descriptors, which need no device.
#include <aorta/tests/cuda/cudnn_rules.h>
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <vector>

namespace aorta::rules {
namespace {

class CudnnDescriptors : public LibraryRules {
 protected:
  void SetUp() override {
    if (!cudnn().execute) GTEST_SKIP() << kCudnn << " isn't found";
  }
};

}  // namespace

// ---- Attributes.

TEST_F(CudnnDescriptors, AnAttributeOfAnother) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{1}),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnAttributeThatIsComputed) {
  Made plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  EXPECT_EQ(plan.set(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, int64_t{1}),
            CUDNN_STATUS_NOT_SUPPORTED);
}

TEST_F(CudnnDescriptors, ResultsOfHeuristics) {
  const Made config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  EXPECT_EQ(heuristics.set(CUDNN_ATTR_ENGINEHEUR_RESULTS, config), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnAttributeOfAnotherType) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1.0f),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
}

TEST_F(CudnnDescriptors, AnAttributeOfTooManyElements) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, {1, 2}), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnAttributeOfNoElements) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t value = 1;
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 0, &value),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnAttributeFromNowhere) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, APartThatIsNone) {
  Made operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  cudnnBackendDescriptor_t none = nullptr;
  EXPECT_EQ(operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                          none),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnOperationThatIsNone) {
  Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  cudnnBackendDescriptor_t none = nullptr;
  EXPECT_EQ(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, none),
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(CudnnDescriptors, AnOperationThatIsNotFinalized) {
  Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, Convolution().make()),
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(CudnnDescriptors, SetAfterTheEnd) {
  Made t = Tensor().finalized();
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, int64_t{2}),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, FinalizedTwice) {
  Made t = Tensor().finalized();
  EXPECT_EQ(t.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ReadBeforeTheEnd) {
  const Made t = Tensor().make();
  int64_t count = 0, read = 0;
  EXPECT_EQ(
      cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, &read),
      CUDNN_STATUS_NOT_INITIALIZED);
}

TEST_F(CudnnDescriptors, ReadAfterTheEnd) {
  const Made t = Tensor().finalized();
  int64_t count = 0, read = 0;
  EXPECT_EQ(
      cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count, &read),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(read, 1);
}

TEST_F(CudnnDescriptors, FewerAreReadThanThereAre) {
  const Made t = Tensor().finalized();
  int64_t count = 0, read[2] = {};
  EXPECT_EQ(
      cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 2, &count, read),
      CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(read[1], 3);
}

TEST_F(CudnnDescriptors, HowManyThereAreIsRead) {
  const Made t = Tensor().finalized();
  int64_t count = 0;
  EXPECT_EQ(cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 0, &count,
                                  nullptr),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(count, 3);
}

TEST_F(CudnnDescriptors, ReadAsAnotherType) {
  const Made t = Tensor().finalized();
  int64_t count = 0, read = 0;
  EXPECT_EQ(
      cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1, &count, &read),
      CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
}

TEST_F(CudnnDescriptors, ReadOfAnAttributeOfAnother) {
  const Made t = Tensor().finalized();
  int64_t count = 0, read = 0;
  EXPECT_EQ(cudnn().get_attribute(t.d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1,
                                  &count, &read),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, CallsWithoutOne) {
  const int64_t value = 1;
  int64_t count = 0, read = 0;
  EXPECT_EQ(
      cudnn().set_attribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &value),
      CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnn().get_attribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count,
                                  &read),
            CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ(cudnn().finalize(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(CudnnDescriptors, NoneIsDestroyed) {
  EXPECT_EQ(cudnn().destroy_descriptor(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

// ---- Tensors.

TEST_F(CudnnDescriptors, ATensorWithoutADataType) {
  stricter(Tensor{.left_out = CUDNN_ATTR_TENSOR_DATA_TYPE}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutDimensions) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_DIMENSIONS}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutStrides) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_STRIDES}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutAUniqueId) {
  stricter(Tensor{.left_out = CUDNN_ATTR_TENSOR_UNIQUE_ID}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutAnAlignment) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}.finalize(),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithTooFewStrides) {
  EXPECT_EQ((Tensor{.strides = {4, 1}}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorOfEightDimensions) {
  const std::vector<int64_t> ones(8, 1);
  EXPECT_EQ((Tensor{.dims = ones, .strides = ones}.finalize()), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnDescriptors, ATensorOfNineDimensions) {
  const std::vector<int64_t> ones(9, 1);
  EXPECT_EQ((Tensor{.dims = ones, .strides = ones}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorOfANegativeSize) {
  EXPECT_EQ((Tensor{.dims = {2, -3, 4}}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorOfNothing) {
  stricter(Tensor{.dims = {2, 0, 4}}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorAlignedToLessThanAnElement) {
  EXPECT_EQ(Tensor{.alignment = 2}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorAlignedToNothing) {
  EXPECT_EQ(Tensor{.alignment = 0}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWhoseUniqueIdIsZero) {
  stricter(Tensor{.id = 0}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

// ---- Convolutions.

TEST_F(CudnnDescriptors, AConvolution) {
  EXPECT_EQ(Rule().finalize(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(Convolution().finalize(), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnDescriptors, AConvolutionWithoutAMode) {
  stricter(Rule{.has_mode = false}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AConvolutionWithTooFewPaddings) {
  EXPECT_EQ(Rule{.padding = {0}}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AConvolutionOfNegativePadding) {
  EXPECT_EQ((Rule{.padding = {0, -1}}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AConvolutionThatDoesNotMove) {
  EXPECT_EQ((Rule{.stride = {1, 0}}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AConvolutionWithoutDilation) {
  EXPECT_EQ((Rule{.dilation = {1, 0}}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnOperationWhoseSizesDoNotFit) {
  Convolution c;
  c.y.dims = {1, 2, 4, 3};
  EXPECT_EQ(c.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnOperationWhoseChannelsDoNotFit) {
  Convolution c;
  c.w.dims = {3, 2, 1, 1};
  EXPECT_EQ(c.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnOperationOfATensorThatIsNotFinalized) {
  EXPECT_EQ(Convolution{.finalize_x = false}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnOperationWithoutAKernel) {
  EXPECT_EQ(Convolution{.with_w = false}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

// ---- Operations of attention's graphs.

TEST_F(CudnnDescriptors, AProduct) { EXPECT_EQ(Product().finalize(), CUDNN_STATUS_SUCCESS); }

TEST_F(CudnnDescriptors, AProductWhoseSizesDoNotFit) {
  Product inner, outer;
  inner.b = {.dims = {1, 2, 9, 6}, .strides = {108, 54, 6, 1}, .id = 2};
  EXPECT_EQ(inner.finalize(), CUDNN_STATUS_BAD_PARAM);
  outer.c = {.dims = {1, 2, 4, 7}, .strides = {56, 28, 7, 1}, .id = 3};
  EXPECT_EQ(outer.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, APointwiseOperation) {
  EXPECT_EQ(Pointwise().finalize(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ((Pointwise{.mode = CUDNN_POINTWISE_EXP, .from = {{.id = 1}}}.finalize()),
            CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnDescriptors, APointwiseOperationThatLacksATensor) {
  EXPECT_EQ((Pointwise{.from = {{.id = 1}}}.finalize()), CUDNN_STATUS_BAD_PARAM);
  EXPECT_EQ((Pointwise{.mode = CUDNN_POINTWISE_BINARY_SELECT}.finalize()), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, APointwiseOperationOfATensorTooMany) {
  stricter(Pointwise{.mode = CUDNN_POINTWISE_EXP}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, APointwiseOperationOfSizesThatDoNotBroadcast) {
  Pointwise p;
  p.from[1] = {.dims = {2, 3, 3}, .strides = {9, 3, 1}, .id = 2};
  stricter(p.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AnIndexAlongNoAxis) {
  Pointwise index{.mode = CUDNN_POINTWISE_GEN_INDEX, .from = {{.id = 1}}};
  EXPECT_EQ(index.finalize(), CUDNN_STATUS_BAD_PARAM);
  index.axis = 3;
  EXPECT_EQ(index.finalize(), CUDNN_STATUS_BAD_PARAM);
  index.axis = 2;
  EXPECT_EQ(index.finalize(), CUDNN_STATUS_SUCCESS);
}

TEST_F(CudnnDescriptors, AReduction) { EXPECT_EQ(Reduction().finalize(), CUDNN_STATUS_SUCCESS); }

TEST_F(CudnnDescriptors, AReductionToAnotherSize) {
  Reduction r;
  r.y = {.dims = {2, 3, 2}, .strides = {6, 2, 1}, .id = 2};
  stricter(r.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, AReshapeOfOtherNumbers) {
  EXPECT_EQ(Reduction().finalize_reshape(), CUDNN_STATUS_BAD_PARAM);
}

// ---- Packs.

TEST_F(CudnnDescriptors, APackWithTooFewPointers) {
  Made pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* const somewhere[1] = {&pack};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2});
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1, somewhere);
  EXPECT_EQ(pack.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, APackThatNamesATensorTwice) {
  Made pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  void* const somewhere[2] = {&pack, &pack};
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 1});
  pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 2, somewhere);
  stricter(pack.finalize(), CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
}

TEST_F(CudnnDescriptors, APackWithoutPointers) {
  Made pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1});
  EXPECT_EQ(pack.finalize(), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace aorta::rules
