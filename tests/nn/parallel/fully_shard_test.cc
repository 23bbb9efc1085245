// Parameters divided among ranks that are threads, against DistributedDataParallel, which keeps all
// of them on each.
#include <aorta/aorta.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/core/allocator.h>
#include <aorta/nn/parallel/collective_thread.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/tests/nn/parallel/block_net.h>
#include <aorta/tests/nn/parallel/ranks.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <thread>

namespace aorta::nn {
namespace {

void expect_same(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, wanted[i].first);
    EXPECT_TRUE(same_bits(found[i].second, wanted[i].second)) << wanted[i].first;
  }
}

NamedTensors copy_of(const NamedTensors& state) {
  NamedTensors copy;
  for (const auto& [name, tensor] : state) copy.emplace_back(name, tensor.clone());
  return copy;
}

// The weights after `steps` with all of them on each rank.
NamedTensors trained_whole(int size, int steps) {
  NamedTensors weights;
  on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
    BlockNet own = block_net(static_cast<uint64_t>(end.rank()));
    DistributedDataParallel parallel(own, end);
    optim::AdamW optimizer(own.parameters(), {.lr = 0.01});
    for (int step = 0; step < steps; ++step) {
      optimizer.zero_grad();
      loss_of(parallel(words(end.rank(), step)), end.rank()).backward();
      optimizer.step();
    }
    if (end.rank() == 0) weights = copy_of(own.state_dict());
  });
  return weights;
}

TEST(FullyShard, HasTheBitsOfDistributedDataParallel) {
  for (const int size : {1, 2, 3, 8}) {
    const NamedTensors wanted = trained_whole(size, 3);
    for (const std::optional<bool> reshards : {std::optional<bool>(), {true}, {false}}) {
      for (const bool is_made_first : {false, true}) {
        const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
          BlockNet own = block_net(static_cast<uint64_t>(end.rank()));
          std::optional<optim::AdamW> optimizer;
          if (is_made_first) optimizer.emplace(own.parameters(), optim::AdamWOptions{.lr = 0.01});
          shard(own, end, {.reshard_after_forward = reshards});
          if (!optimizer) optimizer.emplace(own.parameters(), optim::AdamWOptions{.lr = 0.01});
          for (int step = 0; step < 3; ++step) {
            optimizer->zero_grad();
            loss_of(own(words(end.rank(), step)), end.rank()).backward();
            optimizer->step();
          }
          const NamedTensors found = own.full_state_dict();
          if (end.rank() == 0)
            expect_same(found, wanted);
          else
            EXPECT_TRUE(found.empty());
        });
        EXPECT_EQ(errors, no_errors(size));
      }
    }
  }
}

TEST(FullyShard, ARankHasItsRows) {
  const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {
    BlockNet own = block_net(0);
    const BlockNet whole = block_net(0);
    shard(own, end);
    EXPECT_TRUE(is_fully_sharded(own.first));
    EXPECT_FALSE(is_fully_sharded(own.between));
    const auto rows = [&](const Tensor& part, const Tensor& of, int64_t each) {
      const int64_t first = std::min(each * end.rank(), of.size(0));
      const int64_t count = std::min(each, of.size(0) - first);
      EXPECT_TRUE(same_bits(part, of.narrow(0, first, count))) << part.shape();
    };
    rows(own.embedding.weight, whole.embedding.weight, 3);    // 3, 3, 1
    rows(own.first.conv.weight, whole.first.conv.weight, 2);  // 2, 2, 1
    rows(own.first.norm.weight, whole.first.norm.weight, 2);  // 2, 2, 0
    rows(own.first.one.weight, whole.first.one.weight, 1);    // 1, 0, 0
    rows(own.first.nothing, whole.first.nothing, 0);
    EXPECT_EQ(own.first.scale.shape(), Shape{end.rank() == 0});
    EXPECT_TRUE(own.first.tied.weight.is_same(own.first.back.weight));
    own(words(0, 0));
    rows(own.embedding.weight, whole.embedding.weight, 3);  // again, after a call
  });
  EXPECT_EQ(errors, no_errors(3));
}

