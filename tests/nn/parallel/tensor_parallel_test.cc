// Layers divided among ranks that are threads, against the same network on one.
#include <aorta/aorta.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/shard.h>
#include <aorta/nn/parallel/device_mesh.h>
#include <aorta/nn/parallel/distributed_data_parallel.h>
#include <aorta/nn/parallel/fully_shard.h>
#include <aorta/tests/nn/parallel/llama.h>
#include <aorta/tests/nn/parallel/ranks.h>
#include <aorta/tests/same_bits.h>

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <optional>

namespace aorta::nn {
namespace {

NamedTensors copied(const NamedTensors& state) {
  NamedTensors copy;
  for (const auto& [name, tensor] : state) copy.emplace_back(name, tensor.clone());
  return copy;
}

void expect_near(const NamedTensors& found, const NamedTensors& wanted, double tolerance) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, wanted[i].first);
    EXPECT_TRUE(are_near(found[i].second, wanted[i].second, tolerance)) << wanted[i].first;
  }
}

struct Trained {
  NamedTensors weights;
  std::vector<double> losses, norms;
  NamedTensors gradients;  // of the first step
};

// What `steps` of AdamW on one rank give, of batches that are `parts` behind one another.
Trained trained_whole(int steps, int parts = 1) {
  Trained result;
  Llama net = llama(0);
  optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
  for (int step = 0; step < steps; ++step) {
    std::vector<Tensor> words;
    for (int part = 0; part < parts; ++part) words.push_back(texts(10 * step + part));
    optimizer.zero_grad();
    const Tensor loss = next_word_loss(net, cat(words));
    loss.backward();
    if (step == 0)
      for (const auto& [name, parameter] : net.named_parameters())
        result.gradients.emplace_back(name, parameter.grad().clone());
    result.norms.push_back(optim::clip_grad_norm_(net.parameters(), 0.5).item<double>());
    optimizer.step();
    result.losses.push_back(loss.item<double>());
  }
  result.weights = copied(net.state_dict());
  return result;
}

// The gradient of the whole parameter.
Tensor whole_gradient(const Tensor& parameter) {
  const auto* const shard = autograd::shard_of(parameter);
  return shard ? shard->gather(parameter.grad()) : parameter.grad();
}

TEST(TensorParallel, IsTheWholeNetwork) {
  constexpr int kSteps = 3;
  const Trained wanted = trained_whole(kSteps);
  for (const int size : {1, 2, 3, 6}) {
    for (const ParallelPlan* const plan : {&kWholeBetween, &kRowsBetween}) {
      SCOPED_TRACE(std::to_string(size) + (plan == &kRowsBetween ? " with rows" : ""));
      const auto errors = on_ranks(size, patient(), [&](Communicator& end) {
        Llama net = llama(static_cast<uint64_t>(end.rank()));  // all take rank 0's
        optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
        parallelize_module(net, end, *plan);
        for (int step = 0; step < kSteps; ++step) {
          optimizer.zero_grad();
          const Tensor loss = next_word_loss(net, texts(10 * step));
          loss.backward();
          if (step == 0) {
            size_t i = 0;
            for (const auto& [name, parameter] : net.named_parameters()) {
              const auto& [wanted_name, gradient] = wanted.gradients[i++];
              EXPECT_EQ(name, wanted_name);
              EXPECT_TRUE(are_near(whole_gradient(parameter), gradient, 2e-6)) << name;
            }
          }
          EXPECT_NEAR(loss.item<double>(), wanted.losses[static_cast<size_t>(step)], 1e-5);
          EXPECT_NEAR(optim::clip_grad_norm_(net.parameters(), 0.5).item<double>(),
                      wanted.norms[static_cast<size_t>(step)], 1e-5);
          optimizer.step();
        }
        const NamedTensors whole = net.full_state_dict();
        EXPECT_EQ(whole.empty(), end.rank() != 0);
        if (end.rank() == 0) expect_near(whole, wanted.weights, 1e-4);
      });
      EXPECT_EQ(errors, no_errors(size));
    }
  }
}

