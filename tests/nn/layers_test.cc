// Every layer: names, outputs, gradients, running statistics and eval mode as PyTorch's, in f64 and
// f32, and its gradients by finite differences.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/tests/changes.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/nn/attention_cases.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/option_cases.h>
#include <aorta/tests/nn/parametrized_cases.h>
#include <aorta/tests/nn/sequence_cases.h>
#include <aorta/tests/nn/table_cases.h>
#include <aorta/tests/nn/transformer_cases.h>
#include <aorta/tests/nn/undefined.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace aorta::nn {
namespace {

template <class M, class... Arguments>
Case make_case(const std::string& name, Arguments... arguments) {
  return {name, maker<M>(false, arguments...), call_one};
}

// What is random in training.
template <class M, class... Arguments>
Case in_eval_mode(const std::string& name, Arguments... arguments) {
  return {name, maker<M>(true, arguments...), call_one};
}

std::vector<Case> convolutions() {
  const Dims k32{3, 2}, k43{4, 3}, k232{2, 3, 2};
  return {
      make_case<Conv1d>("conv1d", 4, 6, 3, ConvOptions{.stride = 2, .padding = 1}),
      make_case<Conv2d>(
          "conv2d", 4, 6, k32,
          ConvOptions{.stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2}),
      make_case<Conv2d>("conv2d_same", 3, 4, k43, ConvOptions{.padding = "same", .bias = false}),
      make_case<Conv2d>("conv2d_reflect", 3, 4, 3,
                        ConvOptions{.padding = {2, 1}, .padding_mode = PadMode::reflect}),
      make_case<Conv2d>("conv2d_replicate_same", 3, 4, k43,
                        ConvOptions{.padding = "same", .padding_mode = PadMode::replicate}),
      make_case<Conv2d>("conv2d_circular", 3, 4, 3,
                        ConvOptions{.stride = 2, .padding = 2, .padding_mode = PadMode::circular}),
      make_case<Conv2d>("conv2d_unbatched", 3, 4, 3),
      make_case<Conv3d>("conv3d", 2, 3, k232, ConvOptions{.padding = 1}),
      make_case<ConvTranspose1d>(
          "conv_transpose1d", 4, 6, 3,
          ConvTransposeOptions{.stride = 2, .padding = 1, .output_padding = 1}),
      make_case<ConvTranspose2d>(
          "conv_transpose2d", 4, 6, k32,
          ConvTransposeOptions{.stride = 2, .groups = 2, .dilation = {2, 1}}),
      make_case<ConvTranspose3d>("conv_transpose3d", 2, 3, 2,
                                 ConvTransposeOptions{.stride = {1, 2, 1}, .bias = false}),
  };
}

std::vector<Case> pools() {
  const Dims k32{3, 2}, size2{2, -1}, size3{3, 2, -1};
  return {
      make_case<MaxPool1d>("max_pool1d", 3, MaxPoolOptions{.stride = 2, .padding = 1}),
      make_case<MaxPool2d>("max_pool2d", k32,
                           MaxPoolOptions{.stride = 2, .dilation = {1, 2}, .ceil_mode = true}),
      make_case<MaxPool3d>("max_pool3d", 2),
      make_case<AvgPool1d>("avg_pool1d", 3,
                           AvgPoolOptions{.stride = 2, .padding = 1, .count_include_pad = false}),
      make_case<AvgPool2d>("avg_pool2d", k32, AvgPoolOptions{.padding = 1, .ceil_mode = true}),
      make_case<AvgPool3d>("avg_pool3d", 2, AvgPoolOptions{.divisor_override = 3}),
      make_case<LPPool1d>("lp_pool1d", 2, 3),
      make_case<LPPool2d>("lp_pool2d", 3, k32, LPPoolOptions{.stride = 2, .ceil_mode = true}),
      make_case<LPPool3d>("lp_pool3d", 2, 2),
      make_case<AdaptiveMaxPool1d>("adaptive_max_pool1d", 3),
      make_case<AdaptiveMaxPool2d>("adaptive_max_pool2d", size2),
      make_case<AdaptiveMaxPool3d>("adaptive_max_pool3d", size3),
      make_case<AdaptiveAvgPool1d>("adaptive_avg_pool1d", 3),
      make_case<AdaptiveAvgPool2d>("adaptive_avg_pool2d", size2),
      make_case<AdaptiveAvgPool3d>("adaptive_avg_pool3d", size3),
  };
}

std::vector<Case> norms() {
  return {
      make_case<BatchNorm1d>("batch_norm1d", 4),
      make_case<BatchNorm1d>("batch_norm1d_length", 4,
                             BatchNormOptions{.eps = 1e-3, .momentum = 0.3}),
      make_case<BatchNorm2d>("batch_norm2d", 4),
      make_case<BatchNorm2d>("batch_norm2d_cumulative", 4,
                             BatchNormOptions{.momentum = std::nullopt}),
      make_case<BatchNorm2d>("batch_norm2d_no_affine", 4, BatchNormOptions{.affine = false}),
      make_case<BatchNorm2d>("batch_norm2d_no_tracking", 4,
                             BatchNormOptions{.track_running_stats = false}),
      make_case<BatchNorm3d>("batch_norm3d", 2),
      make_case<LayerNorm>("layer_norm", Shape{4, 5}),
      make_case<LayerNorm>("layer_norm_no_bias", 5, LayerNormOptions{.eps = 1e-3, .bias = false}),
      make_case<LayerNorm>("layer_norm_no_affine", 5,
                           LayerNormOptions{.elementwise_affine = false}),
      make_case<RMSNorm>("rms_norm", 5, RMSNormOptions{.eps = 1e-6}),
      make_case<LocalResponseNorm>("local_response_norm", 2),
      make_case<LocalResponseNorm>("local_response_norm_wide", 5,
                                   LocalResponseNormOptions{.alpha = 0.5, .beta = 1.25, .k = 2}),
      make_case<GroupNorm>("group_norm", 2, 6),
      make_case<InstanceNorm1d>("instance_norm1d", 3),
      make_case<InstanceNorm1d>("instance_norm1d_unbatched", 3),
      make_case<InstanceNorm2d>("instance_norm2d", 3,
                                InstanceNormOptions{.affine = true, .track_running_stats = true}),
      make_case<InstanceNorm3d>("instance_norm3d", 2, InstanceNormOptions{.affine = true}),
  };
}

std::vector<Case> paddings() {
  const Dims ends1{2, 1}, ends2{2, 1, 0, 3}, ends3{1, 2, 2, 0, 1, 1};
  return {
      make_case<ConstantPad1d>("constant_pad1d", ends1, 3.5),
      make_case<ConstantPad2d>("constant_pad2d", ends2, 3.5),
      make_case<ConstantPad3d>("constant_pad3d", ends3, 3.5),
      make_case<ConstantPad2d>("constant_pad2d_alike", 2, -1.0),
      make_case<ZeroPad1d>("zero_pad1d", ends1),
      make_case<ZeroPad2d>("zero_pad2d", ends2),
      make_case<ZeroPad3d>("zero_pad3d", ends3),
      make_case<ReflectionPad1d>("reflection_pad1d", ends1),
      make_case<ReflectionPad2d>("reflection_pad2d", ends2),
      make_case<ReflectionPad3d>("reflection_pad3d", ends3),
      make_case<ReflectionPad2d>("reflection_pad2d_alike", 2),
      make_case<ReplicationPad1d>("replication_pad1d", ends1),
      make_case<ReplicationPad2d>("replication_pad2d", ends2),
      make_case<ReplicationPad3d>("replication_pad3d", ends3),
      make_case<CircularPad1d>("circular_pad1d", ends1),
      make_case<CircularPad2d>("circular_pad2d", ends2),
      make_case<CircularPad3d>("circular_pad3d", ends3),
      make_case<ReplicationPad2d>("replication_pad2d_unbatched", ends2),
  };
}

std::vector<Case> others() {
  return {
      make_case<Linear>("linear", 5, 3),
      make_case<Linear>("linear_no_bias", 5, 3, LinearOptions{.bias = false}),
      make_case<Linear>("linear_unbatched", 5, 3),
      make_case<Embedding>("embedding", 7, 3),
      make_case<Embedding>("embedding_padding", 7, 3, EmbeddingOptions{.padding_idx = -2}),
      make_case<Upsample>("upsample_nearest", InterpolateOptions{.scale_factor = {2}}),
      make_case<Upsample>("upsample_bilinear", InterpolateOptions{.size = {5, 7},
                                                                  .mode = InterpolateMode::bilinear,
                                                                  .align_corners = true}),
      make_case<Identity>("identity"),
      in_eval_mode<Dropout>("dropout_eval"),
      in_eval_mode<Dropout1d>("dropout1d_eval"),
      in_eval_mode<Dropout2d>("dropout2d_eval"),
      in_eval_mode<Dropout3d>("dropout3d_eval"),
      make_case<Flatten>("flatten"),
      make_case<Unflatten>("unflatten", 1, Shape{2, -1}),
      make_case<PixelShuffle>("pixel_shuffle", 2),
      make_case<PixelUnshuffle>("pixel_unshuffle", 3),
      make_case<ChannelShuffle>("channel_shuffle", 3),
      in_eval_mode<AlphaDropout>("alpha_dropout_eval"),
      in_eval_mode<FeatureAlphaDropout>("feature_alpha_dropout_eval"),
  };
}

std::vector<Case> activations() {
  return {
      make_case<ReLU>("relu"),
      make_case<ReLU6>("relu6"),
      make_case<SELU>("selu"),
      make_case<SiLU>("silu"),
      make_case<Mish>("mish"),
      make_case<Hardsigmoid>("hardsigmoid"),
      make_case<Hardswish>("hardswish"),
      make_case<Sigmoid>("sigmoid"),
      make_case<Tanh>("tanh"),
      make_case<LogSigmoid>("logsigmoid"),
      make_case<Softsign>("softsign"),
      make_case<Tanhshrink>("tanhshrink"),
      make_case<LeakyReLU>("leaky_relu", 0.2),
      make_case<ELU>("elu", 1.5),
      make_case<CELU>("celu", 1.5),
      make_case<GELU>("gelu"),
      make_case<GELU>("gelu_tanh", GeluApproximation::tanh),
      make_case<Hardtanh>("hardtanh", -0.5, 2),
      make_case<Hardshrink>("hardshrink", 0.3),
      make_case<Softshrink>("softshrink", 0.3),
      make_case<Softplus>("softplus", 2, 1),
      make_case<Threshold>("threshold", 0.1, 5),
      make_case<GLU>("glu", 1),
      make_case<Softmax>("softmax", 1),
      make_case<Softmin>("softmin", 1),
      make_case<LogSoftmax>("log_softmax", 1),
      make_case<Softmax2d>("softmax2d"),
      make_case<PReLU>("prelu"),
      in_eval_mode<RReLU>("rrelu_eval", 0.1, 0.4),
      make_case<PReLU>("prelu_channels", PReLUOptions{.num_parameters = 4, .init = 0.1}),
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& family :
       {convolutions(), pools(), norms(), sequences(), attention_cases(), transformers(),
        paddings(), others(), activations(), tables_and_windows(), parametrizations(),
        normed_options(), windowed_options(), other_options()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

const Fixture& fixtures() {
  static const Fixture all = [] {
    Fixture both = read_fixture("layers");
    both.merge(read_fixture("layer_options"));
    return both;
  }();
  return all;
}

// The state, in PyTorch's order: keys are state/NNN/NAME.
NamedTensors state_of(const Fixture& fixture) {
  NamedTensors state;
  for (const auto& [key, value] : part(fixture, "state")) {
    state.emplace_back(key.substr(key.find('/') + 1), value);
  }
  return state;
}

Tensors as_leaves(const Tensors& values, DType dtype) {
  Tensors leaves;
  for (const Tensor& value : values) {
    if (is_floating(value.dtype()))
      leaves.push_back(value.to({.dtype = dtype, .copy = true}).requires_grad_());
    else
      leaves.push_back(value);
  }
  return leaves;
}

AnyModule loaded(const Maker& make, const Fixture& fixture, DType dtype) {
  AnyModule module = make();
  module->to(DType::f64);
  module->load_state_dict(state_of(fixture));
  module->to(dtype);
  return module;
}

// What differs from PyTorch: outputs, gradients, buffers after it, outputs in eval mode.
std::string difference(const Case& one, const Maker& make, const Fixture& fixture, DType dtype) {
  double tolerance = dtype == DType::f64 ? 1e-12 : 2e-5;
  // PyTorch multiplies the gradient by 1/6 rounded to f32.
  if (one.name == "hardsigmoid") tolerance = std::max(tolerance, 1e-7);
  std::string text;
  const auto compare = [&](const Tensor& got, const Tensor& wanted, const std::string& what) {
    const auto result = near(got, wanted, tolerance);
    if (!result) text += what + ": " + result.message() + "\n";
  };
  const AnyModule module = loaded(make, fixture, dtype);
  const Tensors inputs = as_leaves(numbered(fixture, "in"), dtype);
  const Tensors outputs = one.call(*module, inputs);
  const Tensors wanted = numbered(fixture, "out"), gradients = numbered(fixture, "g");
  if (outputs.size() != wanted.size()) return "other outputs";
  Tensor total = zeros({}, {.dtype = dtype});
  for (size_t i = 0; i < outputs.size(); ++i) {
    compare(outputs[i], wanted[i], "output " + std::to_string(i));
    total = total + sum(outputs[i] * gradients[i].to(dtype));
  }
  total.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto found = fixture.find("din" + std::to_string(i));
    if (found != fixture.end())
      compare(inputs[i].grad(), found->second, "gradient " + std::to_string(i));
  }
  for (const auto& [name, parameter] : module->named_parameters())
    compare(parameter.grad(), fixture.at("dparam/" + name), name);
  if (module->named_parameters().size() != part(fixture, "dparam").size()) text += "parameters\n";
  for (const auto& [name, buffer] : module->named_buffers())
    compare(buffer, fixture.at("after/" + name), name);
  module->eval();
  const Tensors after = one.call(*module, inputs), evaluated = numbered(fixture, "eval");
  for (size_t i = 0; i < after.size(); ++i)
    compare(after[i], evaluated[i], "eval output " + std::to_string(i));
  return text;
}

const std::vector<mutants::Exception> kUntold = {
    {"random", "\\w+ ignores dropout|(Alpha|FeatureAlpha)?Dropout\\w* ignores p"},
    {"what PyTorch doesn't have: tests/nn/fuse_test.cc", "BatchNorm[123]d ignores relu"},
    {"tests/nn/functions_test.cc", "Embedding(Bag)? ignores sparse"},
    {"set by the test", "FractionalMaxPool[23]d ignores random_samples"},
    {"it isn't an option of this layer",
     "AvgPool1d ignores divisor_override|GRU ignores proj_size"},
    {"the beginning of what is trained", "PReLU ignores init"}};

class Layers : public testing::TestWithParam<Case> {
 protected:
  AnyModule loaded(const Fixture& fixture, DType dtype) const {
    return nn::loaded(GetParam().make, fixture, dtype);
  }
};

TEST_P(Layers, NamesAreThoseOfPyTorch) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  const NamedTensors wanted = state_of(fixture), got = GetParam().make()->state_dict();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, wanted[i].first);
    EXPECT_EQ(got[i].second.shape(), wanted[i].second.shape()) << got[i].first;
  }
}

