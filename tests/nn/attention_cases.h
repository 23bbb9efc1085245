#pragma once

#include <aorta/tests/nn/fixture.h>
#include <aorta/tests/nn/transformer_cases.h>

// Cases of layers_test.cc: attention and encoders.

namespace aorta::nn {

template <bool average>
Tensors call_attention(Module& module, const Tensors& inputs) {
  AttentionMasks masks;
  if (inputs.size() > 3) masks = {.key_padding_mask = inputs[3], .attn_mask = inputs.at(4)};
  const auto& attention = dynamic_cast<MultiheadAttention&>(module);
  const auto result = attention(inputs.at(0), inputs.at(1), inputs.at(2), masks, true, average);
  // Without weights it goes another way.
  const auto alone = attention(inputs[0], inputs[1], inputs[2], masks, false);
  const DType dtype = result.output.dtype();
  EXPECT_TRUE(near(alone.output.to(DType::f64), result.output.to(DType::f64),
                   dtype == DType::f64   ? 1e-12
                   : dtype == DType::f32 ? 2e-5
                                         : 2e-2));
  return {result.output, result.weights};
}

inline Tensors call_encoder(Module& module, const Tensors& inputs) {
  AttentionMasks masks;
  if (inputs.size() > 1) masks = {.key_padding_mask = inputs.at(2), .attn_mask = inputs[1]};
  return {dynamic_cast<TransformerEncoderLayer&>(module)(inputs.at(0), masks)};
}

inline std::vector<Case> attention_cases() {
  using Attention = MultiheadAttentionOptions;
  const auto mha = [](int64_t heads, const Attention& o) {
    return maker<MultiheadAttention>(false, 6, heads, o);
  };
  const auto encoder = [](const TransformerEncoderLayerOptions& o) {
    return maker<TransformerEncoderLayer>(false, 6, 2, o);
  };
  return {
      {"mha", mha(2, {}), call_attention<true>},
      {"mha_other_features", mha(3, {.bias = false, .batch_first = true, .kdim = 4, .vdim = 5}),
       call_attention<true>},
      {"mha_unbatched", mha(2, {}), call_attention<true>},
      {"mha_masks", mha(2, {}), call_attention<true>},
      {"mha_floating_masks", mha(2, {}), call_attention<true>},
      {"mha_mask_a_head", mha(2, {.batch_first = true}), call_attention<true>},
      {"mha_unbatched_mask_a_head", mha(2, {}), call_attention<true>},
      {"mha_own_keys", mha(2, {.add_bias_kv = true, .add_zero_attn = true}), call_attention<true>},
      {"mha_learned_key", mha(2, {.add_bias_kv = true}), call_attention<true>},
      {"mha_zero_key", mha(3, {.add_zero_attn = true, .batch_first = true}), call_attention<true>},
      {"mha_weights_a_head", mha(2, {}), call_attention<false>},
      {"encoder_layer_masks", encoder({.dim_feedforward = 8, .dropout = 0, .batch_first = true}),
       call_encoder},
      {"encoder_layer_floating_masks",
       encoder({.dim_feedforward = 8, .dropout = 0, .batch_first = true}), call_encoder},
      {"encoder_layer", encoder({.dim_feedforward = 8, .dropout = 0}), call_encoder},
      {"encoder_layer_norm_first",
       encoder({.dim_feedforward = 8,
                .dropout = 0,
                .activation = TransformerActivation::gelu,
                .batch_first = true,
                .norm_first = true,
                .bias = false}),
       call_encoder},
  };
}

}  // namespace aorta::nn
