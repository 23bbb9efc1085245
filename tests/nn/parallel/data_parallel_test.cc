// DataParallel on logical CPU devices, against the same module on one device with the whole batch,
// in f64: sums over the batch are added in another order.
#include <aorta/aorta.h>
#include <aorta/nn/parallel/data_parallel.h>
#include <aorta/tests/error_text.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;

constexpr double kBound = 1e-13;  // of the largest number

struct Net : Module {
  Linear hidden{*this, "hidden", 4, 6};
  Linear output{*this, "output", 6, 3};
  Tensor forward(const Tensor& x) const override { return output(tanh(hidden(x))); }
};

template <class M>
M double_precision(M module) {
  module.to(f64);
  return module;
}

std::vector<Device> cpus(int count) {
  std::vector<Device> devices;
  for (int i = 0; i < count; ++i) devices.push_back(Device(DeviceType::cpu, i));
  return devices;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.numel() == 0) return 0;
  return max(abs(a - b)).item<double>() / std::max(1.0, max(abs(b)).item<double>());
}

void expect_same_gradients(const Module& found, const Module& wanted) {
  const NamedTensors a = found.named_parameters(), b = wanted.named_parameters();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_TRUE(a[i].second.grad().defined()) << a[i].first;
    EXPECT_LT(largest_difference(a[i].second.grad(), b[i].second.grad()), kBound) << a[i].first;
  }
}

// Any batch size: even parts, a last one that is smaller, devices that get none.
TEST(DataParallel, IsTheModuleOnTheWholeBatch) {
  manual_seed(1);
  for (const int devices : {1, 2, 3, 4}) {
    for (const int64_t batch : {1, 2, 3, 4, 5, 7, 12}) {
      Net net = double_precision(Net());
      Net whole = clone(net);
      const DataParallel parallel(net, cpus(devices));
      const Tensor x = randn({batch, 4}, {.dtype = f64}), y = randn({batch, 3}, {.dtype = f64});
      const Tensor output = parallel(x), wanted = whole(x);
      EXPECT_EQ(output.device(), Device("cpu"));
      EXPECT_LT(largest_difference(output.detach(), wanted.detach()), kBound);
      mse_loss(output, y).backward();
      mse_loss(wanted, y).backward();
      expect_same_gradients(net, whole);
    }
  }
}

TEST(DataParallel, AnEmptyBatchIsOnePart) {
  Net net;
  const DataParallel parallel(net, cpus(2));
  EXPECT_EQ(parallel(zeros({0, 4})).shape(), (Shape{0, 3}));
}

TEST(DataParallel, OneDeviceTwice) {
  Net net = double_precision(Net());
  Net whole = clone(net);
  const DataParallel parallel(net, {"cpu", "cpu", "cpu:1"});
  const Tensor x = randn({8, 4}, {.dtype = f64});
  sum(square(parallel(x))).backward();
  sum(square(whole(x))).backward();
  expect_same_gradients(net, whole);
}

TEST(DataParallel, TrainsAsOneDeviceDoes) {
  Net net = double_precision(Net());
  Net whole = clone(net);
  const DataParallel parallel(net, cpus(3));
  optim::Adam of_net(net.parameters(), {.lr = 0.05}), of_whole(whole.parameters(), {.lr = 0.05});
  const Tensor x = randn({10, 4}, {.dtype = f64}), y = randn({10, 3}, {.dtype = f64});
  for (int step = 0; step < 10; ++step) {
    const Tensor loss = mse_loss(parallel(x), y), wanted = mse_loss(whole(x), y);
    EXPECT_NEAR(loss.item<double>(), wanted.item<double>(), 1e-10) << step;
    of_net.zero_grad();
    of_whole.zero_grad();
    loss.backward();
    wanted.backward();
    of_net.step();
    of_whole.step();
  }
}

TEST(DataParallel, TheSameBitsForAnyNumberOfThreads) {
  const int before = get_num_threads();
  Net net;
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({600, 4});
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 3, 4}) {
    set_num_threads(threads);
    net.zero_grad();
    sum(square(parallel(x))).backward();
    gradients.push_back(net.hidden.weight.grad().to_vector<float>());
  }
  set_num_threads(before);
  for (const auto& others : gradients) EXPECT_EQ(others, gradients[0]);
}

