#include <aorta/core/ops/attention.h>

#include <aorta/tests/catalog/rows.h>

namespace aorta::catalog {

std::vector<Row> attention_rows() {
  const auto masked = [](const Tensors& x) -> Tensors {
    return {scaled_dot_product_attention(x[0], x[1], x[2], {.attn_mask = x[3]})};
  };
  return {
      {.op = "scaled_dot_product_attention",
       // Weights are rounded to the half type where its products are native; the scale is 16, for
       // values of at most 1.
       .tolerance = {2, 8, 4, 0, false, 1.0 / 32},
       .calls = {{"default",
                  [](const Tensors& x) -> Tensors {
                    return {scaled_dot_product_attention(x[0], x[1], x[2])};
                  }},
                 {"causal",
                  [](const Tensors& x) -> Tensors {
                    return {scaled_dot_product_attention(x[0], x[1], x[2], {.is_causal = true})};
                  }},
                 {"scale",
                  [](const Tensors& x) -> Tensors {
                    return {scaled_dot_product_attention(x[0], x[1], x[2], {.scale = 0.25})};
                  }},
                 {"mask", masked},
                 {"added", masked}},
       .bad = {{[] {
                  scaled_dot_product_attention(ones({3}), ones({3, 4}), ones({3, 4}));
                },
                "scaled_dot_product_attention: query, key and value must have at least 2 "
                "dimensions, got [3], [3,4] and [3,4]"},
               {[] {
                  scaled_dot_product_attention(ones({3, 4}), ones({3, 5}), ones({3, 4}));
                },
                "scaled_dot_product_attention: query and key must agree in their last dimension, "
                "got [3,4] and [3,5]"},
               {[] {
                  scaled_dot_product_attention(ones({3, 4}), ones({5, 4}), ones({3, 4}));
                },
                "scaled_dot_product_attention: there must be as many keys as values, got [5,4] and "
                "[3,4]"},
               {[] {
                  scaled_dot_product_attention(ones({3, 4}), ones({3, 4}, {.dtype = f64}),
                                               ones({3, 4}));
                },
                "scaled_dot_product_attention: query, key and value must have one dtype, got f32, "
                "f64 and f32"},
               {[] {
                  const Tensor x = ones({3, 4});
                  scaled_dot_product_attention(x, x, x, {.attn_mask = ones({4, 3})});
                },
                "scaled_dot_product_attention: shapes must broadcast, got [4,3] and [3,3]"},
               {[] {
                  scaled_dot_product_attention(ones({4, 2, 3}), ones({3, 2, 3}), ones({3, 2, 3}),
                                               {.enable_gqa = true});
                },
                "scaled_dot_product_attention: the query's heads must be a multiple of the keys' "
                "and values', got 4, 3 and 3"},
               {[] {
                  scaled_dot_product_attention(ones({2, 3}), ones({2, 3}), ones({2, 3}),
                                               {.enable_gqa = true});
                },
                "scaled_dot_product_attention: grouped queries need a dimension of heads, got "
                "[2,3], [2,3] and [2,3]"},
               {[] {
                  const Tensor x = ones({3, 4});
                  scaled_dot_product_attention(x, x, x, {.attn_mask = ones({2, 3, 3})});
                },
                "scaled_dot_product_attention: attn_mask must broadcast to (*, L, S), got [2,3,3] "
                "for [3,3]"},
               {[] {
                  const Tensor x = ones({3, 4});
                  scaled_dot_product_attention(x, x, x, {.attn_mask = ones({3}, {.dtype = i64})});
                },
                "scaled_dot_product_attention: attn_mask must be bool or of the query's dtype, got "
                "i64 for f32"},
               {[] {
                  const Tensor x = ones({3, 4});
                  scaled_dot_product_attention(x, x, x,
                                               {.attn_mask = ones({3, 3}), .is_causal = true});
                },
                "scaled_dot_product_attention: either attn_mask or is_causal, got both"},
               {[] {
                  const Tensor x = ones({3, 4});
                  scaled_dot_product_attention(x, x, x, {.dropout_p = 2});
                },
                "scaled_dot_product_attention: dropout_p must lie in [0, 1], got 2"}},
       .functions = {"attention_backward", "attention_scores", "attention_weights"},
       .large =
           [] {
             return Tensors{numbers({2, 900, 16}), numbers({2, 800, 16}), numbers({2, 800, 24})};
           },
       .autocasts = Autocasts::half}};
}

}  // namespace aorta::catalog
