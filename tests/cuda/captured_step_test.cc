// Steps that are captured, against the same steps without a graph: the same kernels on the same
// numbers, so the same bits.
#include <aorta/autograd/backward.h>
#include <aorta/autograd/checkpoint.h>
#include <aorta/autograd/grad_mode.h>
#include <aorta/core/dispatch/autocast.h>
#include <aorta/core/dispatch/capture.h>
#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/closeness.h>
#include <aorta/core/ops/cross_entropy.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/embedding.h>
#include <aorta/core/ops/indexing.h>
#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/loss.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/normalization.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/random.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/optim/adadelta.h>
#include <aorta/optim/adagrad.h>
#include <aorta/optim/adam.h>
#include <aorta/optim/adamax.h>
#include <aorta/optim/asgd.h>
#include <aorta/optim/averaging.h>
#include <aorta/optim/clip.h>
#include <aorta/optim/grad_scaler.h>
#include <aorta/optim/nadam.h>
#include <aorta/optim/radam.h>
#include <aorta/optim/rmsprop.h>
#include <aorta/optim/rprop.h>
#include <aorta/optim/sgd.h>
#include <aorta/tests/cuda/captured_step.h>
#include <aorta/tests/error_text.h>

#include <algorithm>
#include <limits>

using namespace aorta;
using namespace aorta::gpu_test;

namespace {

/// 12 numbers to 5 classes.
struct Net {
  Tensor w1 = numbers({16, 12}, 1).mul_(0.3).requires_grad_();
  Tensor b1 = numbers({16}, 2).mul_(0.1).requires_grad_();
  Tensor scale = ones({16}, {.device = "cuda"}).requires_grad_();
  Tensor shift = zeros({16}, {.device = "cuda"}).requires_grad_();
  Tensor mean = zeros({16}, {.device = "cuda"}), var = ones({16}, {.device = "cuda"});
  Tensor w2 = numbers({5, 16}, 3).mul_(0.3).requires_grad_();

  std::vector<Tensor> parameters() const { return {w1, b1, scale, shift, w2}; }
  std::vector<Tensor> everything() const { return {w1, b1, scale, shift, w2, mean, var}; }
  Tensor operator()(const Tensor& x) const {
    const Tensor hidden = linear(x, w1, b1);
    const Tensor normal = batch_norm(hidden, mean, var, scale, shift, {.training = true});
    return linear(dropout(relu(normal), 0.25), w2);
  }
};

void add_state(const optim::Optimizer& optimizer, std::vector<Tensor>& to) {
  const State state = optimizer.state();
  for (const auto& [name, held] : state.tensors()) to.push_back(held.clone());
}

template <class Make>
void expect_optimizer_follows(const char* name, const Make& make) {
  SCOPED_TRACE(name);
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({40}, 1).requires_grad_(), q = numbers({3, 5}, 2).requires_grad_();
    auto optimizer = make(std::vector<Tensor>{p, q});
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      optimizer->zero_grad();
      const Tensor loss = sum(square(p - x)) + sum(exp(q));
      loss.backward();
      optimizer->step();
      return loss;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      optimizer->set_lr(0.01 / (1 + i));  // as a schedule does
      results.push_back(step(numbers({40}, static_cast<uint64_t>(10 + i))));
    }
    results.insert(results.end(), {p, q});
    add_state(*optimizer, results);
    return results;
  });
}

template <class Optimizer, class Options>
auto maker(const Options& options) {
  return [options](const std::vector<Tensor>& parameters) {
    return std::make_unique<Optimizer>(parameters, options);
  };
}

}  // namespace

