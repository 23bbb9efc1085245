// Modules: registration, names, copies, state, conversion, hooks, errors.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/names.h>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;

struct Net : Module {
  Linear hidden{*this, "hidden", 4, 3};
  BatchNorm1d norm{*this, "norm", 3};
  Linear output{*this, "output", 3, 2};
  Tensor forward(const Tensor& x) const override { return output(relu(norm(hidden(x)))); }
};

struct Block : Module {
  using Module::Module;
  Conv2d conv{*this, "conv", 2, 2, 3, {.padding = 1, .bias = false}};
  Tensor forward(const Tensor& x) const override { return relu(conv(x)); }
};

struct Outer : Module {
  Block first{*this, "first"};
  Block second{*this, "second"};
  Parameter scale{*this, "scale", ones({1})};
  Tensor forward(const Tensor& x) const override { return second(first(x)) * scale; }
};

TEST(Module, RegistersItsMembersInTheirOrder) {
  const Net net;
  EXPECT_EQ(names_of(net.named_parameters()), (Names{"hidden.weight", "hidden.bias", "norm.weight",
                                                     "norm.bias", "output.weight", "output.bias"}));
  EXPECT_EQ(names_of(net.named_buffers()),
            (Names{"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"}));
  EXPECT_EQ(
      names_of(net.state_dict()),
      (Names{"hidden.weight", "hidden.bias", "norm.weight", "norm.bias", "norm.running_mean",
             "norm.running_var", "norm.num_batches_tracked", "output.weight", "output.bias"}));
  const Outer outer;  // own parameters come before those inside
  EXPECT_EQ(names_of(outer.named_parameters()),
            (Names{"scale", "first.conv.weight", "second.conv.weight"}));
  EXPECT_EQ(names_of(outer.named_parameters(false)), Names{"scale"});
}

TEST(Module, FindsModulesByName) {
  Outer outer;
  Names names;
  for (const auto& [name, module] : outer.named_modules()) names.push_back(name);
  EXPECT_EQ(names, (Names{"", "first", "first.conv", "second", "second.conv"}));
  EXPECT_EQ(&outer.get_submodule("first.conv"), &outer.first.conv);
  EXPECT_EQ(error_of([&] { outer.get_submodule("third"); }),
            "Module: name must be one of its modules, got \"third\"");
}

TEST(Module, ACopySharesParametersAndACloneDoesNot) {
  Net net;
  Net copy(net);
  EXPECT_TRUE(copy.hidden.weight.is_same(net.hidden.weight));
  EXPECT_TRUE(copy.parameters()[0].is_same(copy.hidden.weight));
  Net own = clone(net);
  EXPECT_FALSE(own.hidden.weight.shares_storage(net.hidden.weight));
  EXPECT_TRUE(own.parameters()[0].is_same(own.hidden.weight));  // its registry is about itself
  EXPECT_TRUE(own.hidden.weight.requires_grad());
  const Tensor x = randn({5, 4});
  net.eval();
  own.eval();
  EXPECT_TRUE(near(own(x), net(x), 0));
  const NoGradGuard no_grad;
  own.hidden.weight.zero_();
  EXPECT_NE(sum(abs(net.hidden.weight)).item<double>(), 0);
}

TEST(Module, ReplacingAMemberKeepsItsName) {
  Net net;
  net.output = Linear(3, 7, {.bias = false});
  EXPECT_EQ(names_of(net.named_parameters()).back(), "output.weight");
  EXPECT_EQ(net(randn({5, 4})).shape(), (Shape{5, 7}));
  EXPECT_EQ(error_of([&] { net.output(randn({5, 4})); }).substr(0, 7), "output:");
}

TEST(Module, SurvivesBeingMoved) {
  std::vector<Net> nets;
  for (int i = 0; i < 5; ++i) nets.emplace_back();  // grows, and so moves
  for (Net& net : nets) {
    EXPECT_EQ(net.parameters().size(), 6u);
    EXPECT_TRUE(net.parameters()[4].is_same(net.output.weight));
  }
}