// What a step of two blocks calls. Attention's three layers share one gradient's sum, and so do the
// two gates.
TEST(TensorParallel, CallsWhatItMust) {
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    Llama net = llama(0);
    parallelize_module(net, end, kRowsBetween);
    using Counts = std::map<Collective, int>;
    const auto called = [&](const std::function<void()>& work) {
      const size_t before = end.records().size();
      work();
      Counts count;
      const std::vector<CollectiveRecord> records = end.records();
      for (size_t i = before; i < records.size(); ++i) {
        ++count[records[i].collective];
        EXPECT_NE(records[i].subject, "");
      }
      return count;
    };
    Tensor loss;
    // Into each half of a block, and into the last layer, whose output is gathered too.
    EXPECT_EQ(
        called([&] { loss = next_word_loss(net, texts(0)); }),
        (Counts{{Collective::all_gather, 2 * 2 + 1 + 1}, {Collective::reduce_scatter, 1 + 2 * 2}}));
    // Back again, and the gradients of 5 norms' weights and biases and of the biases of wo and w2.
    EXPECT_EQ(called([&] { loss.backward(); }), (Counts{{Collective::reduce_scatter, 2 * 2 + 1},
                                                        {Collective::all_gather, 1 + 2 * 2},
                                                        {Collective::all_reduce, 5 * 2 + 2 * 2}}));
    const NoGradGuard no_grad;
    EXPECT_EQ(called([&] { net(texts(0)); }).size(), 2U);
  });
  EXPECT_EQ(errors, no_errors(2));
}

TEST(TensorParallel, DividesBatchesToo) {
  const Trained wanted = trained_whole(2, 2);
  for (const bool sharded : {false, true}) {
    SCOPED_TRACE(sharded);
    const auto errors = on_ranks(4, patient(), [&](Communicator& end) {
      const DeviceMesh mesh(end, {2, 2}, {"dp", "tp"});
      Communicator &dp = mesh["dp"], &tp = mesh["tp"];
      Llama net = llama(static_cast<uint64_t>(end.rank()));
      parallelize_module(net, tp, kRowsBetween);
      std::optional<DistributedDataParallel<Llama>> parallel;
      if (sharded) {
        for (Module* const block : net.layers.children()) fully_shard(*block, dp);
        fully_shard(net, dp);
      } else {
        parallel.emplace(net, dp);
      }
      optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
      for (int step = 0; step < 2; ++step) {
        const Tensor words = texts(10 * step + dp.rank());
        optimizer.zero_grad();
        const Tensor scores = sharded ? net(words) : (*parallel)(words);
        cross_entropy(scores.flatten(0, 1), words.roll({-1}, {1}).flatten()).backward();
        EXPECT_NEAR(optim::clip_grad_norm_(net.parameters(), 0.5).item<double>(),
                    wanted.norms[static_cast<size_t>(step)], 1e-5);
        optimizer.step();
      }
      const NamedTensors whole = net.full_state_dict();
      const State state = optimizer.full_state();
      EXPECT_EQ(whole.empty(), sharded ? end.rank() != 0 : tp.rank() != 0);
      if (end.rank() == 0) {
        expect_near(whole, wanted.weights, 1e-4);
        EXPECT_EQ(state.tensors().at("state.0.exp_avg").shape(), (Shape{11, 12}));
      }
    });
    EXPECT_EQ(errors, no_errors(4));
  }
}

// A state of whole tensors goes into any number of parts, and comes out the same.
TEST(TensorParallel, StatesAreWhole) {
  for (const int size : {2, 3}) {
    const auto errors = on_ranks(size, patient(), [&](Communicator& end) {
      Llama net = llama(0);
      parallelize_module(net, end, kRowsBetween);
      const NamedTensors other = llama(9).state_dict();
      net.load_state_dict(other);
      const NamedTensors whole = net.full_state_dict();
      for (size_t i = 0; i < whole.size(); ++i)
        EXPECT_TRUE(same_bits(whole[i].second, other[i].second)) << whole[i].first;
      optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
      next_word_loss(net, texts(0)).backward();
      optimizer.step();
      const State state = optimizer.full_state();
      if (end.rank() != 0) return;
      Llama one = llama(0);
      optim::AdamW alone(one.parameters(), {.lr = 0.01});
      alone.load_state_dict(state);
      EXPECT_TRUE(same_bits(alone.state().tensors().at("state.3.exp_avg"),
                            state.tensors().at("state.3.exp_avg")));
    });
    EXPECT_EQ(errors, no_errors(size));
  }
}

// Where one rank's part of a gradient isn't finite, no rank steps.
TEST(TensorParallel, AllRanksLeaveAStepOut) {
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    Linear layer(3, 4);
    parallelize_module(layer, end, {{"", ColwiseParallel{}}});
    optim::SGD optimizer(layer.parameters(), {.lr = 0.1});
    optim::GradScaler scaler;
    scaler.scale(layer(ones({1, 3})).sum()).backward();
    if (end.rank() == 1) layer.weight.grad().fill_(std::numeric_limits<double>::infinity());
    const Tensor before = layer.weight.detach().clone();
    scaler.step(optimizer);
    EXPECT_TRUE(same_bits(layer.weight.detach(), before));
  });
  EXPECT_EQ(errors, no_errors(2));
}

