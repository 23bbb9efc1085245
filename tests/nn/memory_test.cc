// What a module's tensors start with and where they lie: initial values drawn anew, memory of
// another device, shared and given memory.
#include <aorta/tests/error_text.h>
#include <aorta/tests/forked.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

void reset(Module& module) {
  module.apply([](Module& part) { part.reset_parameters(); });
}

// Overwrites everything that a module has.
void spoil(Module& module) {
  const NoGradGuard no_grad;
  for (const auto& [name, tensor] : module.state_dict()) tensor.fill_(9);
}

struct OfLayer {
  std::string name;
  std::function<AnyModule()> make;
};

TEST(Memory, ResetParametersDrawsWhatANewLayerHas) {
  const std::vector<OfLayer> layers{
      {"linear", [] { return Linear(4, 3); }},
      {"linear without bias", [] { return Linear(4, 3, {.bias = false}); }},
      {"bilinear", [] { return Bilinear(4, 2, 3); }},
      {"conv", [] { return Conv2d(4, 6, 3, {.groups = 2}); }},
      {"transposed conv", [] { return ConvTranspose1d(4, 3, 2); }},
      {"embedding", [] { return Embedding(5, 3, {.padding_idx = 2}); }},
      {"embedding bag", [] { return EmbeddingBag(5, 3, {.padding_idx = 1}); }},
      {"prelu", [] { return PReLU({.num_parameters = 3, .init = 0.5}); }},
      {"batch norm", [] { return BatchNorm2d(3); }},
      {"instance norm", [] { return InstanceNorm1d(3, {.affine = true}); }},
      {"layer norm", [] { return LayerNorm(3); }},
      {"group norm", [] { return GroupNorm(2, 4); }},
      {"rms norm", [] { return RMSNorm(3); }},
      {"attention", [] { return MultiheadAttention(6, 2); }},
      {"attention of other keys", [] { return MultiheadAttention(6, 2, {.kdim = 4}); }},
      {"lstm", [] { return LSTM(3, 4, {.num_layers = 2, .bidirectional = true, .proj_size = 2}); }},
      {"gru cell", [] { return GRUCell(3, 4); }},
      {"sequential", [] {
         const Linear front(3, 4), back(4, 2);
         return Sequential(front, ReLU(), back);
       }}};
  for (const OfLayer& layer : layers) {
    manual_seed(5);
    const AnyModule fresh = layer.make();
    const AnyModule old = clone(fresh);
    spoil(*old);
    manual_seed(5);
    reset(*old);
    const NamedTensors wanted = fresh->state_dict(), got = old->state_dict();
    ASSERT_EQ(got.size(), wanted.size()) << layer.name;
    ASSERT_FALSE(got.empty()) << layer.name;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(near(got[i].second, wanted[i].second, 0)) << layer.name << " " << got[i].first;
    reset(*old);  // other numbers, where there are any
    EXPECT_TRUE(old->parameters()[0].requires_grad()) << layer.name;
  }
}

TEST(Memory, ResetParametersOfATransformerIsXaviers) {
  Transformer net({.d_model = 8, .nhead = 2, .num_encoder_layers = 1, .num_decoder_layers = 1});
  spoil(net);
  reset(net);
  for (const auto& [name, parameter] : net.named_parameters()) {
    if (parameter.dim() < 2) continue;
    const double bound = std::sqrt(6. / static_cast<double>(parameter.size(0) + parameter.size(1)));
    const double largest = parameter.abs().max().item<double>();
    EXPECT_LE(largest, bound) << name;
    EXPECT_GT(largest, bound / 2) << name;
  }
}

TEST(Memory, ResetParametersLeavesTheModulesInsideAlone) {
  struct Net : Module {
    Linear inner{*this, "inner", 2, 2};
  } net;
  spoil(net);
  net.reset_parameters();
  EXPECT_TRUE(near(net.inner.weight, full({2, 2}, 9), 0));
  // A network's own may do what it likes.
  struct Ones : Module {
    Parameter scale{*this, "scale", zeros({2})};
    void reset_parameters() override { init::ones_(scale); }
  } ones_of;
  reset(ones_of);
  EXPECT_TRUE(near(ones_of.scale, ones({2}), 0));
}

