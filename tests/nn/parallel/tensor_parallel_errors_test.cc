// Layers divided among ranks: what can't be, what must not be mixed up, and what a program does
// around them.
#include <aorta/aorta.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/shard.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/nn/parallel/device_mesh.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/tests/nn/parallel/llama.h>
#include <aorta/tests/nn/parallel/ranks.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

namespace aorta::nn {
namespace {

// Two layers whose hidden units are divided.
struct Hidden : Module {
  LayerNorm norm{*this, "norm", 4};
  Linear up{*this, "up", 4, 6}, down{*this, "down", 6, 4};
  Tensor forward(const Tensor& x) const override { return down(relu(up(norm(x)))); }
};

const ParallelPlan kHidden = {{"up", ColwiseParallel{}}, {"down", RowwiseParallel{}}};

Hidden hidden() {
  Generator random(3);
  const DefaultGeneratorScope scope(random);
  Hidden net;
  return net;
}

Tensor any(const Shape& shape) {
  Generator random(4);
  return randn(shape, {}, &random);
}

TEST(TensorParallelErrors, WhatCantBeDivided) {
  const auto end = std::move(local_communicators(1)[0]);
  const auto error = [&](Module& module, const ParallelPlan& plan) {
    return error_of([&] { parallelize_module(module, *end, plan); });
  };
  Llama net = llama(0);
  EXPECT_EQ(error(net, {{"layers.*.w9", ColwiseParallel{}}}),
            "parallelize_module: a name must be of a module inside, got \"layers.*.w9\"");
  EXPECT_EQ(error(net, {{"norm", ColwiseParallel{}}}),
            "parallelize_module: ColwiseParallel is for Linear and Embedding, got LayerNorm");
  // Nothing has changed where a later line of the plan is wrong.
  EXPECT_EQ(error(net, {{"output", ColwiseParallel{}}, {"norm", RowwiseParallel{}}}),
            "parallelize_module: RowwiseParallel is for Linear and Embedding, got LayerNorm");
  EXPECT_EQ(autograd::shard_of(net.output.weight), nullptr);
  EXPECT_EQ(error(net, {{"output", ColwiseParallel{}}, {"out*", ColwiseParallel{}}}),
            "parallelize_module: a module must have one style, got \"output\" with another one");
  parallelize_module(net, *end, {{"output", ColwiseParallel{}}, {"norm", SequenceParallel{}}});
  EXPECT_EQ(error(net, {{"output", RowwiseParallel{}}}),
            "parallelize_module: a module must have one style, got \"output\" with another one");
  EXPECT_EQ(error(net, {{"norm", SequenceParallel{}}}),
            "parallelize_module: a module must have one style, got \"norm\" with another one");
  Embedding limited(4, 2, {.max_norm = 1.0});
  EXPECT_EQ(error(limited, {{"", ColwiseParallel{}}}),
            "parallelize_module: a divided Embedding can't have max_norm, sparse or "
            "scale_grad_by_freq, got \"\"");
  for (const PrepareModuleInput& one :
       {PrepareModuleInput{.input_layouts = {Shard(1)}},
        PrepareModuleInput{.input_layouts = {std::nullopt}, .desired_input_layouts = {Shard(1)}}})
    EXPECT_EQ(error(net, {{"layers.0", one}}),
              "parallelize_module: a tensor must have a layout before and after, or none, got 1 "
              "and " +
                  std::to_string(one.desired_input_layouts.size()) + " of \"layers.0\"");
  Linear one(2, 2);
  parallelize_module(one, *end, {{"", PrepareModuleInput{}}});
  EXPECT_EQ(error_of([&] {
              one(ones({2, 2}));
            }),
            "parallelize_module: there must be a layout for each tensor, got 0 for 1 inputs of "
            "\"\"");
  EXPECT_EQ(error_of([&] { optim::Muon muon({net.output.weight}); }),
            "muon: parameters must be whole, got a part [11,12] of [11,12]");
  EXPECT_EQ(error_of([&] { clone(net); }),
            "clone: parameters must be whole, got a part [11,12] of [11,12]");
  EXPECT_EQ(error_of([&] {
              DataParallel replicas(net, {Device("cpu:0"), Device("cpu:1")});
            }),
            "DataParallel: parameters must be whole, got a part [11,12] of [11,12]");
  EXPECT_EQ(error_of([&] { weight_norm(net.output); }),
            "register_parametrization: parameters must be whole, got a part [11,12] of [11,12]");
  Linear computed(2, 2);
  weight_norm(computed);
  EXPECT_EQ(error(computed, {{"", RowwiseParallel{}}}),
            "parallelize_module: a divided parameter must not be parametrized, got \"\" with its "
            "weight");
  fully_shard(one, *end);
  EXPECT_EQ(error(one, {{"", ColwiseParallel{}}}),
            "parallelize_module: a module must be divided before it is sharded, got \"\"");
  Sequential pair(Linear(2, 2), Linear(2, 2));
  parallelize_module(pair, *end, {{"*", ColwiseParallel{}}});  // the layers, and not the pair
  EXPECT_NE(autograd::shard_of(pair.parameters()[3]), nullptr);
}

TEST(TensorParallelErrors, TablesNeedARowForEachRank) {
  const auto errors = on_ranks(4, patient(), [&](Communicator& group) {
    Embedding few(3, 2);
    parallelize_module(few, group, {{"", RowwiseParallel{}}});
  });
  EXPECT_EQ(errors, std::vector<std::string>(4,
                                             "parallelize_module: each rank must have a row of the "
                                             "table, got \"\" of 3 for 4 ranks"));
}

struct TwoUses : Module {
  Embedding words{*this, "words", 6, 4};
  Linear scores{*this, "scores", 4, 6};
  TwoUses() { scores.weight = words.weight; }
  Tensor forward(const Tensor& x) const override { return scores(words(x)); }
};

// A part is no whole parameter for another module.
TEST(TensorParallelErrors, AllUsesOfAParameterAreDivided) {
  const auto end = std::move(local_communicators(1)[0]);
  TwoUses net;
  EXPECT_EQ(error_of([&] {
              parallelize_module(net, *end, {{"words", RowwiseParallel{}}});
            }),
            "parallelize_module: all modules that have a divided parameter must be in the plan, "
            "got \"scores\" without a style, for its weight");
  EXPECT_EQ(error_of([&] {
              parallelize_module(net, *end,
                                 {{"words", ColwiseParallel{}}, {"scores", ColwiseParallel{}}});
            }),
            "parallelize_module: a parameter must be divided in one way, got \"scores\" with its "
            "weight [6,4]");
  Linear layer(2, 2);
  const Linear before = layer;
  parallelize_module(layer, *end, {{"", ColwiseParallel{}}});
  const Linear after = layer;
  EXPECT_EQ(error_of([&] {
              before(ones({1, 2}));
            }),
            "parallelize_module: a module must be the one that was divided, or a later copy, got "
            "Linear with a part of weight");
  EXPECT_TRUE(same_bits(after(ones({1, 2})).detach(), layer(ones({1, 2})).detach()));
  Sequential around(layer);
  EXPECT_EQ(error_of([&] {
              parallelize_module(around, *end, {{"", SequenceParallel{}}});
              around(ones({1, 2}));
            }),
            "parallelize_module: a module with SequenceParallel must have whole parameters, got "
            "\"\" with a part [2,2]");
}

// The ranks that divide a layer don't take each other's parts for their own.
TEST(TensorParallelErrors, AnotherGroupDividesTheBatches) {
  for (const bool sharded : {false, true}) {
    const auto errors = on_ranks(2, {.timeout = 30}, [&](Communicator& end) {
      Hidden net = hidden();
      parallelize_module(net, end, kHidden);
      if (sharded)
        fully_shard(net, end);
      else
        DistributedDataParallel parallel(net, end);
    });
    for (const std::string& error : errors)
      EXPECT_NE(error.find("from rank 0, for part 0 of 2; rank 1: "), std::string::npos) << error;
  }
}

// Ranks that run other layers of one shape don't take each other's numbers, though each layer was
// divided by itself.
TEST(TensorParallelErrors, LayersThatDifferAreNamed) {
  const auto errors = on_ranks(2, {.timeout = 30}, [](Communicator& end) {
    Sequential net(Linear(4, 4), Linear(4, 4));
    for (Module* const layer : net.children())
      parallelize_module(*layer, end, {{"", RowwiseParallel{}}});
    dynamic_cast<Linear&> (*net.children()[static_cast<size_t>(end.rank())])(ones({1, 2}));
  });
  EXPECT_EQ(errors[0].substr(errors[0].find("all_reduce: ")),
            "all_reduce: ranks must make the same call, got rank 0: all_reduce 6 of f32 [1,4], "
            "sum, for 0; rank 1: all_reduce 6 of f32 [1,4], sum, for 1");
}

// Who fails in a backward pass ends the group, with its message.
TEST(TensorParallelErrors, ARankFailsInABackwardPass) {
  const auto errors = on_ranks(2, {.timeout = 0}, [](Communicator& end) {
    Hidden net = hidden();
    parallelize_module(net, end, kHidden);
    const Tensor hidden_units = net.up(net.norm(any({2, 4})));
    if (end.rank() == 1)
      hidden_units.register_hook(
          [](const Tensor&) -> Tensor { fail("disk", "must have room", "none"); });
    net.down(hidden_units).sum().backward();
    end.barrier();
  });
  EXPECT_EQ(errors[0], "rank 1: " + errors[1]);
  EXPECT_NE(errors[1].find("disk: must have room, got none"), std::string::npos);
}

// A new network's values are those of the whole, in parts too, whatever made them parts.
TEST(TensorParallelErrors, ParametersAreDrawnAsAWhole) {
  const auto reset = [](Module& net) {
    Generator random(8);
    const DefaultGeneratorScope scope(random);
    net.apply([](Module& module) { module.reset_parameters(); });
    for (const auto& [name, parameter] : net.named_parameters())
      if (name == "up.weight")
        init::sparse_(parameter, 0.3);
      else if (name == "down.weight")
        init::kaiming_normal_(parameter);
  };
  struct Words : Hidden {
    Embedding words{*this, "words", 7, 4, {.padding_idx = 5}};
  };
  Words whole;
  reset(whole);
  for (const bool sharded : {false, true}) {
    const auto errors = on_ranks(3, patient(), [&](Communicator& end) {
      Words net;
      net.to(Device("meta"));
      if (sharded) {
        fully_shard(net, end);
      } else {
        parallelize_module(net, end,
                           {{"up", ColwiseParallel{}},
                            {"down", RowwiseParallel{}},
                            {"words", RowwiseParallel{.input_layouts = Replicate()}}});
      }
      net.to_empty(Device("cpu"));
      reset(net);
      const NamedTensors found = net.full_state_dict(), wanted = whole.state_dict();
      for (size_t i = 0; i < found.size(); ++i)
        EXPECT_TRUE(same_bits(found[i].second, wanted[i].second)) << found[i].first;
    });
    EXPECT_EQ(errors, no_errors(3));
  }
}

// fully_shard of the very module that has a style.
TEST(TensorParallelErrors, AStyleStaysWhereItsModuleIsSharded) {
  const Tensor x = any({4, 4});
  Hidden whole = hidden();
  whole(x).square().sum().backward();
  const auto errors = on_ranks(4, patient(), [&](Communicator& end) {
    const DeviceMesh mesh(end, {2, 2}, {"dp", "tp"});
    Hidden net = hidden();
    Module root;
    parallelize_module(net, mesh["tp"],
                       {{"norm", SequenceParallel{}},
                        {"up", ColwiseParallel{.input_layouts = Shard(0)}},
                        {"down", RowwiseParallel{}},
                        {"", PrepareModuleInput{.input_layouts = {Replicate()},
                                                .desired_input_layouts = {Shard(0)}}}});
    for (Module* const part : {static_cast<Module*>(&net.norm), static_cast<Module*>(&net.up),
                               static_cast<Module*>(&net.down), static_cast<Module*>(&net)})
      fully_shard(*part, mesh["dp"]);
    net(x).square().sum().backward();
    for (size_t i = 0; i < net.parameters().size(); ++i) {
      const Tensor parameter = net.parameters()[i];
      const autograd::Shard* const shard = autograd::shard_of(parameter);
      EXPECT_TRUE(are_near(shard->gather(parameter.grad()), whole.parameters()[i].grad(), 1e-5))
          << i;
    }
  });
  EXPECT_EQ(errors, no_errors(4));
}

// What a program does to a prepared tensor counts.
TEST(TensorParallelErrors, PreparedInputsAreWhatTheyAre) {
  struct Net : Module {
    Linear a{*this, "a", 4, 4, {.bias = false}};
    int way = 0;
    Tensor forward(const Tensor& input) const override {
      Tensor x = way == 0 ? input : input * 1;
      if (way == 0) mul_(input, 3);
      if (way == 1) x = mul_(x, 3);
      if (way == 2) input.register_hook([](const Tensor& gradient) { return gradient * 3; });
      if (way == 3) input.retain_grad();
      return a(way >= 2 ? input : x);
    }
  };
  Net whole;
  const NamedTensors state = whole.state_dict();
  for (int way = 0; way < 4; ++way) {
    whole.way = way;
    const Tensor x = any({4, 4}).requires_grad_();
    whole(x * 1).square().sum().backward();
    const auto errors = on_ranks(2, patient(), [&](Communicator& end) {
      Net net;
      net.way = way;
      net.load_state_dict(state);
      parallelize_module(net, end,
                         {{"a", ColwiseParallel{.output_layouts = Replicate()}},
                          {"", PrepareModuleInput{.input_layouts = {Shard(0)},
                                                  .desired_input_layouts = {Replicate()}}}});
      const Tensor mine = x.detach().narrow(0, 2 * end.rank(), 2).clone().requires_grad_();
      net(mine * 1).square().sum().backward();
      EXPECT_TRUE(are_near(mine.grad(), x.grad().narrow(0, 2 * end.rank(), 2), 1e-4)) << way;
    });
    EXPECT_EQ(errors, no_errors(2));
  }
}

// A part in a memory of its own: who writes to it doesn't write to the whole.
TEST(TensorParallelErrors, PartsAreNoViews) {
  for (const int size : {1, 2}) {
    const auto errors = on_ranks(size, patient(), [](Communicator& end) {
      const Tensor x = ones({4});
      mul_(redistribute(x, end, Replicate(), Shard(0)), 5);
      mul_(redistribute(x, end, Shard(0), Replicate()), 5);
      mul_(redistribute(x, end, Partial(), Shard(0)), 5);
      EXPECT_TRUE(same_bits(x, ones({4})));
      // Nothing is gathered where nothing is to be done.
      const Tensor uneven = ones({3, end.rank() == 0 ? 2 : 1});
      EXPECT_TRUE(redistribute(uneven, end, Shard(1), Shard(-1)).is_same(uneven));
    });
    EXPECT_EQ(errors, no_errors(size));
  }
}

// A function that is computed again drops the places that it dropped before.
TEST(TensorParallelErrors, PlacesAreDroppedAgain) {
  struct Dropped : Module {
    Tensor forward(const Tensor& x) const override {
      return autograd::checkpoint([](const Tensor& y) { return dropout(y, 0.5) * y; }, x);
    }
  };
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    Dropped net;
    parallelize_module(net, end, {{"", SequenceParallel{}}});
    const Tensor x = ones({50}).requires_grad_();
    const Tensor y = net(x);
    y.sum().backward();
    EXPECT_TRUE(same_bits(x.grad(), y.detach() * 2));
  });
  EXPECT_EQ(errors, no_errors(2));
}

