// Rules of cuDNN's graph API: descriptors need no device, and what is made of them does.
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace aorta::rules {
namespace {

constexpr const char* kName = "libcudnn.so.9";

using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;

struct Calls {
  decltype(&cudnnGetErrorString) get_error_string = Symbol{kName, "cudnnGetErrorString"};
  decltype(&cudnnCreate) create = Symbol{kName, "cudnnCreate"};
  decltype(&cudnnSetStream) set_stream = Symbol{kName, "cudnnSetStream"};
  decltype(&cudnnBackendCreateDescriptor) create_descriptor =
      Symbol{kName, "cudnnBackendCreateDescriptor"};
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor =
      Symbol{kName, "cudnnBackendDestroyDescriptor"};
  decltype(&cudnnBackendSetAttribute) set_attribute = Symbol{kName, "cudnnBackendSetAttribute"};
  decltype(&cudnnBackendGetAttribute) get_attribute = Symbol{kName, "cudnnBackendGetAttribute"};
  decltype(&cudnnBackendFinalize) finalize = Symbol{kName, "cudnnBackendFinalize"};
  decltype(&cudnnBackendExecute) execute = Symbol{kName, "cudnnBackendExecute"};
};

const Calls& cudnn() {
  static const Calls calls;
  return calls;
}

}  // namespace
}  // namespace aorta::rules

inline void PrintTo(cudnnStatus_t status, std::ostream* out) {
  *out << aorta::rules::cudnn().get_error_string(status) << " = " << static_cast<int>(status);
}

namespace aorta::rules {
namespace {

/// A descriptor, which stays until the program ends.
struct Made {
  cudnnBackendDescriptor_t d = nullptr;

  explicit Made(cudnnBackendDescriptorType_t type) {
    EXPECT_EQ(cudnn().create_descriptor(type, &d), CUDNN_STATUS_SUCCESS);
  }
  cudnnStatus_t set(Name name, Type type, int64_t count, const void* elements) {
    return cudnn().set_attribute(d, name, type, count, elements);
  }
  template <class T>
  cudnnStatus_t set(Name name, Type type, const T& value) {
    return set(name, type, 1, &value);
  }
  cudnnStatus_t set(Name name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  cudnnStatus_t set(Name name, const Made& part) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, part.d);
  }
  cudnnStatus_t finalize() { return cudnn().finalize(d); }
};

/// A tensor (2, 3, 4) of f32, as each case spoils it.
struct Tensor {
  std::vector<int64_t> dims{2, 3, 4}, strides{12, 4, 1};
  int64_t id = 1, alignment = 16;
  std::optional<Name> left_out = {};

  Made make() const {
    Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    if (left_out != CUDNN_ATTR_TENSOR_DATA_TYPE)
      t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (left_out != CUDNN_ATTR_TENSOR_DIMENSIONS) t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    if (left_out != CUDNN_ATTR_TENSOR_STRIDES) t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    if (left_out != CUDNN_ATTR_TENSOR_UNIQUE_ID)
      t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    if (left_out != CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT)
      t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    return t;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
  Made finalized() const {
    Made t = make();
    EXPECT_EQ(t.finalize(), CUDNN_STATUS_SUCCESS);
    return t;
  }
};

/// How a kernel goes over two spatial dimensions.
struct Rule {
  int64_t spatial = 2;
  std::vector<int64_t> padding{0, 0}, stride{1, 1}, dilation{1, 1};
  bool has_mode = true;

  Made make() const {
    Made r(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    if (has_mode) {
      r.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    }
    r.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, spatial);
    r.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
    r.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilation);
    return r;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
};

/// y (1, 2, 4, 4) from x (1, 2, 4, 4) and w (2, 2, 1, 1), as each case spoils it.
struct Convolution {
  Tensor x{.dims = {1, 2, 4, 4}, .strides = {32, 1, 8, 2}, .id = 1};
  Tensor y{.dims = {1, 2, 4, 4}, .strides = {32, 1, 8, 2}, .id = 2};
  Tensor w{.dims = {2, 2, 1, 1}, .strides = {2, 1, 2, 2}, .id = 3};
  bool finalize_x = true, with_w = true, y_is_virtual = false;