TEST_P(Layers, AgreesWithPyTorch) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  ASSERT_FALSE(fixture.empty());
  for (const DType dtype : {DType::f64, DType::f32})
    EXPECT_EQ(difference(GetParam(), GetParam().make, fixture, dtype), "") << to_string(dtype);
}

// Two calls, the second with the states that the first one gave back: the outputs of both, and the
// gradients of their sum with `weights`.
Tensors run_twice(const Case& one, Module& module, const Tensors& inputs, const Tensors& weights,
                  bool autocast) {
  Tensors outputs;
  {
    const Autocast scope(autocast ? DType::bf16 : DType::f32);
    outputs = one.call(module, inputs);
    Tensors next = inputs;
    if (dynamic_cast<Recurrent*>(&module)) {
      next = outputs;
      next[0] = inputs[0];
    } else if (dynamic_cast<RecurrentCell*>(&module)) {
      next = outputs;
      next.insert(next.begin(), inputs[0]);
    }
    const Tensors second = one.call(module, next);
    outputs.insert(outputs.end(), second.begin(), second.end());
  }
  Tensor total = zeros({});
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].requires_grad())
      total = total + sum(outputs[i] * weights[i % weights.size()].to(DType::f32));
  }
  total.backward();
  for (const Tensor& input : inputs) {
    if (input.requires_grad()) outputs.push_back(input.grad());
  }
  for (const auto& [name, parameter] : module.named_parameters())
    outputs.push_back(parameter.grad());
  return outputs;
}

