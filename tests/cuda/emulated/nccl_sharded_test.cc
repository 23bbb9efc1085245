// Parameters divided among GPUs, gathered and reduced by the double of NCCL, against one module on
// the CPU with the whole batch, and layers divided among them. Ranks are threads, each with a
// device of its own.
#include <aorta/core/comm.h>
#include <aorta/core/device_backend.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/rank_reduction.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/view.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/loss.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/parallel/collective_thread.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/nn/parallel/sync_batch_norm.h>
#include <aorta/nn/parallel/tensor_parallel.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/cuda/emulated/sanitizer.h>
#include <aorta/tests/cuda/emulated/settings.h>
#include <aorta/tests/cuda/emulated/stream.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

extern "C" const char* aorta_register_cuda();

namespace aorta {
namespace {

using emulated::Mode;

constexpr int kShardedSteps = 3;

// The thread sanitizer sees the one with threads.
std::vector<Mode> sharded_modes() {
  if (emulated::under_thread_sanitizer()) return {Mode::threads};
  return {Mode::lazy, Mode::eager, Mode::random, Mode::threads};
}

struct ShardedNet : nn::Module {
  nn::Linear first{*this, "first", 4, 7};
  nn::BatchNorm1d norm{*this, "norm", 7};
  nn::Linear second{*this, "second", 7, 3};
  Tensor forward(const Tensor& x) const override { return second(tanh(norm(first(x)))); }
};

ShardedNet sharded_net() {
  Generator random(2);
  const DefaultGeneratorScope scope(random);
  ShardedNet net;
  net.to(f64);
  return net;
}

std::vector<double> sharded_losses(const nn::Module& net, const Tensor& x, const Tensor& y) {
  optim::SGD optimizer(net.parameters(), {.lr = 0.2, .momentum = 0.9});
  std::vector<double> losses;
  for (int step = 0; step < kShardedSteps; ++step) {
    optimizer.zero_grad();
    const Tensor loss = nn::mse_loss(net(x), y);
    loss.backward();
    optim::clip_grad_norm_(net.parameters(), 0.5);
    optimizer.step();
    losses.push_back(loss.item<double>());
  }
  return losses;
}

TEST(CudaNcclSharded, TrainsAsOneDeviceDoes) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  Generator random(11);
  const Tensor x = randn({6, 4}, {.dtype = f64}, &random);
  const Tensor y = randn({6, 3}, {.dtype = f64}, &random);
  const ShardedNet whole = sharded_net();
  const std::vector<double> wanted = sharded_losses(whole, x, y);
  for (const Mode mode : sharded_modes()) {
    emulated::Streams::get().set_mode(mode);
    for (const int size : {1, 3}) {
      for (const bool cpu_offload : {false, true}) {
        SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + ", " + std::to_string(size) + ", " +
                     std::to_string(cpu_offload));
        std::vector<std::vector<double>> losses(static_cast<size_t>(size));
        const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
          const Device device(DeviceType::cuda, end.rank());
          const DeviceGuard guard(device);
          ShardedNet net = sharded_net();
          nn::convert_sync_batchnorm(net);
          net.to(device);
          nn::fully_shard(net.first, end, {.cpu_offload = cpu_offload});
          nn::fully_shard(net, end, {.cpu_offload = cpu_offload});
          for (const Tensor& parameter : net.parameters())
            EXPECT_EQ(parameter.device(), cpu_offload ? Device("cpu") : device);
          const int64_t part = 6 / size;
          const auto mine = [&](const Tensor& all) {
            return all.narrow(0, part * end.rank(), part).to(device);
          };
          losses[static_cast<size_t>(end.rank())] = sharded_losses(net, mine(x), mine(y));
          if (size > 1) {
            const auto records = nn::CollectiveThread::of(end).group().records();
            EXPECT_TRUE(std::any_of(records.begin(), records.end(), [](const auto& record) {
              return record.collective == Collective::reduce_scatter && record.engine == "NCCL";
            }));
          }
          const NamedTensors found = net.full_state_dict(), all = whole.state_dict();
          for (size_t i = 0; i < found.size(); ++i)
            EXPECT_LT(max(abs(found[i].second.to(f64) - all[i].second.to(f64))).item<double>(),
                      1e-11)
                << found[i].first;
        });
        EXPECT_EQ(errors, no_errors(size));
        for (size_t step = 0; step < kShardedSteps; ++step) {
          double mean = 0;
          for (const auto& one : losses) mean += one[step] / size;
          EXPECT_NEAR(mean, wanted[step], 1e-12) << step;
        }
      }
    }
  }
}

struct DividedNet : nn::Module {
  nn::LayerNorm norm{*this, "norm", 4};
  nn::Linear first{*this, "first", 4, 7};
  nn::Linear second{*this, "second", 7, 3};
  Tensor forward(const Tensor& x) const override { return second(tanh(first(norm(x)))); }
};

