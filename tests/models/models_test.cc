// Every network against PyTorch's or torchvision's: names and shapes, outputs, losses, and where
// five steps of SGD lead, without dropout and stochastic depth.
#include <aorta/models/conv_parts.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/models/formula.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <cstdlib>
#include <map>
#include <ostream>
#include <set>
#include <sstream>

namespace aorta::models {
namespace {

using Fixture = std::map<std::string, Tensor>;

const Fixture& fixtures() {
  static const Fixture all = [] {
    const NamedTensors read = load("tests/fixtures/models/models.npz");
    return Fixture(read.begin(), read.end());
  }();
  return all;
}

struct Case {
  std::string name;
  std::function<nn::AnyModule()> make;
  Shape input;
  enum { f64_alone, both_dtypes, channels_last_too } tried = channels_last_too;
  double near_in_f32 = 1e-5;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

Case named(const std::string& name, const ModelOptions& options, const Shape& input) {
  return {name, [=] { return make(name, options); }, input};
}

// Each of its norms sees the sums of all layers before, of few positions in the end: PyTorch's own
// f32 is off by 0.9e-5 (one order of memory) to 2.1e-5 (the other).
Case dense(const std::string& name, const ModelOptions& options, const Shape& input) {
  Case one = named(name, options, input);
  one.near_in_f32 = 2.5e-5;
  return one;
}

// A deeper network of the same parts.
Case deeper(const std::string& name, const ModelOptions& options, const Shape& input) {
  return {name, [=] { return make(name, options); }, input, Case::f64_alone};
}

// With 24 features where the classifier has 4096. The state is another's anyway, so all that a test
// makes are copies of one.
template <class Make>
nn::AnyModule narrow(const Make& make_wide) {
  static const nn::AnyModule first = [&] {
    const auto network = make_wide();
    for (const auto& [name, module] : network.classifier) {
      if (auto* linear = dynamic_cast<nn::Linear*>(&*module)) {
        const auto narrowed = [](int64_t size) { return size == 4096 ? 24 : size; };
        *linear = nn::Linear(narrowed(linear->in_features), narrowed(linear->out_features));
      }
    }
    return nn::AnyModule(network);
  }();
  return clone(first);
}

// Maps of 11 x 13, 6 x 7, 3 x 4 and 2 x 2 windows' positions: padded ones, and ones of one window.
SwinTransformer small_swin(int64_t window, SwinVersion version) {
  return SwinTransformer({8, {2, 2, 2, 1}, {2, 2, 4, 4}, window, 0.5, version}, 5);
}

std::vector<Case> classifiers() {
  const ModelOptions ten{.num_classes = 10};
  const Shape large{2, 3, 64, 64};
  std::vector<Case> cases{
      named("resnext50_32x4d", ten, {2, 3, 33, 33}),
      {"alexnet", [] { return narrow([] { return AlexNet(10); }); }, {2, 3, 63, 63}},
      {"vgg11",
       [] { return narrow([] { return VGG(kVGG11, 10); }); },
       {2, 3, 32, 32},
       Case::f64_alone},
      {"vgg16_bn",
       [] { return narrow([] { return VGG(kVGG16BN, 10); }); },
       {2, 3, 32, 32},
       Case::f64_alone},
      deeper("mobilenet_v2", ten, {4, 3, 64, 64}),
      named("mobilenet_v3_small", ten, large),
      deeper("mobilenet_v3_large", ten, large),
      deeper("efficientnet_b0", ten, large),
      {"efficientnet_v2",
       [] {
         static constexpr MBConvStage stages[] = {{1, 3, 1, 8, 8, 2, true},
                                                  {4, 3, 2, 8, 16, 2, true},
                                                  {4, 3, 2, 16, 24, 2},
                                                  {6, 3, 1, 24, 32, 1}};
         return nn::AnyModule(EfficientNet({1, 1, 0.2, 1e-3, 0.1, stages, 40}, 5));
       },
       {4, 3, 32, 32}},
      deeper("regnet_x_400mf", ten, {4, 3, 64, 64}),
      deeper("regnet_y_400mf", ten, {4, 3, 64, 64}),
      dense("densenet121", ten, large),
      deeper("googlenet", ten, {2, 3, 48, 40}),
      deeper("inception_v3", {.num_classes = 10, .aux_loss = false}, {4, 3, 107, 99}),
      {"inception_v3_aux",
       [] { return nn::AnyModule(Inception3({.num_classes = 10}).AuxLogits); },
       {3, 768, 17, 17}},
      {"vision_transformer",
       [] {
         return nn::AnyModule(VisionTransformer({.image_size = 24,
                                                 .patch_size = 8,
                                                 .num_layers = 2,
                                                 .num_heads = 3,
                                                 .hidden_dim = 12,
                                                 .mlp_dim = 20,
                                                 .num_classes = 5}));
       },
       {2, 3, 24, 24}},
      {"convnext",
       [] {
         return nn::AnyModule(ConvNeXt({{1, 2, 2, 1}, {6, 8, 10, 12}, 0.5}, 5));
       },
       large},
      {"maxvit",
       [] {
         return nn::AnyModule(MaxVit({8, {8, 8, 12, 16}, {1, 2, 1, 1}, 4, 2, 0.5, 64}, 5));
       },
       {3, 3, 64, 64}},
      {"swin", [] { return nn::AnyModule(small_swin(3, SwinVersion::v1)); }, {2, 3, 44, 54}},
      {"swin_v2", [] { return nn::AnyModule(small_swin(4, SwinVersion::v2)); }, {2, 3, 44, 54}},
      deeper("squeezenet1_0", ten, {2, 3, 31, 31}),
      named("squeezenet1_1", ten, {2, 3, 31, 31}),
      deeper("shufflenet_v2_x0_5", ten, large),
      deeper("mnasnet0_5", ten, large),
  };
  return cases;
}

std::vector<Case> all_cases() {
  std::vector<Case> cases{
      {"mlp",
       [] {
         return nn::AnyModule(MLP({20, 16, 12, 5}, MlpActivation::sigmoid));
       },
       {4, 20},
       Case::both_dtypes},
      named("lenet5", {}, {3, 1, 28, 28}),
      named("resnet18", {.num_classes = 10}, {3, 3, 64, 64}),
      named("resnet34", {.num_classes = 10}, {3, 3, 64, 64}),
      named("resnet50", {.num_classes = 10}, {4, 3, 64, 64}),
      deeper("resnet101", {.num_classes = 10}, {6, 3, 64, 64}),
      named("fcn_resnet50", {.num_classes = 3, .aux_loss = true}, {4, 3, 40, 32}),
      deeper("fcn_resnet101", {.num_classes = 3}, {4, 3, 40, 32}),
      named("deeplabv3_resnet50", {.num_classes = 1}, {4, 3, 40, 32}),
      deeper("deeplabv3_resnet101", {.num_classes = 2, .aux_loss = true}, {6, 3, 40, 32}),
      {"unet",
       [] {
         return nn::AnyModule(
             UNet({.in_channels = 3, .num_classes = 2, .base_channels = 8, .depth = 3}));
       },
       {2, 3, 29, 36}},
      {"unet_3d",
       [] { return nn::AnyModule(UNet3d({.num_classes = 2, .base_channels = 8, .depth = 3})); },
       {2, 3, 5, 21, 16}},
      named("r3d_18", {.num_classes = 5}, {2, 3, 4, 36, 32}),
      named("mc3_18", {.num_classes = 5}, {2, 3, 4, 36, 32}),
      named("r2plus1d_18", {.num_classes = 5}, {2, 3, 4, 36, 32}),
  };
  for (const Case& one : classifiers()) cases.push_back(one);
  return cases;
}

nn::AnyModule loaded(const Case& one, DType dtype) {
  nn::AnyModule module = one.make();
  module->to(DType::f64);
  NamedTensors state;
  for (const auto& [name, tensor] : module->state_dict()) {
    state.emplace_back(name, state_value(name, tensor));
  }
  module->load_state_dict(state);
  module->to(dtype);
  module->apply([](nn::Module& inner) {
    if (auto* dropout = dynamic_cast<nn::Dropout*>(&inner)) dropout->options.p = 0;
    if (auto* depth = dynamic_cast<detail::StochasticDepth*>(&inner)) depth->p = 0;
  });
  return module;
}

// The logits of all heads of a network.
std::vector<Tensor> heads_of(const nn::Module& module, const Tensor& x) {
  std::vector<Tensor> heads;
  if (const auto* network = dynamic_cast<const Segmentation*>(&module)) {
    const SegmentationOutput found = network->heads(x);
    heads = {found.out, found.aux};
  } else if (const auto* google = dynamic_cast<const GoogLeNet*>(&module)) {
    const GoogLeNetOutput found = google->heads(x);
    heads = {found.logits, found.aux_logits2, found.aux_logits1};
  } else {
    heads = {module(x)};
  }
  std::erase_if(heads, [](const Tensor& head) { return !head.defined(); });
  return heads;
}

Tensor loss_of(const Case& one, const std::vector<Tensor>& heads) {
  Tensor loss = zeros({}, {.dtype = heads.at(0).dtype()});
  double weight = 1;
  for (const Tensor& out : heads) {
    if (out.dim() == 2) {
      loss =
          loss + weight * nn::cross_entropy(out, remainder(arange(out.size(0)) * 2, out.size(1)));
    } else {
      const Tensor target = gt(formula(one.name + ".target", out.shape()), 0).to(out.dtype());
      loss = loss + weight * nn::binary_cross_entropy_with_logits(out, target);
    }
    weight /= 2;
  }
  return loss;
}

// The largest difference at the fixture's places, over the largest magnitude there.
double difference(const Tensor& out, const Case& one, const std::string& member) {
  const Tensor places = fixtures().at(one.name + "/places");
  const Tensor wanted = fixtures().at(one.name + "/" + member);
  const Tensor got = index_select(out.detach().to(DType::f64).contiguous().flatten(), 0, places);
  return (amax(abs(got - wanted)) / amax(abs(wanted))).item<double>();
}

// On one thread: other tests run beside this one, and where processors are short, waiting for a
// second thread takes longer than the work that it takes over.
class Models : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { set_num_threads(1); }
  void TearDown() override { set_num_threads(threads_); }

