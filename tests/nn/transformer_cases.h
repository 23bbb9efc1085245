#pragma once

#include <aorta/aorta.h>
#include <aorta/tests/nn/option_mutants.h>

#include <functional>
#include <ostream>

// What layers_test.cc tests layers by, and the cases of transformers.

namespace aorta::nn {

using Tensors = std::vector<Tensor>;

/// Makes a layer, and the layers that ignore one of its options.
struct Maker {
  template <class Make>
  requires std::is_invocable_v<Make> Maker(Make given) : make(std::move(given)) {}  // NOLINT
  AnyModule operator()() const { return make(); }

  std::function<AnyModule()> make;
  std::vector<OptionMutant<AnyModule>> mutants = {};
  std::string owner = {};  // of the options; empty: the module's type
};

/// Makes make(arguments...).
template <class Make, class... Arguments>
Maker maker_with(const Make& make, const Arguments&... arguments) {
  Maker result([=] { return make(arguments...); });
  result.mutants = option_mutants(make, arguments...);
  return result;
}

/// Makes M(arguments...); in eval mode where `random` says that it draws in training.
template <class M, class... Arguments>
Maker maker(bool random, const Arguments&... arguments) {
  const auto wrap = [random](M module) {
    if (random) module.eval();
    return AnyModule(module);
  };
  const auto make = [=](const Arguments&... given) { return wrap(M(given...)); };
  Maker result = maker_with(make, arguments...);
  for (auto& mutant : shorter_mutants<M>(wrap, arguments...))
    result.mutants.push_back(std::move(mutant));
  return result;
}

struct Case {
  std::string name;
  Maker make;
  std::function<Tensors(Module&, const Tensors&)> call;
};

inline void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

inline Tensors call_encoder_stack(Module& module, const Tensors& inputs) {
  AttentionMasks masks;
  if (inputs.size() > 1) masks = {.key_padding_mask = inputs.at(2), .attn_mask = inputs[1]};
  return {dynamic_cast<TransformerEncoder&>(module)(inputs.at(0), masks)};
}

template <class M>
Tensors call_decoder(Module& module, const Tensors& inputs) {
  DecoderMasks masks;
  if (inputs.size() > 2) masks = {inputs[2], inputs.at(3), inputs.at(4), inputs.at(5)};
  return {dynamic_cast<M&>(module)(inputs.at(0), inputs.at(1), masks)};
}

inline Tensors call_transformer(Module& module, const Tensors& inputs) {
  return {dynamic_cast<Transformer&>(module)(inputs.at(0), inputs.at(1))};
}

inline std::vector<Case> transformers() {
  using Options = TransformerEncoderLayerOptions;
  const Options plain{.dim_feedforward = 6, .dropout = 0},
      batched{.dim_feedforward = 6, .dropout = 0, .batch_first = true};
  const Options first{.dim_feedforward = 6,
                      .dropout = 0,
                      .activation = TransformerActivation::gelu,
                      .batch_first = true,
                      .norm_first = true,
                      .bias = false};
  Options batched_first = batched, without_bias = batched;
  batched_first.norm_first = true;
  without_bias.bias = false;
  const auto decoder = [](const Options& o) {
    return maker<TransformerDecoderLayer>(false, 4, 2, o);
  };
  const auto encoders = [](const Options& o, int64_t count, std::optional<LayerNorm> norm) {
    return [=] {
      return AnyModule(TransformerEncoder(TransformerEncoderLayer(4, 2, o), count,
                                          norm ? std::optional(clone(*norm)) : norm));
    };
  };
  const auto transformer = [](const TransformerOptions& o) { return maker<Transformer>(false, o); };
  return {
      {"decoder_layer", decoder(plain), call_decoder<TransformerDecoderLayer>},
      {"decoder_layer_norm_first", decoder(first), call_decoder<TransformerDecoderLayer>},
      {"decoder_layer_masks", decoder(batched), call_decoder<TransformerDecoderLayer>},
      {"encoder_stack", encoders(batched_first, 2, LayerNorm(4)), call_encoder_stack},
      {"decoder_stack",
       [without_bias] {
         return AnyModule(TransformerDecoder(TransformerDecoderLayer(4, 2, without_bias), 2));
       },
       call_decoder<TransformerDecoder>},
      {"transformer",
       transformer({.d_model = 4,
                    .nhead = 2,
                    .num_encoder_layers = 1,
                    .num_decoder_layers = 1,
                    .dim_feedforward = 6,
                    .dropout = 0}),
       call_transformer},
      {"transformer_unbatched",
       transformer({.d_model = 4,
                    .nhead = 2,
                    .num_encoder_layers = 1,
                    .num_decoder_layers = 2,
                    .dim_feedforward = 6,
                    .dropout = 0,
                    .activation = TransformerActivation::gelu,
                    .norm_first = true,
                    .bias = false}),
       call_transformer},
  };
}

}  // namespace aorta::nn
