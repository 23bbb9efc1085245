// Leaves that are neither parameters nor inputs of a module under DataParallel.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/data_parallel.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace aorta::nn {
namespace {

std::vector<Device> cpu_devices(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Device(DeviceType::cpu, i));
  return devices;
}

// A number for all layers that no module registers, and one that forward makes.
struct Scaled : Module {
  Linear linear{*this, "linear", 4, 3};
  Tensor scale;
  Tensor forward(const Tensor& x) const override {
    const Tensor point = (x * 2).detach().requires_grad_();
    return linear(x) * scale.to(x.device()) + linear(point) * sum(point);
  }
};

TEST(DataParallel, LeavesFromElsewhereGetTheirGradients) {
  manual_seed(21);
  Scaled net;
  net.to(f64);
  Scaled whole = clone(net);
  net.scale = full({3}, 0.7, {.dtype = f64}).requires_grad_();
  whole.scale = net.scale.detach().clone().requires_grad_();
  int calls = 0;
  net.scale.register_hook([&](const Tensor& gradient) {
    ++calls;
    return gradient * 2;
  });
  const Tensor x = randn({5, 4}, {.dtype = f64}), y = randn({5, 3}, {.dtype = f64});
  const DataParallel parallel(net, cpu_devices(3));
  const Tensor loss = mse_loss(parallel(x), y);
  // grad() touches no other leaf.
  autograd::grad({loss}, {net.linear.bias}, {}, {.retain_graph = true});
  EXPECT_FALSE(net.scale.grad().defined());
  EXPECT_EQ(calls, 0);
  loss.backward();
  // `whole` takes the batch in parts too, for a sum is over a part's points.
  Tensor parts = zeros({0, 3}, {.dtype = f64});
  for (int64_t start = 0; start < 5; start += 2)
    parts = cat({parts, whole(x.narrow(0, start, std::min<int64_t>(2, 5 - start)))}, 0);
  mse_loss(parts, y).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(allclose(net.scale.grad(), whole.scale.grad() * 2, 1e-13, 1e-13));
  EXPECT_TRUE(allclose(net.linear.weight.grad(), whole.linear.weight.grad(), 1e-13, 1e-13));
  EXPECT_TRUE(allclose(net.linear.bias.grad(), whole.linear.bias.grad(), 1e-13, 1e-13));
}

TEST(DataParallel, ALeafFromElsewhereIsEnough) {
  struct Only : Module {
    Tensor scale;
    Tensor forward(const Tensor& x) const override { return x * scale.to(x.device()); }
  };
  Only net;
  net.scale = full({}, 3.0).requires_grad_();
  const DataParallel parallel(net, cpu_devices(2));
  sum(parallel(ones({3, 2}))).backward();
  EXPECT_EQ(net.scale.grad().item<float>(), 6);
}

// The parts' gradients are added up in memory that nothing else reads: not in that of a gradient
// that two parameters have in common, or the graph's.
TEST(DataParallel, GradientsInCommonAreAddedUpOnce) {
  struct Offsets : Module {
    Parameter first{*this, "first", full({3}, 0.5, {.dtype = f64})};
    Parameter second{*this, "second", full({3}, -0.25, {.dtype = f64})};
    Tensor forward(const Tensor& x) const override { return x * x + (first + second); }
  };
  Offsets net;
  const DataParallel parallel(net, cpu_devices(3));
  const Tensor x = randn({6, 3}, {.dtype = f64}), weights = randn({6, 3}, {.dtype = f64});
  const Tensor loss = sum(parallel(x) * weights);
  for (const double times : {1.0, 2.0}) {
    loss.backward({}, true);
    for (const Tensor& parameter : net.parameters())
      EXPECT_TRUE(allclose(parameter.grad(), sum(weights, 0) * times, 1e-13, 1e-13)) << times;
  }
}

struct ExpandingSum : autograd::Function<ExpandingSum> {
  static constexpr const char* name = "expanding_sum";
  static std::vector<Tensor> forward(autograd::FunctionContext&, const Tensor& x) {
    return {sum(x)};
  }
  static std::vector<Tensor> backward(autograd::FunctionContext&, const std::vector<Tensor>& g) {
    return {(g[0] * 1.0).expand({3}).detach()};
  }
};

// Nor in that of one whose elements have one memory.
TEST(DataParallel, ExpandedGradientsAreAddedUp) {
  struct Bias : Module {
    Parameter bias{*this, "bias", zeros({3}, {.dtype = f64})};
    Tensor forward(const Tensor& x) const override { return x + ExpandingSum::apply(bias)[0]; }
  };
  Bias net;
  const DataParallel parallel(net, cpu_devices(2));
  sum(parallel(zeros({4, 3}, {.dtype = f64}))).backward();
  EXPECT_TRUE(equal(net.bias.grad(), full({3}, 12, {.dtype = f64})));
}

}  // namespace
}  // namespace aorta::nn
