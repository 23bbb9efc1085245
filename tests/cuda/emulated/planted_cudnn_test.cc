// Bugs in calls of cuDNN.
#include <aorta/tests/cuda/emulated/call.h>
#include <aorta/tests/cuda/emulated/planted.h>
#include <cudnn.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <thread>

namespace aorta::emulated {
namespace {

using Name = cudnnBackendAttributeName_t;
using Type = cudnnBackendAttributeType_t;

/// A descriptor whose attributes a test may spoil.
struct Made {
  cudnnBackendDescriptor_t d = nullptr;
  explicit Made(cudnnBackendDescriptorType_t type) { cudnnBackendCreateDescriptor(type, &d); }
  cudnnStatus_t set(Name name, Type type, int64_t count, const void* elements) {
    return cudnnBackendSetAttribute(d, name, type, count, elements);
  }
  template <class T>
  cudnnStatus_t set(Name name, Type type, const T& value) {
    return set(name, type, 1, &value);
  }
  cudnnStatus_t set(Name name, const std::vector<int64_t>& values) {
    return set(name, CUDNN_TYPE_INT64, static_cast<int64_t>(values.size()), values.data());
  }
  cudnnStatus_t set(Name name, const Made& made) {
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, made.d);
  }
  cudnnStatus_t finalize() { return cudnnBackendFinalize(d); }
};

/// y (1, 2, 4, 4) from x (1, 2, 4, 4) and w (2, 2, 1, 1), of f32, as each test spoils it.
struct Convolution {
  std::vector<int64_t> x_dims{1, 2, 4, 4}, x_strides{32, 1, 8, 2};
  std::vector<int64_t> y_dims{1, 2, 4, 4};
  std::vector<int64_t> padding{0, 0}, stride{1, 1};
  int64_t x_id = 1, w_id = 3, alignment = 16;
  bool finalize_x = true, with_unique_id = true;
  cudnnHandle_t handle;
  cudnnHandle_t of_plan;
  float *x, *y, *w;

  explicit Convolution(cudnnHandle_t given = first_handle())
      : handle(given),
        of_plan(given),
        x(on_device(std::vector<float>(64, 1))),
        y(on_device(std::vector<float>(64, 7))),
        w(on_device(std::vector<float>(16, 2))) {}

  static cudnnHandle_t first_handle() {
    static cudnnHandle_t one = nullptr;
    if (!one) cudnnCreate(&one);
    cudnnSetStream(one, nullptr);
    return one;
  }

