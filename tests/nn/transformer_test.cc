// Transformers: generation from caches, causal masks, and what they refuse. PyTorch's values are in
// layers_test.cc.
#include <aorta/tests/error_text.h>
#include <aorta/tests/nn/fixture.h>

#include <algorithm>

namespace aorta::nn {
namespace {

constexpr TensorOptions kDouble{.dtype = f64};

Tensor some(const Shape& shape, double by) {
  return sin(arange(shape.numel(), kDouble) * by + 0.3).view(shape);
}
template <class M>
M in_f64(M module) {
  module.to(f64);
  module.eval();
  return module;
}
double difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  return max(abs(a.detach() - b.detach())).template item<double>();
}

TEST(Transformers, ACacheGivesWhatTheWholeGives) {
  for (const bool batch_first : {false, true}) {
    for (const bool norm_first : {false, true}) {
      const TransformerEncoderLayerOptions o{
          .dim_feedforward = 12, .batch_first = batch_first, .norm_first = norm_first};
      const auto encoder =
          in_f64(TransformerEncoder(TransformerEncoderLayer(8, 2, o), 3, LayerNorm(8)));
      const int64_t time = batch_first ? 1 : 0;
      const Tensor source = some(batch_first ? Shape{3, 7, 8} : Shape{7, 3, 8}, 1.7);
      const Tensor whole = encoder(source, {.is_causal = true});
      // One position at a time, and several.
      for (const std::vector<int64_t>& pieces :
           std::vector<std::vector<int64_t>>{{1, 1, 1, 1, 1, 1, 1}, {3, 1, 3}, {7}}) {
        std::vector<AttentionCache> cache;
        int64_t at = 0;
        for (const int64_t count : pieces) {
          const Tensor next = encoder.step(source.narrow(time, at, count), cache);
          EXPECT_LT(difference(next, whole.narrow(time, at, count)), 1e-12);
          at += count;
        }
        ASSERT_EQ(cache.size(), 3u);
        EXPECT_EQ(cache[2].length(), 7);
      }
    }
  }
}

TEST(Transformers, ADecoderKeepsTheMemoryToo) {
  const auto decoder = in_f64(TransformerDecoder(
      TransformerDecoderLayer(8, 2, {.dim_feedforward = 12, .batch_first = true}), 2));
  const Tensor target = some({2, 5, 8}, 0.9), memory = some({2, 6, 8}, 2.3);
  const Tensor padding = tensor({{0, 0, 0, 0, 0, 1}, {0, 0, 0, 1, 1, 1}}).to(boolean);
  const Tensor whole =
      decoder(target, memory, {.memory_key_padding_mask = padding, .tgt_is_causal = true});
  std::vector<DecoderLayerCache> cache;
  for (int64_t t = 0; t < 5; ++t) {
    const Tensor next = decoder.step(target.narrow(1, t, 1), memory, cache, padding);
    EXPECT_LT(difference(next, whole.narrow(1, t, 1)), 1e-12) << t;
  }
  const Tensor keys = cache[0].memory.keys;
  decoder.step(target.narrow(1, 0, 1), memory, cache, padding);
  EXPECT_TRUE(cache[0].memory.keys.is_same(keys));  // projected once
  EXPECT_EQ(cache[1].target.length(), 6);
  // Unbatched.
  std::vector<DecoderLayerCache> alone;
  const Tensor one = decoder.step(target[0].narrow(0, 0, 1), memory[0], alone, padding[0]);
  EXPECT_LT(difference(one, whole[0].narrow(0, 0, 1)), 1e-12);
}

// Prompts of different lengths in one batch, padded in front: each goes on as it does alone.
TEST(Transformers, StepsOfAPaddedBatch) {
  const auto encoder = in_f64(TransformerEncoder(
      TransformerEncoderLayer(8, 2, {.dim_feedforward = 12, .batch_first = true}), 2));
  const auto decoder = in_f64(TransformerDecoder(
      TransformerDecoderLayer(8, 2, {.dim_feedforward = 12, .batch_first = true}), 2));
  const Tensor source = some({2, 7, 8}, 1.7), memory = some({2, 3, 8}, 2.3);
  const Tensor padding = tensor({{1, 1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0}}).to(boolean);
  std::vector<AttentionCache> cache;
  std::vector<DecoderLayerCache> beside;
  const Tensor alone = encoder(source[0].narrow(0, 2, 5), {.is_causal = true});
  const Tensor alone_beside =
      decoder(source[0].narrow(0, 2, 5), memory[0], {.tgt_is_causal = true});
  int64_t at = 0;
  for (const int64_t count : {4, 1, 2}) {
    const Tensor next = source.narrow(1, at, count), hidden = padding.narrow(1, 0, at + count);
    const Tensor y = encoder.step(next, cache, hidden);
    const Tensor z = decoder.step(next, memory, beside, {}, hidden);
    const int64_t first = std::max<int64_t>(2 - at, 0), from = at + first - 2;
    EXPECT_LT(
        difference(y[0].narrow(0, first, count - first), alone.narrow(0, from, count - first)),
        1e-12);
    EXPECT_LT(difference(z[0].narrow(0, first, count - first),
                         alone_beside.narrow(0, from, count - first)),
              1e-12);
    at += count;
  }
  const std::string text = error_of([&] { encoder.step(source.narrow(1, 0, 1), cache, padding); });
  EXPECT_NE(text.find("key_padding_mask must be (N, S), got [2,7]"), std::string::npos) << text;
}

TEST(Transformers, StepsHaveGradients) {
  auto encoder =
      in_f64(TransformerEncoder(TransformerEncoderLayer(4, 2, {.dim_feedforward = 6}), 1));
  const Tensor source = some({3, 1, 4}, 1.1);
  encoder(source, {.is_causal = true}).square().sum().backward();
  std::vector<Tensor> wanted;
  for (const Tensor& p : encoder.parameters()) wanted.push_back(p.grad().clone());
  encoder.zero_grad();
  std::vector<AttentionCache> cache;
  Tensor loss = zeros({}, kDouble);
  for (int64_t t = 0; t < 3; ++t)
    loss = loss + encoder.step(source.narrow(0, t, 1), cache).square().sum();
  loss.backward();
  size_t i = 0;
  for (const Tensor& p : encoder.parameters()) EXPECT_LT(difference(p.grad(), wanted[i++]), 1e-12);
}

TEST(Transformers, MaskOfWhatComesLater) {
  const Tensor mask = Transformer::generate_square_subsequent_mask(3);
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(mask.to_vector<double>(), (std::vector<double>{0, -inf, -inf, 0, 0, -inf, 0, 0, 0}));
  EXPECT_EQ(mask.dtype(), f32);
  const auto net = in_f64(Transformer({.d_model = 4,
                                       .nhead = 2,
                                       .num_encoder_layers = 1,
                                       .num_decoder_layers = 1,
                                       .dim_feedforward = 6,
                                       .dropout = 0}));
  const Tensor source = some({3, 1, 4}, 0.7), target = some({3, 1, 4}, 1.9);
  const Tensor masked = net(source, target, {.decoder = {.tgt_mask = mask.to(f64)}});
  EXPECT_LT(difference(masked, net(source, target, {.decoder = {.tgt_is_causal = true}})), 1e-13);
  EXPECT_GT(difference(masked, net(source, target)), 1e-3);
}

TEST(Transformers, LayersAreCopies) {
  TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 6});
  TransformerEncoder stack(layer, 2, LayerNorm(4));
  EXPECT_EQ(stack.named_parameters().size(), 2 * 12u + 2);
  EXPECT_EQ(stack.named_parameters().back().first, "norm.bias");
  auto& first = stack.layers[0].as<TransformerEncoderLayer>();
  EXPECT_EQ(difference(first.linear1.weight, layer.linear1.weight), 0);
  EXPECT_FALSE(first.linear1.weight.shares_storage(layer.linear1.weight));
  const TransformerEncoder copy = clone(stack);
  EXPECT_FALSE(copy.norm->weight.shares_storage(stack.norm->weight));
  copy.norm->weight.detach().fill_(3);
  EXPECT_EQ(max(stack.norm->weight.detach()).item<float>(), 1);
}