TEST(Module, TiedParametersComeOnceAndStayTied) {
  struct Tied : Module {
    Linear encoder{*this, "encoder", 3, 3, {.bias = false}};
    Linear decoder{*this, "decoder", 3, 3, {.bias = false}};
  };
  Tied net;
  net.decoder.weight = net.encoder.weight;
  EXPECT_EQ(names_of(net.named_parameters()), Names{"encoder.weight"});
  EXPECT_EQ(names_of(net.state_dict()), (Names{"encoder.weight", "decoder.weight"}));
  const Tied own = clone(net);
  EXPECT_TRUE(own.decoder.weight.is_same(own.encoder.weight));
  EXPECT_FALSE(own.decoder.weight.shares_storage(net.encoder.weight));
  net.to(DType::f64);
  EXPECT_TRUE(net.decoder.weight.is_same(net.encoder.weight));
  EXPECT_EQ(net.encoder.weight.dtype(), DType::f64);
}

TEST(Module, RefusesWhatIsNoMember) {
  struct Loose : Module {
    Loose() : linear(std::make_unique<Linear>(*this, "linear", 2, 2)) {}
    Loose(const Loose& other) : Module(other) {}
    std::unique_ptr<Linear> linear;
  };
  const Loose loose;
  EXPECT_EQ(error_of([&] { clone(loose); }),
            "Module: what is declared with an owner must be a member of it, got \"linear\"");
  struct Twice : Module {
    Linear a{*this, "same", 2, 2};
    Linear b{*this, "same", 2, 2};
  };
  EXPECT_EQ(error_of([] { Twice twice; }),
            "Module: names of members must differ, got \"same\" twice");
  struct Point : Module {
    Linear a{*this, "a.b", 2, 2};
  };
  EXPECT_EQ(error_of([] { Point point; }),
            "Module: the name of a member must not be empty and have no point, got \"a.b\"");
}

TEST(Module, ErrorsStartWithItsPath) {
  const Outer outer;
  EXPECT_EQ(error_of([&] { outer(zeros({1, 3, 4, 4})); }).substr(0, 19), "first.conv: conv2d:");
  const Module nothing;
  EXPECT_EQ(error_of([&] { nothing(zeros({1})); }),
            "forward: the module must define `Tensor forward(const Tensor&) const`, got Module");
  ModuleList list;
  struct Holder : Module {
    ModuleList layers{*this, "layers"};
  };
  Holder holder;
  holder.layers.push_back(Linear(2, 3));
  EXPECT_EQ(error_of([&] { holder.layers[0](zeros({1, 3})); }).substr(0, 10), "layers.0: ");
}

TEST(Module, GraphNodesKnowTheirModule) {
  const Outer outer;
  const Tensor y = outer(randn({1, 2, 4, 4}));
  EXPECT_NE(autograd::to_dot(y).find("second.conv"), std::string::npos);
}

TEST(Module, TrainAndEvalReachEveryModule) {
  Net net;
  EXPECT_TRUE(net.norm.is_training());
  net.eval();
  EXPECT_FALSE(net.is_training() || net.norm.is_training());
  net.train();
  EXPECT_TRUE(net.is_training() && net.norm.is_training());
}

TEST(Module, ApplyVisitsTheInnerOnesFirst) {
  Outer outer;
  Names names;
  outer.apply([&](Module& module) { names.push_back(module.type_name()); });
  EXPECT_EQ(names, (Names{"Conv2d", "Block", "Conv2d", "Block", "Outer"}));
}

TEST(Module, ZeroGrad) {
  Net net;
  sum(net(randn({5, 4}))).backward();
  net.zero_grad(false);
  EXPECT_EQ(sum(abs(net.hidden.weight.grad())).item<double>(), 0);
  net.zero_grad();
  EXPECT_FALSE(net.hidden.weight.grad().defined());
}

TEST(Module, FreezesParameters) {
  Net net;
  net.hidden.requires_grad_(false);
  sum(net(randn({5, 4}))).backward();
  EXPECT_FALSE(net.hidden.weight.grad().defined());
  EXPECT_TRUE(net.output.weight.grad().defined());
}

