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
            "LSTM: the states h and c must be given, or neither, got h alone");
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

TEST(Misuse, OfLayersOfPowersAndChannels) {
  EXPECT_EQ(local_response_norm(ones({2, 3, 0}), 2).shape(), (Shape{2, 3, 0}));
  EXPECT_EQ(local_response_norm(ones({2, 0, 3}), 2).shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(error_of([] { LocalResponseNorm(0); }),
            "LocalResponseNorm: size must be positive, got 0");
  EXPECT_EQ(error_of([] {
              LocalResponseNorm(2)(ones({2, 3}));
            }),
            "local_response_norm: input must be (N, C, *), got [2,3]");
  EXPECT_EQ(error_of([] { LPPool2d(0, 3); }), "LPPool2d: norm_type must not be 0, got 0");
  EXPECT_EQ(error_of([] {
              ChannelShuffle(4)(ones({1, 6, 2}));
            }),
            "channel_shuffle: groups must be positive and divide the channels, got 4 for [1,6,2]");
  EXPECT_EQ(error_of([] { AlphaDropout(1.5); }), "AlphaDropout: p must be in [0, 1], got 1.5");
  EXPECT_EQ(error_of([] { feature_alpha_dropout(ones({3})); }),
            "feature_alpha_dropout: input must be (N, C, *), got [3]");
}

TEST(Misuse, OfPaddings) {
  EXPECT_EQ(error_of([] {
              ReflectionPad2d(Dims{1, 2});
            }),
            "ReflectionPad2d: padding must be one number or 4, got [1,2]");
  EXPECT_EQ(error_of([] { ReflectionPad1d(3)(ones({1, 1, 3})); }).substr(0, 5), "pad: ");
  EXPECT_EQ(
      error_of([] {
        ZeroPad3d(1)(ones({2, 2}));
      }),
      "pad: two numbers a dimension, last dimension first, got [1,1,1,1,1,1] for shape [2,2]");
}

TEST(Misuse, OfRecurrentCells) {
  const LSTMCell cell(2, 3);
  EXPECT_EQ(error_of([] { RNNCell(0, 3); }), "RecurrentCell: sizes must be positive, got 0 and 3");
  EXPECT_EQ(error_of([&] {
              cell(ones({1, 2, 2}));
            }),
            "LSTMCell: input must be (N, I) or (I), got [1,2,2]");
  EXPECT_EQ(error_of([&] {
              cell(ones({2, 4}));
            }),
            "LSTMCell: input must have input_size features, got [2,4] for 2");
  EXPECT_EQ(error_of([&] {
              cell(ones({2, 2}), {zeros({2, 3}), Tensor()});
            }),
            "LSTMCell: the states h and c must be given, or neither, got h alone");
  EXPECT_EQ(error_of([&] {
              cell(ones({2, 2}), {zeros({2, 3}), zeros({1, 3})});
            }),
            "LSTMCell: states must be (N, H), or (H) unbatched, here [2,3], got [1,3]");
  EXPECT_EQ(error_of([] { GRUCell(2, 3)(ones({2}), zeros({3}, {.dtype = f64})); }),
            "GRUCell: states must have the input's dtype, got f64 for f32");
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
            "unflatten" + wanted + "4611686018427387904,4]");
  EXPECT_EQ(error_of([] { GRUCell(2, kWide); }),
            "RecurrentCell" + wanted + "3,4611686018427387904]");
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
