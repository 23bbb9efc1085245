#include <aorta/nn/transformer.h>

#include <aorta/autograd/grad_mode.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/nn/call.h>
#include <aorta/nn/init.h>

#include <limits>

namespace aorta::nn {
namespace {

TransformerEncoderLayerOptions layer_options(const TransformerOptions& o) {
  return {.dim_feedforward = o.dim_feedforward,
          .dropout = o.dropout,
          .activation = o.activation,
          .layer_norm_eps = o.layer_norm_eps,
          .batch_first = o.batch_first,
          .norm_first = o.norm_first,
          .bias = o.bias};
}

LayerNorm last_norm(const TransformerOptions& o) {
  return LayerNorm(o.d_model, {.eps = o.layer_norm_eps, .bias = o.bias});
}

template <class Layer>
void fill(ModuleList& layers, const char* op, const Layer& layer, int64_t count) {
  check(count >= 0 && count <= 65536, op, "num_layers must be from 0 to 65536", count);
  for (int64_t i = 0; i < count; ++i) layers.push_back(AnyModule(clone(layer)));
}

// A cache of no layer yet gets one for each.
template <class Cache>
void check_cache(const char* op, std::vector<Cache>& cache, const ModuleList& layers) {
  if (cache.empty()) cache.resize(layers.size());
  check(cache.size() == layers.size(), op, "the cache must have a place for each layer",
        cache.size(), " for ", layers.size());
}

Tensor normed(const std::optional<LayerNorm>& norm, const Tensor& x) {
  return norm ? (*norm)(x) : x;
}

}  // namespace

TransformerDecoderLayer::TransformerDecoderLayer(int64_t features, int64_t heads,
                                                 const TransformerDecoderLayerOptions& o)
    : options(o),
      self_attn(*this, "self_attn", features, heads,
                {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first}),
      multihead_attn(*this, "multihead_attn", features, heads,
                     {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first}),
      linear1(*this, "linear1", features, o.dim_feedforward, {.bias = o.bias}),
      dropout(*this, "dropout", o.dropout),
      linear2(*this, "linear2", o.dim_feedforward, features, {.bias = o.bias}),
      norm1(*this, "norm1", features, {.eps = o.layer_norm_eps, .bias = o.bias}),
      norm2(*this, "norm2", features, {.eps = o.layer_norm_eps, .bias = o.bias}),
      norm3(*this, "norm3", features, {.eps = o.layer_norm_eps, .bias = o.bias}),
      dropout1(*this, "dropout1", o.dropout),
      dropout2(*this, "dropout2", o.dropout),
      dropout3(*this, "dropout3", o.dropout) {}

TransformerDecoderLayer::TransformerDecoderLayer(Module& owner, const char* name, int64_t features,
                                                 int64_t heads,
                                                 const TransformerDecoderLayerOptions& o)
    : TransformerDecoderLayer(features, heads, o) {
  join(owner, name);
}

template <class Attend, class Look>
Tensor TransformerDecoderLayer::run(const Tensor& target, const Attend& attend,
                                    const Look& look) const {
  const auto feed_forward = [&](const Tensor& x) {
    const Tensor hidden = linear1(x);
    const Tensor active =
        options.activation == TransformerActivation::relu ? relu(hidden) : gelu(hidden);
    return dropout3(linear2(dropout(active)));
  };
  Tensor x = target;
  if (options.norm_first) {
    x = x + dropout1(attend(norm1(x)));
    x = x + dropout2(look(norm2(x)));
    return x + feed_forward(norm3(x));
  }
  x = norm1(x + dropout1(attend(x)));
  x = norm2(x + dropout2(look(x)));
  return norm3(x + feed_forward(x));
}

Tensor TransformerDecoderLayer::forward(const Tensor& target, const Tensor& memory,
                                        const DecoderMasks& masks) const {
  check_given({{"target", target}, {"memory", memory}});
  const AttentionMasks own{masks.tgt_key_padding_mask, masks.tgt_mask, masks.tgt_is_causal};
  const AttentionMasks other{masks.memory_key_padding_mask, masks.memory_mask,
                             masks.memory_is_causal};
  return run(
      target, [&](const Tensor& x) { return self_attn(x, x, x, own, false).output; },
      [&](const Tensor& x) { return multihead_attn(x, memory, memory, other, false).output; });
}

Tensor TransformerDecoderLayer::operator()(const Tensor& target, const Tensor& memory,
                                           const DecoderMasks& masks) const {
  return call_module(*this, target, memory, masks);
}

Tensor TransformerDecoderLayer::step(const Tensor& target, const Tensor& memory,
                                     DecoderLayerCache& cache,
                                     const Tensor& memory_key_padding_mask,
                                     const Tensor& tgt_key_padding_mask) const {
  return run(
      target,
      [&](const Tensor& x) { return self_attn.step(x, cache.target, tgt_key_padding_mask); },
      [&](const Tensor& x) {
        return multihead_attn.look(x, memory, cache.memory, memory_key_padding_mask);
      });
}

TransformerEncoder::TransformerEncoder(const TransformerEncoderLayer& layer, int64_t num_layers,
                                       const std::optional<LayerNorm>& given)
    : layers(*this, "layers"), norm(given) {
  fill(layers, "TransformerEncoder", layer, num_layers);
  if (norm) norm->set_name("norm");
}
TransformerEncoder::TransformerEncoder(Module& owner, const char* name,
                                       const TransformerEncoderLayer& layer, int64_t num_layers,
                                       const std::optional<LayerNorm>& given)
    : TransformerEncoder(layer, num_layers, given) {
  join(owner, name);
}
void TransformerEncoder::append_members(Members& members) const {
  if (norm) members.modules.emplace_back("norm", const_cast<LayerNorm*>(&*norm));
}

Tensor TransformerEncoder::forward(const Tensor& source, const AttentionMasks& masks) const {
  check_given({{"source", source}});
  Tensor x = source;
  for (const AnyModule& layer : layers) x = layer.as<TransformerEncoderLayer>()(x, masks);
  return normed(norm, x);
}
Tensor TransformerEncoder::forward(const Tensor& source) const { return forward(source, {}); }
Tensor TransformerEncoder::operator()(const Tensor& source, const AttentionMasks& masks) const {
  return call_module(*this, source, masks);
}
Tensor TransformerEncoder::step(const Tensor& source, std::vector<AttentionCache>& cache,
                                const Tensor& src_key_padding_mask) const {
  check_given({{"source", source}});
  check_cache("TransformerEncoder", cache, layers);
  Tensor x = source;
  for (size_t i = 0; i < cache.size(); ++i)
    x = layers[static_cast<int64_t>(i)].as<TransformerEncoderLayer>().step(x, cache[i],
                                                                           src_key_padding_mask);
  return normed(norm, x);
}

TransformerDecoder::TransformerDecoder(const TransformerDecoderLayer& layer, int64_t num_layers,
                                       const std::optional<LayerNorm>& given)
    : layers(*this, "layers"), norm(given) {
  fill(layers, "TransformerDecoder", layer, num_layers);
  if (norm) norm->set_name("norm");
}
TransformerDecoder::TransformerDecoder(Module& owner, const char* name,
                                       const TransformerDecoderLayer& layer, int64_t num_layers,
                                       const std::optional<LayerNorm>& given)
    : TransformerDecoder(layer, num_layers, given) {
  join(owner, name);
}
void TransformerDecoder::append_members(Members& members) const {
  if (norm) members.modules.emplace_back("norm", const_cast<LayerNorm*>(&*norm));
}

Tensor TransformerDecoder::forward(const Tensor& target, const Tensor& memory,
                                   const DecoderMasks& masks) const {
  check_given({{"target", target}, {"memory", memory}});
  Tensor x = target;
  for (const AnyModule& layer : layers) x = layer.as<TransformerDecoderLayer>()(x, memory, masks);
  return normed(norm, x);
}
Tensor TransformerDecoder::operator()(const Tensor& target, const Tensor& memory,
                                      const DecoderMasks& masks) const {
  return call_module(*this, target, memory, masks);
}
Tensor TransformerDecoder::step(const Tensor& target, const Tensor& memory,
                                std::vector<DecoderLayerCache>& cache,
                                const Tensor& memory_key_padding_mask,
                                const Tensor& tgt_key_padding_mask) const {
  check_given({{"target", target}, {"memory", memory}});
  check_cache("TransformerDecoder", cache, layers);
  Tensor x = target;
  for (size_t i = 0; i < cache.size(); ++i)
    x = layers[static_cast<int64_t>(i)].as<TransformerDecoderLayer>().step(
        x, memory, cache[i], memory_key_padding_mask, tgt_key_padding_mask);
  return normed(norm, x);
}

Transformer::Transformer(const TransformerOptions& o)
    : options(o),
      encoder(*this, "encoder", TransformerEncoderLayer(o.d_model, o.nhead, layer_options(o)),
              o.num_encoder_layers, last_norm(o)),
      decoder(*this, "decoder", TransformerDecoderLayer(o.d_model, o.nhead, layer_options(o)),
              o.num_decoder_layers, last_norm(o)) {
  Transformer::reset_parameters();
}

void Transformer::reset_parameters() {
  for (const Tensor& parameter : parameters()) {
    if (parameter.dim() > 1) init::xavier_uniform_(parameter);
  }
}

Transformer::Transformer(Module& owner, const char* name, const TransformerOptions& o)
    : Transformer(o) {
  join(owner, name);
}

Tensor Transformer::forward(const Tensor& source, const Tensor& target,
                            const TransformerMasks& masks) const {
  check_given({{"source", source}, {"target", target}});
  const int batch = options.batch_first ? 0 : 1;
  check(source.dim() == target.dim() && (source.dim() == 2 || source.dim() == 3) &&
            (source.dim() == 2 || source.size(batch) == target.size(batch)),
        "Transformer", "source and target must be (S, N, E) and (T, N, E), or without N",
        source.shape(), " and ", target.shape());
  check(source.size(-1) == options.d_model && target.size(-1) == options.d_model, "Transformer",
        "features must be d_model", source.size(-1), " and ", target.size(-1), " for ",
        options.d_model);
  const Tensor memory = encoder(
      source, {.key_padding_mask = masks.src_key_padding_mask, .attn_mask = masks.src_mask});
  return decoder(target, memory, masks.decoder);
}
Tensor Transformer::operator()(const Tensor& source, const Tensor& target,
                               const TransformerMasks& masks) const {
  return call_module(*this, source, target, masks);
}

Tensor Transformer::generate_square_subsequent_mask(int64_t size, const TensorOptions& o) {
  return triu(full({size, size}, -std::numeric_limits<double>::infinity(), o), 1);
}

}  // namespace aorta::nn
