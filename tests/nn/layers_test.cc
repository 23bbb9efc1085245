// Every layer: names, outputs, gradients, running statistics and eval mode as PyTorch's, in f64 and
// f32, and its gradients by finite differences.
#include <aorta/autograd/gradcheck_gtest.h>
#include <aorta/tests/changes.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/mutants.h>
#include <aorta/tests/nn/layer_cases.h>
#include <aorta/tests/nn/undefined.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace aorta::nn {
namespace {

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
    return loaded_layer(GetParam().make, fixture, dtype);
  }
};

TEST_P(Layers, NamesAreThoseOfPyTorch) {
  const Fixture fixture = part(layer_fixtures(), GetParam().name);
  const NamedTensors wanted = state_of(fixture), got = GetParam().make()->state_dict();
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].first, wanted[i].first);
    EXPECT_EQ(got[i].second.shape(), wanted[i].second.shape()) << got[i].first;
  }
}

TEST_P(Layers, AgreesWithPyTorch) {
  const Fixture fixture = part(layer_fixtures(), GetParam().name);
  ASSERT_FALSE(fixture.empty());
  for (const DType dtype : {DType::f64, DType::f32})
    EXPECT_EQ(layer_difference(GetParam(), GetParam().make, dtype), "") << to_string(dtype);
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
  const Fixture fixture = part(layer_fixtures(), GetParam().name);
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
  const Fixture fixture = part(layer_fixtures(), GetParam().name);
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
  const Fixture fixture = part(layer_fixtures(), GetParam().name);
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
  const AnyModule module = loaded(part(layer_fixtures(), GetParam().name), DType::f64);
  const Tensors inputs =
      as_leaves(numbered(part(layer_fixtures(), GetParam().name), "in"), DType::f64);
  const std::string type = module->type_name();
  if (type != "Identity") {  // which gives what it is given
    expect_operands_named(declared_everywhere(), type, inputs,
                          [&](const Tensors& in) { GetParam().call(*module, in); });
  }
  const Taken taken(*module);
  EXPECT_EQ(error_of([&] { GetParam().call(*module, inputs); }),
            type + ": the module must be there, got one that was moved away");
}

INSTANTIATE_TEST_SUITE_P(All, Layers, testing::ValuesIn(layer_cases()),
                         [](const auto& test) { return test.param.name; });

// Wrong outputs, which the fixture tells from the right ones.
void count_output_mutants(const std::string& name, mutants::Count& count) {
  const Fixture fixture = part(layer_fixtures(), name);
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
  for (const Case& one : layer_cases()) {
    const Fixture fixture = part(layer_fixtures(), one.name);
    const std::string owner = one.make.owner.empty() ? one.make()->type_name() : one.make.owner;
    for (const auto& mutant : one.make.mutants) {
      bool& found = caught[owner + " ignores " + mutant.ignored];
      if (found) continue;
      try {
        found = !layer_difference(one, mutant.make, DType::f64).empty();
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
  for (const Case& one : layer_cases()) {
    ++count.rows;
    count_output_mutants(one.name, count);
  }
  for (const auto& [mutant, caught] : ignoring_layers()) count.add(mutant, caught, kUntold);
  mutants::expect_counts("layers", families, kUntold);
}

// A fixture without a case here would be one that nobody compares with.
TEST(LayerFixtures, HaveACaseEach) {
  std::set<std::string> names;
  for (const Case& one : layer_cases()) names.insert(one.name);
  for (const auto& [key, value] : layer_fixtures()) {
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
  for (const Case& one : layer_cases()) layers.erase(one.make()->type_name());
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

// torch.conv_transpose1d(ones(3, C, 2), ones(C, 1, 1), bias=[5], output_padding=1, dilation=2):
// what output_padding adds to a kernel of one tap, which no input reaches, is the bias.
TEST(ConvTranspose, OutputPaddingOfOneTapIsTheBias) {
  for (const int64_t channels : {2, 64}) {
    const Tensor x = ones({3, channels, 2}).requires_grad_();
    const Tensor y = aorta::conv_transpose1d(x, ones({channels, 1, 1}), tensor({5.0F}),
                                             {.output_padding = 1, .dilation = 2});
    const float sum_of_channels = static_cast<float>(channels) + 5;
    std::vector<float> wanted;
    for (int i = 0; i < 3; ++i) wanted.insert(wanted.end(), {sum_of_channels, sum_of_channels, 5});
    EXPECT_EQ(y.to_vector<float>(), wanted);
    sum(y * tensor({1, 2, 3})).backward();
    std::vector<float> slopes;
    for (int64_t i = 0; i < 3 * channels; ++i) slopes.insert(slopes.end(), {1, 2});
    EXPECT_EQ(x.grad().to_vector<float>(), slopes);
  }
}

// torch.nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)(h, output_size=x.size()), of PyTorch's
// own example: a whole shape stands for its spatial sizes.
TEST(ConvTranspose, TakesAWholeShapeAsOutputSize) {
  const ConvTranspose2d up(4, 4, 3, {.stride = 2, .padding = 1});
  const Tensor h = rand({1, 4, 6, 6}), wanted = up(h, {12, 11});
  EXPECT_EQ(wanted.shape(), Shape({1, 4, 12, 11}));
  EXPECT_TRUE(near(up(h, Shape{1, 4, 12, 11}), wanted, 0));
  EXPECT_TRUE(near(up(h[0], Shape{4, 12, 11}), wanted[0], 1e-6));
  EXPECT_EQ(error_of([&] {
              up(h, {4, 12, 11});
            }),
            "ConvTranspose2d: output_size must have the spatial sizes or all, got [4,12,11] for "
            "input [1,4,6,6]");
}

}  // namespace
}  // namespace aorta::nn