TEST_P(Layers, RunTwiceUnderAutocast) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  std::vector<Tensors> results;
  for (const bool autocast : {false, true}) {
    const AnyModule module = loaded(fixture, DType::f32);
    const Tensors inputs = as_leaves(numbered(fixture, "in"), DType::f32);
    results.push_back(run_twice(GetParam(), *module, inputs, numbered(fixture, "g"), autocast));
  }
  ASSERT_EQ(results[0].size(), results[1].size());
  // A ReLU at 0.005 is one at 0 in bf16 (in PyTorch too): its outputs are comparable alone.
  const std::set<std::string> kinks = {"encoder_layer", "encoder_stack", "transformer"};
  const size_t count = kinks.contains(GetParam().name) ? 2 : results[0].size();
  for (size_t i = 0; i < count; ++i) {
    const Tensor wanted = results[0][i].to(DType::f64), got = results[1][i].to(DType::f64);
    ASSERT_EQ(got.shape(), wanted.shape());
    const double size = amax(abs(wanted)).item<double>();
    EXPECT_LE(amax(abs(got - wanted)).item<double>(), 0.08 * std::max(size, 1e-3)) << i;
  }
}

TEST_P(Layers, GradientsAgreeWithFiniteDifferences) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  const AnyModule module = loaded(fixture, DType::f64);
  Tensors data = as_leaves(numbered(fixture, "in"), DType::f64);
  // Rows are made shorter in place, and gradients shared out.
  if (GetParam().name == "embedding_options" || GetParam().name == "embedding_bag_options") return;
  // The padding's row gets no gradient by definition, so no index may name it.
  if (GetParam().name == "embedding_padding") data[0] = clamp_max(data[0], 4);
  Tensors inputs;
  for (const Tensor& x : data)
    if (x.requires_grad()) inputs.push_back(x);
  for (const Tensor& parameter : module->parameters()) inputs.push_back(parameter);
  // A call in training changes the directions that the derivative takes as they are.
  if (GetParam().name.find("spectral_norm") == 0 || GetParam().name == "both_norms") module->eval();
  // Inputs and parameters are moved where they are.
  const auto call = [&](const Tensors&) { return GetParam().call(*module, data); };
  EXPECT_GRADIENTS(call, inputs);
  EXPECT_SECOND_GRADIENTS(call, inputs, {.allow_vacuous = true});
}