// The graph of 8 layers of 1 MiB keeps no more than one that is gathered.
TEST(FullyShard, WhatIsGatheredIsLetGo) {
  constexpr int64_t kLayer = 1 << 20, kWide = 512;
  const auto peak = [&](std::optional<bool> reshards) {
    int64_t most = 0;
    const auto errors = on_ranks(1, {.timeout = 60}, [&](Communicator& end) {
      Sequential own;
      for (int i = 0; i < 8; ++i) own.push_back(Linear(kWide, kWide, {.bias = false}));
      for (Module* const layer : own.children())
        fully_shard(*layer, end, {.reshard_after_forward = reshards});
      fully_shard(own, end);
      const Tensor x = ones({1, kWide});
      cpu::reset_peak_bytes();
      const int64_t before = cpu::allocator_stats().bytes_in_use;
      const Tensor y = own(x).sum();
      most = cpu::allocator_stats().peak_bytes - before;
      cpu::reset_peak_bytes();
      y.backward();
      // The gradients stay, and beside them there are one layer, its gradient and what is reduced.
      EXPECT_LT(cpu::allocator_stats().peak_bytes - before, 8 * kLayer + 5 * kLayer)
          << int(bool(reshards));
    });
    EXPECT_EQ(errors, no_errors(1));
    return most;
  };
  EXPECT_LT(peak({}), 3 * kLayer);
  EXPECT_GE(peak(false), 7 * kLayer);  // the first one's input needs no gradient
}

TEST(FullyShard, GradientsOfSeveralPassesAddUp) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Sequential own(Linear(1, 2, {.bias = false}));
    fully_shard(own, end);
    const Linear& layer = dynamic_cast<Linear&>(own[0]);
    const auto pass = [&](double value) { sum(own(full({1, 1}, value))).backward(); };
    const double rank = end.rank();
    set_requires_gradient_sync(own, false);
    pass(1 + rank);
    pass(10);
    EXPECT_FALSE(layer.weight.grad().defined());
    set_requires_gradient_sync(own, true);
    pass(100 * rank);
    EXPECT_EQ(layer.weight.grad().to_vector<double>(), std::vector<double>{11.5 + 50});
    pass(2 * rank);
    EXPECT_EQ(layer.weight.grad().to_vector<double>(), std::vector<double>{11.5 + 50 + 1});
  });
  EXPECT_EQ(errors, no_errors(2));
}

