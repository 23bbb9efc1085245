// Sequential, ModuleList, ModuleDict.
#include <aorta/nn/unpooling.h>
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/names.h>

namespace aorta::nn {
namespace {

TEST(Containers, SequentialNests) {
  Sequential net(Linear(4, 3), ReLU(), Sequential(Linear(3, 2), Sigmoid()));
  EXPECT_EQ(names_of(net.named_parameters()),
            (Names{"0.weight", "0.bias", "2.0.weight", "2.0.bias"}));
  EXPECT_EQ(net(randn({5, 4})).shape(), (Shape{5, 2}));
  EXPECT_EQ(net[-1].type_name(), "Sequential");
  EXPECT_EQ(error_of([&] { net(randn({5, 3})); }).substr(0, 3), "0: ");
  EXPECT_EQ(error_of([&] { net[3]; }),
            "Sequential: the number must be one of its modules', got 3 of 3");
  Sequential named({{"conv", Conv1d(1, 1, 1)}, {"act", ReLU()}});
  EXPECT_EQ(names_of(named.named_parameters()), (Names{"conv.weight", "conv.bias"}));
  EXPECT_EQ(error_of([&] { named.push_back("act", ReLU()); }),
            "Sequential: names must differ, got \"act\" twice");
  const Sequential empty;
  const Tensor x = randn({2});
  EXPECT_TRUE(empty(x).is_same(x));
}

TEST(Containers, AreMembersLikeAnyLayer) {
  struct Deep : Module {
    Sequential body{*this, "body", Linear(4, 4), ReLU()};
    ModuleList heads{*this, "heads"};
    ModuleDict extras{*this, "extras"};
    Deep() {
      for (int i = 0; i < 2; ++i) heads.push_back(Linear(4, i + 1));
      extras.insert("aux", Linear(4, 7));
    }
    Tensor forward(const Tensor& x) const override {
      Tensor y = body(x);
      return cat({heads[0](y), heads[-1](y), extras["aux"](y)}, 1);
    }
  };
  const Deep net;
  EXPECT_EQ(names_of(net.named_parameters()),
            (Names{"body.0.weight", "body.0.bias", "heads.0.weight", "heads.0.bias",
                   "heads.1.weight", "heads.1.bias", "extras.aux.weight", "extras.aux.bias"}));
  const Tensor x = randn({3, 4});
  const Deep own = clone(net);
  EXPECT_EQ(net(x).shape(), (Shape{3, 10}));
  EXPECT_TRUE(near(own(x), net(x), 0));
  EXPECT_FALSE(own.parameters()[2].shares_storage(net.parameters()[2]));
  EXPECT_EQ(error_of([&] { net.extras["main"]; }),
            "ModuleDict: name must be one of its modules, got \"main\"");
}

// A module of two inputs can't be called with one, which is no matter to its members.
TEST(Containers, AreMembersOfModulesOfTwoInputs) {
  struct Distance : ModuleOf<Distance> {
    Sequential points{*this, "points", Linear(3, 2), ReLU()};
    Tensor forward(const Tensor& a, const Tensor& b) const { return abs(points(a) - points(b)); }
  } net;
  EXPECT_EQ(names_of(net.named_parameters()), (Names{"points.0.weight", "points.0.bias"}));
  EXPECT_EQ(net(ones({4, 3}), ones({4, 3})).to_vector<float>(), zeros({4, 2}).to_vector<float>());
}

TEST(Containers, ElementsKnowTheirPathAfterAnAssignment) {
  struct Holder : Module {
    ModuleList layers{*this, "layers"};
    ModuleDict heads{*this, "heads"};
  };
  ModuleList list;
  list.push_back(Linear(4, 3));
  ModuleDict dict;
  dict.insert("aux", Linear(4, 3));
  Holder holder;
  holder.layers = list;
  holder.heads = dict;
  const auto path = [](const AnyModule& module) {
    const std::string text = error_of([&] { module(zeros({2, 5})); });
    return text.substr(0, text.find(':'));
  };
  EXPECT_EQ(path(holder.layers[0]), "layers.0");
  EXPECT_EQ(path(holder.heads["aux"]), "heads.aux");
  EXPECT_EQ(path(list[0]), "0");  // its own modules keep their names, and share the parameters
  EXPECT_TRUE(list.parameters()[0].is_same(holder.layers.parameters()[0]));
  EXPECT_EQ(names_of(holder.named_parameters()),
            (Names{"layers.0.weight", "layers.0.bias", "heads.aux.weight", "heads.aux.bias"}));
}

TEST(Containers, TakeAnyModules) {
  const Sequential net{Linear(4, 3), AnyModule(ReLU()), models::make("mlp", {.num_classes = 2})};
  EXPECT_EQ(net.size(), 3u);
  struct Holder : Module {
    Sequential body{*this, "body", AnyModule(Linear(4, 3)), ReLU()};
  };
  EXPECT_EQ(Holder().body(zeros({2, 4})).shape(), (Shape{2, 3}));
}

// torchvision's classifier without its last layer, and features up to a layer.
TEST(Containers, AreCutAndJoined) {
  Sequential net{Linear(4, 3), ReLU(), Linear(3, 2), Tanh()};
  net.eval();
  const Tensor x = randn({5, 4});
  const Sequential features = net.slice(0, -2);
  EXPECT_EQ(names_of(features.named_parameters()), (Names{"0.weight", "0.bias"}));
  EXPECT_TRUE(features.parameters()[0].is_same(net.parameters()[0]));
  EXPECT_FALSE(features.is_training());
  EXPECT_TRUE(near(net.slice(2, 100)(features(x)), net(x), 0));
  EXPECT_EQ(names_of(net.slice(-2, 4).named_parameters()), (Names{"2.weight", "2.bias"}));
  EXPECT_TRUE(net.slice(3, 1).empty());
  const Sequential other{net.at(0), net.at(-1), Linear(3, 7)};
  EXPECT_TRUE(other.parameters()[0].is_same(net.parameters()[0]));
  EXPECT_EQ(other(x).shape(), (Shape{5, 7}));
  Tensor y = x;
  for (const auto& [name, module] : net) y = module(y);
  EXPECT_TRUE(near(y, net(x), 0));
  EXPECT_EQ(error_of([&] { net.at(4); }),
            "Sequential: the number must be one of its modules', got 4 of 4");
  struct Heads : Module {
    ModuleList list{*this, "list", {Linear(2, 1), Linear(2, 3)}};
  } heads;
  heads.list.extend({ReLU(), Linear(3, 3)});
  EXPECT_EQ(names_of(heads.named_parameters()),
            (Names{"list.0.weight", "list.0.bias", "list.1.weight", "list.1.bias", "list.3.weight",
                   "list.3.bias"}));
  EXPECT_EQ(ModuleList({Linear(2, 1)}).size(), 1u);
}

TEST(ParameterLists, AreParametersByNumber) {
  struct Net : Module {
    ParameterList list{*this, "list", {ones({2}), zeros({3})}};
    ParameterDict dict{*this, "dict", {{"scale", ones({2})}}};
  };
  Net net;
  net.list.append(full({1}, 5.0));
  net.dict.insert("shift", zeros({2}));
  EXPECT_EQ(names_of(net.named_parameters()),
            (Names{"list.0", "list.1", "list.2", "dict.scale", "dict.shift"}));
  EXPECT_TRUE(net.list[-1].requires_grad());
  EXPECT_EQ(net.list.size(), 3u);
  EXPECT_EQ(net.dict.size(), 2u);
  int64_t elements = 0;
  for (const Tensor& parameter : net.list) elements += parameter.numel();
  EXPECT_EQ(elements, 6);
  // Copies share, clones don't; what is assigned or inserted again takes the place.
  const Net copy = net, other = clone(net);
  EXPECT_TRUE(copy.list[2].shares_storage(net.list[2]));
  EXPECT_FALSE(other.list[2].shares_storage(net.list[2]));
  EXPECT_FALSE(other.dict["scale"].shares_storage(net.dict["scale"]));
  net.list[0] = full({2}, 3.0);
  net.dict.insert("scale", full({2}, 4.0));
  EXPECT_EQ(net.state_dict().at(0).second.at<float>({0}), 3);
  EXPECT_EQ(net.state_dict().at(3).second.at<float>({0}), 4);
  Net loaded;
  loaded.list.append(ones({1}));
  loaded.dict.insert("shift", ones({2}));
  loaded.load_state_dict(net.state_dict());
  EXPECT_EQ(loaded.list[2].item<float>(), 5);
  sum(loaded.list[0] * loaded.dict["scale"]).backward();
  EXPECT_EQ(loaded.list[0].grad().at<float>({1}), 4);
}

TEST(ParameterLists, Refuse) {
  ParameterList list({ones({2})});
  ParameterDict dict;
  EXPECT_EQ(error_of([&] { list[1]; }),
            "ParameterList: the number must be one of its parameters', got 1 of 1");
  EXPECT_EQ(error_of([&] { list.append({}); }),
            "ParameterList: parameter must be defined, got an undefined tensor");
  EXPECT_NE(error_of([&] { list.append(ones({2}).requires_grad_() * 2); }), kNoError);
  EXPECT_EQ(error_of([&] { dict["x"]; }),
            "ParameterDict: name must be one of its parameters, got \"x\"");
  EXPECT_EQ(error_of([&] { dict.insert("a.b", ones({1})); }),
            "ParameterDict: the name of a parameter must not be empty and have no point, got "
            "\"a.b\"");
}

// PyTorch's positions: two numbers in braces are a stride for each dimension.
TEST(Layers, TakeOptionsByNameOrPosition) {
  const Tensor x = ones({1, 1, 28, 28});
  const auto shape = [&](const Module& layer) { return layer(x).shape(); };
  EXPECT_EQ(shape(Conv2d(1, 32, {3, 3}, {1, 1})), (Shape{1, 32, 26, 26}));
  EXPECT_EQ(shape(Conv2d(1, 32, {3, 5}, {2, 1})), (Shape{1, 32, 13, 24}));
  EXPECT_EQ(shape(Conv2d(1, 2, 3, 2)), (Shape{1, 2, 13, 13}));
  EXPECT_EQ(shape(Conv2d(1, 2, 3, {.stride = 2, .padding = 1})), (Shape{1, 2, 14, 14}));
  EXPECT_EQ(shape(Conv2d(1, 2, 3, {})), (Shape{1, 2, 26, 26}));
  EXPECT_EQ(shape(ConvTranspose2d(1, 4, {4, 4}, {2, 2})), (Shape{1, 4, 58, 58}));
  EXPECT_EQ(shape(ConvTranspose2d(1, 4, 4, 2)), (Shape{1, 4, 58, 58}));
  EXPECT_EQ(shape(MaxPool2d({3, 3}, {2, 1})), (Shape{1, 1, 13, 26}));
  EXPECT_EQ(shape(MaxPool2d(3, 2, 1)), (Shape{1, 1, 14, 14}));
  EXPECT_EQ(shape(MaxPool2d(2, {.padding = 1})), (Shape{1, 1, 15, 15}));
  EXPECT_EQ(shape(AvgPool2d(3, {2, 1})), (Shape{1, 1, 13, 26}));
  EXPECT_EQ(shape(LPPool2d(2, 3, {2, 1})), (Shape{1, 1, 13, 26}));
  EXPECT_EQ(lp_pool2d(x, 2, 3, {2, 1}).shape(), (Shape{1, 1, 13, 26}));
  EXPECT_EQ(shape(Unfold(3, {2, 1})), (Shape{1, 9, 24 * 26}));
  EXPECT_EQ(nn::unfold(x, 3, {2, 1}).shape(), (Shape{1, 9, 24 * 26}));
  EXPECT_EQ(nn::unfold(x, 3, {.stride = {2, 1}}).shape(), (Shape{1, 9, 13 * 26}));
  const Tensor columns = ones({1, 9, 24 * 26});
  EXPECT_EQ(Fold(28, 3, {2, 1})(columns).shape(), x.shape());
  EXPECT_EQ(fold(columns, 28, 3, {2, 1}).shape(), x.shape());
  EXPECT_EQ(MaxUnpool2d(2, {3, 2})(ones({1, 2, 2}), zeros({1, 2, 2}, {.dtype = i64})).shape(),
            (Shape{1, 5, 4}));
  struct Owner : Module {
    Conv2d conv{*this, "conv", 1, 4, {3, 3}, {1, 2}};
    MaxPool2d pool{*this, "pool", 2, {1, 2}, 1};
  };
  Owner owner;
  EXPECT_EQ(owner.named_children().size(), 2u);
  EXPECT_EQ(owner.conv.options.stride, (Dims{1, 2}));
  EXPECT_EQ(owner.pool.options.padding, Dims(1));
}

TEST(Module, StatesAreLookedUpCopiedAndAddedByName) {
  Linear net(2, 3);
  const NamedTensors before = clone(net.state_dict());
  State checkpoint;
  checkpoint.add("model.", before);
  {
    const NoGradGuard no_grad;
    net.weight.fill_(7);
  }
  EXPECT_FALSE(near(before["weight"], net.weight, 0));
  net.load_state_dict(checkpoint.with_prefix("model."));
  EXPECT_TRUE(near(before["weight"], net.weight, 0));
  EXPECT_EQ(error_of([&] { before["w"]; }),
            "list: there must be a value of the name, got none of \"w\"");
}

}  // namespace
}  // namespace aorta::nn