TEST(Module, ToKeepsTheTensorsAndConvertsTheirGradients) {
  Net net;
  const Tensor weight = net.hidden.weight;
  sum(net(randn({5, 4}))).backward();
  const std::vector<double> before = weight.to_vector<double>(),
                            gradient = weight.grad().to_vector<double>();
  net.to(DType::f64);
  EXPECT_TRUE(net.hidden.weight.is_same(weight));
  EXPECT_EQ(weight.dtype(), DType::f64);
  EXPECT_EQ(weight.to_vector<double>(), before);
  EXPECT_EQ(weight.grad().dtype(), DType::f64);
  EXPECT_EQ(weight.grad().to_vector<double>(), gradient);
  EXPECT_EQ(net.norm.running_mean.dtype(), DType::f64);
  EXPECT_EQ(net.norm.num_batches_tracked.dtype(), DType::i64);
  sum(net(randn({5, 4}, {.dtype = DType::f64}))).backward();  // adds to the converted gradient
  EXPECT_NE(weight.grad().to_vector<double>(), gradient);
  EXPECT_EQ(error_of([&] { net.to(DType::i64); }),
            "Module: parameters take a floating dtype, got i64");
}

TEST(Module, HooksOfParametersSeeTheConvertedOnes) {
  Linear linear(3, 2);
  Tensor seen;
  linear.weight.register_post_accumulate_grad_hook([&](const Tensor& leaf) { seen = leaf; });
  linear.to(DType::f64);
  sum(linear(ones({1, 3}, {.dtype = DType::f64}))).backward();
  EXPECT_EQ(seen.dtype(), DType::f64);
  EXPECT_TRUE(seen.shares_storage(linear.weight));
  EXPECT_TRUE(near(seen.grad(), ones({2, 3}), 0));
}