  static Made tensor(int64_t id, const std::vector<int64_t>& dims,
                     const std::vector<int64_t>& strides, int64_t alignment, bool finalize = true) {
    Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    t.set(CUDNN_ATTR_TENSOR_STRIDES, strides);
    t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, id);
    t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, alignment);
    if (finalize) t.finalize();
    return t;
  }

  Made rule() const {
    Made r(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    r.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT);
    r.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION);
    r.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, int64_t{2});
    r.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, padding);
    r.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, stride);
    r.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, std::vector<int64_t>{1, 1});
    r.finalize();
    return r;
  }

  cudnnStatus_t build_graph(Made& graph) const {
    const Made tx = tensor(x_id, x_dims, x_strides, alignment, finalize_x);
    const Made ty = tensor(2, y_dims, {32, 1, 8, 2}, alignment);
    const Made tw = tensor(w_id, {2, 2, 1, 1}, {2, 1, 2, 2}, alignment);
    Made operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.0f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, rule());
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tx);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, ty);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tw);
    if (const cudnnStatus_t status = operation.finalize(); status != CUDNN_STATUS_SUCCESS)
      return status;
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
    graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
    return graph.finalize();
  }

  /// A plan by the last engine of the list, or the `nth`.
  cudnnStatus_t build_plan(Made& plan, int64_t nth = -1) const {
    Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    if (const cudnnStatus_t status = build_graph(graph); status != CUDNN_STATUS_SUCCESS)
      return status;
    Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    heuristics.finalize();
    cudnnBackendDescriptor_t configs[4];
    for (auto& config : configs) config = Made(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR).d;
    int64_t count = 0;
    cudnnBackendGetAttribute(heuristics.d, CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 4, &count, configs);
    EXPECT_GT(count, 0) << "the double has nothing for this size: take another";
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, of_plan);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, CUDNN_TYPE_BACKEND_DESCRIPTOR,
             configs[nth < 0 ? count - 1 : nth]);
    return plan.finalize();
  }

  static int64_t workspace_of(const Made& plan) {
    int64_t bytes = 0, count = 0;
    cudnnBackendGetAttribute(plan.d, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1,
                             &count, &bytes);
    return bytes;
  }

  Made pack(void* workspace, std::vector<int64_t> ids = {1, 2, 3}) const {
    Made p(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    std::vector<void*> pointers{x, y, w};
    pointers.resize(ids.size());
    p.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    p.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
          static_cast<int64_t>(pointers.size()), pointers.data());
    p.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    p.finalize();
    return p;
  }

  /// The first engine that needs a workspace, and memory for it.
  void* with_workspace(Made& plan) const {
    for (int64_t nth = 0; nth < 3; ++nth) {
      Made made(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
      if (build_plan(made, nth) != CUDNN_STATUS_SUCCESS || workspace_of(made) == 0) continue;
      plan = made;
      return on_device(std::vector<char>(static_cast<size_t>(workspace_of(made)) + 16));
    }
    ADD_FAILURE() << "no engine wants a workspace";
    return nullptr;
  }

  cudnnStatus_t run() const {
    Made plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    if (const cudnnStatus_t status = build_plan(plan); status != CUDNN_STATUS_SUCCESS)
      return status;
    void* const workspace =
        on_device(std::vector<char>(static_cast<size_t>(workspace_of(plan)) + 16));
    return cudnnBackendExecute(handle, plan.d, pack(workspace).d);
  }
};

class PlantedCudnn : public Planted {
 protected:
  void refused(cudnnStatus_t status, cudnnStatus_t wanted, const char* rule) {
    EXPECT_EQ(status, wanted);
    EXPECT_TRUE(finds(rule));
  }
};

}  // namespace

