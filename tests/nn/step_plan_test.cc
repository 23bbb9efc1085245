#include <aorta/aorta.h>
#include <aorta/core/device_backend.h>
#include <aorta/tests/error_text.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

namespace aorta::nn {
namespace {

const PlannedOp& find(const StepPlan& plan, const std::string& name) {
  for (const PlannedOp& op : plan.ops) {
    if (op.name == name) return op;
  }
  fail("test", "the plan must have the op", name);
}

TEST(StepPlan, CountsALinearLayer) {
  const Tensor x = empty({8, 30}, {.device = "meta"}), w = empty({10, 30}, {.device = "meta"});
  const StepPlan plan = plan_step([&] { linear(x, w); });
  ASSERT_EQ(plan.ops.size(), 1u);
  const PlannedOp& op = find(plan, "linear");
  EXPECT_EQ(op.shapes, "[8,30], [10,30]");
  EXPECT_EQ(op.calls, 1);
  EXPECT_EQ(op.multiply_adds, 8 * 30 * 10);
  EXPECT_EQ(op.bytes, 4 * (8 * 30 + 10 * 30 + 8 * 10));
  EXPECT_EQ(plan.multiply_adds(), op.multiply_adds);
  EXPECT_DOUBLE_EQ(plan.floor({2400.0 / 3, 1e9}), 3);  // bound by products
  EXPECT_DOUBLE_EQ(plan.floor({1e9, 2480.0 / 2}), 2);  // bound by bytes
}

TEST(StepPlan, LeavesOutProductsWithPadding) {
  for (const auto& [size, kernel, stride, padding, dilation] :
       std::vector<std::array<int64_t, 5>>{{14, 3, 1, 36, 36},
                                           {9, 5, 2, 2, 1},
                                           {7, 3, 3, 1, 2},
                                           {5, 2, 1, 0, 3},
                                           {4, 4, 1, 3, 1},
                                           {1, 3, 2, 1, 1}}) {
    const int64_t outputs = (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
    int64_t meetings = 0;
    for (int64_t o = 0; o < outputs; ++o) {
      for (int64_t t = 0; t < kernel; ++t) {
        const int64_t place = o * stride + t * dilation - padding;
        meetings += place >= 0 && place < size;
      }
    }
    const Tensor x = empty({2, 3, size, size}, {.device = "meta"}).requires_grad_();
    const Tensor w = empty({4, 3, kernel, kernel}, {.device = "meta"}).requires_grad_();
    const StepPlan plan = plan_step([&] {
      sum(conv2d(x, w, {}, {.stride = stride, .padding = padding, .dilation = dilation}))
          .backward();
    });
    for (const char* op : {"convolution", "convolution_transpose", "convolution_weight"}) {
      EXPECT_EQ(find(plan, op).multiply_adds, 2 * 3 * 4 * meetings * meetings) << op << " " << size;
    }
  }
}

// What a training step keeps at once on a device, above what was there before its network.
int64_t peak_of(Device device, const std::function<AnyModule()>& make, const Tensor& given) {
  DeviceBackend& memory = backend(device.type);
  const int64_t before = memory.memory_stats(device.index).bytes_in_use;
  const Tensor x = given.to(ToOptions{.device = device, .copy = true});
  AnyModule net = make();
  net->to(device);
  optim::Adam optimizer(net->parameters(), {.lr = 1e-3});
  int64_t peak = 0;
  for (int step = 0; step < 2; ++step) {
    memory.reset_peak_memory(device.index);
    optimizer.zero_grad();
    sum(square(net->forward(x))).backward();
    optimizer.step();
    peak = memory.memory_stats(device.index).peak_bytes - before;
  }
  return peak;
}

TEST(StepPlan, PeakIsTheOneThatARunHas) {
  const auto layer = [] {
    return AnyModule(TransformerEncoderLayer(64, 4, {.batch_first = true}));
  };
  const std::pair<std::function<AnyModule()>, Tensor> networks[] = {
      {[] { return models::make("unet_small", {}); }, randn({4, 3, 64, 64})},
      {[] {
         return AnyModule(models::MLP({784, 1024, 1024, 10}));
       },
       randn({4096, 784})},
      {layer, randn({64, 100, 64})}};
  for (const auto& [make, x] : networks) {
    const double planned = static_cast<double>(peak_of("meta", make, x));
    const double measured = static_cast<double>(peak_of("cpu", make, x));
    EXPECT_NEAR(planned / measured, 1, 0.1)
        << measured << " bytes";  // kernels' scratch is the rest
  }
}

TEST(StepPlan, TableNamesEachOp) {
  const Tensor x = empty({64, 256}, {.device = "meta"}), w = empty({256, 256}, {.device = "meta"});
  const StepPlan plan = plan_step([&] { relu(matmul(x, w)); });
  EXPECT_EQ(
      plan.table({1e9, 1e9}),
      "name     calls       GMAC         MB   floor ms   share  shapes\n"
      "matmul       1      0.004       0.39      4.194   97.0%  [64,256], [256,256]\n"
      "relu         1      0.000       0.13      0.131    3.0%  [64,256]\n"
      "0.004 GMAC, 0.52 MB moved, 0.46 MB at most at once, floor 4.325 ms at 1.0 GMAC/s and 1.0 "
      "GB/s\n");
}

TEST(StepPlan, MeasuresTheMachine) {
  const MachineSpeed speed = measure_machine();
  EXPECT_GT(speed.multiply_adds, 1e8);
  EXPECT_GT(speed.bytes, 1e8);
}

TEST(StepPlan, RefusesWhatItCantPlan) {
  EXPECT_EQ(error_of([] { plan_step({}); }),
            "plan_step: the step must be a function, got an empty one");
  EXPECT_EQ(error_of([] { plan_step([] {}); }), "plan_step: the step must run ops, got none");
  EXPECT_EQ(error_of([] { measure_machine(DType::i64); }),
            "measure_machine: dtype must be floating, got i64");
  EXPECT_EQ(error_of([] { StepPlan().floor({}); }),
            "step_plan: the speeds must be positive, got 0 multiply-adds and 0 bytes a second");
}

}  // namespace
}  // namespace aorta::nn
