// What modules say to a user who means them ill.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

namespace aorta::nn {
namespace {

TEST(Misuse, OfAModuleThatWasMovedAway) {
  AnyModule any = Linear(2, 3);
  const AnyModule taken = std::move(any);
  const char* wanted = "AnyModule: the module must be there, got one that was moved away";
  EXPECT_EQ(error_of([&] { any(ones({1, 2})); }), wanted);
  EXPECT_EQ(error_of([&] { any->parameters(); }), wanted);
  EXPECT_EQ(error_of([&] { any.as<Linear>(); }), wanted);
  EXPECT_EQ(error_of([&] { const AnyModule copy = any; }), wanted);
  EXPECT_EQ(error_of([&] { clone(any); }), wanted);
  Sequential sequence;
  EXPECT_EQ(error_of([&] { sequence.push_back(std::move(any)); }), wanted);
  EXPECT_EQ(sequence.size(), 0u);
  any = taken;  // it may be given one again
  EXPECT_EQ(any(ones({1, 2})).shape(), Shape({1, 3}));
}

TEST(Misuse, OfLayersWhoseWeightsOrOptionsWereTakenAway) {
  const Tensor x = ones({2, 1, 2});
  LSTM lstm(2, 3);
  lstm.options.num_layers = 5;
  EXPECT_EQ(error_of([&] { lstm(x); }),
            "LSTM: the weights must be those of num_layers and bidirectional, got 1 for 5 x 1");
  lstm.options.num_layers = 1;
  lstm.options.bidirectional = true;
  EXPECT_EQ(error_of([&] { lstm(x); }),
            "LSTM: the weights must be those of num_layers and bidirectional, got 1 for 1 x 2");
  lstm.options.bidirectional = false;
  EXPECT_EQ(error_of([&] {
              lstm(x, {zeros({1, 1, 3}), Tensor()});
            }),
            "LSTM: states must be given all or none, got one that is undefined");
  const LSTM taken = std::move(lstm);
  EXPECT_EQ(error_of([&] { lstm(x); }),
            "LSTM: the module must be there, got one that was moved away");
  MultiheadAttention attention(4, 2);
  attention.num_heads = 0;
  EXPECT_EQ(error_of([&] {
              attention(ones({1, 1, 4}), ones({1, 1, 4}), ones({1, 1, 4}));
            }),
            "MultiheadAttention: embed_dim must be divisible by num_heads, got 4 for 0");
  Linear linear(2, 3);
  const Linear other = std::move(linear);
  const std::string gone = "Linear: the module must be there, got one that was moved away";
  EXPECT_EQ(error_of([&] { linear(ones({1, 2})); }), gone);
  EXPECT_EQ(error_of([&] { linear.state_dict(); }), gone);
  EXPECT_EQ(error_of([&] { linear.to(DType::f64); }), gone);
  EXPECT_EQ(error_of([&] { clone(linear); }), gone);
  linear = other;
  EXPECT_EQ(error_of([&] { linear(ones({1, 2})); }), kNoError);
}

TEST(Misuse, OfLayersThatComputeWithoutTheirMembers) {
  const auto expect_gone = [](auto layer, const char* name, const Tensor& x) {
    const auto taken = std::move(layer);
    const std::string gone = ": the module must be there, got one that was moved away";
    EXPECT_EQ(error_of([&] { layer(x); }), name + gone);
    EXPECT_EQ(error_of([&] { taken(x); }), kNoError);
  };
  expect_gone(Sequential(ReLU()), "Sequential", ones({2}));
  expect_gone(BatchNorm2d(2), "BatchNorm2d", ones({2, 2, 3, 3}));
  expect_gone(LayerNorm({3}), "LayerNorm", ones({2, 3}));
  expect_gone(GroupNorm(1, 2), "GroupNorm", ones({2, 2, 3}));
  expect_gone(PReLU(), "PReLU", ones({2}));
}

TEST(Misuse, OfSizesThatNoTensorHas) {
  constexpr int64_t kWide = int64_t{1} << 62;
  const std::string wanted = ": the number of bytes must fit in 63 bits, got [";
  EXPECT_EQ(error_of([] { GRU(2, kWide); }), "Recurrent" + wanted + "3,4611686018427387904]");
  EXPECT_EQ(error_of([] { MultiheadAttention(kWide, 2); }),
            "MultiheadAttention" + wanted + "3,4611686018427387904]");
  EXPECT_EQ(error_of([] {
              Unflatten(0, {kWide, 4})(ones({8}));
            }),
            "Unflatten" + wanted + "4611686018427387904,4]");
  EXPECT_EQ(error_of([] { LSTM(2, 3, {.num_layers = INT64_MAX}); }),
            "Recurrent: num_layers must be at most 65536, got 9223372036854775807");
}

TEST(Misuse, OfContainersWithinThemselves) {
  Sequential sequence{Linear(2, 2)};
  sequence.push_back(sequence);  // a copy, which shares the parameters
  EXPECT_EQ(sequence(ones({1, 2})).shape(), Shape({1, 2}));
  EXPECT_EQ(sequence.parameters().size(), 2u);
  ModuleList list;
  list.push_back(Linear(1, 1));
  list.push_back(list[0]);
  list.push_back(list);
  EXPECT_EQ(list.parameters().size(), 2u);
  EXPECT_EQ(list.state_dict().size(), 8u);
}

TEST(Misuse, OfNamesAndFunctions) {
  struct Net : Module {
    Linear inner{*this, nullptr, 1, 1};
  };
  EXPECT_EQ(error_of([] { Net net; }),
            "Module: the name of a member must not be empty and have no point, got \"\"");
  Linear layer(1, 1);
  EXPECT_EQ(error_of([&] { layer.apply({}); }),
            "apply: there must be a function, got an empty one");
}

}  // namespace
}  // namespace aorta::nn
