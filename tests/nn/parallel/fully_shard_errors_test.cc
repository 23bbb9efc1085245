// What fully_shard refuses, and how a group of ranks with parts of a network ends.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/optim/zero_redundancy.h>
#include <aorta/tests/nn/parallel/block_net.h>
#include <aorta/tests/nn/parallel/branches.h>
#include <aorta/tests/nn/parallel/ranks.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

namespace aorta::nn {
namespace {

TEST(FullyShard, UnusedParameters) {
  const auto strict = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Branches own(2);
    fully_shard(own, end);
    sum(own(ones({1, 1}))).backward();
  });
  for (const std::string& error : strict)
    EXPECT_NE(error.find("fully_shard: every parameter must get a gradient, or "
                         "find_unused_parameters be set, got none of right.weight, nowhere.weight, "
                         "nowhere.bias in Branches"),
              std::string::npos)
        << error;
  const auto errors = on_ranks(2, {.timeout = 60}, [&](Communicator& end) {
    Branches own(2);
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
    EXPECT_EQ(refused([&] { DistributedDataParallel parallel(own, end); }),
              "DistributedDataParallel: parameters must be whole, got a part [" +
                  std::to_string(end.rank() == 0 ? 4 : 3) + ",12] of [7,12]");
    EXPECT_NE(refused([&] { clone(own); }).find("clone: parameters must be whole"),
              std::string::npos);
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
        "fully_shard: modules inside must be sharded first, and a parameter that several have "
        "with all of them, got Sequential and 1.weight");
    Sequential mixed(Linear(2, 2), Linear(2, 2));
    mixed[1].to(f64);
    EXPECT_EQ(
        refused([&] { fully_shard(mixed, end); }),
        "fully_shard: parameters that are gathered together must be of one dtype and device, got "
        "1.weight of f64 on cpu beside f32 on cpu");
    EXPECT_EQ(refused([&] { set_requires_gradient_sync(mixed, true); }),
              "set_requires_gradient_sync: the module must be sharded, or one inside it, got "
              "Sequential");
    Embedding sparse(4, 2, {.sparse = true}), limited(4, 2, {.max_norm = 1.5});
    EXPECT_EQ(refused([&] { fully_shard(sparse, end); }),
              "fully_shard: an embedding's gradient must be dense, got a sparse one");
    EXPECT_EQ(refused([&] { fully_shard(limited, end); }),
              "fully_shard: an embedding must not limit its rows, got max_norm of 1.5");
    ModuleList list;
    EXPECT_EQ(refused([&] { fully_shard(list, end); }),
              "fully_shard: a module must be one that is called, got ModuleList");
    Linear layer(2, 2, {.bias = false});
    fully_shard(layer, end, {.reshard_after_forward = true});
    const std::string rest = "parameters must be whole, got a part [1,2] of [2,2]";
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

// Experts of one shape, which ranks use in another order of gradients.
struct TwoExperts : Module {
  Linear a{*this, "a", 2, 2, {.bias = false}};
  Linear b{*this, "b", 2, 2, {.bias = false}};
  bool uses_b = false;
  Tensor forward(const Tensor& x) const override {
    const Tensor y = a(x), z = b(x * 10);
    return uses_b ? z : y;
  }
};

TEST(FullyShard, PartsOfOneShapeAreNotTakenForEachOther) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    TwoExperts own;
    own.uses_b = end.rank() == 1;
    fully_shard(own.a, end, {.find_unused_parameters = true});
    fully_shard(own.b, end, {.find_unused_parameters = true});
    fully_shard(own, end);
    own(ones({1, 2})).sum().backward();
  });
  for (const std::string& error : errors) {
    EXPECT_NE(error.find("ranks must make the same call"), std::string::npos) << error;
    EXPECT_NE(error.find(", for part 0 with weight"), std::string::npos) << error;
    EXPECT_NE(error.find(", for part 1 with weight"), std::string::npos) << error;
  }
}

TEST(FullyShard, PartsAreNoOperandsOfOthers) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    Sequential own(Embedding(6, 4), Linear(4, 4));
    for (Module* const layer : own.children()) fully_shard(*layer, end);
    fully_shard(own, end);
    const auto& embedding = dynamic_cast<const Embedding&>(own[0]);
    const auto& layer = dynamic_cast<const Linear&>(own[1]);
    const Tensor x = own(tensor({0, 1, 2, 3, 5}));
    const std::string rest =
        "a parameter of fully_shard's must be used in the module that was sharded, which is "
        "called, "
        "got a part ";
    const std::string tied = error_of([&] { linear(x, embedding.weight); });
    EXPECT_NE(tied.find(rest + "[3,4] of it"), std::string::npos) << tied;
    const std::string direct = error_of([&] { layer.forward(x); });
    EXPECT_NE(direct.find(rest), std::string::npos) << direct;
    // A loss may have its rows.
    (x.sum() + 0.5 * layer.weight.square().sum()).backward();
    const std::string zero = error_of([&] {
      optim::ZeroRedundancyOptimizer optimizer(own.parameters(), end, [](const auto& mine) {
        return std::make_unique<optim::SGD>(mine, optim::SGDOptions{.lr = 1});
      });
    });
    EXPECT_NE(zero.find("ZeroRedundancyOptimizer: parameters must be whole"), std::string::npos)
        << zero;
    own[1].to(f64);
    fully_shard(own[1], end);
  });
  for (const std::string& error : errors)
    EXPECT_EQ(error, "fully_shard: a module must be sharded once, got Linear");
}

struct Writing : Module {
  Linear layer{*this, "layer", 2, 2, {.bias = false}};
  Tensor forward(const Tensor& x) const override {
    {
      const NoGradGuard no_grad;
      layer.weight.fill_(7);
    }
    return layer(x);
  }
};

TEST(FullyShard, WhatIsGatheredStaysAsItIs) {
  const auto errors = on_ranks(2, {.timeout = 60}, [](Communicator& end) {
    Writing own;
    fully_shard(own, end, {.reshard_after_forward = true});
    const Tensor x = ones({1, 2}).requires_grad_();
    EXPECT_NE(error_of([&] { own(x); }).find("a module must not write to its parameters"),
              std::string::npos);
    Sequential mixed(Linear(2, 2), Linear(2, 2));
    fully_shard(mixed, end);
    mixed[1].to(f64);
    EXPECT_NE(
        error_of([&] { mixed(x); }).find("must be of one dtype and device, got 1.weight of f64"),
        std::string::npos);
  });
  EXPECT_EQ(errors, no_errors(2));
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