// Half types stay, and so does a bias that something computes.
TEST(TensorParallelErrors, ABiasComesLate) {
  struct Twice : Module {
    Tensor forward(const Tensor& x) const override { return x * 2; }
  };
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    Linear layer(4, 3), whole(4, 3);
    whole.load_state_dict(layer.state_dict());
    parallelize_module(layer, end, {{"", RowwiseParallel{.input_layouts = Replicate()}}});
    whole.load_state_dict(
        {{"weight", autograd::shard_of(layer.weight)->gather(layer.weight.detach())},
         {"bias", layer.bias}});
    register_parametrization(layer, "bias", Twice());
    register_parametrization(whole, "bias", Twice());
    const Tensor x = any({2, 4});
    EXPECT_TRUE(are_near(layer(x), whole(x), 1e-6));
    const Autocast autocast(bf16);
    EXPECT_EQ(layer(x).dtype(), whole(x).dtype());
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A rank without rows has the norm that the others have, in their dtype.
TEST(TensorParallelErrors, NormsAreOfAllRanks) {
  const auto errors = on_ranks(3, patient(), [](Communicator& end) {
    Linear layer(4, 2);
    layer.to(f64);
    parallelize_module(layer, end, {{"", ColwiseParallel{.output_layouts = Replicate()}}});
    layer(any({3, 4}).to(f64)).square().sum().backward();
    for (const double norm_type : {0.0, 1.0, 2.0, std::numeric_limits<double>::infinity()}) {
      const Tensor norm = optim::clip_grad_norm_(layer.parameters(), 1e9, norm_type);
      const Tensor all = end.all_gather(norm);
      EXPECT_EQ(norm.dtype(), f64);
      EXPECT_TRUE(same_bits(all[0], all[2]));
    }
  });
  EXPECT_EQ(errors, no_errors(3));
}

}  // namespace
}  // namespace aorta::nn