  Made make() const {
    Made rule = Rule().make(), tx = x.make(), ty = y.make(), tw = w.make();
    EXPECT_EQ(rule.finalize(), CUDNN_STATUS_SUCCESS);
    if (finalize_x) {
      EXPECT_EQ(tx.finalize(), CUDNN_STATUS_SUCCESS);
    }
    if (y_is_virtual) ty.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, true);
    EXPECT_EQ(ty.finalize(), CUDNN_STATUS_SUCCESS);
    EXPECT_EQ(tw.finalize(), CUDNN_STATUS_SUCCESS);
    Made operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, rule);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, ty);
    if (with_w) operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw);
    return operation;
  }
  cudnnStatus_t finalize() const { return make().finalize(); }
};

class CudnnDescriptors : public LibraryRules {
 protected:
  void SetUp() override {
    if (!cudnn().execute) GTEST_SKIP() << kName << " isn't found";
  }
};

/// What needs a handle, and so a device.
class Cudnn : public Rules {
 protected:
  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    if (!cudnn().execute) GTEST_SKIP() << kName << " isn't found";
    static cudnnHandle_t of_all = nullptr;
    if (!of_all) {
      ASSERT_EQ(cudnn().create(&of_all), CUDNN_STATUS_SUCCESS);
    }
    handle_ = of_all;
    for (void*& tensor : data_) {
      tensor = device_memory(256);
      ASSERT_EQ(cudaMemsetAsync(tensor, 0, 256, nullptr), cudaSuccess);
    }
  }

  Made graph_of(const Convolution& convolution) {
    Made operation = convolution.make();
    EXPECT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
    Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle_);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    return graph;
  }

  /// The first plan that needs a workspace, or needs none.
  std::optional<Made> plan(bool with_workspace) {
    Made graph = graph_of({});
    EXPECT_EQ(graph.finalize(), CUDNN_STATUS_SUCCESS);
    Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    EXPECT_EQ(heuristics.finalize(), CUDNN_STATUS_SUCCESS);
    constexpr int64_t kMost = 16;
    std::vector<cudnnBackendDescriptor_t> configs;
    for (int64_t i = 0; i < kMost; ++i)
      configs.push_back(Made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).d);
    int64_t count = 0;
    EXPECT_EQ(cudnn().get_attribute(heuristics.d, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, kMost, &count, configs.data()),
              CUDNN_STATUS_SUCCESS);
    for (int64_t i = 0; i < std::min(count, kMost); ++i) {
      Made made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      made.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, handle_);
      made.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
               configs[static_cast<size_t>(i)]);
      if (made.finalize() != CUDNN_STATUS_SUCCESS) continue;
      int64_t bytes = 0, read = 0;
      EXPECT_EQ(cudnn().get_attribute(made.d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                      CUDNN_TYPE_INT64, 1, &read, &bytes),
                CUDNN_STATUS_SUCCESS);
      if ((bytes > 0) == with_workspace) return made;
    }
    return std::nullopt;
  }

  /// Of tensors 1, 2 and 3, or some of them.
  Made pack(const std::vector<int64_t>& ids = {1, 2, 3}) const {
    Made p(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    p.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    p.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
          static_cast<int64_t>(ids.size()), data_);
    void* const nothing = nullptr;
    p.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, nothing);
    return p;
  }
  Made finalized_pack(const std::vector<int64_t>& ids = {1, 2, 3}) const {
    Made p = pack(ids);
    EXPECT_EQ(p.finalize(), CUDNN_STATUS_SUCCESS);
    return p;
  }
  cudnnStatus_t execute(const Made& plan, const Made& pack) const {
    return cudnn().execute(handle_, plan.d, pack.d);
  }

  cudnnHandle_t handle_ = nullptr;
  void* data_[3] = {};  // of x, y and w
};

constexpr const char* kNoPlan = "there is no such plan";

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
            CUDNN_STATUS_BAD_PARAM);
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

TEST_F(CudnnDescriptors, NineDimensions) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::vector<int64_t>(9, 1)),
            CUDNN_STATUS_BAD_PARAM);
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
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
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
      CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
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

TEST_F(CudnnDescriptors, HowManyThereAreIsReadToo) {
  const Made t = Tensor().finalized();
  int64_t count = 0, read[1] = {};
  EXPECT_EQ(
      cudnn().get_attribute(t.d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 1, &count, read),
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
            CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
  EXPECT_EQ(cudnn().finalize(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(CudnnDescriptors, NoneIsDestroyed) {
  EXPECT_EQ(cudnn().destroy_descriptor(nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

// ---- Tensors.

TEST_F(CudnnDescriptors, ATensorWithoutADataType) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_DATA_TYPE}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutDimensions) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_DIMENSIONS}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutStrides) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_STRIDES}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutAUniqueId) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_UNIQUE_ID}.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithoutAnAlignment) {
  EXPECT_EQ(Tensor{.left_out = CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT}.finalize(),
            CUDNN_STATUS_BAD_PARAM);
}

