// DistributedDataParallel between ranks that are threads, against the module on one device with the
// whole batch.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/optim/zero_redundancy.h>
#include <aorta/tests/nn/parallel/branches.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <thread>

namespace aorta::nn {
namespace {

constexpr double kLargest = 1e-13;

struct Deep : Module {
  Linear first{*this, "first", 4, 6};
  BatchNorm1d norm{*this, "norm", 6};
  Linear second{*this, "second", 6, 5};
  Linear third{*this, "third", 5, 3};
  Tensor forward(const Tensor& x) const override {
    return third(tanh(second(tanh(norm(first(x))))));
  }
};

Deep deep(uint64_t seed) {
  Generator random(seed);
  const DefaultGeneratorScope scope(random);
  Deep net;
  net.to(f64);
  return net;
}

double furthest(const Tensor& a, const Tensor& b) {
  return max(abs(a - b)).item<double>() / std::max(1.0, max(abs(b)).item<double>());
}

// A rank's part of the batch.
Tensor mine(const Communicator& end, const Tensor& x) {
  return x.narrow(0, x.size(0) / end.size() * end.rank(), x.size(0) / end.size());
}

TEST(DistributedDataParallel, IsTheModuleOnTheWholeBatch) {
  const Tensor x = randn({8, 4}, {.dtype = f64}), y = randn({8, 3}, {.dtype = f64});
  for (const int size : {1, 2, 4}) {
    for (const double cap : {25.0, 1e-4, 1e-9}) {
      Deep whole = deep(0);
      mse_loss(whole(x), y).backward();
      const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
        Deep net = deep(static_cast<uint64_t>(end.rank()));  // rank 0's is taken
        convert_sync_batchnorm(net);
        const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = cap});
        mse_loss(parallel(mine(end, x)), mine(end, y)).backward();
        const NamedTensors a = net.named_parameters(), b = whole.named_parameters();
        for (size_t i = 0; i < a.size(); ++i)
          EXPECT_LT(furthest(a[i].second.grad(), b[i].second.grad()), 1e-12) << a[i].first;
        const NamedTensors c = net.named_buffers(), d = whole.named_buffers();
        for (size_t i = 0; i < c.size(); ++i)
          EXPECT_LT(furthest(c[i].second.to(f64), d[i].second.to(f64)), 1e-12) << c[i].first;
      });
      EXPECT_EQ(errors, no_errors(size));
    }
  }
}

struct Convolutions : Module {
  Conv2d first{*this, "first", 3, 4, 3}, second{*this, "second", 4, 5, 3};
  Tensor forward(const Tensor& x) const override { return second(relu(first(x))); }
};

// Gradients go in the order of the parameters' memory, which the ranks change behind the
// construction, also those that lie otherwise or in memory that others have too.
TEST(DistributedDataParallel, GradientsInAnyOrderOfMemory) {
  const Tensor x = randn({4, 3, 7, 7}, {.dtype = f64});
  Convolutions whole;
  whole.to(f64);
  mean(square(whole(x))).backward();
  for (const double cap : {25.0, 1e-9}) {  // a bucket of all; and one a parameter
    const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
      Convolutions net;
      net.to(f64);
      net.load_state_dict(whole.state_dict());
      const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = cap});
      net.to(MemoryFormat::channels_last);
      for (const bool is_odd : {false, true}) {
        const Tensor shared = zeros({2 * net.second.weight.numel()}, {.dtype = f64});
        net.zero_grad();
        if (is_odd) {
          net.first.weight.set_grad(zeros({4, 3, 3, 3}, {.dtype = f64}));
          net.second.weight.set_grad(shared.narrow(0, end.rank() * 180, 180).view({5, 4, 3, 3}));
        }
        mean(square(parallel(mine(end, x)))).backward();
        EXPECT_EQ(net.first.weight.grad().is_contiguous(), is_odd);
        const NamedTensors a = net.named_parameters(), b = whole.named_parameters();
        for (size_t i = 0; i < a.size(); ++i)
          EXPECT_LT(furthest(a[i].second.grad(), b[i].second.grad()), kLargest) << a[i].first;
      }
    });
    EXPECT_EQ(errors, no_errors(2));
    // A rank whose parameters lie otherwise would add up other elements.
    const auto differ = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
      Convolutions net;
      net.to(f64);
      const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = cap});
      if (end.rank() == 1) net.to(MemoryFormat::channels_last);
      mean(square(parallel(mine(end, x)))).backward();
    });
    EXPECT_NE(differ[0].find("all_reduce: ranks must make the same call, got rank 0: all_reduce"),
              std::string::npos)
        << differ[0];
  }
}

