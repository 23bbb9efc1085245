#pragma once

#include <aorta/nn/attention.h>
#include <aorta/nn/container.h>

#include <optional>

// Transformers (Vaswani et al. 2017) with PyTorch's names. Shapes: source (S, N, E), target
// (T, N, E), with batch_first (N, S, E) and (N, T, E); unbatched ones have no N.

namespace aorta::nn {

/// What a position of the target may see; masks as in AttentionMasks.
struct DecoderMasks {
  Tensor tgt_mask = {};                 // (T, T) or (N heads, T, T)
  Tensor memory_mask = {};              // (T, S) or (N heads, T, S)
  Tensor tgt_key_padding_mask = {};     // (N, T)
  Tensor memory_key_padding_mask = {};  // (N, S)
  bool tgt_is_causal = false;           // instead of a tgt_mask
  bool memory_is_causal = false;
};

/// What a decoder layer keeps from step to step: its keys and values of the target so far, and of
/// the memory.
struct DecoderLayerCache {
  AttentionCache target, memory;
};

/// A decoder's layer has the options of an encoder's layer.
using TransformerDecoderLayerOptions = TransformerEncoderLayerOptions;

/// Self-attention of the target, attention of the target to the memory (the encoder's output), and
/// a feed-forward network, each with dropout, a sum with its input, and layer norm.
class TransformerDecoderLayer : public Module {
 public:
  TransformerDecoderLayer(int64_t d_model, int64_t nhead,
                          const TransformerDecoderLayerOptions& options = {});
  TransformerDecoderLayer(Module& owner, const char* name, int64_t d_model, int64_t nhead,
                          const TransformerDecoderLayerOptions& options = {});
  Tensor operator()(const Tensor& target, const Tensor& memory,
                    const DecoderMasks& masks = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& target, const Tensor& memory, const DecoderMasks& masks = {}) const;
  /// The next positions of the target; see TransformerDecoder::step.
  Tensor step(const Tensor& target, const Tensor& memory, DecoderLayerCache& cache,
              const Tensor& memory_key_padding_mask = {},
              const Tensor& tgt_key_padding_mask = {}) const;

  TransformerDecoderLayerOptions options;
  MultiheadAttention self_attn, multihead_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2, norm3;
  Dropout dropout1, dropout2, dropout3;

 private:
  template <class Attend, class Look>
  Tensor run(const Tensor& target, const Attend& attend, const Look& look) const;
};

/// Encoder layers one after another, each a copy of the one that is given, and a norm behind them
/// where there is one.
class TransformerEncoder : public Module {
 public:
  TransformerEncoder(const TransformerEncoderLayer& encoder_layer, int64_t num_layers,
                     const std::optional<LayerNorm>& norm = {});
  TransformerEncoder(Module& owner, const char* name, const TransformerEncoderLayer& encoder_layer,
                     int64_t num_layers, const std::optional<LayerNorm>& norm = {});
  Tensor operator()(const Tensor& source, const AttentionMasks& masks = {}) const;
  Tensor forward(const Tensor& source, const AttentionMasks& masks) const;
  Tensor forward(const Tensor& source) const override;
  /// The next positions of a source that sees what is in front of it (a language model): the same
  /// as forward of the whole with is_causal, at those positions, from what `cache` keeps of the
  /// earlier ones. Begin with an empty cache, and take another for another sequence. Where the
  /// sequences of a batch differ in length, `src_key_padding_mask` (N, S) says which of all
  /// positions so far, the next ones included, are padding.
  Tensor step(const Tensor& source, std::vector<AttentionCache>& cache,
              const Tensor& src_key_padding_mask = {}) const;

  ModuleList layers;
  std::optional<LayerNorm> norm;

 protected:
  void append_members(Members& members) const override;
};

/// Decoder layers one after another, each a copy of the one that is given, and a norm behind them
/// where there is one.
class TransformerDecoder : public Module {
 public:
  TransformerDecoder(const TransformerDecoderLayer& decoder_layer, int64_t num_layers,
                     const std::optional<LayerNorm>& norm = {});
  TransformerDecoder(Module& owner, const char* name, const TransformerDecoderLayer& decoder_layer,
                     int64_t num_layers, const std::optional<LayerNorm>& norm = {});
  Tensor operator()(const Tensor& target, const Tensor& memory,
                    const DecoderMasks& masks = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& target, const Tensor& memory, const DecoderMasks& masks = {}) const;
  /// The next positions of the target: the same as forward of the whole with tgt_is_causal, at
  /// those positions. `cache` keeps keys and values of the earlier ones and of the memory, which is
  /// projected once. Begin with an empty cache. `tgt_key_padding_mask` (N, T) is of all positions
  /// of the target so far.
  Tensor step(const Tensor& target, const Tensor& memory, std::vector<DecoderLayerCache>& cache,
              const Tensor& memory_key_padding_mask = {},
              const Tensor& tgt_key_padding_mask = {}) const;

  ModuleList layers;
  std::optional<LayerNorm> norm;

 protected:
  void append_members(Members& members) const override;
};

/// The options of Transformer, with PyTorch's names and defaults.
struct TransformerOptions {
  int64_t d_model = 512, nhead = 8;
  int64_t num_encoder_layers = 6, num_decoder_layers = 6;
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;
  bool bias = true;
};
/// Which positions the encoder and the decoder may see.
struct TransformerMasks {
  Tensor src_mask = {}, src_key_padding_mask = {};
  DecoderMasks decoder = {};
};

/// An encoder and a decoder, each with a norm behind its layers: source and target -> (T, N, E).
/// Weights of two dimensions are initialised by xavier_uniform_.
class Transformer : public Module {
 public:
  explicit Transformer(const TransformerOptions& options = {});
  Transformer(Module& owner, const char* name, const TransformerOptions& options = {});
  Tensor operator()(const Tensor& source, const Tensor& target,
                    const TransformerMasks& masks = {}) const;
  using Module::forward;
  Tensor forward(const Tensor& source, const Tensor& target,
                 const TransformerMasks& masks = {}) const;
  /// Xavier's uniform for what has more than one dimension of all layers inside, as a new one has.
  void reset_parameters() override;
  /// (size, size): 0 where a position may look and -inf above the diagonal.
  static Tensor generate_square_subsequent_mask(int64_t size, const TensorOptions& options = {});

  TransformerOptions options;
  TransformerEncoder encoder;
  TransformerDecoder decoder;
};

}  // namespace aorta::nn
