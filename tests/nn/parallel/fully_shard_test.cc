// Parameters divided among ranks that are threads, against DistributedDataParallel, which keeps all
// of them on each.
#include <aorta/aorta.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/core/allocator.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/tests/nn/parallel/ranks.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>

namespace aorta::nn {
namespace {

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.detach().contiguous(), y = b.detach().contiguous();
  return x.shape() == y.shape() && x.dtype() == y.dtype() &&
         std::memcmp(x.data(), y.data(), static_cast<size_t>(x.nbytes())) == 0;
}

void expect_same(const NamedTensors& found, const NamedTensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, wanted[i].first);
    EXPECT_TRUE(same_bits(found[i].second, wanted[i].second)) << wanted[i].first;
  }
}

// A block whose parameters are of every kind of shape: fewer rows than ranks, none that divides
// them, none at all, in another layout, and one under two names.
struct Block : Module {
  Conv2d conv{*this, "conv", 3, 5, 3, {.padding = 1}};
  LayerNorm norm{*this, "norm", 4};
  Linear one{*this, "one", 4, 1};
  Linear back{*this, "back", 1, 4};
  Linear tied{*this, "tied", 1, 4};
  Linear last{*this, "last", 20, 3};
  Parameter scale{*this, "scale", full({}, 0.5)};
  Parameter nothing{*this, "nothing", zeros({0, 2})};
  Block(Module& owner, const char* name) : Module(owner, name) {
    tied.weight = back.weight;
    conv.to(MemoryFormat::channels_last);
  }
  Tensor forward(const Tensor& x) const override {
    Tensor y = norm(conv(x)) * scale + nothing.sum();  // (N, 5, H, 4)
    y = y + back(tanh(one(y))) + tied(relu(one(y)));
    return last(y.mean(2).flatten(1));  // (N, 3)
  }
};

struct BlockNet : Module {
  Embedding embedding{*this, "embedding", 7, 12};
  Block first{*this, "first"};
  Linear between{*this, "between", 3, 12};
  Block second{*this, "second"};
  Linear head{*this, "head", 3, 2, {.bias = false}};
  Tensor forward(const Tensor& words) const override {
    const Tensor x = embedding(words).view({words.size(0), 3, 3, 4});  // of 3 words each
    return head(second(between(first(x)).view({-1, 3, 1, 4})));
  }
};

BlockNet block_net(uint64_t seed) {
  Generator random(seed);
  const DefaultGeneratorScope scope(random);
  return BlockNet();
}

void shard(BlockNet& net, Communicator& group, const FullyShardOptions& options = {}) {
  fully_shard(net.first, group, options);
  fully_shard(net.second, group, options);
  fully_shard(net, group, options);
}

// A batch of each rank's own in each step.
Tensor words(int rank, int step) {
  Generator random(static_cast<uint64_t>(100 * step + rank));
  return randint(7, {4, 3}, {}, &random);
}

Tensor loss_of(const Tensor& y, int rank) { return square(y - rank).sum(); }

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
    shard(own, end);
    own(words(0, 0).to(Device("meta"))).sum().backward();  // planned
    own.zero_grad();
    own.to_empty("cpu");
    own.load_state_dict(whole.state_dict());
    const NoGradGuard no_grad;
    EXPECT_TRUE(same_bits(own(words(0, 0)), whole(words(0, 0))));
  });
  EXPECT_EQ(errors, no_errors(2));
}

struct TwoWays : Module {
  Linear left{*this, "left", 1, 2, {.bias = false}};
  Linear right{*this, "right", 1, 2, {.bias = false}};
  Linear nowhere{*this, "nowhere", 1, 2};
  bool goes_right = false;
  Tensor forward(const Tensor& x) const override { return goes_right ? right(x) : left(x); }
};