TEST(Module, ToChannelsLast) {
  Outer outer;
  outer.to(MemoryFormat::channels_last);
  EXPECT_TRUE(outer.first.conv.weight.is_contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(outer.scale.is_contiguous());
  const Tensor x = randn({2, 2, 5, 5});
  EXPECT_TRUE(outer(x).is_contiguous(MemoryFormat::channels_last));
}

TEST(Module, ToMayFollowTheOptimizer) {
  for (const ToOptions& options : {ToOptions{.dtype = DType::f64}, ToOptions{.dtype = DType::bf16},
                                   ToOptions{.memory_format = MemoryFormat::channels_last}}) {
    Conv2d net(2, 3, 3);
    Conv2d expected = clone(net);
    expected.to(options);
    optim::SGD sgd(net.parameters(), {.lr = 0.5});
    optim::SGD reference(expected.parameters(), {.lr = 0.5});
    net.to(options);
    const Tensor x = randn({1, 2, 5, 5}).to(net.weight.dtype());
    sum(square(net(x))).backward();
    sum(square(expected(x))).backward();
    sgd.step();
    reference.step();
    EXPECT_EQ(net.weight.to_vector<double>(), expected.weight.to_vector<double>());
    EXPECT_EQ(net.bias.to_vector<double>(), expected.bias.to_vector<double>());
  }
}

TEST(Module, StateGoesRoundByEveryFormat) {
  const std::string folder = testing::TempDir();
  Net net;
  net(randn({5, 4}));
  for (const char* name : {"net.safetensors", "net.npz"}) {
    save(net.state_dict(), folder + name);
    Net other;
    const LoadReport report = other.load_state_dict(load(folder + name));
    EXPECT_TRUE(report.missing.empty() && report.unexpected.empty());
    EXPECT_TRUE(near(other.hidden.weight, net.hidden.weight, 0));
    EXPECT_TRUE(near(other.norm.running_mean, net.norm.running_mean, 0));
    EXPECT_EQ(other.norm.num_batches_tracked.item<int64_t>(), 1);
  }
  Net third;
  net.state().save(folder + "net.state.safetensors");
  third.restore(State::load(folder + "net.state.safetensors"));
  EXPECT_TRUE(near(third.output.bias, net.output.bias, 0));
}

TEST(Module, MismatchesAreNamedAndNothingIsLoaded) {
  Net net;
  NamedTensors state = clone(net).state_dict();
  for (auto& [name, tensor] : state) {
    if (is_floating(tensor.dtype())) tensor = zeros(tensor.shape());
  }
  std::erase_if(state, [](const auto& entry) { return entry.first == "hidden.bias"; });
  state.emplace_back("extra.weight", zeros({2}));
  for (auto& [name, tensor] : state) {
    if (name == "output.weight") tensor = zeros({9, 3});
  }
  const Tensor before = net.hidden.weight.detach().clone();
  EXPECT_EQ(error_of([&] { net.load_state_dict(state); }),
            "load_state_dict: names and shapes must be the module's, got missing \"hidden.bias\"; "
            "unexpected \"extra.weight\"; of another shape \"output.weight\" [9,3] for [2,3]");
  EXPECT_TRUE(near(net.hidden.weight, before, 0));
  EXPECT_EQ(error_of([&] { net.load_state_dict(state, {.strict = false}); }),
            "load_state_dict: names and shapes must be the module's, got of another shape "
            "\"output.weight\" [9,3] for [2,3]");
  std::erase_if(state, [](const auto& entry) { return entry.first == "output.weight"; });
  const LoadReport report = net.load_state_dict(state, {.strict = false});
  EXPECT_EQ(report.missing, (Names{"hidden.bias", "output.weight"}));
  EXPECT_EQ(report.unexpected, Names{"extra.weight"});
  EXPECT_EQ(sum(abs(net.hidden.weight)).item<double>(), 0);
  EXPECT_EQ(error_of([&] {
              net.load_state_dict({{"a", zeros({1})}, {"a", zeros({1})}});
            }),
            "load_state_dict: names must differ, got \"a\" twice");
  // Nothing is written where a later entry can't be.
  NamedTensors other = clone(Net()).state_dict();
  for (auto& [name, tensor] : other) {
    tensor = name == "output.bias" ? zeros({2}, {.dtype = c64}) : full(tensor.shape(), 7);
    if (name == "output.weight") tensor = tensor.to(Device("meta"));
  }
  EXPECT_EQ(error_of([&] { net.load_state_dict(other); }),
            "load_state_dict: names and shapes must be the module's, got of another kind "
            "\"output.weight\" without memory, \"output.bias\" c64 for f32");
  EXPECT_EQ(sum(abs(net.hidden.weight)).item<double>(), 0);
  State values;
  values.set("epoch", int64_t{3});
  EXPECT_EQ(error_of([&] { net.restore(values); }),
            "load_state_dict: a module's state has tensors alone, got \"epoch\"");
}

TEST(Module, OldStatesLackTheCounter) {
  Net net;
  NamedTensors state = clone(net).state_dict();
  std::erase_if(state, [](const auto& entry) { return entry.first == "norm.num_batches_tracked"; });
  EXPECT_TRUE(net.load_state_dict(state).missing.empty());
}

TEST(Module, ForwardHooksSeeAndReplace) {
  Net net;
  net.eval();
  const Tensor x = randn({5, 4});
  const Tensor plain = net(x);
  Names calls;
  HookHandle before =
      net.hidden.register_forward_pre_hook([&](const Module& module, Tensors& inputs) {
        calls.push_back("before " + module.name());
        inputs[0] = inputs[0] * 0;
      });
  HookHandle after = net.output.register_forward_hook(
      [&](const Module& module, const Tensors& inputs, Tensors& outputs) {
        calls.push_back("after " + module.name() + " " + to_string(inputs.at(0).shape()));
        outputs[0] = outputs[0] + 1;
      });
  const Tensor zeroed = net(zeros({5, 4}));
  calls.clear();
  EXPECT_TRUE(near(net(x), zeroed, 0));
  EXPECT_EQ(calls, (Names{"before hidden", "after output [5,3]"}));
  before.remove();
  EXPECT_TRUE(near(net(x), plain + 1, 1e-6));
  after.remove();
  after.remove();
  EXPECT_TRUE(near(net(x), plain, 0));
}

TEST(Module, BackwardHooksSeeAndReplaceGradients) {
  Linear linear(3, 2);
  const Tensor x = randn({4, 3}).requires_grad_();
  Tensor seen_output, seen_input;
  HookHandle handle =
      linear.register_full_backward_hook([&](Tensors& grad_inputs, const Tensors& grad_outputs) {
        seen_output = grad_outputs.at(0);
        seen_input = grad_inputs.at(0);
        grad_inputs[0] = grad_inputs[0] * 3;
      });
  const Tensor g = randn({4, 2});
  linear(x).backward(g);
  const Tensor expected = matmul(g, linear.weight.detach());
  EXPECT_TRUE(near(seen_output, g, 0));
  EXPECT_TRUE(near(seen_input, expected, 1e-6));
  EXPECT_TRUE(near(x.grad(), expected * 3, 1e-6));
  EXPECT_TRUE(near(linear.weight.grad(), matmul(g.t(), x.detach()), 1e-6));

  // Where no input requires a gradient the hook runs once the outputs' are known.
  int calls = 0;
  handle.remove();
  linear.register_full_backward_hook([&](Tensors& grad_inputs, const Tensors& grad_outputs) {
    ++calls;
    EXPECT_FALSE(grad_inputs.at(0).defined());
    EXPECT_TRUE(near(grad_outputs.at(0), g, 0));
  });
  linear(x.detach()).backward(g);
  EXPECT_EQ(calls, 1);
}

TEST(Module, HooksOfModulesWithSeveralInputs) {
  LSTM lstm(3, 2);
  size_t inputs_seen = 0, outputs_seen = 0, gradients_seen = 0;
  lstm.register_forward_hook([&](const Module&, const Tensors& inputs, Tensors& outputs) {
    inputs_seen = inputs.size();
    outputs_seen = outputs.size();
  });
  lstm.register_full_backward_hook([&](Tensors&, const Tensors& grad_outputs) {
    gradients_seen = grad_outputs.size();
    EXPECT_FALSE(grad_outputs.at(2).defined());  // the cell had no part in the loss
  });
  sum(lstm(randn({4, 2, 3}).requires_grad_()).output).backward();
  EXPECT_EQ(inputs_seen, 3u);
  EXPECT_EQ(outputs_seen, 3u);
  EXPECT_EQ(gradients_seen, 3u);
}

TEST(Module, PrintsAsPyTorchDoes) {
  const Net net;
  EXPECT_EQ(to_string(net),
            "Net(\n"
            "  (hidden): Linear(in_features=4, out_features=3, bias=True)\n"
            "  (norm): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, "
            "bias=True, track_running_stats=True)\n"
            "  (output): Linear(in_features=3, out_features=2, bias=True)\n"
            ")");
  Sequential nested(Conv2d(3, 8, {3, 5}, {.padding = "same", .dilation = 2, .bias = false}),
                    Sequential(ReLU(true), MaxPool2d(2)));
  EXPECT_EQ(to_string(nested),
            "Sequential(\n"
            "  (0): Conv2d(3, 8, kernel_size=(3, 5), stride=(1, 1), padding=same, dilation=(2, 2), "
            "bias=False)\n"
            "  (1): Sequential(\n"
            "    (0): ReLU(inplace=True)\n"
            "    (1): MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, "
            "ceil_mode=False)\n"
            "  )\n"
            ")");
}

TEST(AnyModule, HoldsAndCopies) {
  AnyModule any = Net();
  EXPECT_EQ(any.as<Net>().parameters().size(), 6u);
  EXPECT_EQ(error_of([&] { any.as<Block>(); }),
            "AnyModule: as() must name the module's type, got Net");
  const AnyModule copy = any;
  EXPECT_TRUE(copy->parameters()[0].is_same(any->parameters()[0]));
  const AnyModule own = clone(any);
  EXPECT_FALSE(own->parameters()[0].shares_storage(any->parameters()[0]));
}

TEST(Layers, RefuseBadInput) {
  EXPECT_EQ(error_of([] { Conv2d(3, 4, 3, {.groups = 2}); }),
            "Conv2d: channels must be divisible by groups, got 4 and 3 for groups 2");
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::circular}) {
    EXPECT_EQ(error_of([&] {
                Conv2d(3, 4, 3, {.stride = {1, 2}, .padding = "same", .padding_mode = mode});
              }),
              "Conv2d: padding \"same\" needs stride 1, got [1,2]");
  }
  EXPECT_EQ(error_of([] {
              Conv2d(3, 4, {1, 2, 3});
            }),
            "Conv2d: kernel_size must be one number or 2, got [1,2,3]");
  EXPECT_EQ(error_of([] {
              BatchNorm2d(3)(zeros({2, 3, 4}));
            }),
            "BatchNorm2d: input must be (N, C, H, W), got [2,3,4]");
  EXPECT_EQ(error_of([] { GroupNorm(2, 5); }),
            "GroupNorm: num_channels must be divisible by num_groups, got 5 for 2");
  EXPECT_EQ(error_of([] {
              InstanceNorm2d(3)(zeros({2, 4, 4, 4}));
            }),
            "InstanceNorm2d: input must have num_features channels, got [2,4,4,4] for 3");
  EXPECT_EQ(error_of([] { MultiheadAttention(6, 4); }),
            "MultiheadAttention: embed_dim must be divisible by num_heads, got 6 for 4");
  EXPECT_EQ(error_of([] {
              LSTM(3, 2)(zeros({4, 2, 5}));
            }),
            "LSTM: input must have input_size features, got [4,2,5] for 3");
  EXPECT_EQ(error_of([] {
              GRU(3, 2)(zeros({4, 2, 3}), zeros({1, 3, 2}));
            }),
            "GRU: states must be (layers x directions, N, H), here [1,2,2], got [1,3,2]");
  EXPECT_EQ(error_of([] { Dropout(1.5); }), "Dropout: p must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { Embedding(4, 2, {.padding_idx = 4}); }),
            "Embedding: padding_idx must be a row, got 4 of 4");
  EXPECT_EQ(
      error_of([] {
        pixel_shuffle(zeros({1, 3, 2, 2}), 2);
      }),
      "pixel_shuffle: channels must be divisible by the square of upscale_factor, got 3 for 2");
  EXPECT_EQ(error_of([] { Upsample({}); }),
            "Upsample: either size or scale_factor must be given, got none");
  EXPECT_EQ(error_of([] {
              dice_loss(zeros({2, 3}), zeros({2, 4}));
            }),
            "dice_loss: input and target must have one shape, got [2,3] and [2,4]");
}