// Gradients of 1, 2^-24 and 2^-24 in three parts: (1 + 2^-24) + 2^-24 is 1, from the right it
// isn't.
TEST(DataParallel, AddsGradientsInTheOrderOfTheParts) {
  struct Scale : Module {
    Parameter weight{*this, "weight", ones({1})};
    Tensor forward(const Tensor& x) const override { return x * weight; }
  } net;
  const DataParallel parallel(net, cpus(3));
  const float small = std::ldexp(1.0f, -24);
  const auto gradient = [&](const std::vector<float>& values) {
    net.zero_grad();
    sum(parallel(tensor(values).view({3, 1}))).backward();
    return net.weight.grad().item<float>();
  };
  EXPECT_EQ(gradient({1, small, small}), 1);
  EXPECT_EQ(gradient({small, small, 1}), 1 + 2 * small);
}

TEST(DataParallel, GradientsOfInputs) {
  Net net = double_precision(Net());
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({5, 4}, {.dtype = f64, .requires_grad = true});
  const Tensor again = x.detach().clone().requires_grad_();
  sum(square(parallel(x * 2))).backward();
  sum(square(net(again * 2))).backward();
  EXPECT_LT(largest_difference(x.grad(), again.grad()), kBound);
}

// The encoder's gradient flows through both branches, and a parameter that is used nowhere has one
// of zeros.
TEST(DataParallel, TiedAndUnusedParameters) {
  struct Tied : Module {
    Linear first{*this, "first", 4, 4};
    Linear second{*this, "second", 4, 4};
    Linear unused{*this, "unused", 2, 2};
    Tied() { second.weight = first.weight; }
    Tensor forward(const Tensor& x) const override { return second(tanh(first(x))); }
  };
  Tied net = double_precision(Tied());
  Tied whole = clone(net);
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({6, 4}, {.dtype = f64});
  sum(square(parallel(x))).backward();
  sum(square(whole(x))).backward();
  EXPECT_LT(largest_difference(net.first.weight.grad(), whole.first.weight.grad()), kBound);
  EXPECT_LT(largest_difference(net.second.bias.grad(), whole.second.bias.grad()), kBound);
  EXPECT_EQ(net.unused.weight.grad().to_vector<double>(), std::vector<double>(4, 0));
}

struct Several : ModuleOf<Several> {
  struct Input {
    Tensor x;
    std::map<std::string, Tensor> more;
  };
  struct Output {
    Tensor sum;
    std::vector<std::pair<Tensor, Tensor>> pairs;
    std::string text;
    std::optional<Tensor> nothing;
  };
  Parameter weight{*this, "weight", ones({1}, {.dtype = f64})};
  Output forward(const Input& input, const std::vector<Tensor>& list, double factor,
                 const std::string& text, const Tensor& shift) const {
    const Tensor total = input.x * weight * factor + input.more.at("y") + list.at(0) + shift;
    return {total, {{total * 2, mean(total)}}, text + to_string(input.x.device()), {}};
  }
};

TEST(DataParallel, NestedInputsAndOutputs) {
  Several net;
  const DataParallel parallel(net, cpus(2));
  const Tensor x = arange(10, {.dtype = f64}).view({5, 2}).requires_grad_();
  const Tensor shift = tensor({0.5}).to(f64).view({}).detach().requires_grad_();
  const Several::Input input{x, {{"y", ones({5, 1}, {.dtype = f64})}}};
  const auto output =
      parallel(input, Tensors{full({5, 2}, 3.0, {.dtype = f64})}, 2.0, "on ", shift);
  EXPECT_EQ(output.sum.to_vector<double>(), (x.detach() * 2 + 4.5).to_vector<double>());
  ASSERT_EQ(output.pairs.size(), 1u);
  EXPECT_EQ(output.pairs[0].first.shape(), (Shape{5, 2}));
  // One number a part becomes a list.
  EXPECT_EQ(output.pairs[0].second.to_vector<double>(), (std::vector<double>{9.5, 19.5}));
  EXPECT_EQ(output.text, "on cpu");
  EXPECT_FALSE(output.nothing.has_value());
  (sum(output.sum) + sum(output.pairs[0].second * tensor({1.0, 10.0}, {.dtype = f64}))).backward();
  // A part's mean is that of 6 and of 4 numbers.
  EXPECT_LT(
      largest_difference(
          x.grad().select(1, 0),
          tensor({2 + 2. / 6, 2 + 2. / 6, 2 + 2. / 6, 2 + 20. / 4, 2 + 20. / 4}, {.dtype = f64})),
      kBound);
  EXPECT_NEAR(shift.grad().item<double>(), 10 + 11, 1e-12);
  const double by_weight = 2 * 45 + 2 * 2.5 + 10 * 2 * 7.5;
  EXPECT_NEAR(net.weight.grad().item<double>(), by_weight, 1e-10);
}