// Dropout, batch norm's statistics, a loss of classes, clipping, Adam's step counts and a schedule.
TEST_F(CapturedStep, TrainsAsWithoutAGraph) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Net net;
    optim::Adam optimizer(net.parameters(), {.lr = 0.01});
    auto step = maybe_captured(graphs, [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(net(x), y);
      loss.backward();
      optim::clip_grad_norm_(net.parameters(), 0.5);
      optimizer.step();
      return loss;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      const uint64_t seed = static_cast<uint64_t>(20 + i);
      results.push_back(step(numbers({9, 12}, seed), classes(9, 5, seed)));
      optimizer.set_lr(0.01 * std::pow(0.9, i));
    }
    for (const Tensor& tensor : net.everything()) results.push_back(tensor);
    for (const Tensor& parameter : net.parameters()) results.push_back(parameter.grad());
    return results;
  });
}

TEST_F(CapturedStep, EveryFusedOptimizerGoesOn) {
  using namespace optim;
  expect_optimizer_follows("sgd", maker<SGD>(SGDOptions{.lr = 0.01}));
  expect_optimizer_follows(
      "momentum", maker<SGD>(SGDOptions{.lr = 0.01, .momentum = 0.9, .weight_decay = 0.1}));
  expect_optimizer_follows("nesterov",
                           maker<SGD>(SGDOptions{.lr = 0.01, .momentum = 0.9, .nesterov = true}));
  expect_optimizer_follows("adam", maker<Adam>(AdamOptions{.lr = 0.01}));
  expect_optimizer_follows("adamw", maker<AdamW>(AdamWOptions{.lr = 0.01, .amsgrad = true}));
  expect_optimizer_follows(
      "rmsprop", maker<RMSprop>(RMSpropOptions{.lr = 0.01, .momentum = 0.5, .centered = true}));
  expect_optimizer_follows("adagrad", maker<Adagrad>(AdagradOptions{.lr = 0.01, .lr_decay = 0.1}));
  expect_optimizer_follows("adadelta", maker<Adadelta>(AdadeltaOptions{.lr = 0.5}));
  expect_optimizer_follows("adamax", maker<Adamax>(AdamaxOptions{.lr = 0.01}));
  expect_optimizer_follows("nadam", maker<NAdam>(NAdamOptions{.lr = 0.01}));
  expect_optimizer_follows("radam", maker<RAdam>(RAdamOptions{.lr = 0.01}));
  expect_optimizer_follows("rprop", maker<Rprop>(RpropOptions{.lr = 0.01}));
  expect_optimizer_follows("asgd", maker<ASGD>(ASGDOptions{.lr = 0.01}));
}

// A batch that is shorter has a graph of its own, and a leaf's gradient is the last call's.
TEST_F(CapturedStep, AnInfiniteLossChangesNothing) {
  const Tensor p = numbers({40}, 1).requires_grad_();
  optim::Adam optimizer({p}, {.lr = 0.01});
  auto step = capture([&](const Tensor& x) {
    optimizer.zero_grad();
    const Tensor loss = sum(square(p - x));
    loss.backward();
    optimizer.step_if_finite(loss);
    return loss;
  });
  const auto everything = [&] {
    std::vector<Tensor> all = {p.detach().clone()};
    add_state(optimizer, all);
    return all;
  };
  const auto same = [](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const Tensor& x, const Tensor& y) { return equal(x, y); });
  };
  const Tensor good = numbers({40}, 2), bad = good.clone();
  bad.select(0, 3).fill_(std::numeric_limits<double>::infinity());
  for (int i = 0; i < kCalls; ++i) {
    const std::vector<Tensor> before = everything();
    EXPECT_FALSE(isfinite(step(bad)).item<bool>());
    const std::vector<Tensor> after = everything();
    EXPECT_TRUE(equal(after[0], before[0])) << i;
    // The first step makes the state.
    EXPECT_TRUE(i == 0 || same(after, before)) << i;
    step(good);
    EXPECT_FALSE(same(everything(), after)) << i;
  }
}