TEST_F(CudnnDescriptors, ATensorWithTooFewStrides) {
  EXPECT_EQ((Tensor{.strides = {4, 1}}.finalize()), CUDNN_STATUS_BAD_PARAM);
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
  EXPECT_EQ(Rule{.has_mode = false}.finalize(), CUDNN_STATUS_BAD_PARAM);
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
  EXPECT_EQ(c.finalize(), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

TEST_F(CudnnDescriptors, AnOperationWhoseChannelsDoNotFit) {
  Convolution c;
  c.w.dims = {3, 2, 1, 1};
  EXPECT_EQ(c.finalize(), CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH);
}

TEST_F(CudnnDescriptors, AnOperationOfATensorThatIsNotFinalized) {
  EXPECT_EQ(Convolution{.finalize_x = false}.finalize(), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(CudnnDescriptors, AnOperationWithoutAKernel) {
  EXPECT_EQ(Convolution{.with_w = false}.finalize(), CUDNN_STATUS_BAD_PARAM);
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
  EXPECT_EQ(pack.finalize(), CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
}

TEST_F(CudnnDescriptors, APackWithoutPointers) {
  Made pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1});
  EXPECT_EQ(pack.finalize(), CUDNN_STATUS_BAD_PARAM);
}

// ---- Graphs and plans.

TEST_F(Cudnn, AGraph) { EXPECT_EQ(graph_of({}).finalize(), CUDNN_STATUS_SUCCESS); }

TEST_F(Cudnn, AGraphOfWhichTwoTensorsHaveOneId) {
  Convolution c;
  c.w.id = 1;
  EXPECT_EQ(graph_of(c).finalize(), CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
}

TEST_F(Cudnn, AGraphThatWritesNothing) {
  EXPECT_EQ(graph_of({.y_is_virtual = true}).finalize(), CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN);
}

TEST_F(Cudnn, AGraphWithoutAHandle) {
  Made operation = Convolution().make();
  ASSERT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
  Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  EXPECT_EQ(graph.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Cudnn, HeuristicsOfAGraphThatIsNotFinalized) {
  const Made graph = graph_of({});
  Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
  EXPECT_EQ(heuristics.finalize(), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(Cudnn, APlanIsExecuted) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(execute(*made, finalized_pack()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Cudnn, APackThatLacksATensor) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(execute(*made, finalized_pack({1, 2})), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(Cudnn, APackThatIsNotFinalized) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(execute(*made, pack()), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(Cudnn, APlanThatIsTakenForAPack) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(execute(*made, *made), CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE);
}

TEST_F(Cudnn, APackThatIsNone) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(cudnn().execute(handle_, made->d, nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(Cudnn, ATensorLessAlignedThanItSays) {
  in_own_process(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, [&] {
    const std::optional<Made> made = plan(false);
    if (!made) return CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER;
    data_[0] = static_cast<char*>(data_[0]) + 4;
    return execute(*made, finalized_pack());
  });
}

TEST_F(Cudnn, APlanWithoutTheWorkspaceThatItNeeds) {
  in_own_process(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, [&] {
    const std::optional<Made> made = plan(true);
    return made ? execute(*made, finalized_pack()) : CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
  });
}

TEST_F(Cudnn, ARefusedCallLeavesNoErrorOfTheRuntime) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  cudaGetLastError();
  execute(*made, finalized_pack({1, 2}));
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Cudnn, AnotherDevicesStream) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  cudaSetDevice(1);
  const cudaStream_t stream = new_stream();
  cudaSetDevice(0);
  EXPECT_EQ(cudnn().set_stream(handle_, stream), CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH);
}

TEST_F(Cudnn, AnotherDeviceIsCurrent) {
  if (devices() < 2) GTEST_SKIP() << kTwoDevices;
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  cudaSetDevice(1);
  stricter(execute(*made, finalized_pack()), CUDNN_STATUS_BAD_PARAM);
}

}  // namespace aorta::rules