// Several parts of another size each: the statistics are those of the whole batch, whose gradients
// and running ones one device has.
TEST(DataParallel, SynchronizedBatchNormIsThatOfTheWholeBatch) {
  struct Images : Module {
    Conv2d conv{*this, "conv", 2, 3, 3};
    BatchNorm2d first{*this, "first", 3, {.relu = true}};
    BatchNorm2d second{*this, "second", 3, {.momentum = {}, .affine = false}};
    Tensor forward(const Tensor& x) const override {
      return second(first.add_relu(conv(x), conv(x * x)));
    }
  };
  manual_seed(5);
  for (const int64_t batch : {4, 5}) {
    Images net = double_precision(Images());
    Images whole = clone(net);
    convert_sync_batchnorm(net);
    const DataParallel parallel(net, cpus(3));
    const Tensor x = randn({batch, 2, 5, 4}, {.dtype = f64}).requires_grad_();
    const Tensor again = x.detach().clone().requires_grad_();
    for (int step = 0; step < 2; ++step) {
      const Tensor output = parallel(x + step), wanted = whole(again + step);
      EXPECT_LT(largest_difference(output.detach(), wanted.detach()), 1e-12);
      for (Module* module : {static_cast<Module*>(&net), static_cast<Module*>(&whole)})
        module->zero_grad();
      sum(output * output * output).backward();
      sum(wanted * wanted * wanted).backward();
    }
    EXPECT_LT(largest_difference(x.grad(), again.grad()), 1e-10);
    const NamedTensors a = net.named_parameters(), b = whole.named_parameters();
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_LT(largest_difference(a[i].second.grad(), b[i].second.grad()), 1e-10) << a[i].first;
    const NamedTensors c = net.named_buffers(), d = whole.named_buffers();
    for (size_t i = 0; i < c.size(); ++i)
      EXPECT_LT(largest_difference(c[i].second.to(f64), d[i].second.to(f64)), 1e-12) << c[i].first;
  }
}

// In half types the sums are f32's, and the result has the input's dtype; in eval mode nothing is
// exchanged.
TEST(DataParallel, SynchronizedBatchNormInOtherDtypesAndModes) {
  BatchNorm1d net(3);
  BatchNorm1d whole = clone(net);
  convert_sync_batchnorm(net);
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({6, 3});
  const Tensor half = parallel(x.to(bf16));
  EXPECT_EQ(half.dtype(), bf16);
  EXPECT_LT(largest_difference(half.detach().to(f32), whole(x.to(bf16)).detach().to(f32)), 0.02);
  net.eval();
  whole.eval();
  whole.load_state_dict(net.state_dict());
  EXPECT_LT(largest_difference(parallel(x).detach(), whole(x).detach()), 1e-6);
  net.train();
  set_statistic_groups(net, 3);
  EXPECT_EQ(error_of([&] { parallel(x); }),
            "cpu, part 1 of 2: BatchNorm1d: synchronized statistics have one group, got 3");
}

// Where a part fails, those that wait for it end at once, and the error is that part's.
TEST(DataParallel, PartsThatWaitForOneThatFailsEnd) {
  struct Fails : Module {
    BatchNorm1d norm{*this, "norm", 2};
    Tensor forward(const Tensor& x) const override {
      check(x.device() != Device("cpu:1"), "fails", "must be on another device", x.device());
      return norm(x);
    }
  } net;
  convert_sync_batchnorm(net);
  const DataParallel parallel(net, cpus(3), {.timeout = 600});
  EXPECT_EQ(error_of([&] {
              parallel(ones({6, 2}));
            }),
            "cpu:1, part 2 of 3: fails: must be on another device, got cpu:1");
}

TEST(DataParallel, AlongAnotherDimension) {
  struct Sums : Module {
    Parameter weight{*this, "weight", ones({1})};
    Tensor forward(const Tensor& x) const override { return cumsum(x * weight, 0); }
  } net;
  const DataParallel parallel(net, cpus(2), {.dim = 1});
  const Tensor x = arange(6, {.dtype = f32}).view({2, 3});
  EXPECT_EQ(parallel(x).to_vector<float>(), cumsum(x, 0).to_vector<float>());
}