TEST_F(CapturedStep, EachKindOfInputsHasAGraph) {
  int graphs_made = 0;
  expect_the_same_with_graphs([&](bool graphs) {
    const Net net;
    optim::SGD optimizer(net.parameters(), {.lr = 0.1});
    auto captured = capture([&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(net(x), y);
      loss.backward();
      optimizer.step();
      return std::vector<Tensor>{loss, net.b1};
    });
    const auto plain = [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      const Tensor loss = cross_entropy(net(x), y);
      loss.backward();
      optimizer.step();
      return std::vector<Tensor>{loss, net.b1};
    };
    std::vector<Tensor> results;
    for (int i = 0; i < 2 * kCalls; ++i) {
      const int64_t batch = i % 3 == 2 ? 4 : 9;
      const uint64_t seed = static_cast<uint64_t>(30 + i);
      const Tensor x = numbers({batch, 12}, seed), y = classes(batch, 5, seed);
      for (const Tensor& result : graphs ? captured(x, y) : plain(x, y))
        results.push_back(result.detach().clone());
      results.push_back(net.w1.grad().clone());
    }
    if (graphs) graphs_made = captured.graphs();
    return results;
  });
  EXPECT_EQ(graphs_made, 2);
}

TEST_F(CapturedStep, RandomNumbersAreThoseOfAStepWithoutAGraph) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor q = numbers({1, 2, 6, 8}, 1);
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      const TensorOptions there{.device = "cuda"};
      const Tensor leaf = x.clone().requires_grad_();
      const Tensor attended = scaled_dot_product_attention(leaf, q, q, {.dropout_p = 0.3});
      sum(dropout(attended, 0.5)).backward();
      return std::vector<Tensor>{rand({5}, there),
                                 randn({7}, there),
                                 randint(0, 9, {6}, there),
                                 bernoulli_(empty({8}, there), 0.5),
                                 attended,
                                 leaf.grad()};
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      for (const Tensor& result : step(numbers({1, 2, 6, 8}, static_cast<uint64_t>(40 + i))))
        results.push_back(result.detach().clone());
    }
    results.push_back(rand({4}, {.device = "cuda"}));  // the generator stands where it would
    return results;
  });
}

// Its tables are made by the host, and lie with the graph.
TEST_F(CapturedStep, ImagesAreInterpolated) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor scale = numbers({2, 3, 4, 5}, 1).requires_grad_();
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      scale.set_grad({});
      const Tensor before = sum(x * 2.0);
      const Tensor larger = interpolate(
          x * scale, {.size = {7, 9}, .mode = InterpolateMode::bilinear, .align_corners = false});
      sum(square(larger)).backward();
      return larger + before;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      results.push_back(step(numbers({2, 3, 4, 5}, static_cast<uint64_t>(70 + i))));
      results.push_back(scale.grad().clone());
    }
    return results;
  });
}

// Numbers that the host makes, in memory that nothing else of the graph is given.
TEST_F(CapturedStep, RowsOfNumbersAreConstants) {
  const TensorOptions there{.device = "cuda"};
  auto step = capture([&](const Tensor& x) {
    const Tensor row = arange(6, there).to(f32) + linspace(0, 1, 6, there);
    const Tensor more = x + 1.0;
    return row + more * x;
  });
  for (int i = 0; i < kCalls; ++i) {
    const Tensor x = numbers({6}, static_cast<uint64_t>(70 + i));
    const Tensor row = arange(6, there).to(f32) + linspace(0, 1, 6, there);
    const Tensor more = x + 1.0;
    const Tensor wanted = row + more * x;
    EXPECT_TRUE(is_same(step(x), wanted));
  }
}

// What is written before a launch lies in no memory that the graph has used before: temporaries of
// its size come first.
TEST_F(CapturedStep, NumbersAndConstantsHaveMemoryOfTheirOwn) {
  constexpr int64_t kCount = 4096;  // 16 KiB, as numbers have
  expect_the_same_with_graphs([&](bool graphs) {
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      const Tensor before = sum(x * 2.0);
      const Tensor dropped = dropout(x, 0.5);
      const Tensor between = sum(x * 3.0);
      return before + dropped + between + arange(0.0, kCount, {.device = "cuda"});
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i)
      results.push_back(step(numbers({kCount}, static_cast<uint64_t>(80 + i))));
    return results;
  });
}