TEST(DistributedDataParallel, TheRanksKeepTheSameBits) {
  std::vector<std::vector<double>> weights(3), means(3);
  const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {
    Deep net = deep(static_cast<uint64_t>(end.rank()));
    const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = 1e-4});
    optim::Adam optimizer(net.parameters(), {.lr = 0.01});
    Generator random(static_cast<uint64_t>(end.rank()) + 10);
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      sum(square(parallel(randn({4, 4}, {.dtype = f64}, &random)))).backward();
      optimizer.step();
    }
    parallel(randn({4, 4}, {.dtype = f64}, &random));  // takes rank 0's statistics first
    weights[static_cast<size_t>(end.rank())] = net.first.weight.to_vector<double>();
  });
  EXPECT_EQ(errors, no_errors(3));
  EXPECT_EQ(weights[1], weights[0]);
  EXPECT_EQ(weights[2], weights[0]);
}

TEST(DistributedDataParallel, BuffersAreRankZeros) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    BatchNorm1d net(2);
    const DistributedDataParallel parallel(net, end);
    parallel(full({4, 2}, 10.0 * (end.rank() + 1)));  // each its own mean: 1 or 2
    EXPECT_NEAR(net.running_mean.at<float>({0}), end.rank() + 1, 1e-6);
    parallel(zeros({4, 2}));  // 0.9 times rank 0's
    EXPECT_NEAR(net.running_mean.at<float>({0}), 0.9, 1e-6);
    EXPECT_EQ(net.num_batches_tracked.item<int64_t>(), 2);
    net.eval();
    if (end.rank() == 0) parallel(zeros({4, 2}));  // alone: nothing is exchanged
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(DistributedDataParallel, GradientsOfSeveralPassesAddUp) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Linear net(1, 1, {.bias = false});
    const DistributedDataParallel parallel(net, end);
    const auto pass = [&](double value) { sum(parallel(full({1, 1}, value))).backward(); };
    const double rank = end.rank();
    {
      const NoSync own = parallel.no_sync();
      pass(1 + rank);
      pass(10);
      EXPECT_EQ(net.weight.grad().item<double>(), 11 + rank);
    }
    pass(100 * rank);
    EXPECT_EQ(net.weight.grad().item<double>(), 11.5 + 50);
    pass(2 * rank);  // onto a gradient that is the same on both
    EXPECT_EQ(net.weight.grad().item<double>(), 11.5 + 50 + 1);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(DistributedDataParallel, UnusedParametersAreNamed) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Branches net;
    const DistributedDataParallel parallel(net, end);
    sum(parallel(ones({1, 1}))).backward();
  });
  const std::string wanted =
      "DistributedDataParallel: every parameter must get a gradient, or find_unused_parameters be "
      "set, got none of "
      "right.weight, nowhere.weight, nowhere.bias";
  for (size_t rank = 0; rank < 2; ++rank)
    EXPECT_NE(errors[rank].find(wanted), std::string::npos) << errors[rank];
}

