// Rules of cuDNN's graphs and plans, and of their execution, which need a device.
#include <aorta/tests/cuda/cudnn_rules.h>
#include <aorta/tests/cuda/runtime_rules.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace aorta::rules {
namespace {

constexpr const char* kNoPlan = "there is no such plan";

/// What needs a handle, and so a device.
class Cudnn : public Rules {
 protected:
  void SetUp() override {
    Rules::SetUp();
    if (IsSkipped()) return;
    if (!cudnn().execute) GTEST_SKIP() << kCudnn << " isn't found";
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

  static Made heuristics_of(const Made& graph) {
    Made heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, CUDNN_HEUR_MODE_A);
    return heuristics;
  }

  /// The first plan that needs a workspace, or needs none.
  std::optional<Made> plan(bool with_workspace) {
    Made graph = graph_of({});
    EXPECT_EQ(graph.finalize(), CUDNN_STATUS_SUCCESS);
    Made heuristics = heuristics_of(graph);
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

  /// A pack of tensors 1, 2 and 3, or some of them.
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

  /// What a plan is executed with is refused. Where no plan is found the status says so.
  template <class MakePack>
  void refuses(cudnnStatus_t wanted, const MakePack& make_pack, bool with_workspace = false) {
    in_own_process(wanted, [&] { return executed(make_pack, with_workspace); });
  }
  template <class MakePack>
  cudnnStatus_t executed(const MakePack& make_pack, bool with_workspace = false) {
    const std::optional<Made> made = plan(with_workspace);
    return made ? execute(*made, make_pack(*made)) : CUDNN_STATUS_NOT_SUPPORTED;
  }

  cudnnHandle_t handle_ = nullptr;
  void* data_[3] = {};  // of x, y and w
};

}  // namespace

// ---- Graphs and plans.

TEST_F(Cudnn, AGraph) { EXPECT_EQ(graph_of({}).finalize(), CUDNN_STATUS_SUCCESS); }

TEST_F(Cudnn, AGraphOfWhichTwoTensorsHaveOneId) {
  Convolution c;
  c.w.id = 1;
  stricter(graph_of(c).finalize(), CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
}

TEST_F(Cudnn, AGraphThatWritesNothing) {
  EXPECT_EQ(graph_of({.y_is_virtual = true}).finalize(), CUDNN_STATUS_SUCCESS);
}

TEST_F(Cudnn, AGraphWithoutAHandle) {
  Made operation = Convolution().make();
  ASSERT_EQ(operation.finalize(), CUDNN_STATUS_SUCCESS);
  Made graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operation);
  stricter(graph.finalize(), CUDNN_STATUS_BAD_PARAM);
}

TEST_F(Cudnn, HeuristicsOfAGraphThatIsNotFinalized) {
  EXPECT_EQ(heuristics_of(graph_of({})).finalize(), CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(Cudnn, APlanIsExecuted) {
  const std::optional<Made> made = plan(false);
  if (!made) GTEST_SKIP() << kNoPlan;
  EXPECT_EQ(execute(*made, finalized_pack()), CUDNN_STATUS_SUCCESS);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST_F(Cudnn, APackThatLacksATensor) {
  refuses(CUDNN_STATUS_BAD_PARAM, [&](const Made&) { return finalized_pack({1, 2}); });
}

TEST_F(Cudnn, APackThatIsNotFinalized) {
  stricter_in_own_process(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED,
                          [&] { return executed([&](const Made&) { return pack(); }); });
}

TEST_F(Cudnn, APlanThatIsTakenForAPack) {
  if (!kEmulated) GTEST_SKIP() << kUndefined;
  refuses(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, [](const Made& plan) { return plan; });
}

TEST_F(Cudnn, APackThatIsNone) {
  refuses(CUDNN_STATUS_BAD_PARAM, [&](const Made&) {
    Made none = pack();
    none.d = nullptr;
    return none;
  });
}

TEST_F(Cudnn, ATensorLessAlignedThanItSays) {
  refuses(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, [&](const Made&) {
    data_[0] = static_cast<char*>(data_[0]) + 4;
    return finalized_pack();
  });
}

TEST_F(Cudnn, APlanWithoutTheWorkspaceThatItNeeds) {
  refuses(
      CUDNN_STATUS_BAD_PARAM, [&](const Made&) { return finalized_pack(); }, true);
}

TEST_F(Cudnn, ARefusedCallLeavesNoErrorOfTheRuntime) {
  EXPECT_NE(heuristics_of(graph_of({})).finalize(), CUDNN_STATUS_SUCCESS);
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