TEST(RecurrentCell, StartsFromZeros) {
  const Tensor x = randn({2, 4}), zero = zeros({2, 3});
  const RNNCell rnn(4, 3);
  EXPECT_TRUE(equal(rnn(x), rnn(x, zero)));
  const GRUCell gru(4, 3);
  EXPECT_TRUE(equal(gru(x), gru(x, zero)));
  const LSTMCell lstm(4, 3);
  EXPECT_TRUE(equal(lstm(x).c, lstm(x, {zero, zero}).c));
  EXPECT_TRUE(equal(Sequential(lstm)(x), lstm(x).h));
}

// Steps of a cell with an LSTM's weights are that LSTM.
TEST(RecurrentCell, IsAStepOfTheLayer) {
  LSTM layer(4, 3);
  LSTMCell cell(4, 3);
  NamedTensors state = layer.state_dict();
  for (auto& [name, value] : state) name.resize(name.size() - 3);  // _l0
  cell.load_state_dict(state);
  const Tensor x = randn({5, 2, 4});
  const LstmOutput all = layer(x);
  LstmState now;
  for (int64_t t = 0; t < 5; ++t) {
    now = cell(x[t], now);
    EXPECT_TRUE(allclose(now.h, all.output[t], 1e-6, 1e-6)) << t;
  }
  EXPECT_TRUE(allclose(now.c, all.state.c[0], 1e-6, 1e-6));
}