// As it should be.
TEST_F(PlantedCudnn, RightIsRight) {
  const Convolution convolution;
  EXPECT_EQ(convolution.run(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  EXPECT_EQ(on_host(convolution.y, 32), std::vector<float>(32, 4));
  EXPECT_EQ(on_host(convolution.y + 32, 4), std::vector<float>(4, 7)) << "and no more is written";
}

TEST_F(PlantedCudnn, TensorsThatAreNone) {
  const auto tensor = [](std::vector<int64_t> dims, std::vector<int64_t> strides, int64_t id,
                         int64_t alignment) {
    return Convolution::tensor(id, dims, strides, alignment, false).finalize();
  };
  EXPECT_EQ(tensor({2, 3, 4}, {12, 4, 1}, 1, 4), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  refused(tensor({2, 3, 4}, {4, 1}, 1, 4), CUDNN_STATUS_BAD_PARAM,
          "a tensor has a stride for each dimension, got 2 for 3");
  refused(tensor(std::vector<int64_t>(9, 1), std::vector<int64_t>(9, 1), 1, 4),
          CUDNN_STATUS_BAD_PARAM, "a tensor has at most 8 dimensions, got 9");
  refused(tensor({2, 0, 4}, {4, 4, 1}, 1, 4), CUDNN_STATUS_BAD_PARAM,
          "the sizes of a tensor are positive");
  refused(tensor({2, 3, 4}, {12, 4, 1}, 1, 2), CUDNN_STATUS_BAD_PARAM,
          "an alignment is a multiple of an element's bytes, got 2");
  refused(tensor({2, 3, 4}, {12, 4, 1}, 0, 4), CUDNN_STATUS_BAD_PARAM,
          "the unique id of a tensor isn't 0");
}

TEST_F(PlantedCudnn, AttributesThatAreNone) {
  Made t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const int64_t number = 1;
  refused(t.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, number),
          CUDNN_STATUS_BAD_PARAM, "an attribute is one of its descriptor's");
  refused(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT, 1.0f),
          CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute is set and read as its own type");
  refused(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 2, &number), CUDNN_STATUS_BAD_PARAM,
          "an attribute has elements, and no more than it may, got 2");
  refused(t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, nullptr), CUDNN_STATUS_BAD_PARAM,
          "an attribute has elements, and no more than it may");
  refused(t.finalize(), CUDNN_STATUS_BAD_PARAM,
          "a descriptor is finalized with all attributes that it needs");
  int64_t count = 0, read = 0;
  refused(cudnnBackendGetAttribute(t.d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, &count,
                                   &read),
          CUDNN_STATUS_NOT_INITIALIZED, "attributes are read from finalized descriptors");
  Made good = Convolution::tensor(1, {2, 3, 4}, {12, 4, 1}, 4);
  EXPECT_EQ(cudnnBackendGetAttribute(good.d, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1,
                                     &count, &read),
            CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(read, 1);
  refused(good.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, number), CUDNN_STATUS_BAD_PARAM,
          "a descriptor that is finalized stays as it is");
  refused(good.finalize(), CUDNN_STATUS_BAD_PARAM, "a descriptor that is finalized stays as it is");
  cudnnBackendDestroyDescriptor(good.d);
  refused(good.finalize(), CUDNN_STATUS_BAD_PARAM_NULL_POINTER,
          "a descriptor is one that was made and not destroyed");
}

TEST_F(PlantedCudnn, ConvolutionsThatAreNone) {
  Convolution numbers;
  numbers.padding = {0};
  numbers.rule();
  EXPECT_TRUE(finds("a convolution has a number for each spatial dimension, got 1 for 2"));
  Convolution stride;
  stride.stride = {1, 0};
  stride.rule();
  EXPECT_TRUE(finds("strides and dilations are positive, and paddings aren't negative"));
  Convolution sizes;
  sizes.y_dims = {1, 2, 4, 3};
  refused(sizes.run(), CUDNN_STATUS_BAD_PARAM, "the sizes of x, y and w fit each other");
  Convolution unfinished;
  unfinished.finalize_x = false;
  refused(unfinished.run(), CUDNN_STATUS_BAD_PARAM,
          "what a descriptor is made of is finalized before it");
  Convolution ids;
  ids.w_id = 1;
  refused(ids.run(), CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES,
          "a unique id is one tensor's of a graph");
}

TEST_F(PlantedCudnn, PlansOfAnotherDevice) {
  cudaSetDevice(1);
  cudnnHandle_t other = nullptr;
  cudnnCreate(&other);
  cudaSetDevice(0);
  Convolution mixed;
  mixed.of_plan = other;
  refused(mixed.run(), CUDNN_STATUS_BAD_PARAM, "a plan is made for the device of its graph");
  const Convolution convolution;
  Made plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  convolution.build_plan(plan);
  void* const workspace = on_device(std::vector<char>(8192));
  refused(cudnnBackendExecute(other, plan.d, convolution.pack(workspace).d), CUDNN_STATUS_BAD_PARAM,
          "a plan runs with a handle of its device");
  cudaSetDevice(1);
  refused(cudnnBackendExecute(convolution.handle, plan.d, convolution.pack(workspace).d),
          CUDNN_STATUS_BAD_PARAM, "a handle is used while its device is current, got 1");
  const cudaStream_t stream = new_stream();
  cudaSetDevice(0);
  refused(cudnnSetStream(convolution.handle, stream), CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH,
          "the stream of a handle is one of its device");
  const cudaStream_t gone = new_stream();
  cudnnSetStream(convolution.handle, gone);
  cudaStreamDestroy(gone);
  refused(cudnnBackendExecute(convolution.handle, plan.d, convolution.pack(workspace).d),
          CUDNN_STATUS_BAD_PARAM_STREAM_MISMATCH, "the stream of a handle was not destroyed");
}