// Two modules in one pass, the first of which to end fails: the other one's gradients are reduced
// in that pass, and in the next.
TEST(DistributedDataParallel, AModuleThatFailsLeavesTheOthersOfThePassWhole) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    const auto other = end.duplicate();
    Branches broken;
    Linear net(1, 1, {.bias = false});
    const DistributedDataParallel fails(broken, end);
    const DistributedDataParallel works(net, *other);
    const Tensor x = full({1, 1}, end.rank() + 1.0);
    const Tensor last = sum(works(x)), first = sum(fails(x));
    const std::string error = error_of([&] { (last + first).backward(); });
    EXPECT_NE(error.find("every parameter must get a gradient"), std::string::npos) << error;
    EXPECT_EQ(net.weight.grad().item<double>(), 1.5);
    net.zero_grad();
    sum(works(x * 2)).backward();
    EXPECT_EQ(net.weight.grad().item<double>(), 3);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(DistributedDataParallel, UnusedParametersCountAsZeros) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Branches net;
    net.goes_right = end.rank() == 1;
    const DistributedDataParallel parallel(net, end,
                                           {.bucket_cap_mb = 1e-9, .find_unused_parameters = true});
    for (int pass = 1; pass <= 2; ++pass) {
      sum(parallel(full({1, 1}, 4.0))).backward();
      EXPECT_EQ(net.left.weight.grad().item<double>(), 2 * pass);
      EXPECT_EQ(net.right.weight.grad().item<double>(), 2 * pass);
      EXPECT_FALSE(net.nowhere.weight.grad().defined());
    }
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A pass without sync leaves one rank a gradient that the synced pass brings none of.
TEST(DistributedDataParallel, GradientsThatPassesWithoutSyncLeftAreUsed) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Branches net;
    const DistributedDataParallel parallel(net, end, {.find_unused_parameters = true});
    net.goes_right = end.rank() == 1;
    {
      const NoSync own = parallel.no_sync();
      sum(parallel(full({1, 1}, 4.0))).backward();
    }
    net.goes_right = true;
    sum(parallel(full({1, 1}, 4.0))).backward();
    EXPECT_EQ(net.left.weight.grad().item<double>(), 2);
    EXPECT_EQ(net.right.weight.grad().item<double>(), 6);
    EXPECT_FALSE(net.nowhere.weight.grad().defined());
  });
  EXPECT_EQ(errors, no_errors(2));
}

// 1 + 2^-9 isn't a bf16, and 1 is nearest; 3 + 1 over 2 ranks is exact.
TEST(DistributedDataParallel, GradientsGoAsBf16) {
  for (const bool bf16_gradients : {false, true}) {
    const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
      Linear net(2, 1, {.bias = false});
      const DistributedDataParallel parallel(net, end, {.bf16_gradients = bf16_gradients});
      const double first = 1 + 1.0 / 512, second = end.rank() == 0 ? 3 : 1;
      sum(parallel(tensor({first, second}).to(f32).view({1, 2}))).backward();
      EXPECT_EQ(net.weight.grad().dtype(), f32);
      EXPECT_EQ(net.weight.grad().to_vector<double>(),
                (std::vector<double>{bf16_gradients ? 1 : first, 2}));
    });
    EXPECT_EQ(errors, no_errors(2));
  }
}

TEST(DistributedDataParallel, BucketsAreTheLastParametersFirst) {
  const auto ends = local_communicators(1);
  Deep net = deep(0);
  using Names = std::vector<std::vector<std::string>>;
  const auto buckets = [&](const DistributedDataParallelOptions& options) {
    return GradientReducer(net, *ends[0], options).buckets();
  };
  EXPECT_EQ(buckets({.bucket_cap_mb = 1e-9}), (Names{{"third.bias"},
                                                     {"third.weight"},
                                                     {"second.bias"},
                                                     {"second.weight"},
                                                     {"norm.bias"},
                                                     {"norm.weight"},
                                                     {"first.bias"},
                                                     {"first.weight"}}));
  // The last one is small: of 250 bytes here.
  EXPECT_EQ(buckets({.bucket_cap_mb = 250.0 / (1 << 20)}),
            (Names{{"third.bias", "third.weight", "second.bias", "second.weight"},
                   {"norm.bias", "norm.weight"},
                   {"first.bias", "first.weight"}}));
  net.second.requires_grad_(false);
  net.norm.to(f32);
  EXPECT_EQ(buckets({}), (Names{{"third.bias", "third.weight"},
                                {"norm.bias", "norm.weight"},
                                {"first.bias", "first.weight"}}));
}