struct Normed : Module {
  Linear linear{*this, "linear", 4, 3};
  BatchNorm1d norm{*this, "norm", 3};
  Tensor forward(const Tensor& x) const override { return norm(linear(x)); }
};

// As in PyTorch: each replica has the statistics of its part, and the first one's running
// statistics stay.
TEST(DataParallel, BatchNormIsThatOfAPart) {
  Normed net = double_precision(Normed());
  Normed grouped = clone(net), first = clone(net);
  set_statistic_groups(grouped, 2);
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({8, 4}, {.dtype = f64});
  for (int step = 0; step < 3; ++step) {
    const Tensor output = parallel(x * (step + 1)), wanted = grouped(x * (step + 1));
    first(x.narrow(0, 0, 4) * (step + 1));
    EXPECT_LT(largest_difference(output.detach(), wanted.detach()), kBound);
    net.zero_grad();
    grouped.zero_grad();
    sum(output * output * output).backward();
    sum(wanted * wanted * wanted).backward();
    const Tensor a = net.norm.weight.grad(), b = grouped.norm.weight.grad();
    EXPECT_LT(largest_difference(a, b), 1e-11);
  }
  EXPECT_LT(largest_difference(net.norm.running_mean, first.norm.running_mean), kBound);
  EXPECT_LT(largest_difference(net.norm.running_var, first.norm.running_var), kBound);
  EXPECT_EQ(net.norm.num_batches_tracked.item<int64_t>(), 3);
  net.eval();
  EXPECT_LT(largest_difference(parallel(x).detach(), net(x).detach()), kBound);
}

// What is set in the module holds for the next call: mode, weights, dtype, what is frozen.
TEST(DataParallel, FollowsTheModule) {
  Net net;
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({4, 4});
  const auto expect_follows = [&](const Tensor& input) {
    EXPECT_LT(largest_difference(parallel(input).detach(), net(input).detach()), 1e-6);
  };
  expect_follows(x);
  {
    const NoGradGuard no_grad;
    net.hidden.weight.fill_(0.25);
  }
  expect_follows(x);
  net.load_state_dict(Net().state_dict());
  expect_follows(x);
  net.to(f64);
  expect_follows(x.to(f64));
  net.hidden.requires_grad_(false);
  net.zero_grad();
  sum(parallel(x.to(f64))).backward();
  EXPECT_FALSE(net.hidden.weight.grad().defined());
  EXPECT_TRUE(net.output.weight.grad().defined());
  net.requires_grad_(false);
  EXPECT_FALSE(parallel(x.to(f64)).requires_grad());
}

// A module of any type as a value, with options that are set after the DataParallel was made.
TEST(DataParallel, OfAnyModule) {
  AnyModule net{Sequential(Linear(4, 8), Dropout(0.5), Linear(8, 2))};
  const DataParallel parallel(net, cpus(2));
  net->eval();
  const Tensor x = randn({6, 4});
  EXPECT_LT(largest_difference(parallel(x).detach(), net(x).detach()), 1e-6);
  sum(parallel(x)).backward();
  for (const Tensor& parameter : net->parameters()) EXPECT_TRUE(parameter.grad().defined());
}

TEST(DataParallel, PartsHaveRandomNumbersOfTheirOwn) {
  Dropout net(0.5);
  const DataParallel parallel(net, cpus(2));
  const auto run = [&](int threads) {
    const int before = get_num_threads();
    set_num_threads(threads);
    manual_seed(7);
    const auto values = parallel(ones({2, 64})).to_vector<float>();
    set_num_threads(before);
    return values;
  };
  const std::vector<float> values = run(1);
  EXPECT_EQ(values, run(4));
  EXPECT_NE(std::vector(values.begin(), values.begin() + 64),
            std::vector(values.begin() + 64, values.end()));
  EXPECT_NE(parallel(ones({2, 64})).to_vector<float>(), values);  // the next call's are others
}