TEST_F(CapturedStep, AGeneratorOfOnesOwn) {
  expect_the_same_with_graphs([&](bool graphs) {
    Generator own(11);
    auto step = maybe_captured(
        graphs, [&](const Tensor& x) { return x + randn(x.shape(), {.device = "cuda"}, &own); });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) results.push_back(step(ones({6}, {.device = "cuda"})));
    return results;
  });
  auto step = capture([&](const Tensor& x) {
    Generator inner(11);
    return x + randn(x.shape(), {.device = "cuda"}, &inner);
  });
  const Tensor x = ones({6}, {.device = "cuda"});
  for (int i = 0; i < 3; ++i) step(x);
  EXPECT_EQ(
      error_of([&] { step(x); }),
      "random: a generator must live as long as the captured step that takes from it, got one "
      "that is gone");
}

TEST_F(CapturedStep, UnderAutocast) {
  for (const bool around : {false, true}) {
    expect_the_same_with_graphs([&](bool graphs) {
      const Net net;
      optim::AdamW optimizer(net.parameters(), {.lr = 0.01});
      std::optional<Autocast> outer;
      if (around) outer.emplace(bf16);
      auto step = maybe_captured(graphs, [&](const Tensor& x, const Tensor& y) {
        optimizer.zero_grad();
        Tensor loss;
        {
          const Autocast inner(bf16);
          loss = cross_entropy(net(x), y);
        }
        loss.backward();
        optimizer.step();
        return loss;
      });
      std::vector<Tensor> results;
      for (int i = 0; i < kCalls; ++i) {
        const uint64_t seed = static_cast<uint64_t>(50 + i);
        results.push_back(step(numbers({9, 12}, seed), classes(9, 5, seed)));
      }
      for (const Tensor& tensor : net.everything()) results.push_back(tensor);
      return results;
    });
  }
}

// By a scale that is too large for f16 at first, so that launches leave the step out, and then
// grows.
TEST_F(CapturedStep, LossesAreScaled) {
  int left_out = 0, grown = 0;
  expect_the_same_with_graphs([&](bool graphs) {
    const Net net;
    optim::SGD optimizer(net.parameters(), {.lr = 0.01, .momentum = 0.9});
    optim::GradScaler scaler(
        {.init_scale = 0x1p46, .backoff_factor = 1.0 / 32, .growth_interval = 2});
    auto step = maybe_captured(graphs, [&](const Tensor& x, const Tensor& y) {
      optimizer.zero_grad();
      Tensor loss;
      {
        const Autocast scope(f16);
        loss = cross_entropy(net(x), y);
      }
      scaler.scale(loss).backward();
      scaler.unscale_(optimizer);
      optim::clip_grad_norm_(net.parameters(), 0.5);
      scaler.step(optimizer);
      scaler.update();
      return loss;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < 2 * kCalls; ++i) {
      const uint64_t seed = static_cast<uint64_t>(60 + i);
      const double scale = scaler.get_scale();
      const Tensor before = net.w1.detach().clone();
      results.push_back(step(numbers({9, 12}, seed), classes(9, 5, seed)));
      const bool left = scaler.get_scale() < scale;
      EXPECT_EQ(equal(net.w1.detach(), before), left) << i;
      if (graphs && i > 2) left_out += left, grown += scaler.get_scale() > scale;
      results.push_back(full({}, scaler.get_scale()));
      results.push_back(full({}, scaler.state().get<int64_t>("growth_tracker")));
    }
    for (const Tensor& tensor : net.everything()) results.push_back(tensor);
    add_state(optimizer, results);
    return results;
  });
  EXPECT_GT(left_out, 0);
  EXPECT_GT(grown, 0);
}

TEST_F(CapturedStep, GradientsThatAreFilledWithZerosStay) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({20}, 1).requires_grad_();
    optim::SGD optimizer({p}, {.lr = 0.1});
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      optimizer.zero_grad(false);
      for (int part = 0; part < 2; ++part) sum(square(p - x)).backward();
      optimizer.step();
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      step(numbers({20}, static_cast<uint64_t>(60 + i)));
      results.push_back(p.detach().clone());
    }
    return results;
  });
}