// As the module in that dtype computes, whose gradients are added up in the reduction's.
TEST(FullyShard, ComputesInOtherDtypes) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Generator random(3);
    const DefaultGeneratorScope scope(random);
    Sequential own(Linear(4, 6), ReLU(), Linear(6, 2));
    Sequential halves[] = {clone(own), clone(own)};
    fully_shard(own, end,
                {.mp_policy = {.param_dtype = bf16, .reduce_dtype = f32, .output_dtype = f32}});
    const Tensor x[] = {randn({3, 4}), randn({3, 4})};
    Tensor outputs[2];
    for (int rank = 0; rank < 2; ++rank) {
      halves[rank].to(bf16);
      outputs[rank] = halves[rank](x[rank].to(bf16)).to(f32);
      outputs[rank].square().sum().backward();
    }
    const Tensor y = own(x[end.rank()]);
    EXPECT_TRUE(same_bits(y, outputs[end.rank()]));
    y.square().sum().backward();
    const auto parameters = own.parameters(), first = halves[0].parameters(),
               second = halves[1].parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      EXPECT_EQ(parameters[i].dtype(), f32);
      const Tensor mean = (first[i].grad().to(f32) + second[i].grad().to(f32)) / 2;
      EXPECT_TRUE(same_bits(parameters[i].grad(), mean.chunk(2, 0)[end.rank()])) << i;
    }
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, SomeParametersAreFrozen) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    BlockNet own = block_net(0), whole = block_net(0);
    for (BlockNet* const one : {&own, &whole}) {
      one->first.requires_grad_(false);
      one->second.conv.weight.requires_grad_(false);
    }
    shard(own, end);
    const Tensor x = words(0, 0);
    loss_of(own(x), 0).backward();  // the same on both ranks
    loss_of(whole(x), 0).backward();
    for (const auto& [name, tensor] : own.named_parameters())
      EXPECT_EQ(tensor.grad().defined(), tensor.requires_grad()) << name;
    const Tensor wanted = whole.second.last.weight.grad().chunk(2, 0)[end.rank()];
    EXPECT_TRUE(same_bits(own.second.last.weight.grad(), wanted));
    own.eval();
    const NoGradGuard no_grad;
    EXPECT_TRUE(same_bits(own(x), whole(x)));
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, ClipsAndScalesWithAllRanks) {
  const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {
    for (const double p : {2.0, 1.0, 0.0, std::numeric_limits<double>::infinity()}) {
      BlockNet own = block_net(0), whole = block_net(0);
      shard(own, end);
      const Tensor x = words(0, 0);
      loss_of(own(x), 0).backward();
      loss_of(whole(x), 0).backward();
      const double found = optim::clip_grad_norm_(own.parameters(), 0.5, p).item<double>();
      std::vector<Tensor> filled = whole.parameters();  // the largest of no elements is an error
      std::erase_if(filled, [](const Tensor& one) { return one.numel() == 0; });
      const double wanted = optim::clip_grad_norm_(filled, 0.5, p).item<double>();
      EXPECT_NEAR(found, wanted, 1e-5 * wanted) << p;
    }
    // An infinity in one rank's rows.
    Linear own(1, 3, {.bias = false});
    own.weight = tensor({1.0, 2.0, 3.0}).to(f32).view({3, 1});
    const Tensor before = own.weight.detach().clone();
    fully_shard(own, end);
    optim::SGD optimizer(own.parameters(), {.lr = 1});
    optim::GradScaler scaler;
    const Tensor slopes = tensor({1.0, 1.0, std::numeric_limits<double>::infinity()}).to(f32);
    scaler.scale((own(ones({1, 1})) * slopes).sum()).backward();
    EXPECT_FALSE(scaler.step(optimizer));
    scaler.update();
    EXPECT_EQ(scaler.get_scale(), 32768);
    EXPECT_TRUE(same_bits(own.weight, before.narrow(0, end.rank(), 1)));
    optimizer.zero_grad();
    scaler.scale(own(ones({1, 1})).sum()).backward();
    EXPECT_TRUE(scaler.step(optimizer));
    EXPECT_TRUE(same_bits(own.weight, before.narrow(0, end.rank(), 1) - 1));
  });
  EXPECT_EQ(errors, no_errors(3));
}

// What 3 ranks have saved goes on on 2, and on one that has all.
TEST(FullyShard, GoesOnFromAnyNumberOfRanks) {
  NamedTensors weights, later;
  State moments;
  const auto step = [](BlockNet& own, optim::AdamW& optimizer) {
    optimizer.zero_grad();
    loss_of(own(words(0, 0)), 0).backward();  // of one rank, so that the mean is of equals
    optimizer.step();
  };
  const auto saved = on_ranks(4, {.timeout = 60}, [&](Communicator& end) {
    BlockNet own = block_net(0);
    shard(own, end);
    optim::AdamW optimizer(own.parameters(), {.lr = 0.01});
    for (int i = 0; i < 2; ++i) step(own, optimizer);
    const NamedTensors now = own.full_state_dict();
    const State state = optimizer.full_state();
    EXPECT_EQ(state.empty(), end.rank() != 0);
    if (end.rank() == 0) weights = copy_of(now), moments = state;
    step(own, optimizer);
    const NamedTensors last = own.full_state_dict();
    if (end.rank() == 0) later = last;
  });
  EXPECT_EQ(saved, no_errors(4));
  for (const int size : {1, 2}) {
    const auto errors = on_ranks(size, {.timeout = 60}, [&](Communicator& end) {
      BlockNet own = block_net(9);
      shard(own, end);
      optim::AdamW optimizer(own.parameters(), {.lr = 0.5});
      own.load_state_dict(weights);
      optimizer.load_state_dict(moments);
      step(own, optimizer);
      const NamedTensors found = own.full_state_dict();
      if (end.rank() == 0) expect_same(found, later);
    });
    EXPECT_EQ(errors, no_errors(size));
  }
  BlockNet whole = block_net(9);
  optim::AdamW optimizer(whole.parameters());
  whole.load_state_dict(weights);
  optimizer.load_state_dict(moments);
  step(whole, optimizer);
  expect_same(whole.state_dict(), later);
}