// Gradient mode, autocast and the path are the caller's, and so are the errors' names.
TEST(DataParallel, TheCallersScopes) {
  struct Look : Module {
    Linear linear{*this, "linear", 2, 2};
    Tensor forward(const Tensor& x) const override {
      EXPECT_EQ(module_path() ? module_path()->to_string() : "", "outer");
      return linear(x);
    }
  } net;
  const DataParallel parallel(net, cpus(2));
  const ModuleScope outer("outer");
  const Tensor x = ones({4, 2});
  EXPECT_TRUE(parallel(x).requires_grad());
  {
    const Autocast autocast(bf16);
    EXPECT_EQ(parallel(x).dtype(), bf16);
  }
  EXPECT_EQ(parallel(x).dtype(), f32);
  const NoGradGuard no_grad;
  EXPECT_FALSE(parallel(x).requires_grad());
  const InferenceMode inference;
  EXPECT_FALSE(parallel(x).requires_grad());
}

TEST(DataParallel, TheCpusAreDivided) {
  struct Count : Module {
    Tensor forward(const Tensor& x) const override { return x * 0 + get_num_threads(); }
  } net;
  const int before = get_num_threads();
  const DataParallel parallel(net, cpus(3));
  for (const auto& [threads, wanted] : std::map<int, std::vector<float>>{
           {1, {1, 1, 1}}, {3, {1, 1, 1}}, {5, {2, 2, 1}}, {6, {2, 2, 2}}}) {
    set_num_threads(threads);
    EXPECT_EQ(parallel(zeros({3})).to_vector<float>(), wanted) << threads;
    EXPECT_EQ(get_num_threads(), threads);
  }
  set_num_threads(before);
}

TEST(DataParallel, PartsRunAtOnceOnThreadsOfTheirOwn) {
  struct Meet : Module {
    std::shared_ptr<std::atomic<int>> arrived = std::make_shared<std::atomic<int>>(0);
    Tensor forward(const Tensor& x) const override {
      ++*arrived;
      while (*arrived < 3) std::this_thread::yield();
      return x;
    }
  } net;
  const DataParallel parallel(net, cpus(3));
  EXPECT_EQ(parallel(zeros({3, 1})).shape(), (Shape{3, 1}));
}

TEST(DataParallel, HooksOfParametersRunOnceOnTheWholeGradient) {
  Net net = double_precision(Net());
  Net whole = clone(net);
  const DataParallel parallel(net, cpus(2));
  int calls = 0;
  net.output.bias.register_hook([&](const Tensor& gradient) {
    ++calls;
    return gradient * 2;
  });
  const Tensor x = randn({4, 4}, {.dtype = f64});
  sum(square(parallel(x))).backward();
  sum(square(whole(x))).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_LT(largest_difference(net.output.bias.grad(), 2 * whole.output.bias.grad()), kBound);
}

TEST(DataParallel, TheGraphCanBeKept) {
  Net net = double_precision(Net());
  const DataParallel parallel(net, cpus(2));
  const Tensor loss = sum(square(parallel(randn({4, 4}, {.dtype = f64}))));
  loss.backward({}, true);
  const Tensor once = net.hidden.weight.grad().clone();
  loss.backward();
  EXPECT_LT(largest_difference(net.hidden.weight.grad(), 2 * once), kBound);
  EXPECT_NE(error_of([&] { loss.backward(); }), kNoError);
  const Tensor other = sum(square(parallel(randn({4, 4}, {.dtype = f64}))));
  EXPECT_EQ(error_of([&] { other.backward({}, true, true); }),
            "DataParallel: gradients of gradients need a single device, got 2 parts");
}

// Two calls before one backward pass, as a network that compares two inputs has.
TEST(DataParallel, TwoCallsInOneGraph) {
  Net net = double_precision(Net());
  Net whole = clone(net);
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({4, 4}, {.dtype = f64}), y = randn({4, 4}, {.dtype = f64});
  sum(parallel(x) * parallel(y)).backward();
  sum(whole(x) * whole(y)).backward();
  expect_same_gradients(net, whole);
}

// A checkpoint calls the replica again in the backward pass, with the same random numbers.
TEST(DataParallel, CheckpointsInsideReplicas) {
  struct Inner : Module {
    bool checkpointed = false;
    Linear linear{*this, "linear", 4, 4};
    Dropout dropout{*this, "dropout", 0.5};
    Tensor compute(const Tensor& x) const { return tanh(dropout(linear(x))); }
    Tensor forward(const Tensor& x) const override {
      if (!checkpointed) return compute(x);
      return autograd::checkpoint([this](const Tensor& input) { return compute(input); }, x);
    }
  } net;
  const DataParallel parallel(net, cpus(2));
  const Tensor x = randn({4, 4});
  std::vector<std::vector<float>> gradients;
  for (const bool checkpointed : {false, true}) {
    net.checkpointed = checkpointed;
    net.zero_grad();
    manual_seed(3);
    sum(square(parallel(x))).backward();
    gradients.push_back(net.linear.weight.grad().to_vector<float>());
  }
  EXPECT_EQ(gradients[0], gradients[1]);
}