// Rank 0 is this thread, and rank 1 comes 100 ms later to its backward pass.
TEST(DistributedDataParallel, ATraceHasBucketsCollectivesAndWhatBackwardDoesNotHide) {
  constexpr auto kLate = std::chrono::milliseconds(100);
  const auto ends = local_communicators(2, {.timeout = 60});
  const auto step = [&](Communicator& end, Profiler* profiler) {
    Deep net = deep(0);
    const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = 1e-4});
    const Tensor loss = sum(parallel(ones({8, 4}, {.dtype = f64})));
    if (end.rank() == 1) std::this_thread::sleep_for(kLate);
    loss.backward();
    end.barrier();
    if (profiler) profiler->stop();
  };
  Profiler profiler;
  std::thread other([&] { step(*ends[1], nullptr); });
  step(*ends[0], &profiler);
  other.join();
  std::map<std::string, int> count;
  int reductions = 0;
  int64_t reduced = 0, waited = 0, start = INT64_MAX, end = 0;
  for (const ProfiledRange& range : profiler.ranges()) {
    ++count[range.name];
    long long bytes = 0;
    if (std::sscanf(range.name.c_str(), "all_reduce of %lld bytes", &bytes) == 1) {
      ++reductions;
      reduced += bytes;
    }
    if (range.thread != 0) continue;
    start = std::min(start, range.start_ns);
    end = std::max(end, range.start_ns + range.duration_ns);
    if (range.name == "all_reduce waits") waited += range.duration_ns;
  }
  int buckets = 0;
  for (const auto& [name, times] : count) buckets += name.starts_with("bucket ") ? times : 0;
  EXPECT_GT(buckets, 4);
  EXPECT_EQ(count["bucket 0"], 2);
  EXPECT_EQ(reductions, buckets);
  EXPECT_EQ(count["all_reduce waits"], 2);
  int64_t bytes = 0;
  Deep net = deep(0);
  for (const Tensor& parameter : net.parameters()) bytes += parameter.nbytes();
  EXPECT_EQ(reduced, 2 * bytes);
  EXPECT_GT(waited, std::chrono::nanoseconds(kLate).count() / 2);
  const double share = static_cast<double>(waited) / static_cast<double>(end - start);
  EXPECT_GE(collective_share(profiler), share);  // there are the buffers' broadcasts, too
}

TEST(DistributedDataParallel, OtherNetworksAreNamed) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Sequential net(Linear(4, 3), Linear(3, end.rank() + 1));
    const DistributedDataParallel parallel(net, end);
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "1.weight: broadcast: ranks must make the same call, got rank 0: broadcast 2 of f32 "
              "[1,3], from rank "
              "0; rank 1: broadcast 2 of f32 [2,3], from rank 0");
  const auto longer = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Sequential net(Linear(4, 3, {.bias = end.rank() == 0}));
    const DistributedDataParallel parallel(net, end);
  });
  for (const std::string& error : longer)
    EXPECT_NE(error.find("ranks must make the same call, got rank 0: broadcast 1 of f32 [3], from "
                         "rank 0; rank 1: "
                         "barrier 1"),
              std::string::npos)
        << error;
}

TEST(DistributedDataParallel, ARankThatFailsEndsAll) {
  const auto errors = on_ranks(3, {.timeout = 600}, [&](Communicator& end) {
    Deep net = deep(0);
    const DistributedDataParallel parallel(net, end, {.bucket_cap_mb = 1e-9});
    const Tensor output = parallel(ones({4, 4}, {.dtype = f64}));
    if (end.rank() == 1)
      net.second.weight.register_hook(
          [](const Tensor&) -> Tensor { fail("hook", "may not be called", "it was"); });
    sum(output).backward();
  });
  EXPECT_EQ(errors[1], "hook: may not be called, got it was");
  for (const size_t rank : {0, 2})
    EXPECT_EQ(errors[rank], "rank 1: hook: may not be called, got it was");
}