// Each rank drops places of its own, and what all compute afterwards drops the same ones.
TEST(TensorParallel, RanksDropPlacesOfTheirOwn) {
  const auto errors = on_ranks(2, patient(), [](Communicator& end) {
    Generator random(5);
    const DefaultGeneratorScope scope(random);
    Dropout own, common;
    parallelize_module(own, end, {{"", SequenceParallel{}}});
    const auto ranks = [&](const Tensor& x) { return end.all_gather(x.view({1, -1})); };
    const Tensor first = ranks(own(ones({40}))), second = ranks(own(ones({40})));
    EXPECT_FALSE(same_bits(first[0], first[1]));
    EXPECT_FALSE(same_bits(first[0], second[0]));
    // Also where the ranks' rows are not as many.
    own(ones({1000 * (end.rank() + 1)}));
    const Tensor all = ranks(common(ones({40})));
    EXPECT_TRUE(same_bits(all[0], all[1]));
    own.eval();
    EXPECT_TRUE(same_bits(own(ones({40})), ones({40})));
  });
  EXPECT_EQ(errors, no_errors(2));
}

struct TiedWords : Module {
  Embedding words{*this, "words", 5, 4};
  Linear scores{*this, "scores", 4, 5};
  TiedWords() { scores.weight = words.weight; }
  Tensor forward(const Tensor& x) const override {
    return autograd::checkpoint([this](const Tensor& y) { return scores(y); }, words(x));
  }
};

// One weight that is a table and a layer, a padding word, and a layer that is computed twice.
TEST(TensorParallel, AWeightOfTwoLayers) {
  TiedWords whole;
  whole.words.options.padding_idx = 3;
  const Tensor x = tensor({0, 1, 2, 3, 4, 4, 3, 0}, {.dtype = i64}).view({2, 4});
  square(whole(x)).sum().backward();
  const Tensor wanted = whole.words.weight.grad();
  const NamedTensors state = whole.state_dict();
  const auto errors = on_ranks(2, patient(), [&](Communicator& end) {
    TiedWords net;
    net.load_state_dict(state);
    net.words.options.padding_idx = -2;
    parallelize_module(net, end,
                       {{"words", RowwiseParallel{.input_layouts = Replicate()}},
                        {"scores", ColwiseParallel{.output_layouts = Replicate()}}});
    EXPECT_TRUE(net.words.weight.is_same(net.scores.weight));
    square(net(x)).sum().backward();
    EXPECT_TRUE(are_near(whole_gradient(net.words.weight), wanted, 1e-5));
    EXPECT_EQ(error_of([&] { net(x + 1); }).find("words: embedding: "), 0U);
  });
  EXPECT_EQ(errors, no_errors(2));
}

// A table by columns into a layer by rows, in every way that its output may lie.
TEST(TensorParallel, OutputsLieAsTheyAreWanted) {
  Sequential whole(Embedding(5, 7), Linear(7, 4));
  const NamedTensors state = whole.state_dict();
  const Tensor x = arange(6) % 5, wanted = whole(x).detach();
  square(whole(x)).sum().backward();
  const Tensor bias = whole.parameters()[2].grad();
  const auto errors = on_ranks(2, patient(), [&](Communicator& end) {
    for (const Placement& to :
         {Placement(Replicate()), Placement(Shard(0)), Placement(Shard(-1))}) {
      Sequential net(Embedding(5, 7), Linear(7, 4));
      net.load_state_dict(state);
      parallelize_module(net, end,
                         {{"0", ColwiseParallel{}}, {"1", RowwiseParallel{.output_layouts = to}}});
      const Tensor y = net(x);
      EXPECT_TRUE(are_near(y, redistribute(wanted, end, Replicate(), to), 1e-5)) << to_string(to);
      square(y).sum().backward();
      EXPECT_TRUE(are_near(net.parameters()[2].grad(), bias, 1e-4)) << to_string(to);
    }
    Sequential prepared(Linear(7, 4), Flatten());
    const Tensor weight = prepared.parameters()[0].detach().clone();
    parallelize_module(prepared, end,
                       {{"0", ColwiseParallel{}},
                        {"", PrepareModuleOutput{.output_layouts = {Shard(1)},
                                                 .desired_output_layouts = {Shard(0)}}}});
    EXPECT_EQ(prepared(ones({6, 7})).shape(), (Shape{3, 4}));
  });
  EXPECT_EQ(errors, no_errors(2));
}

}  // namespace
}  // namespace aorta::nn