// A module computes a part again in the backward pass, around a unit and inside one.
struct Again : Module {
  Linear first{*this, "first", 4, 6};
  Linear second{*this, "second", 6, 4};
  bool is_inside = false;
  explicit Again(bool is_inside) : is_inside(is_inside) {}
  Tensor forward(const Tensor& x) const override {
    const auto layers = [this](const Tensor& y) { return second(tanh(first(y))); };
    return is_inside ? autograd::checkpoint(layers, x) : layers(x);
  }
};

TEST(FullyShard, IsComputedAgain) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    for (const bool is_inside : {false, true}) {
      Generator random(3);
      const DefaultGeneratorScope scope(random);
      Again own(is_inside);
      const Again whole = clone(own);
      fully_shard(own, end);
      const Tensor x = randn({5, 4});
      const Tensor y =
          is_inside ? own(x) : autograd::checkpoint([&](const Tensor& z) { return own(z); }, x);
      y.square().sum().backward();
      whole(x).square().sum().backward();
      const auto parameters = own.parameters(), wanted = whole.parameters();
      for (size_t i = 0; i < wanted.size(); ++i)
        EXPECT_TRUE(same_bits(parameters[i].grad(), wanted[i].grad().chunk(2, 0)[end.rank()]))
            << i << is_inside;
    }
  });
  EXPECT_EQ(errors, no_errors(2));
}

// Its layers run in an order of the call's own, some of them twice or not at all.
struct AnyOrder : Module {
  ModuleList layers{*this, "layers"};
  std::vector<size_t> order;
  AnyOrder() {
    for (int i = 0; i < 4; ++i) layers.push_back(Linear(5, 5));
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = x;
    for (const size_t i : order) y = tanh(layers[static_cast<int64_t>(i)](y));
    return y;
  }
};