TEST_F(PlantedCudnn, PacksThatAreNone) {
  const Convolution convolution;
  Made plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  void* const workspace = convolution.with_workspace(plan);
  const auto run = [&](const Made& pack) {
    return cudnnBackendExecute(convolution.handle, plan.d, pack.d);
  };
  Made counts(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  counts.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 2, 3});
  counts.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, workspace);
  refused(counts.finalize(), CUDNN_STATUS_BAD_PARAM,
          "a variant pack has a pointer for each unique id");
  convolution.pack(workspace, {1, 2, 2});
  EXPECT_TRUE(finds("a variant pack names a tensor once"));
  refused(run(convolution.pack(workspace, {1, 2})), CUDNN_STATUS_BAD_PARAM,
          "a variant pack names each tensor that isn't virtual, got none for 3");
  refused(run(counts), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
          "what is executed is finalized before");
  refused(run(plan), CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE,
          "a plan is executed with a variant pack");
  Convolution odd;
  odd.x += 1;
  refused(odd.run(), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          "a pointer is aligned as its tensor says, got tensor 1 at ...4, said 16");
  odd.alignment = 4;
  EXPECT_EQ(odd.run(), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
}

TEST_F(PlantedCudnn, WorkspacesThatAreNone) {
  const Convolution convolution;
  Made plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  char* const workspace = static_cast<char*>(convolution.with_workspace(plan));
  const auto run = [&](void* given) {
    return cudnnBackendExecute(convolution.handle, plan.d, convolution.pack(given).d);
  };
  EXPECT_EQ(run(workspace), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(found(), "");
  refused(run(nullptr), CUDNN_STATUS_BAD_PARAM, "a plan that needs a workspace gets one");
  refused(run(workspace + 8), CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER,
          "a workspace is aligned to 16 bytes");
  refused(run(on_device(std::vector<char>(16))), CUDNN_STATUS_BAD_PARAM,
          "tensors lie in memory of the device, got the workspace in");
  // Two streams and one workspace; an event between them orders its uses.
  for (const bool ordered : {true, false}) {
    const cudaStream_t first = new_stream(), second = new_stream();
    cudnnSetStream(convolution.handle, first);
    run(workspace);
    if (ordered) order(first, second);
    cudnnSetStream(convolution.handle, second);
    run(workspace);
    cudaStreamSynchronize(second);
    if (ordered) {
      EXPECT_EQ(found(), "");
    } else {
      EXPECT_TRUE(finds("a workspace is one stream's until its work there is done"));
    }
  }
}

TEST_F(PlantedCudnn, TensorsThatAreFreedOrUnwritten) {
  Convolution freed;
  cudaFree(freed.w);
  refused(freed.run(), CUDNN_STATUS_BAD_PARAM,
          "tensors lie in memory of the device, got tensor 3 in freed memory");
  Convolution unwritten;
  void* memory = nullptr;
  cudaMalloc(&memory, 256);
  unwritten.x = static_cast<float*>(memory);
  EXPECT_EQ(unwritten.run(), CUDNN_STATUS_SUCCESS);
  EXPECT_TRUE(finds("tensors lie in memory of the device that is allocated and written"));
}

TEST_F(PlantedCudnn, AHandleThatTwoThreadsUse) {
  const cudnnHandle_t handle = Convolution::first_handle();
  std::vector<std::thread> threads;
  {
    // Calls wait for the machine, so both are in one.
    const MachineLock lock;
    for (int i = 0; i < 2; ++i) threads.emplace_back([&] { cudnnSetStream(handle, nullptr); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(finds("a handle is used by one thread at a time"));
}

}  // namespace aorta::emulated