// A step may end with zero_grad(): then no call leaves a gradient that a smaller batch, which runs
// as it is, would add to.
TEST_F(CapturedStep, AStepMayEndWithZeroGrad) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({20}, 1).requires_grad_();
    optim::SGD optimizer({p}, {.lr = 0.1});
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      const Tensor loss = mean(square(p - x));
      loss.backward();
      optimizer.step();
      optimizer.zero_grad();
      return loss;
    });
    std::vector<Tensor> results;
    for (int i = 0; i < 2 * kCalls; ++i) {
      results.push_back(step(numbers({i % 4 == 3 ? 2 : 3, 20}, static_cast<uint64_t>(60 + i))));
      EXPECT_FALSE(p.grad().defined()) << i;
    }
    results.push_back(p);
    return results;
  });
}

// What a step sets a gradient to, each call sets it to.
TEST_F(CapturedStep, AGradientThatIsSet) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({20}, 1).requires_grad_(), noise = numbers({20}, 2);
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      p.set_grad({});
      sum(p * x).backward();
      p.set_grad(p.grad() * noise);
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      step(numbers({20}, static_cast<uint64_t>(60 + i)));
      results.push_back(p.grad().clone());
    }
    return results;
  });
}

// The second pass of a checkpoint drops what the first has dropped, in each launch.
TEST_F(CapturedStep, ACheckpointDropsTheSame) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({40}, 1).requires_grad_();
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      p.set_grad({});
      const auto part = [](const Tensor& y) { return exp(dropout(y, 0.5)); };
      const Tensor once = autograd::checkpoint(part, dropout(p * x, 0.1));
      const Tensor twice = autograd::checkpoint(
          [&](const Tensor& y) { return autograd::checkpoint(part, dropout(y, 0.3)); }, once);
      sum(twice).backward();
      return std::vector<Tensor>{once, twice};
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      for (const Tensor& result : step(numbers({40}, static_cast<uint64_t>(60 + i)).mul_(0.1)))
        results.push_back(result.detach().clone());
      results.push_back(p.grad().clone());
    }
    results.push_back(rand({4}, {.device = "cuda"}));
    return results;
  });
}

TEST_F(CapturedStep, GradientsAreClippedByValue) {
  expect_the_same_with_graphs([&](bool graphs) {
    const Tensor p = numbers({20}, 1).requires_grad_();
    auto step = maybe_captured(graphs, [&](const Tensor& x) {
      p.set_grad({});
      sum(p * x).backward();
      optim::clip_grad_value_({p}, 0.5);
    });
    std::vector<Tensor> results;
    for (int i = 0; i < kCalls; ++i) {
      step(numbers({20}, static_cast<uint64_t>(60 + i)));
      results.push_back(p.grad().clone());
      EXPECT_LE(amax(abs(p.grad())).item<float>(), 0.5f);
    }
    return results;
  });
}

// Without zero_grad() a call adds to the gradient; one that was taken away is no longer added to.
TEST_F(CapturedStep, AGradientThatIsAddedToMustStay) {
  const Tensor p = numbers({20}, 1).requires_grad_(), x = numbers({20}, 2);
  auto step = capture([&](const Tensor& input) { sum(p * input).backward(); });
  for (int i = 0; i < 5; ++i) step(x);
  EXPECT_TRUE(is_same(p.grad(), x * 5.0));
  p.set_grad({});
  EXPECT_EQ(
      error_of([&] { step(x); }),
      "backward: a captured step must begin with zero_grad(), or the gradient that it adds to "
      "stay, got another gradient");
}

