#include <aorta/core/ops/attention.h>
#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/tests/onnx/operators.h>

#include <limits>

namespace aorta::onnx {
namespace {

// Nothing random: in evaluation, or of ratio 0.
Tensors dropout_of(const Case& c) {
  const double ratio = c.has(1) ? c.inputs[1].item<double>() : c.number("ratio", 0.5);
  const bool training = c.has(2) && c.inputs[2].item<bool>();
  Tensors results{dropout(c.inputs[0], ratio, training)};
  if (c.outputs == 2) results.push_back(ones(c.inputs[0].shape(), {.dtype = boolean}));
  return results;
}

std::string is_random(const Case& c) {
  const bool training = c.has(2) && c.inputs[2].item<bool>();
  const double ratio = c.has(1) ? c.inputs[1].item<double>() : c.number("ratio", 0.5);
  return training && ratio > 0 ? "its random numbers are another generator's" : "";
}

// ---- Attention. 3-d operands hold their heads side by side; fewer key than query heads are
// shared.

Tensor heads_of(const Tensor& x, int64_t heads) {
  return x.dim() == 4 ? x
                      : x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}

Tensor shared(const Tensor& x, int64_t heads) { return repeat_interleave(x, heads / x.size(1), 1); }

// True where a query, which come after `past` keys, sees a key.
Tensor causal_mask(int64_t queries, int64_t keys, int64_t past) {
  return ge(arange(past, past + queries).unsqueeze(1), arange(keys));
}

Tensors attention_of(const Case& c) {
  const int64_t query_heads = c.integer("q_num_heads", 1), key_heads = c.integer("kv_num_heads", 1);
  const Tensor q = heads_of(c.inputs[0], query_heads);
  Tensor k = heads_of(c.inputs[1], key_heads), v = heads_of(c.inputs[2], key_heads);
  int64_t past = 0;
  if (c.has(4)) {
    past = c.inputs[4].size(2);
    k = cat({c.inputs[4], k}, 2);
    v = cat({c.inputs[5], v}, 2);
  }
  AttentionOptions options;
  if (c.has(3)) options.attn_mask = c.inputs[3];
  if (c.attributes.contains("scale")) options.scale = c.number("scale", 1);
  if (c.integer("is_causal", 0) != 0) {
    const Tensor seen = causal_mask(q.size(2), k.size(2), past);
    options.attn_mask = !c.has(3) ? seen
                        : c.inputs[3].dtype() == boolean
                            ? logical_and(seen, c.inputs[3])
                            : where(seen, c.inputs[3], -std::numeric_limits<float>::infinity());
  }
  Tensor y = scaled_dot_product_attention(q, shared(k, q.size(1)), shared(v, q.size(1)), options);
  if (c.inputs[0].dim() == 3) y = y.transpose(1, 2).flatten(2);
  Tensors results{y};
  if (c.outputs > 1) results.insert(results.end(), {k, v});
  return results;
}

std::string is_out_of_reach(const Case& c) {
  if (c.number("softcap", 0) != 0) return "scores have no soft cap";
  return c.outputs == 4 ? "the products are kept nowhere" : "";
}

}  // namespace

void add_layers(Operators& table) {
  table["Dropout"] = {dropout_of, 0, 0, is_random};
  table["Attention"] = {attention_of, 1e-5, 1e-6, is_out_of_reach};
}

}  // namespace aorta::onnx