 private:
  int threads_ = get_num_threads();
};

std::string text_of(const Tensor& bytes) {
  return std::string(static_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.numel()));
}

// A line for each tensor of the state.
std::string state_text(const nn::Module& module) {
  std::string text;
  for (const auto& [name, tensor] : module.state_dict())
    text += (text.empty() ? "" : "\n") + name + " " + to_string(tensor.shape());
  return text;
}

TEST_P(Models, NamesAndShapesAreThoseOfPyTorch) {
  EXPECT_EQ(state_text(*GetParam().make()), text_of(fixtures().at(GetParam().name + "/names")));
}

TEST_P(Models, TrainsAsPyTorchDoes) {
  const Case& one = GetParam();
  for (const DType dtype : {DType::f64, DType::f32}) {
    for (const MemoryFormat format : {MemoryFormat::contiguous, MemoryFormat::channels_last}) {
      if (dtype == DType::f32 && one.tried == Case::f64_alone) continue;
      if (format == MemoryFormat::channels_last &&
          (dtype == DType::f64 || one.tried != Case::channels_last_too))
        continue;
      SCOPED_TRACE(to_string(dtype) + (format == MemoryFormat::contiguous ? "" : " channels_last"));
      const double near = dtype == DType::f64 ? 1e-9 : one.near_in_f32,
                   after_steps = dtype == DType::f64 ? 1e-9 : 1e-4;
      const nn::AnyModule module = loaded(one, dtype);
      Tensor x = formula(one.name + ".input", one.input).to(dtype);
      if (format == MemoryFormat::channels_last) {
        module->to(format);
        x = x.contiguous(format);
      }
      module->eval();
      {
        const NoGradGuard no_grad;
        EXPECT_LE(difference((*module)(x), one, "eval"), near);
      }
      module->train();
      const std::vector<double> losses = fixtures().at(one.name + "/losses").to_vector<double>();
      const double lr = fixtures().at(one.name + "/lr").item<double>();
      optim::SGD optimizer(module->parameters(), {.lr = lr, .momentum = 0.9});
      for (size_t step = 0; step < losses.size(); ++step) {
        const std::vector<Tensor> heads = heads_of(*module, x);
        const Tensor loss = loss_of(one, heads);
        EXPECT_NEAR(loss.item<double>(), losses[step],
                    losses[step] * (step == 0 ? near : after_steps));
        if (step == 0) {
          EXPECT_LE(difference(heads[0], one, "train"), near);
        } else if (step + 1 == losses.size()) {
          EXPECT_LE(difference(heads[0], one, "after"), after_steps);
        }
        optimizer.zero_grad();
        loss.backward();
        if (step + 1 < losses.size()) optimizer.step();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Models, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.name; });

// What `described` of make_models.py says.
std::string described(nn::Module& module) {
  std::vector<std::string> lines;
  for (const auto& [name, inner] : module.named_modules()) {
    if (const auto* dropout = dynamic_cast<nn::Dropout*>(inner))
      lines.push_back(name + fmt::format(" {:.6f}", dropout->options.p));
    else if (const auto* depth = dynamic_cast<detail::StochasticDepth*>(inner);
             depth && depth->p > 0)
      lines.push_back(name + fmt::format(" {:.6f}", depth->p));
    else if (const auto* norm = dynamic_cast<nn::BatchNorm2d*>(inner))
      lines.push_back(name + fmt::format(" {:.6f} {:.6f}", norm->options.eps,
                                         norm->options.momentum.value_or(0)));
  }
  std::sort(lines.begin(), lines.end());
  std::string text = state_text(module);
  for (const std::string& line : lines) text += "\n" + line;
  return text;
}

// More than 60 million parameters: to draw them takes longer than what the others do in all.
bool is_large(const std::string& name) {
  static const std::set<std::string> large{
      "resnet152",        "resnext101_32x8d",  "resnext101_64x4d", "wide_resnet50_2",
      "wide_resnet101_2", "alexnet",           "efficientnet_b7",  "convnext_base",
      "convnext_large",   "efficientnet_v2_l", "regnet_x_32gf",    "regnet_y_16gf",
      "regnet_y_32gf",    "regnet_y_128gf",    "swin_b",           "swin_v2_b"};
  return large.count(name) > 0 || name.starts_with("vgg") || name.starts_with("vit_");
}

void expect_state_of_torchvision(const std::string& name) {
  static const std::map<std::string, uLong> crcs = [] {
    std::istringstream lines(text_of(fixtures().at("states")));
    std::map<std::string, uLong> read;
    for (std::string network; lines >> network;) lines >> read[network];
    return read;
  }();
  ASSERT_EQ(crcs.count(name), 1u) << name;
  const std::string text = described(*make(name));
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  EXPECT_EQ(crc, crcs.at(name)) << name << ":\n" << text.substr(0, 2000);
}

// What make.h has besides torchvision's classification networks.
bool is_other(const std::string& name) {
  static const std::set<std::string> others{"mlp",     "lenet5", "unet",   "unet_small",
                                            "unet_3d", "r3d_18", "mc3_18", "r2plus1d_18"};
  return others.count(name) > 0 || name.starts_with("fcn_") || name.starts_with("deeplabv3_");
}

TEST(Make, ClassifiersHaveTheStatesDropoutAndNormsOfTorchvision) {
  for (const std::string& name : names())
    if (!is_other(name) && !is_large(name)) expect_state_of_torchvision(name);
}

TEST(Make, LargeClassifiersHaveTheStatesOfTorchvision) {
  if (std::getenv("AORTA_LARGE_MODELS") == nullptr)
    GTEST_SKIP() << "AORTA_LARGE_MODELS=1 compares networks that take half a minute to make";
  for (const std::string& name : names())
    if (is_large(name)) expect_state_of_torchvision(name);
}

TEST(Make, KnowsItsNames) {
  for (const std::string& name : names()) {
    if (!is_other(name)) continue;
    EXPECT_GT(make(name)->parameters().size(), 0u) << name;
  }
  EXPECT_EQ(error_of([] { make("resnet19"); }).substr(0, 44),
            "models: name must be one of mlp, lenet5, res");
  EXPECT_EQ(error_of([] { make("unet", {.aux_loss = true}); }),
            "models: aux_loss needs a network with that head, got unet");
}

TEST(Make, ParameterCountsAreThePublishedOnes) {
  const auto count = [](const std::string& name, const ModelOptions& options) {
    int64_t total = 0;
    for (const Tensor& parameter : make(name, options)->parameters()) total += parameter.numel();
    return total;
  };
  EXPECT_EQ(count("deeplabv3_resnet50", {.num_classes = 1}), 39633729);
  // torchvision's pages: 11689512, 25557032, 42004074 (with the second head), 31037633 (U-Net as in
  // the paper, with norms).
  EXPECT_EQ(count("resnet18", {}), 11689512);
  EXPECT_EQ(count("resnet50", {}), 25557032);
  EXPECT_EQ(count("deeplabv3_resnet50", {.aux_loss = true}), 42004074);
  EXPECT_EQ(count("googlenet", {.aux_loss = false}), 6624904);
  EXPECT_EQ(count("inception_v3", {}), 27161264);
}

TEST(LoadWeights, LeavesOutTheSecondHeadAndSaysSo) {
  const std::string path = testing::TempDir() + "fcn.safetensors";
  const nn::AnyModule with = make("fcn_resnet50", {.num_classes = 2, .aux_loss = true});
  const nn::AnyModule without = make("fcn_resnet50", {.num_classes = 2});
  save(with->state_dict(), path);
  nn::LoadReport report = load_weights(*without, path);
  EXPECT_EQ(report.unexpected.size(), 8u);
  EXPECT_EQ(report.unexpected[0].substr(0, 15), "aux_classifier.");
  EXPECT_TRUE(report.missing.empty());
  EXPECT_EQ(sum(abs(with->parameters()[0] - without->parameters()[0])).item<double>(), 0);

  save(without->state_dict(), path);
  report = load_weights(*with, path);
  EXPECT_EQ(report.missing.size(), 8u);
  EXPECT_TRUE(report.unexpected.empty());

  const nn::AnyModule other = make("fcn_resnet50", {.num_classes = 3});
  EXPECT_NE(error_of([&] {
              load_weights(*other, path);
            }).find("of another shape \"classifier.4.weight\""),
            std::string::npos);
}

TEST(LoadWeights, LeavesOutAHeadByName) {
  const std::string path = testing::TempDir() + "resnet.safetensors";
  const nn::AnyModule thousand = make("resnet18", {.num_classes = 7});
  save(thousand->state_dict(), path);
  const nn::AnyModule net = make("resnet18", {.num_classes = 3});
  const Tensor head = net.as<ResNet>().fc.weight.detach().clone();
  const nn::LoadReport report = load_weights(*net, path, {.leave_out = {"fc"}});
  EXPECT_EQ(report.missing, (std::vector<std::string>{"fc.weight", "fc.bias"}));
  EXPECT_EQ(report.unexpected, (std::vector<std::string>{"fc.bias", "fc.weight"}));
  EXPECT_EQ(sum(abs(net.as<ResNet>().fc.weight - head)).item<double>(), 0);
  EXPECT_EQ(sum(abs(net->parameters()[0] - thousand->parameters()[0])).item<double>(), 0);
  const auto error = [&](const nn::LoadOptions& options) {
    return error_of([&] { load_weights(*net, path, options); });
  };
  // A shape that differs is an error, strict or not, unless it is left out by name.
  const std::string shapes =
      "load_state_dict: names and shapes must be the module's, got of another shape \"fc.weight\" "
      "[7,512] for [3,512], \"fc.bias\" [7] for [3]";
  EXPECT_EQ(error({}), shapes);
  EXPECT_EQ(error({.strict = false}), shapes);
  EXPECT_EQ(error({.leave_out = {"f"}}),
            "load_state_dict: what is left out must be a part of the module or of the state, got "
            "\"f\"");
  EXPECT_EQ(error({.leave_out = {"fc.weight"}}),
            "load_state_dict: names and shapes must be the module's, got of another shape "
            "\"fc.bias\" [7] for [3]");
  // What one side alone has may be left out too.
  NamedTensors state = net->state_dict();
  std::erase_if(state, [](const auto& one) { return one.first.starts_with("layer4."); });
  state.emplace_back("extra.weight", ones({1}));
  save(state, path);
  EXPECT_EQ(error({.leave_out = {"layer4", "extra"}}), kNoError);
  EXPECT_NE(error({.leave_out = {"layer4"}}), kNoError);
}

}  // namespace
}  // namespace aorta::models