TEST(FullyShard, ModulesRunInAnyOrder) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Generator random(3);
    const DefaultGeneratorScope scope(random);
    AnyOrder own;
    AnyOrder whole = clone(own);
    for (Module* const layer : own.layers.children()) fully_shard(*layer, end);
    fully_shard(own, end);
    optim::SGD of_own(own.parameters(), {.lr = 0.1}), of_whole(whole.parameters(), {.lr = 0.1});
    const std::vector<std::vector<size_t>> orders{{0, 1, 2, 3}, {0, 1, 2, 3}, {3, 2, 1, 0},
                                                  {0, 2, 1, 3}, {1, 1, 2},    {3},
                                                  {0, 0, 0, 1}, {0, 1, 2, 3}};
    for (const auto& order : orders) {
      own.order = whole.order = order;
      const Tensor x = randn({3, 5});
      of_own.zero_grad();
      of_whole.zero_grad();
      own(x).square().sum().backward();
      whole(x).square().sum().backward();
      const auto parameters = own.parameters(), wanted = whole.parameters();
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(parameters[i].grad().defined(), wanted[i].grad().defined()) << i;
        const auto rows = [&](const Tensor& all) {
          return all.narrow(0, 3 * end.rank(), end.rank() == 0 ? 3 : 2);
        };
        if (!wanted[i].grad().defined()) continue;
        EXPECT_TRUE(same_bits(parameters[i].grad(), rows(wanted[i].grad()))) << i;
      }
      of_own.step();
      of_whole.step();
    }
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A layer that goes on when the other rank has begun to gather what comes behind it.
struct Waiting : Module {
  Linear layer{*this, "layer", 2, 2};
  Communicator* group = nullptr;
  Tensor forward(const Tensor& x) const override {
    if (!group) return layer(x);
    const Communicator& beside = CollectiveThread::of(*group).group();
    const auto has_begun = [&] {
      const auto records = beside.records();
      return !records.empty() && records.back().shape == Shape{4};  // 2 of 4 rows
    };
    for (int i = 0; i < 20000 && !has_begun(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(has_begun());
    return layer(x);
  }
};

TEST(FullyShard, WhatComesNextIsGatheredAhead) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Sequential own(Waiting(), Linear(2, 4, {.bias = false}), Linear(4, 2));
    for (Module* const layer : own.children()) fully_shard(*layer, end);
    fully_shard(own, end);
    const auto pass = [&] { own(ones({1, 2})).sum().backward(); };
    pass();
    dynamic_cast<Waiting&>(own[0]).group = &end;
    pass();
    pass();
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A copy of one part follows the other, as a momentum encoder does: in the forward pass, when the
// part may be gathered ahead already.
struct Follower : Module {
  Linear leader{*this, "leader", 1, 2, {.bias = false}};
  Linear follower{*this, "follower", 1, 2, {.bias = false}};
  std::function<void(const Tensor& weight)> add_1;
  mutable std::vector<double> seen;
  Tensor forward(const Tensor& x) const override {
    const Tensor y = leader(x);
    const NoGradGuard no_grad;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    add_1(follower.weight);
    seen.push_back(follower(x).sum().item<double>());
    return y;
  }
};

TEST(FullyShard, PartsThatChangeInAForwardPassAreGatheredAgain) {
  const std::vector<std::function<void(const Tensor& weight)>> ways{
      [](const Tensor& weight) { weight.add_(1); },
      [](const Tensor& weight) { weight.copy_(weight + 1); },
      [](const Tensor& weight) { weight.lerp_(weight + 2, 0.5); },
      [](const Tensor& weight) { clamp_(weight.add_(3), -10, 10).sub_(2); }};
  for (const auto& add_1 : ways) {
    const auto errors = on_ranks(3, {.timeout = 60}, [&](Communicator& end) {  // one has no rows
      Follower own;
      own.add_1 = add_1;
      own.follower.weight = zeros({2, 1});
      own.follower.requires_grad_(false);
      fully_shard(own.leader, end);
      fully_shard(own.follower, end);
      fully_shard(own, end);
      for (int step = 0; step < 3; ++step) own(ones({1, 1})).sum().backward();
      EXPECT_EQ(own.seen, (std::vector<double>{2, 4, 6}));
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

TEST(FullyShard, GradLeavesWhatPassesWithoutSyncHaveLeft) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Linear own(1, 2);
    fully_shard(own, end);
    const auto loss = [&] { return own(ones({1, 1})).sum(); };
    set_requires_gradient_sync(own, false);
    loss().backward();
    EXPECT_EQ(autograd::grad({loss()}, {own.weight})[0].item<double>(), 1);
    set_requires_gradient_sync(own, true);
    EXPECT_EQ(autograd::grad({loss()}, {own.weight})[0].item<double>(), 1);
    loss().backward();
    EXPECT_EQ(own.weight.grad().item<double>(), 2);
    EXPECT_EQ(own.bias.grad().item<double>(), 2);
    // In the dtype in which they are reduced.
    Linear half(1, 2, {.bias = false});
    fully_shard(half, end, {.mp_policy = {.param_dtype = bf16, .reduce_dtype = f32}});
    set_requires_gradient_sync(half, false);
    for (int pass = 0; pass < 300; ++pass) half(ones({1, 1})).sum().backward();
    set_requires_gradient_sync(half, true);
    half(ones({1, 1})).sum().backward();
    EXPECT_EQ(half.weight.grad().item<double>(), 301);
    // Frozen in the forward pass.
    own.zero_grad();
    own.weight.requires_grad_(false);
    const Tensor frozen = loss();
    own.weight.requires_grad_();
    frozen.backward();
    EXPECT_FALSE(own.weight.grad().defined());
    EXPECT_EQ(own.bias.grad().item<double>(), 1);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, GradientsGoWhereAnyLeafsDo) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Linear own(1, 2, {.bias = false});
    fully_shard(own, end);
    const Tensor x = full({1, 1}, 1.0 + 2 * end.rank());  // the mean of the ranks' is 2
    EXPECT_EQ(autograd::grad({own(x).sum()}, {own.weight})[0].to_vector<double>(),
              std::vector<double>{2});
    EXPECT_FALSE(own.weight.grad().defined());
    std::vector<double> seen;
    HookHandle after = own.weight.register_post_accumulate_grad_hook(
        [&](const Tensor& leaf) { seen.push_back(leaf.grad().item<double>()); });
    HookHandle before =
        own.weight.register_hook([](const Tensor& gradient) { return gradient * 3; });
    own(x).sum().backward();
    before.remove();
    own(x).sum().backward();
    EXPECT_EQ(seen, (std::vector<double>{6, 8}));
    after.remove();
    (own(x) + own(x * 2)).sum().backward();  // twice in a pass
    EXPECT_EQ(own.weight.grad().item<double>(), 8 + 6);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, ComputedMembersAreOfWholeOriginals) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Generator random(3);
    const DefaultGeneratorScope scope(random);
    Sequential own(weight_norm(Linear(4, 6)), Tanh(), Linear(6, 2));
    const Sequential whole = clone(own);
    fully_shard(own, end);
    const Tensor x = randn({5, 4});
    const Tensor y = own(x), z = whole(x);
    EXPECT_TRUE(same_bits(y, z));
    y.square().sum().backward();
    z.square().sum().backward();
    const auto found = own.named_parameters(), wanted = whole.named_parameters();
    ASSERT_EQ(found.size(), wanted.size());
    for (size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(
          same_bits(found[i].second.grad(), wanted[i].second.grad().chunk(2, 0)[end.rank()]))
          << wanted[i].first;
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, HooksAroundGetWhatIsNoParameter) {
  const auto errors = on_ranks(1, {.timeout = 60}, [&](Communicator& end) {
    Sequential own(Linear(4, 6), Tanh());
    fully_shard(own[0], end, {.reshard_after_forward = true});
    std::vector<Shape> packed;
    Tensor y;
    {
      const autograd::SavedTensorsHooks hooks(
          [&](const Tensor& tensor) {
            packed.push_back(tensor.shape());
            return std::any(tensor);
          },
          [](const std::any& tensor) { return std::any_cast<Tensor>(tensor); });
      y = own(ones({5, 4}).requires_grad_());
    }
    EXPECT_EQ(packed, (std::vector<Shape>{{5, 4}, {5, 6}}));
    y.sum().backward();
    EXPECT_TRUE(own.parameters()[0].grad().defined());
  });
  EXPECT_EQ(errors, no_errors(1));
}

// A network that no rank could hold begins without memory.
TEST(FullyShard, BeginsOnMeta) {
  const BlockNet whole = block_net(4);
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    BlockNet own = block_net(0);
    own.to(Device("meta"));
    shard(own, end, {.find_unused_parameters = true});
    own(words(0, 0).to(Device("meta"))).sum().backward();  // planned
    own.zero_grad();
    own.to_empty("cpu");
    own.load_state_dict(whole.state_dict(), {.assign = true});
    EXPECT_LT(own.embedding.weight.storage()->size_bytes(),
              whole.embedding.weight.storage()->size_bytes());
    const NoGradGuard no_grad;
    EXPECT_TRUE(same_bits(own(words(0, 0)), whole(words(0, 0))));
  });
  EXPECT_EQ(errors, no_errors(2));
}

}  // namespace
}  // namespace aorta::nn
