#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/matmul.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/core/ops/softmax.h>
#include <aorta/nn/attention.h>
#include <aorta/nn/call.h>
#include <aorta/nn/init.h>

#include <cmath>
#include <limits>

namespace aorta::nn {
namespace {

using Tensors = std::vector<Tensor>;

Tensor weight_if(bool wanted, int64_t rows, int64_t columns) {
  return wanted ? empty({rows, columns}) : Tensor();
}

// A mask that is added: -inf where a mask of bools hides.
Tensor additive(const Tensor& mask, DType dtype) {
  if (mask.dtype() != DType::boolean) return mask.to(dtype);
  const Tensor zero = zeros(mask.shape(), {.dtype = dtype, .device = mask.device()});
  return masked_fill(zero, mask, -std::numeric_limits<double>::infinity());
}

void check_mask(const char* name, const Tensor& mask) {
  check(mask.dtype() == DType::boolean || is_floating(mask.dtype()), "MultiheadAttention",
        std::string(name) + " must be bool or floating", mask.dtype());
}

struct Call {
  int64_t batch, length, keys;
};

// The mask of all heads, (N or 1, heads or 1, L or 1, S), added to the products; undefined without
// any.
Tensor mask_of(const AttentionMasks& masks, const Call& call, int64_t heads, DType dtype) {
  const Tensor &padding = masks.key_padding_mask, &attention = masks.attn_mask;
  Tensor mask;
  if (attention.defined()) {
    check_mask("attn_mask", attention);
    const bool all = attention.shape() == Shape{call.length, call.keys};
    check(all || attention.shape() == Shape{call.batch * heads, call.length, call.keys},
          "MultiheadAttention", "attn_mask must be (L, S) or (N heads, L, S)", attention.shape());
    mask = additive(attention, dtype)
               .reshape(all ? Shape{1, 1, call.length, call.keys}
                            : Shape{call.batch, heads, call.length, call.keys});
  }
  if (padding.defined()) {
    check_mask("key_padding_mask", padding);
    const Tensor rows = padding.dim() == 1 ? padding.unsqueeze(0) : padding;
    check(rows.shape() == Shape{call.batch, call.keys}, "MultiheadAttention",
          "key_padding_mask must be (N, S)", padding.shape());
    const Tensor hidden = additive(rows, dtype).view({call.batch, 1, 1, call.keys});
    mask = mask.defined() ? mask + hidden : hidden;
  }
  return mask;
}

// As they are used: the features of key and value are numbers.
MultiheadAttentionOptions resolved(MultiheadAttentionOptions options, int64_t features,
                                   int64_t heads) {
  check(features > 0 && heads > 0 && features % heads == 0, "MultiheadAttention",
        "embed_dim must be divisible by num_heads", features, " for ", heads);
  checked_numel("MultiheadAttention", {3, features});
  if (options.kdim == 0) options.kdim = features;
  if (options.vdim == 0) options.vdim = features;
  return options;
}

Tensor batched(const Tensor& x, bool unbatched) { return unbatched ? x.unsqueeze(0) : x; }

// (N, L, E), or (L, N, E) without batch_first, -> (N, heads, L, E / heads): a view.
Tensor heads_of(const Tensor& x, int64_t heads, bool batch_first) {
  const Tensor parts = x.reshape({x.size(0), x.size(1), heads, x.size(2) / heads});
  return batch_first ? parts.transpose(1, 2) : parts.permute({1, 2, 0, 3});
}

// The way back, which copies nothing where x lies as its queries did.
Tensor joined_heads(const Tensor& x, bool batch_first) {
  const Tensor parts = batch_first ? x.transpose(1, 2) : x.permute({2, 0, 1, 3});
  return parts.reshape({parts.size(0), parts.size(1), parts.size(2) * parts.size(3)});
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t features, int64_t heads,
                                       const MultiheadAttentionOptions& attention_options)
    : embed_dim(features),
      num_heads(heads),
      options(resolved(attention_options, features, heads)),
      in_proj_weight(
          *this, "in_proj_weight",
          weight_if(options.kdim == features && options.vdim == features, 3 * features, features)),
      q_proj_weight(*this, "q_proj_weight",
                    weight_if(!in_proj_weight.defined(), features, features)),
      k_proj_weight(*this, "k_proj_weight",
                    weight_if(!in_proj_weight.defined(), features, options.kdim)),
      v_proj_weight(*this, "v_proj_weight",
                    weight_if(!in_proj_weight.defined(), features, options.vdim)),
      in_proj_bias(*this, "in_proj_bias", options.bias ? zeros({3 * features}) : Tensor()),
      bias_k(*this, "bias_k", options.add_bias_kv ? empty({1, 1, features}) : Tensor()),
      bias_v(*this, "bias_v", options.add_bias_kv ? empty({1, 1, features}) : Tensor()),
      out_proj(*this, "out_proj", features, features, {.bias = options.bias}) {
  MultiheadAttention::reset_parameters();
}

void MultiheadAttention::reset_parameters() {
  for (const Tensor* weight :
       {static_cast<const Tensor*>(&in_proj_weight), static_cast<const Tensor*>(&q_proj_weight),
        static_cast<const Tensor*>(&k_proj_weight), static_cast<const Tensor*>(&v_proj_weight)}) {
    if (weight->defined()) init::xavier_uniform_(*weight);
  }
  if (options.bias) {
    init::zeros_(in_proj_bias);
    init::zeros_(out_proj.bias);
  }
  if (options.add_bias_kv) {
    init::xavier_normal_(bias_k);
    init::xavier_normal_(bias_v);
  }
}

MultiheadAttention::MultiheadAttention(Module& owner, const char* name, int64_t features,
                                       int64_t heads,
                                       const MultiheadAttentionOptions& attention_options)
    : MultiheadAttention(features, heads, attention_options) {
  join(owner, name);
}

AttentionOutput MultiheadAttention::forward(const Tensor& query, const Tensor& key,
                                            const Tensor& value, const AttentionMasks& given,
                                            bool need_weights, bool average_attn_weights) const {
  const char* const op = "MultiheadAttention";
  check_given({{"query", query}, {"key", key}, {"value", value}});
  check(num_heads > 0 && embed_dim % num_heads == 0, op, "embed_dim must be divisible by num_heads",
        embed_dim, " for ", num_heads);
  const bool unbatched = query.dim() == 2;
  for (const Tensor* x : {&query, &key, &value}) {
    check(x->dim() == (unbatched ? 2 : 3), op, "query, key and value must be (L, N, E) or (L, E)",
          query.shape(), ", ", key.shape(), ", ", value.shape());
  }
  check(
      query.size(-1) == embed_dim && key.size(-1) == options.kdim && value.size(-1) == options.vdim,
      op, "features must be embed_dim, kdim and vdim", query.size(-1), ", ", key.size(-1), ", ",
      value.size(-1));
  check(!given.is_causal || !given.attn_mask.defined(), op,
        "is_causal and attn_mask exclude each other", "both");
  const bool batch_first = unbatched || options.batch_first;
  const Tensor q_in = batched(query, unbatched), k_in = batched(key, unbatched);
  const Tensor v_in = batched(value, unbatched);
  const int n = batch_first ? 0 : 1;  // the dimension of the batch
  const Call call{q_in.size(n), q_in.size(1 - n), k_in.size(1 - n)};
  check(k_in.size(n) == call.batch && v_in.size(n) == call.batch && v_in.size(1 - n) == call.keys,
        op, "key and value must have one length, and all one batch size", query.shape(), ", ",
        key.shape(), ", ", value.shape());

  AttentionMasks masks = given;
  const bool causal_op = masks.is_causal && !need_weights && !masks.key_padding_mask.defined() &&
                         !options.add_bias_kv && !options.add_zero_attn;
  if (masks.is_causal && !causal_op) {
    masks.attn_mask = triu(
        ones({call.length, call.keys}, {.dtype = DType::boolean, .device = query.device()}), 1);
  }
  Tensor q, k, v;
  if (in_proj_weight.defined() && query.is_same(key) && query.is_same(value)) {
    const Tensors parts = chunk(linear(q_in, in_proj_weight, in_proj_bias), 3, -1);
    q = heads_of(parts[0], num_heads, batch_first);
    k = heads_of(parts[1], num_heads, batch_first);
    v = heads_of(parts[2], num_heads, batch_first);
  } else {
    q = projected(q_in, 0, unbatched);
    k = projected(k_in, 1, unbatched);
    v = projected(v_in, 2, unbatched);
  }
  Tensor mask = mask_of(masks, call, num_heads, q.dtype());
  add_own(k, v, mask);
  const double p = is_training() ? options.dropout : 0;

  AttentionOutput result;
  Tensor attended;
  if (need_weights) {
    Tensor scores = matmul(q * (1 / std::sqrt(static_cast<double>(embed_dim / num_heads))),
                           k.transpose(-2, -1));
    if (mask.defined()) scores = scores + mask;
    const Tensor weights = aorta::dropout(softmax(scores, -1), p);
    attended = matmul(weights, v);
    result.weights = average_attn_weights ? mean(weights, 1) : weights;
    if (unbatched) result.weights = result.weights.squeeze(0);
  } else {
    attended = scaled_dot_product_attention(
        q, k, v, {.attn_mask = mask, .dropout_p = p, .is_causal = causal_op});
  }
  result.output = merged(attended, unbatched);
  return result;
}

Tensor MultiheadAttention::projected(const Tensor& x, int64_t i, bool unbatched) const {
  const Tensor& own = i == 0   ? static_cast<const Tensor&>(q_proj_weight)
                      : i == 1 ? static_cast<const Tensor&>(k_proj_weight)
                               : static_cast<const Tensor&>(v_proj_weight);
  const Tensor weight = own.defined() ? own : in_proj_weight.narrow(0, i * embed_dim, embed_dim);
  const Tensor bias = options.bias ? in_proj_bias.narrow(0, i * embed_dim, embed_dim) : Tensor();
  return heads_of(linear(x, weight, bias), num_heads, unbatched || options.batch_first);
}

void MultiheadAttention::add_own(Tensor& k, Tensor& v, Tensor& mask) const {
  const Shape one{k.size(0), num_heads, 1, embed_dim / num_heads};
  const auto add = [&](const Tensor& key, const Tensor& value) {
    k = cat({k, key.expand(one)}, 2), v = cat({v, value.expand(one)}, 2);
    if (mask.defined()) mask = pad(mask, {0, 1});
  };
  if (options.add_bias_kv)
    add(bias_k.view({1, num_heads, 1, one[3]}), bias_v.view({1, num_heads, 1, one[3]}));
  if (options.add_zero_attn) {
    const Tensor none = zeros(one, {.dtype = k.dtype(), .device = k.device()});
    add(none, none);
  }
}

Tensor MultiheadAttention::merged(const Tensor& attended, bool unbatched) const {
  const Tensor output = out_proj(joined_heads(attended, unbatched || options.batch_first));
  return unbatched ? output.squeeze(0) : output;
}

Tensor MultiheadAttention::step(const Tensor& query, AttentionCache& cache,
                                const Tensor& key_padding_mask) const {
  check_given({{"query", query}});
  const char* const op = "MultiheadAttention";
  const bool unbatched = query.dim() == 2;
  check(unbatched || query.dim() == 3, op, "query must be (L, N, E) or (L, E)", query.shape());
  check(query.size(-1) == embed_dim && options.kdim == embed_dim && options.vdim == embed_dim, op,
        "self-attention needs one number of features", query.size(-1), ", ", options.kdim, ", ",
        options.vdim);
  const Tensor x = batched(query, unbatched);
  const Tensor q = projected(x, 0, unbatched);
  Tensor k = projected(x, 1, unbatched), v = projected(x, 2, unbatched);
  if (cache.keys.defined()) {
    check(cache.keys.size(0) == k.size(0), op, "the cache must be of the same batch",
          cache.keys.size(0), " for ", k.size(0));
    k = cat({cache.keys, k}, 2), v = cat({cache.values, v}, 2);
  }
  const Call call{q.size(0), q.size(2), k.size(2)};
  AttentionMasks masks{.key_padding_mask = key_padding_mask};
  if (call.length > 1) {
    masks.attn_mask =
        triu(ones({call.length, call.keys}, {.dtype = DType::boolean, .device = q.device()}),
             call.keys - call.length + 1);
  }
  Tensor mask = mask_of(masks, call, num_heads, q.dtype());
  cache = {k, v};
  add_own(k, v, mask);
  const double p = is_training() ? options.dropout : 0;
  return merged(scaled_dot_product_attention(q, k, v, {.attn_mask = mask, .dropout_p = p}),
                unbatched);
}

Tensor MultiheadAttention::look(const Tensor& query, const Tensor& memory, AttentionCache& cache,
                                const Tensor& key_padding_mask) const {
  const char* const op = "MultiheadAttention";
  const bool unbatched = query.dim() == 2;
  check((unbatched || query.dim() == 3) && memory.dim() == query.dim(), op,
        "query and memory must be (L, N, E) or (L, E)", query.shape(), " and ", memory.shape());
  check(query.size(-1) == embed_dim && memory.size(-1) == options.kdim &&
            memory.size(-1) == options.vdim,
        op, "features must be embed_dim, kdim and vdim", query.size(-1), ", ", memory.size(-1));
  if (!cache.keys.defined()) {
    const Tensor x = batched(memory, unbatched);
    cache = {projected(x, 1, unbatched), projected(x, 2, unbatched)};
  }
  const Tensor q = projected(batched(query, unbatched), 0, unbatched);
  const Call call{q.size(0), q.size(2), cache.length()};
  check(cache.keys.size(0) == call.batch, op, "the cache must be of the same batch",
        cache.keys.size(0), " for ", call.batch);
  Tensor mask = mask_of({.key_padding_mask = key_padding_mask}, call, num_heads, q.dtype());
  Tensor k = cache.keys, v = cache.values;
  add_own(k, v, mask);
  const double p = is_training() ? options.dropout : 0;
  return merged(scaled_dot_product_attention(q, k, v, {.attn_mask = mask, .dropout_p = p}),
                unbatched);
}

AttentionOutput MultiheadAttention::operator()(const Tensor& query, const Tensor& key,
                                               const Tensor& value, const AttentionMasks& masks,
                                               bool need_weights, bool average_attn_weights) const {
  return call_module(*this, query, key, value, masks, need_weights, average_attn_weights);
}

Tensor MultiheadAttention::forward(const Tensor& input) const {
  check_given({{"input", input}});
  return forward(input, input, input, {}, false).output;
}

int64_t MultiheadAttention::multiply_adds(const Tensors& inputs, const Tensors&) const {
  const Tensor& query = inputs.at(0);
  const Tensor& key = inputs.size() > 1 ? inputs[1] : query;
  const bool unbatched = query.dim() == 2;
  const int64_t length = query.size(!unbatched && options.batch_first ? 1 : 0);
  const int64_t keys = key.size(!unbatched && options.batch_first ? 1 : 0);
  const int64_t batch = unbatched ? 1 : query.size(options.batch_first ? 0 : 1);
  const int64_t projections =
      length * embed_dim * embed_dim + keys * embed_dim * (options.kdim + options.vdim);
  const int64_t seen = keys + options.add_bias_kv + options.add_zero_attn;
  return batch * (projections + 2 * length * seen * embed_dim);  // out_proj counts its own
}

TransformerEncoderLayer::TransformerEncoderLayer(int64_t features, int64_t heads,
                                                 const TransformerEncoderLayerOptions& o)
    : options(o),
      self_attn(*this, "self_attn", features, heads,
                {.dropout = o.dropout, .bias = o.bias, .batch_first = o.batch_first}),
      linear1(*this, "linear1", features, o.dim_feedforward, {.bias = o.bias}),
      dropout(*this, "dropout", o.dropout),
      linear2(*this, "linear2", o.dim_feedforward, features, {.bias = o.bias}),
      norm1(*this, "norm1", features, {.eps = o.layer_norm_eps, .bias = o.bias}),
      norm2(*this, "norm2", features, {.eps = o.layer_norm_eps, .bias = o.bias}),
      dropout1(*this, "dropout1", o.dropout),
      dropout2(*this, "dropout2", o.dropout) {}

TransformerEncoderLayer::TransformerEncoderLayer(Module& owner, const char* name, int64_t features,
                                                 int64_t heads,
                                                 const TransformerEncoderLayerOptions& o)
    : TransformerEncoderLayer(features, heads, o) {
  join(owner, name);
}

Tensor TransformerEncoderLayer::feed_forward(const Tensor& x) const {
  const Tensor hidden = linear1(x);
  const Tensor active =
      options.activation == TransformerActivation::relu ? relu(hidden) : gelu(hidden);
  return dropout2(linear2(dropout(active)));
}

template <class Attend>
Tensor TransformerEncoderLayer::run(const Tensor& source, const Attend& attend) const {
  check_given({{"source", source}});
  if (options.norm_first) {
    const Tensor x = source + dropout1(attend(norm1(source)));
    return x + feed_forward(norm2(x));
  }
  const Tensor x = norm1(source + dropout1(attend(source)));
  return norm2(x + feed_forward(x));
}

Tensor TransformerEncoderLayer::forward(const Tensor& source, const AttentionMasks& masks) const {
  return run(source, [&](const Tensor& x) { return self_attn(x, x, x, masks, false).output; });
}
Tensor TransformerEncoderLayer::step(const Tensor& source, AttentionCache& cache,
                                     const Tensor& src_key_padding_mask) const {
  return run(source,
             [&](const Tensor& x) { return self_attn.step(x, cache, src_key_padding_mask); });
}

Tensor TransformerEncoderLayer::forward(const Tensor& source) const { return forward(source, {}); }

Tensor TransformerEncoderLayer::operator()(const Tensor& source,
                                           const AttentionMasks& masks) const {
  return call_module(*this, source, masks);
}

}  // namespace aorta::nn
