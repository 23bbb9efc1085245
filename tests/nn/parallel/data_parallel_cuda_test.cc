// DataParallel on GPUs, against the same module on the CPU with the whole batch, in f64.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/needs_gpu.h>

#include <gtest/gtest.h>

#include <algorithm>

namespace aorta::nn {
namespace {

struct Net : Module {
  Linear hidden{*this, "hidden", 4, 6};
  Linear output{*this, "output", 6, 3};
  Tensor forward(const Tensor& x) const override { return output(tanh(hidden(x))); }
};

double largest_difference(const Tensor& a, const Tensor& b) {
  return max(abs(a.cpu() - b.cpu())).item<double>() /
         std::max(1.0, max(abs(b.cpu())).item<double>());
}

// So many GPUs; where there are fewer, some of them are listed again.
std::vector<Device> gpus(std::initializer_list<int> numbers) {
  std::vector<Device> list;
  for (const int number : numbers)
    list.push_back("cuda:" + std::to_string(number % device_count(DeviceType::cuda)));
  return list;
}

using DataParallelCuda = NeedsGpu;

TEST_F(DataParallelCuda, IsTheModuleOnTheWholeBatch) {
  manual_seed(2);
  for (const std::vector<Device>& devices : {gpus({0, 1, 2}), gpus({0, 0}), gpus({2, 0})}) {
    for (const int64_t batch : {2, 5, 6}) {
      Net net;
      net.to(f64);
      Net whole = clone(net);
      net.to(devices[0]);
      const DataParallel parallel(net, devices);
      // Batches come from the host or lie on a device.
      const Tensor x = randn({batch, 4}, {.dtype = f64}), on_device = x.to(devices[0]);
      for (const Tensor& input : {x, on_device}) {
        net.zero_grad();
        whole.zero_grad();
        const Tensor output = parallel(input), wanted = whole(x);
        EXPECT_EQ(output.device(), devices[0]);
        EXPECT_LT(largest_difference(output.detach(), wanted.detach()), 1e-12);
        mean(square(output)).backward();
        mean(square(wanted)).backward();
        const auto a = net.parameters(), b = whole.parameters();
        for (size_t i = 0; i < a.size(); ++i)
          EXPECT_LT(largest_difference(a[i].grad(), b[i].grad()), 1e-12) << i;
      }
    }
  }
}

TEST_F(DataParallelCuda, TrainsAsTheCpuDoes) {
  Net net;
  net.to(f64);
  Net whole = clone(net);
  net.to(Device("cuda:0"));
  const DataParallel parallel(net, gpus({0, 1, 2}));
  optim::SGD of_net(net.parameters(), {.lr = 0.1}), of_whole(whole.parameters(), {.lr = 0.1});
  const Tensor x = randn({7, 4}, {.dtype = f64});
  for (int step = 0; step < 4; ++step) {
    const Tensor loss = mean(square(parallel(x) - 1)), wanted = mean(square(whole(x) - 1));
    EXPECT_NEAR(loss.item<double>(), wanted.item<double>(), 1e-12) << step;
    of_net.zero_grad();
    of_whole.zero_grad();
    loss.backward();
    wanted.backward();
    of_net.step();
    of_whole.step();
  }
}

// Over ranks batch_norm is composed of other ops.
TEST_F(DataParallelCuda, SynchronizedBatchNormIsThatOfTheWholeBatch) {
  struct Normed : Module {
    Linear linear{*this, "linear", 4, 3};
    BatchNorm1d norm{*this, "norm", 3};
    Tensor forward(const Tensor& x) const override { return norm(linear(x)); }
  } net;
  net.to(f64);
  Normed whole = clone(net);
  convert_sync_batchnorm(net);
  net.to(Device("cuda:0"));
  const DataParallel parallel(net, gpus({0, 1, 2}));
  const Tensor x = randn({7, 4}, {.dtype = f64});
  const Tensor output = parallel(x), wanted = whole(x);
  EXPECT_LT(largest_difference(output.detach(), wanted.detach()), 1e-12);
  sum(output * output * output).backward();
  sum(wanted * wanted * wanted).backward();
  EXPECT_LT(largest_difference(net.linear.weight.grad(), whole.linear.weight.grad()), 1e-10);
  EXPECT_LT(largest_difference(net.norm.running_var, whole.norm.running_var), 1e-12);
}

TEST_F(DataParallelCuda, TheModuleLiesOnTheFirstDevice) {
  Net net;
  EXPECT_EQ(
      error_of([&] {
        DataParallel(net, {"cuda:0", "cuda:0"});
      }),
      "DataParallel: the module must lie on the first device, got hidden.weight on cpu for cuda:0");
  EXPECT_EQ(error_of([&] {
              DataParallel(net, {"cuda:0", "cuda:63"});
            }),
            "DataParallel: the devices must exist, got cuda:63");
}

TEST_F(DataParallelCuda, AnErrorNamesTheDevice) {
  if (device_count(DeviceType::cuda) < 2) GTEST_SKIP() << "one GPU";
  struct Fails : Module {
    Parameter weight{*this, "weight", ones({1}, {.device = "cuda:0"})};
    Tensor forward(const Tensor& x) const override {
      check(x.device() != Device("cuda:1"), "module", "must be on another device", x.device());
      return x * weight;
    }
  } net;
  const DataParallel parallel(net, {"cuda:0", "cuda:1"});
  EXPECT_EQ(error_of([&] {
              parallel(ones({4, 1}));
            }),
            "cuda:1, part 2 of 2: module: must be on another device, got cuda:1");
}

}  // namespace
}  // namespace aorta::nn