TEST_P(Layers, CopiesHaveTheirOwnParameters) {
  const Fixture fixture = part(fixtures(), GetParam().name);
  const AnyModule module = loaded(fixture, DType::f64);
  const AnyModule copy = clone(module);
  const Tensors inputs = as_leaves(numbered(fixture, "in"), DType::f64);
  const NamedTensors own = module->state_dict(), theirs = copy->state_dict();
  ASSERT_EQ(own.size(), theirs.size());
  for (size_t i = 0; i < own.size(); ++i) {
    EXPECT_EQ(own[i].first, theirs[i].first);
    EXPECT_FALSE(own[i].second.shares_storage(theirs[i].second)) << own[i].first;
  }
  const Tensors a = GetParam().call(*module, inputs), b = GetParam().call(*copy, inputs);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(near(b[i], a[i], 0));
}

TEST_P(Layers, NamesTheInputThatIsUndefined) {
  const AnyModule module = loaded(part(fixtures(), GetParam().name), DType::f64);
  const Tensors inputs = as_leaves(numbered(part(fixtures(), GetParam().name), "in"), DType::f64);
  const std::string type = module->type_name();
  if (type != "Identity") {  // which gives what it is given
    expect_operands_named(declared_everywhere(), type, inputs,
                          [&](const Tensors& in) { GetParam().call(*module, in); });
  }
  const Taken taken(*module);
  EXPECT_EQ(error_of([&] { GetParam().call(*module, inputs); }),
            type + ": the module must be there, got one that was moved away");
}