TEST(FullyShard, UnusedParameters) {
  const auto strict = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    TwoWays own;
    fully_shard(own, end);
    sum(own(ones({1, 1}))).backward();
  });
  for (const std::string& error : strict)
    EXPECT_NE(error.find("fully_shard: every parameter must get a gradient, or "
                         "find_unused_parameters be set, got none of right.weight, nowhere.weight, "
                         "nowhere.bias in TwoWays"),
              std::string::npos)
        << error;
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    TwoWays own;
    own.goes_right = end.rank() == 1;
    fully_shard(own, end, {.find_unused_parameters = true});
    for (int pass = 1; pass <= 2; ++pass) {
      sum(own(full({1, 1}, 4.0))).backward();
      EXPECT_EQ(own.left.weight.grad().item<double>(), 2 * pass);
      EXPECT_EQ(own.right.weight.grad().item<double>(), 2 * pass);
      EXPECT_FALSE(own.nowhere.weight.grad().defined());
    }
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(FullyShard, WhatItRefuses) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    const auto refused = [&](const std::function<void()>& call) { return error_of(call); };
    BlockNet own = block_net(0);
    shard(own, end);
    EXPECT_EQ(refused([&] { fully_shard(own.first, end); }),
              "fully_shard: a module must be sharded once, got Block");
    EXPECT_EQ(
        refused([&] { DistributedDataParallel parallel(own, end); }),
        "DistributedDataParallel: parameters must be whole, and not parts of fully_shard's, got "
        "[" +
            std::to_string(end.rank() == 0 ? 4 : 3) + ",12] of [7,12]");
    const BlockNet copy = clone(own);
    EXPECT_NE(refused([&] { copy(words(0, 0)); }).find("none of a clone"), std::string::npos);
    own.head.bias = zeros({2}).requires_grad_();
    EXPECT_EQ(
        refused([&] { own(words(0, 0)); }),
        "fully_shard: parameters must be those that the module was sharded with, none new, none "
        "of a clone and none of a module outside, got head.bias");
    own.head.bias = Tensor();
    Sequential early(Linear(2, 2));
    const Sequential before = early;
    fully_shard(early, end);
    const Sequential after = early;
    EXPECT_TRUE(same_bits(after(ones({1, 2})), early(ones({1, 2}))));
    EXPECT_EQ(
        refused([&] {
          before(ones({1, 2}));
        }),
        "0: fully_shard: a module must run inside of the one that was sharded, or be that or a "
        "later copy, got Linear with a part of weight");
    Sequential tied(Linear(2, 2), Linear(2, 2));
    dynamic_cast<Linear&>(tied[0]).weight = dynamic_cast<Linear&>(tied[1]).weight;
    fully_shard(tied[0], end);
    EXPECT_EQ(
        refused([&] { fully_shard(tied, end); }),
        "fully_shard: parameters that are one must be sharded together, with a module that has "
        "all of them, got Sequential and 1.weight");
    Sequential mixed(Linear(2, 2), Linear(2, 2));
    mixed[1].to(f64);
    EXPECT_EQ(
        refused([&] { fully_shard(mixed, end); }),
        "fully_shard: parameters that are gathered together must be of one dtype and device, got "
        "1.weight of f64 on cpu beside f32 on cpu");
    EXPECT_EQ(refused([&] { set_requires_gradient_sync(mixed, true); }),
              "set_requires_gradient_sync: the module must be sharded, or one inside it, got "
              "Sequential");
    Linear layer(2, 2, {.bias = false});
    fully_shard(layer, end, {.reshard_after_forward = true});
    const std::string rest =
        "parameters must be whole, and not parts of fully_shard's, got [1,2] of [2,2]";
    EXPECT_EQ(refused([&] { optim::Muon muon(layer.parameters()); }), "muon: " + rest);
    EXPECT_EQ(refused([&] { optim::LBFGS lbfgs(layer.parameters()); }), "lbfgs: " + rest);
    Linear late(2, 2, {.bias = false});
    optim::SGD optimizer(late.parameters(), {.lr = 1, .momentum = 0.9});
    late(ones({1, 2})).sum().backward();
    optimizer.step();
    fully_shard(late, end);
    late(ones({1, 2})).sum().backward();
    EXPECT_EQ(
        refused([&] { optimizer.step(); }),
        "optimizer: parameters must keep their shapes from the first step on, got [1,2], before "
        "[2,2]");
    const Tensor x = ones({1, 2}).requires_grad_();
    const Tensor y = layer(x).sum();
    {
      const NoGradGuard no_grad;
      layer.weight.mul_(2);
    }
    EXPECT_NE(refused([&] { y.backward(); })
                  .find("parameters must stay as they are between the "
                        "forward and the backward pass, got changed ones"),
              std::string::npos);
  });
  EXPECT_EQ(errors, no_errors(2));
  const auto twice = on_ranks(1, {.timeout = 60}, [](Communicator& end) {
    Linear layer(2, 2);
    fully_shard(layer, end);
    autograd::grad({layer(ones({1, 2})).square().sum()}, {layer.weight}, {Tensor()},
                   {.create_graph = true});
  });
  EXPECT_NE(twice[0].find("a gradient of a gradient can't be had"), std::string::npos) << twice[0];
  const auto adafactor = on_ranks(1, {.timeout = 60}, [](Communicator& end) {
    Linear layer(2, 2);
    fully_shard(layer, end);
    optim::Adafactor optimizer(layer.parameters());
    layer(ones({1, 2})).sum().backward();
    optimizer.step();
  });
  EXPECT_NE(adafactor[0].find("parameters must be whole"), std::string::npos) << adafactor[0];
}

TEST(FullyShard, ARankThatFailsEndsAll) {
  const auto errors = on_ranks(3, {.timeout = 600}, [&](Communicator& end) {
    BlockNet own = block_net(0);
    shard(own, end);
    const Tensor y = own(words(0, 0));
    const Tensor loss = end.rank() == 1 ? y * 1 : y;
    if (end.rank() == 1)
      own.embedding.weight.register_hook(
          [](const Tensor&) -> Tensor { fail("hook", "may not be called", "it was"); });
    loss.sum().backward();
    own(words(0, 0));
  });
  EXPECT_EQ(errors[1], "hook: may not be called, got it was");
  for (const size_t rank : {0, 2})
    EXPECT_NE(errors[rank].find("rank 1: hook: may not be called, got it was"), std::string::npos)
        << errors[rank];
}

TEST(FullyShard, OtherNetworksAreNamed) {
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Sequential own(Linear(4, 3), Linear(3, end.rank() + 1));
    fully_shard(own, end);
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error,
              "1.weight: broadcast: ranks must make the same call, got rank 0: broadcast 2 of f32 "
              "[1,3], from rank 0; rank 1: broadcast 2 of f32 [2,3], from rank 0");
}

}  // namespace
}  // namespace aorta::nn