// Mean and variance of normal numbers stay; an element is one of two lines of its input.
TEST(AlphaDropout, KeepsMeanAndVariance) {
  default_generator().manual_seed(5);
  const Tensor x = randn({400, 1000}, {.dtype = DType::f64});
  for (const double p : {0.1, 0.5, 0.8}) {
    const Tensor y = AlphaDropout(p)(x);
    EXPECT_NEAR(mean(y).item<double>(), 0, 0.02) << p;
    EXPECT_NEAR(var(y).item<double>(), 1, 0.02) << p;
    constexpr double kEnd = 1.7580993408473766;
    const double a = 1 / std::sqrt((kEnd * kEnd * p + 1) * (1 - p));
    const Tensor dropped = lt(abs(y + a * kEnd * (1 - p)), 1e-12),
                 kept = lt(abs(y - a * (x + kEnd * p)), 1e-12);
    EXPECT_TRUE(all(logical_or(dropped, kept)).item<bool>()) << p;
    EXPECT_NEAR(mean(dropped.to(DType::f64)).item<double>(), p, 0.005);
  }
  EXPECT_TRUE(equal(AlphaDropout(1)(x), zeros_like(x)));
  EXPECT_TRUE(alpha_dropout(x).is_same(x));
}

TEST(AlphaDropout, DropsWholeChannels) {
  default_generator().manual_seed(5);
  const Tensor y = FeatureAlphaDropout(0.5)(zeros({20, 30, 2, 3}));
  EXPECT_TRUE(equal(amin(y, {2, 3}), amax(y, {2, 3})));
  EXPECT_LT(amin(y).item<float>(), amax(y).item<float>());
}