INSTANTIATE_TEST_SUITE_P(All, Layers, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

// Wrong outputs, which the fixture tells from the right ones.
void count_output_mutants(const std::string& name, mutants::Count& count) {
  const Fixture fixture = part(fixtures(), name);
  const Tensors outputs = numbered(fixture, "out");
  for (const auto& [change, of] : mutants::changes()) {
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].numel() < 2) continue;
      count.add(name + ": output " + std::to_string(i) + " " + change,
                !near(of(outputs[i]), outputs[i], 1e-12), kUntold);
    }
  }
}

// By a layer and what it ignores, whether a fixture tells.
std::map<std::string, bool> ignoring_layers() {
  std::map<std::string, bool> caught;
  for (const Case& one : all_cases()) {
    const Fixture fixture = part(fixtures(), one.name);
    const std::string owner = one.make.owner.empty() ? one.make()->type_name() : one.make.owner;
    for (const auto& mutant : one.make.mutants) {
      bool& found = caught[owner + " ignores " + mutant.ignored];
      if (found) continue;
      try {
        found = !difference(one, mutant.make, fixture, DType::f64).empty();
      } catch (const std::exception&) {
        found = true;
      }
    }
  }
  return caught;
}

TEST(LayerMutants, ThePageCountsThem) {
  std::map<std::string, mutants::Count> families;
  mutants::Count& count = families["layers"];
  for (const Case& one : all_cases()) {
    ++count.rows;
    count_output_mutants(one.name, count);
  }
  for (const auto& [mutant, caught] : ignoring_layers()) count.add(mutant, caught, kUntold);
  mutants::expect_counts("layers", families, kUntold);
}