// What the host says of memory: a graph of before that needs the old values is told.
TEST_F(CapturedStep, VersionsGoOn) {
  const Tensor p = numbers({20}, 1).requires_grad_(), x = numbers({20}, 2);
  optim::SGD optimizer({p}, {.lr = 0.1});
  auto step = capture([&](const Tensor& input) {
    optimizer.zero_grad();
    sum(p * input).backward();
    optimizer.step();
  });
  for (int i = 0; i < 3; ++i) step(x);
  const Tensor loss = sum(square(p));
  step(x);
  EXPECT_NE(error_of([&] { loss.backward(); }), kNoError);
}

// Buffers too, which replicas on other devices copy where the version is another.
TEST_F(CapturedStep, VersionsOfBuffersGoOn) {
  const TensorOptions there{.device = "cuda"};
  const Tensor mean = zeros({5}, there), var = ones({5}, there), total = zeros({5}, there),
               last = zeros({9, 5}, there), filled = zeros({5}, there), drawn = zeros({5}, there),
               rows = zeros({5}, there), dropped = ones({5}, there);
  const Tensor index = arange(5, there);
  auto step = capture([&](const Tensor& x) {
    total.add_(x[0]);
    last.copy_(x);
    filled.zero_();
    uniform_(drawn);
    index_add_(rows, 0, index, x[1]);
    dropout_(dropped, 0.5);
    return batch_norm(x, mean, var, {}, {}, {.training = true});
  });
  const Tensor x = numbers({9, 5}, 1);
  for (int i = 0; i < 3; ++i) step(x);
  const std::vector<Tensor> buffers{mean, var, total, last, filled, drawn, rows, dropped};
  for (int i = 0; i < 2; ++i) {
    std::vector<uint32_t> versions;
    for (const Tensor& buffer : buffers) versions.push_back(buffer.version());
    step(x);
    for (size_t k = 0; k < buffers.size(); ++k) EXPECT_GT(buffers[k].version(), versions[k]) << k;
  }
}

// What a graph has is given back with it; a gradient that is still there keeps its own memory.
TEST_F(CapturedStep, MemoryIsGivenBack) {
  const Tensor x = numbers({300, 12}, 1), y = classes(300, 5, 2);
  const Net net;
  const auto work = [&] {
    auto step = capture([&](const Tensor& a, const Tensor& b) {
      for (const Tensor& parameter : net.parameters()) parameter.set_grad({});
      const Tensor loss = cross_entropy(net(a), b);
      loss.backward();
      return loss;
    });
    for (int i = 0; i < 5; ++i) step(x, y);
    EXPECT_EQ(step.graphs(), 1);
    device().empty_cache();  // not the graph's
    const Tensor before = step(x, y);
    EXPECT_TRUE(isfinite(before).all().item<bool>());
  };
  work();
  const Tensor kept = net.w1.grad().clone();
  EXPECT_TRUE(is_same(net.w1.grad(), kept));
  for (const Tensor& parameter : net.parameters()) parameter.set_grad({});
  const int64_t in_use = device().memory_stats(0).bytes_in_use;
  work();
  for (const Tensor& parameter : net.parameters()) parameter.set_grad({});
  EXPECT_EQ(device().memory_stats(0).bytes_in_use, in_use);
}

TEST_F(CapturedStep, OnTheCpuItIsCalledAsItIs) {
  int calls = 0;
  auto step = capture([&](const Tensor& x) {
    ++calls;
    return x * 2.0;
  });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(is_same(step(ones({3})), full({3}, 2.0)));
  EXPECT_EQ(calls, 5);
  EXPECT_EQ(step.graphs(), 0);
}