TEST(Transformers, WhatTheyRefuse) {
  const TransformerEncoderLayer layer(4, 2, {.dim_feedforward = 6});
  const TransformerEncoder stack(layer, 2);
  std::vector<AttentionCache> cache(1);
  EXPECT_EQ(error_of([&] {
              stack.step(ones({1, 1, 4}), cache);
            }),
            "TransformerEncoder: the cache must have a place for each layer, got 1 for 2");
  EXPECT_EQ(error_of([&] { TransformerEncoder(layer, -1); }),
            "TransformerEncoder: num_layers must be from 0 to 65536, got -1");
  std::vector<AttentionCache> of_two;
  stack.step(ones({1, 2, 4}), of_two);
  const std::string text = error_of([&] { stack.step(ones({1, 3, 4}), of_two); });
  EXPECT_NE(text.find("the cache must be of the same batch, got 2 for 3"), std::string::npos)
      << text;
  const Transformer net({.d_model = 4,
                         .nhead = 2,
                         .num_encoder_layers = 1,
                         .num_decoder_layers = 1,
                         .dim_feedforward = 6});
  EXPECT_EQ(error_of([&] {
              net(ones({3, 2, 4}), ones({3, 1, 4}));
            }),
            "Transformer: source and target must be (S, N, E) and (T, N, E), or without N, got "
            "[3,2,4] and [3,1,4]");
  EXPECT_EQ(error_of([&] {
              net(ones({3, 2, 4}), ones({3, 2, 6}));
            }),
            "Transformer: features must be d_model, got 4 and 6 for 4");
}

}  // namespace
}  // namespace aorta::nn