// The graph holds all that its backward pass needs.
TEST(DataParallel, MayGoBeforeTheBackwardPass) {
  Net net;
  Tensor loss;
  {
    const DataParallel parallel(net, cpus(2));
    loss = sum(parallel(randn({4, 4})));
  }
  loss.backward();
  EXPECT_TRUE(net.hidden.weight.grad().defined());
}

struct Picky : Module {
  Linear linear{*this, "linear", 2, 2};
  struct Inner : Module {
    using Module::Module;
    Tensor forward(const Tensor& x) const override {
      check(max(x).item<double>() < 3, "picky", "values must be small", max(x).item<double>());
      return x;
    }
  } inner{*this, "inner"};
  Tensor forward(const Tensor& x) const override { return linear(inner(x)); }
};

TEST(DataParallel, AnErrorNamesTheDeviceAndTheModule) {
  Picky net;
  const DataParallel parallel(net, {"cpu:0", "cpu:1", "cpu:1"});
  const Tensor x = tensor({1.0, 1.0, 1.0, 1.0, 5.0, 1.0}).to(f32).view({3, 2});
  EXPECT_EQ(error_of([&] { parallel(x); }),
            "cpu:1, part 3 of 3: inner: picky: values must be small, got 5");
  // Where several parts fail, the error is the first one's.
  EXPECT_EQ(error_of([&] { parallel(x + 4); }),
            "cpu, part 1 of 3: inner: picky: values must be small, got 5");
  EXPECT_EQ(parallel(x - 3).shape(), (Shape{3, 2}));  // and the next call is right
}

TEST(DataParallel, AnErrorOfTheBackwardPassNamesTheDevice) {
  struct Fails : Module {
    Parameter weight{*this, "weight", ones({1})};
    Tensor forward(const Tensor& x) const override {
      const Tensor y = x * weight;
      if (x.device() == Device("cpu:1"))
        y.register_hook(
            [](const Tensor&) -> Tensor { fail("hook", "may not be called", "it was"); });
      return y;
    }
  } net;
  const DataParallel parallel(net, cpus(2));
  const Tensor loss = sum(parallel(ones({2, 1})));
  EXPECT_EQ(error_of([&] { loss.backward(); }),
            "cpu:1, part 2 of 2: hook: may not be called, got it was");
}

TEST(DataParallel, WhatItRefuses) {
  Net net;
  EXPECT_EQ(error_of([&] { DataParallel(net, {}); }),
            "DataParallel: there must be a device, got none");
  EXPECT_EQ(
      error_of([&] {
        DataParallel(net, {"cpu:1", "cpu:0"});
      }),
      "DataParallel: the module must lie on the first device, got hidden.weight on cpu for cpu:1");
  EXPECT_EQ(error_of([&] {
              DataParallel(net, {"cpu", Device(DeviceType::cuda, 0)});
            }),
            "DataParallel: devices must be of one kind, got cuda:0 beside cpu");
  EXPECT_EQ(error_of([&] { DataParallel(net, cpus(2), {.dim = -1}); }),
            "DataParallel: dim must be 0 or more, got -1");
  Several several;
  const DataParallel parallel(several, cpus(2));
  EXPECT_EQ(error_of([&] {
              parallel(Several::Input{zeros({4, 2}), {{"y", zeros({3, 2})}}}, Tensors{}, 1.0,
                       std::string(), zeros({}));
            }),
            "DataParallel: the inputs must have one size along the batch, got [3,2] and [4,2] for "
            "dimension 0");
  struct Ragged : Module {
    Tensor forward(const Tensor& x) const override {
      return x.device() == Device() ? zeros({1, 2}) : zeros({1, 3}, {.device = "cpu:1"});
    }
  } ragged;
  const DataParallel uneven(ragged, cpus(2));
  EXPECT_EQ(error_of([&] {
              uneven(zeros({2, 2}));
            }),
            "DataParallel: the parts' outputs must have one dtype, and one shape but for the "
            "batch, got output 0: "
            "f32 [1,3] on cpu:1, f32 [1,2] on cpu");
}

}  // namespace
}  // namespace aorta::nn
