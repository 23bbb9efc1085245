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
            "LSTM: the weights must be those of num_layers and bidirectional, got 0 for 1 x 1");
  MultiheadAttention attention(4, 2);
  attention.num_heads = 0;
  EXPECT_EQ(error_of([&] {
              attention(ones({1, 1, 4}), ones({1, 1, 4}), ones({1, 1, 4}));
            }),
            "MultiheadAttention: embed_dim must be divisible by num_heads, got 4 for 0");
  Linear linear(2, 3);
  const Linear other = std::move(linear);
  EXPECT_NE(error_of([&] { linear(ones({1, 2})); }), kNoError);
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