// A fixture without a case here would be one that nobody compares with.
TEST(LayerFixtures, HaveACaseEach) {
  std::set<std::string> names;
  for (const Case& one : all_cases()) names.insert(one.name);
  for (const auto& [key, value] : fixtures()) {
    EXPECT_TRUE(names.contains(key.substr(0, key.find('/')))) << key;
  }
}

// And so would a layer without a case: each class of nn/ that is a Module and no other's base.
TEST(LayerFixtures, EveryLayerHasACase) {
  std::map<std::string, std::string> base_of;
  std::set<std::string> layers;
  for (const auto& file : std::filesystem::directory_iterator("nn")) {
    static const std::set<std::string> kOthers{"loss",      "margin_loss", "ctc_loss",
                                               "container", "parametrize", "parametrization_list"};
    if (file.path().extension() != ".h" || kOthers.contains(file.path().stem())) continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    const std::string code = text.str();
    const auto each = [&](const char* pattern, auto&& take) {
      const std::regex expression(pattern);
      for (std::sregex_iterator at(code.begin(), code.end(), expression), end; at != end; ++at)
        take(*at);
    };
    each(R"((?:class|struct) (\w+) : (?:public )?(\w+))",
         [&](const std::smatch& match) { base_of[match[1]] = match[2]; });
    each(R"(using (\w+) = \w+Of<)", [&](const std::smatch& match) { layers.insert(match[1]); });
  }
  std::set<std::string> bases;
  for (const auto& [name, base] : base_of) bases.insert(base);
  for (const auto& [name, base] : base_of) {
    std::string root = base;
    while (base_of.contains(root)) root = base_of[root];
    if (root == "Module" && !bases.contains(name) && !name.ends_with("Of")) layers.insert(name);
  }
  EXPECT_GT(layers.size(), 70u);
  for (const Case& one : all_cases()) layers.erase(one.make()->type_name());
  EXPECT_EQ(layers, std::set<std::string>());
}

// `inplace` writes the input and computes the same, gradients too.
template <class M, class... Arguments>
void expect_in_place(Arguments... arguments) {
  const M plain(arguments...);
  M in_place(arguments...);
  if constexpr (requires { in_place.options.inplace; })
    in_place.options.inplace = true;
  else
    in_place.inplace = true;
  const Tensor x = linspace(-4, 4, 33, {.dtype = DType::f64}).requires_grad_();
  const Tensor y = x.detach().clone().requires_grad_();
  const Tensor wanted = plain(x), room = y * 1;
  const Tensor got = in_place(room);
  EXPECT_TRUE(got.shares_storage(room)) << plain.type_name();
  EXPECT_TRUE(near(got, wanted, 0)) << plain.type_name();
  sum(wanted * x.detach()).backward();
  sum(got * x.detach()).backward();
  EXPECT_TRUE(near(y.grad(), x.grad(), 1e-15)) << plain.type_name();
}

TEST(Activations, InPlace) {
  expect_in_place<ReLU>();
  expect_in_place<ReLU6>();
  expect_in_place<SELU>();
  expect_in_place<SiLU>();
  expect_in_place<Mish>();
  expect_in_place<Hardsigmoid>();
  expect_in_place<Hardswish>();
  expect_in_place<LeakyReLU>(0.2);
  expect_in_place<ELU>(1.5);
  expect_in_place<CELU>(1.5);
  expect_in_place<Hardtanh>(-0.5, 2);
  expect_in_place<Threshold>(0.1, 5);
}

}  // namespace
}  // namespace aorta::nn