TEST(DistributedDataParallel, ARankThatIsLateIsNamed) {
  const auto errors = on_ranks(2, {.timeout = 0.3}, [&](Communicator& end) {
    Linear net(2, 2);
    const DistributedDataParallel parallel(net, end);
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(900));
    sum(parallel(ones({1, 2}))).backward();
  });
  EXPECT_TRUE(
      errors[0].starts_with("collective: every rank must come within 0.3 s, got none of rank 1"))
      << errors[0];
}

TEST(DistributedDataParallel, TakesTheGroupsTimeout) {
  const auto errors = on_ranks(2, {.timeout = 0.3}, [&](Communicator& end) {
    Linear net(2, 2);
    const DistributedDataParallel parallel(net, end);
    end.set_timeout(60);
    if (end.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(900));
    sum(parallel(ones({1, 2}))).backward();
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(DistributedDataParallel, TakesAModuleOnTwoDevices) {
  struct Halves : Module {
    Linear first{*this, "first", 2, 3};
    BatchNorm1d norm{*this, "norm", 3};
    Linear second{*this, "second", 3, 2};
    BatchNorm1d last{*this, "last", 2};
    Tensor forward(const Tensor& x) const override {
      return last(second(norm(first(x)).to(Device("cpu:1"))));
    }
  };
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Halves net;
    net.second.to(Device("cpu:1"));
    net.last.to(Device("cpu:1"));
    const DistributedDataParallel parallel(net, end);
    optim::ZeroRedundancyOptimizer optimizer(
        net.parameters(), end,
        [](const std::vector<Tensor>& own) { return std::make_unique<optim::SGD>(own); });
    sum(parallel(randn({4, 2}))).backward();
    optimizer.step();
  });
  EXPECT_EQ(errors, no_errors(2));
}

// As BatchNorm: running statistics stay where a channel has one value, or none.
TEST(SyncBatchNorm, OfTooFewValues) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    const CommunicatorScope scope(&end);
    BatchNorm1d norm(2);
    norm.synchronized = true;
    for (const int64_t values : {0, 1}) {
      norm(ones({end.rank() == 0 ? values : 0, 2}));
      EXPECT_EQ(norm.running_mean.to_vector<float>(), (std::vector<float>{0, 0}));
      EXPECT_EQ(norm.running_var.to_vector<float>(), (std::vector<float>{1, 1}));
    }
    EXPECT_EQ(error_of([&] {
                norm(ones({2, 2}, {.dtype = u8}));
              }),
              "batch_norm: dtype must be floating, got u8");
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(DistributedDataParallel, WhatItRefuses) {
  const auto ends = local_communicators(1);
  Linear net(2, 2);
  EXPECT_EQ(error_of([&] { DistributedDataParallel(net, *ends[0], {.bucket_cap_mb = 0}); }),
            "DistributedDataParallel: bucket_cap_mb must be positive, got 0");
  struct Table : Module {
    Embedding table{*this, "table", 4, 2, {.sparse = true}};
    Tensor forward(const Tensor& x) const override { return table(x); }
  } table;
  const auto end = local_communicators(1);
  const DistributedDataParallel parallel(table, *end[0]);
  EXPECT_EQ(error_of([&] {
              sum(parallel(tensor({1, 2}))).backward();
            }),
            "DistributedDataParallel: gradients must be dense, got a sparse one of table.weight");
  const auto again = local_communicators(1);
  {
    const DistributedDataParallel first(net, *ends[0]);
    EXPECT_EQ(error_of([&] { DistributedDataParallel(net, *again[0]); }),
              "DistributedDataParallel: a parameter must be of one DistributedDataParallel alone, "
              "got another one's weight");
  }
  const DistributedDataParallel second(net, *again[0]);
  net.requires_grad_(false);
  EXPECT_EQ(error_of([&] { DistributedDataParallel(net, *ends[0]); }),
            "DistributedDataParallel: the module must have a parameter that requires a gradient, "
            "got none");
}

}  // namespace
}  // namespace aorta::nn