TEST(Dropout, DropsInTrainingAlone) {
  manual_seed(3);
  Dropout half(0.5);
  const Tensor x = ones({10000});
  const Tensor y = half(x);
  const double kept = sum(ne(y, 0)).item<double>();
  EXPECT_NEAR(kept, 5000, 250);  // five standard deviations
  EXPECT_EQ(amax(y).item<double>(), 2);
  half.eval();
  EXPECT_TRUE(half(x).is_same(x));
  Dropout2d channels(0.5);
  const Tensor maps = channels(ones({20, 10, 3, 3}));
  const Tensor sums = sum(maps, {2, 3});
  EXPECT_EQ(sum(logical_not(logical_or(eq(sums, 0), eq(sums, 18)))).item<double>(), 0);
}

TEST(RReLU, SlopesAreRandomInTrainingAndTheirMeanAfterwards) {
  RReLU layer(0.1, 0.3);
  const Tensor x = full({1000}, -1.0);
  const Tensor y = -layer(x);
  EXPECT_GE(amin(y).item<double>(), 0.1f);
  EXPECT_LE(amax(y).item<double>(), 0.3f);
  EXPECT_NEAR(mean(y).item<double>(), 0.2, 0.01);
  EXPECT_GT(std(y).item<double>(), 0.05);
  layer.eval();
  EXPECT_TRUE(near(layer(x), full({1000}, -0.2), 1e-6));
}

TEST(ConvTranspose, ReachesAnOutputSize) {
  const ConvTranspose2d up(2, 3, 3, {.stride = 2, .padding = 1});
  const Tensor x = randn({1, 2, 5, 5});
  EXPECT_EQ(up(x).shape(), (Shape{1, 3, 9, 9}));
  EXPECT_EQ(up.forward(x, {10, 9}).shape(), (Shape{1, 3, 10, 9}));
  EXPECT_EQ(
      error_of([&] {
        up.forward(x, {11, 9});
      }),
      "ConvTranspose2d: output_size must be one that the stride makes equal, got 11 for 9 to 10");
  // A call, with hooks and the module's path.
  struct Holder : Module {
    ConvTranspose2d up{*this, "up", 2, 3, 3, {.stride = 2, .padding = 1}};
  };
  Holder holder;
  int calls = 0;
  const HookHandle hook =
      holder.up.register_forward_hook([&](const Module&, const Tensors&, Tensors&) { ++calls; });
  EXPECT_EQ(holder.up(x, {10, 9}).shape(), (Shape{1, 3, 10, 9}));
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(error_of([&] { holder.up(x, {11, 9}); }).substr(0, 4), "up: ");
}

}  // namespace
}  // namespace aorta::nn