TEST(Memory, ChildrenAndModulesAreThoseWithNames) {
  struct Net : Module {
    Sequential front{*this, "front", Linear(2, 3), ReLU()};
    Linear back{*this, "back", 3, 1};
  } net;
  EXPECT_EQ(net.children(), (std::vector<Module*>{&net.front, &net.back}));
  const std::vector<Module*> all = net.modules();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0], &net);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], net.named_modules()[i].second);
  EXPECT_TRUE(net.back.children().empty());
}

TEST(Memory, ToEmptyGivesANetworkOnMetaMemory) {
  Sequential net(Linear(3, 4), BatchNorm1d(4));
  const Tensor weight = net.parameters()[0];
  optim::SGD optimizer(net.parameters(), {.lr = 0.1});
  net.to("meta");
  EXPECT_TRUE(weight.is_meta());
  net.to_empty("cpu");
  EXPECT_TRUE(weight.is_cpu());
  EXPECT_TRUE(weight.is_same(net.parameters()[0]));
  EXPECT_EQ(weight.shape(), (Shape{4, 3}));
  EXPECT_TRUE(weight.requires_grad());
  EXPECT_EQ(net.buffers()[2].dtype(), DType::i64);
  reset(net);
  net(randn({5, 3})).square().sum().backward();
  const Tensor before = weight.detach().clone();
  optimizer.step();  // of the same tensors
  EXPECT_TRUE(near(weight, before - 0.1 * weight.grad(), 1e-6));
}

TEST(Memory, AssignTakesTheTensorsThemselves) {
  Linear net(3, 2);
  const Tensor weight = net.weight, given = ones({2, 3}, {.dtype = f64}), bias = zeros({2});
  net.load_state_dict({{"weight", given}, {"bias", bias}}, {.assign = true});
  EXPECT_TRUE(net.weight.is_same(weight));
  EXPECT_EQ(net.weight.dtype(), f64);
  EXPECT_TRUE(net.weight.requires_grad());
  EXPECT_FALSE(given.requires_grad());
  given[0].fill_(7);
  EXPECT_EQ(net.weight.at<double>({0, 2}), 7);
  EXPECT_TRUE(net.bias.shares_storage(bias));

  // A network on meta takes what it is given, and one error leaves all as it was.
  Linear meta(3, 2);
  meta.to("meta");
  EXPECT_NE(error_of([&] {
              meta.load_state_dict({{"weight", given}, {"bias", zeros({3})}}, {.assign = true});
            }),
            "");
  EXPECT_TRUE(meta.weight.is_meta());
  EXPECT_EQ(error_of([&] {
              meta.load_state_dict({{"weight", zeros({2, 3}, {.dtype = i64})}, {"bias", bias}},
                                   {.assign = true});
            }),
            "load_state_dict: names and shapes must be the module's, got of another kind "
            "\"weight\" i64 for f32");
  meta.load_state_dict({{"weight", ones({2, 3})}, {"bias", bias}}, {.assign = true});
  EXPECT_TRUE(near(meta(ones({1, 3})), full({1, 2}, 3), 0));
}

TEST(Memory, SharedParametersAreThoseOfOtherProcessesToo) {
  Sequential net(Linear(3, 2), BatchNorm1d(2));
  const Tensor weight = net.parameters()[0];
  const Tensor before = weight.detach().clone();
  net.share_memory();
  for (const auto& [name, tensor] : net.state_dict()) EXPECT_TRUE(tensor.is_shared()) << name;
  EXPECT_TRUE(weight.is_same(net.parameters()[0]));
  EXPECT_TRUE(near(weight, before, 0));
  const void* const place = weight.data();
  net.share_memory();  // nothing more
  EXPECT_EQ(weight.data(), place);
  EXPECT_EQ(forked([&] {
              const NoGradGuard no_grad;
              weight.at<float>({1, 2}) = 42;
              net.buffers()[0].at<float>({1}) = 43;
              return 0;
            }),
            0);
  EXPECT_EQ(weight.at<float>({1, 2}), 42);
  EXPECT_EQ(net.buffers()[0].at<float>({1}), 43);

  Linear meta(3, 2);
  meta.to("meta");
  EXPECT_EQ(error_of([&] { meta.share_memory(); }),
            "share_memory: only a CPU tensor's memory can be shared, got meta");
}

}  // namespace
}  // namespace aorta::nn