// Each rank has rows of the batch, and some of the seven hidden units.
TEST(CudaNcclSharded, DividesLayers) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  Generator random(11);
  const Tensor x = randn({6, 4}, {.dtype = f64}, &random);
  const Tensor y = randn({6, 3}, {.dtype = f64}, &random);
  const auto divided_net = [] {
    Generator weights(2);
    const DefaultGeneratorScope scope(weights);
    DividedNet net;
    net.to(f64);
    return net;
  };
  const DividedNet whole = divided_net();
  const std::vector<double> wanted = sharded_losses(whole, x, y);
  for (const Mode mode : sharded_modes()) {
    emulated::Streams::get().set_mode(mode);
    const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {
      const Device device(DeviceType::cuda, end.rank());
      const DeviceGuard guard(device);
      const auto group = end.split(0);
      DividedNet net = divided_net();
      net.to(device);
      nn::parallelize_module(net, *group,
                             {{"norm", nn::SequenceParallel{}},
                              {"first", nn::ColwiseParallel{.input_layouts = nn::Shard(0)}},
                              {"second", nn::RowwiseParallel{}}});
      const std::vector<double> losses =
          sharded_losses(net, x.narrow(0, 2 * end.rank(), 2).to(device), y.to(device));
      for (size_t step = 0; step < kShardedSteps; ++step)
        EXPECT_NEAR(losses[step], wanted[step], 1e-12) << step;
      for (const CollectiveRecord& record : group->records())
        if (record.collective != Collective::barrier) {
          EXPECT_EQ(record.engine, "NCCL") << to_string(record);
        }
      const NamedTensors found = net.full_state_dict(), all = whole.state_dict();
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_LT(max(abs(found[i].second - all[i].second)).item<double>(), 1e-11)
            << found[i].first;
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

// Several tensors, in one piece or one after another, in the order of their memory.
TEST(CudaNcclSharded, ReducesSeveralTensorsAtOnce) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  for (const Mode mode : sharded_modes()) {
    emulated::Streams::get().set_mode(mode);
    const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {
      const Device device(DeviceType::cuda, end.rank());
      const DeviceGuard guard(device);
      Generator random(5);
      const Tensor x = randn({2, 3, 2, 2}, {}, &random), y = randn({4, 4}, {}, &random);
      const auto mine = [&] {
        return List<Tensor>{(x + end.rank()).to(device).contiguous(MemoryFormat::channels_last),
                            zeros({0}, {.device = device}),
                            (y * (end.rank() + 1.0)).to(device).narrow(1, 1, 2)};
      };
      const List<Tensor> together = mine(), coalesced = mine();
      kernel::all_reduce_together(together, end, ReduceOp::mean);
      end.all_reduce_coalesced(coalesced, ReduceOp::mean);
      for (const List<Tensor>& found : {together, coalesced}) {
        EXPECT_LT(max(abs(found[0].cpu() - (x + 1.0))).item<float>(), 1e-6);
        EXPECT_LT(max(abs(found[2].cpu() - 2.0 * y.narrow(1, 1, 2))).item<float>(), 1e-6);
      }
      // Ranks whose tensors lie otherwise would add up other elements.
      const auto one = [&] {
        const Tensor z = zeros({2, 3, 2, 2}, {.device = device});
        return end.rank() == 1 ? z.contiguous(MemoryFormat::channels_last) : z;
      };
      const List<Tensor> tensors = {one(), one()};
      for (const auto& call :
           {std::function<void()>(
                [&] { kernel::all_reduce_together(tensors, end, ReduceOp::sum); }),
            std::function<void()>([&] { end.all_reduce_coalesced(tensors, ReduceOp::sum); })})
        EXPECT_NE(error_of(call).find("all_reduce: ranks must make the same call"),
                  std::string::npos);
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

TEST(CudaNcclSharded, IsNotCaptured) {
  ASSERT_EQ(aorta_register_cuda(), nullptr);
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    const Device device(DeviceType::cuda, end.rank());
    const DeviceGuard guard(device);
    nn::Linear net(4, 2);
    net.to(device);
    nn::fully_shard(net, end);
    optim::SGD optimizer(net.parameters(), {.lr = 0.1});
    auto step = capture([&](const Tensor& x) {
      optimizer.zero_grad();
      const Tensor loss = net(x).square().sum();
      loss.backward();
      optimizer.step();
      return loss.detach();
    });
    const Tensor x = ones({3, 4}, {.device = device});
    step(x);
    step(x);
    const std::string error = error_of([&] { step(x); });
    EXPECT_NE(
        error.find("fully_shard: a captured step must have whole parameters, got parts of them"),
        std::string::npos)
        << error;
  });
  EXPECT_EQ(errors, no_errors(2));
}

}  // namespace
}  // namespace aorta
