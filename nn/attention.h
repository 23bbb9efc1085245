#pragma once

#include <aorta/nn/dropout.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>

namespace aorta::nn {

/// The options of MultiheadAttention, with PyTorch's names and defaults.
struct MultiheadAttentionOptions {
  double dropout = 0;  // in training, on the weights
  bool bias = true;
  bool add_bias_kv = false;    // a key and value that are learned, behind the others
  bool add_zero_attn = false;  // a key and value of zeros, behind them
  bool batch_first = false;    // (N, L, E) instead of (L, N, E)
  int64_t kdim = 0, vdim = 0;  // features of key and value; 0: those of the query
};
/// Which keys a query may see.
struct AttentionMasks {
  /// (N, S): true where a key is padding, or a floating mask that is added.
  Tensor key_padding_mask = {};
  /// (L, S) or (N heads, L, S): true where a query doesn't see a key, or a floating mask that is
  /// added.
  Tensor attn_mask = {};
  bool is_causal = false;  // query i sees the keys up to i; instead of an attn_mask
};
/// What attention gives.
struct AttentionOutput {
  Tensor output;  // as the query
  /// (N, L, S), the mean of the heads, or (N, heads, L, S), where they were asked for; S counts the
  /// keys that options add too.
  Tensor weights;
};

/// Keys and values that attention has projected, for what is generated a step at a time.
struct AttentionCache {
  Tensor keys, values;  // (N, heads, S, E / heads); undefined: none yet
  int64_t length() const { return keys.defined() ? keys.size(2) : 0; }
};

/// softmax(q k^T / sqrt(E / heads)) v of projections of query (L, N, E), key (S, N, Ek) and value
/// (S, N, Ev), in num_heads parts of the features, projected again (Vaswani et al. 2017). Unbatched
/// inputs have no N. Masks as PyTorch's module has them: true hides (for
/// scaled_dot_product_attention it shows).
class MultiheadAttention : public Module {
 public:
  MultiheadAttention(int64_t embed_dim, int64_t num_heads,
                     const MultiheadAttentionOptions& options = {});
  MultiheadAttention(Module& owner, const char* name, int64_t embed_dim, int64_t num_heads,
                     const MultiheadAttentionOptions& options = {});

  AttentionOutput operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                             const AttentionMasks& masks = {}, bool need_weights = true,
                             bool average_attn_weights = true) const;
  AttentionOutput forward(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionMasks& masks = {}, bool need_weights = true,
                          bool average_attn_weights = true) const;
  /// Self-attention, the output alone.
  Tensor forward(const Tensor& input) const override;
  /// Causal self-attention of the next positions of a sequence, behind those in the cache, which
  /// these come to. Gradients lead to what is in the cache too; under NoGradGuard it is values
  /// alone. `key_padding_mask` (N, S) is of all positions so far, the next ones included.
  Tensor step(const Tensor& query, AttentionCache& cache,
              const Tensor& key_padding_mask = {}) const;
  /// Attention to a memory whose keys and values are projected once, into an empty cache.
  Tensor look(const Tensor& query, const Tensor& memory, AttentionCache& cache,
              const Tensor& key_padding_mask = {}) const;
  void reset_parameters() override;  // with out_proj's bias, which starts at 0
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int64_t embed_dim, num_heads;
  MultiheadAttentionOptions options;
  /// One weight (3 E, E) where all features are E, else three.
  Parameter in_proj_weight, q_proj_weight, k_proj_weight, v_proj_weight;
  Parameter in_proj_bias;
  Parameter bias_k, bias_v;  // (1, 1, E) with add_bias_kv
  Linear out_proj;

 private:
  /// Adds the keys and values that options ask for, which every query sees.
  void add_own(Tensor& k, Tensor& v, Tensor& mask) const;
  /// The i-th projection (N, heads, L, E / heads) of x, batched as the query: query, key, value.
  Tensor projected(const Tensor& x, int64_t i, bool unbatched) const;
  /// From the heads' outputs (N, heads, L, E / heads) to the output, laid out as the query.
  Tensor merged(const Tensor& attended, bool unbatched) const;
};

/// What stands between the two layers of the feed-forward network.
enum class TransformerActivation : uint8_t { relu, gelu };

/// The options of TransformerEncoderLayer, with PyTorch's names and defaults.
struct TransformerEncoderLayerOptions {
  int64_t dim_feedforward = 2048;
  double dropout = 0.1;
  TransformerActivation activation = TransformerActivation::relu;
  double layer_norm_eps = 1e-5;
  bool batch_first = false;
  bool norm_first = false;  // normalise in front of the blocks instead of behind them
  bool bias = true;
};
/// Self-attention and a feed-forward network, each with dropout, a sum with its input, and layer
/// norm: source (L, N, E) or (L, E) -> the same.
class TransformerEncoderLayer : public Module {
 public:
  TransformerEncoderLayer(int64_t d_model, int64_t nhead,
                          const TransformerEncoderLayerOptions& options = {});
  TransformerEncoderLayer(Module& owner, const char* name, int64_t d_model, int64_t nhead,
                          const TransformerEncoderLayerOptions& options = {});
  Tensor operator()(const Tensor& source, const AttentionMasks& masks = {}) const;
  Tensor forward(const Tensor& source, const AttentionMasks& masks) const;
  Tensor forward(const Tensor& source) const override;
  /// The next positions of a source that sees what is in front of it.
  Tensor step(const Tensor& source, AttentionCache& cache,
              const Tensor& src_key_padding_mask = {}) const;

  TransformerEncoderLayerOptions options;
  MultiheadAttention self_attn;
  Linear linear1;
  Dropout dropout;
  Linear linear2;
  LayerNorm norm1, norm2;
  Dropout dropout1, dropout2;

 private:
  template <class Attend>
  Tensor run(const Tensor& source, const Attend& attend) const;
  Tensor feed_forward(const Tensor& x) const;
};

}  // namespace aorta::nn
