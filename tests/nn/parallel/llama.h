#pragma once

// A small language model whose layers can be divided among ranks, and how they are.

#include <aorta/aorta.h>
#include <aorta/nn/parallel/tensor_parallel.h>

namespace aorta::nn {

inline CommOptions patient() { return {.timeout = 60, .records = 100'000}; }

inline bool are_near(const Tensor& found, const Tensor& wanted, double tolerance) {
  return found.shape() == wanted.shape() && allclose(found, wanted, {.rtol = 0, .atol = tolerance});
}

// Attention with heads of 2 numbers each.
struct HeadsAttention : Module {
  Linear wq{*this, "wq", 12, 12, {.bias = false}}, wk{*this, "wk", 12, 12, {.bias = false}};
  Linear wv{*this, "wv", 12, 12}, wo{*this, "wo", 12, 12};
  using Module::Module;
  Tensor forward(const Tensor& x) const override {
    const auto heads = [&](const Linear& projection) {
      return projection(x).view({x.size(0), x.size(1), -1, 2}).transpose(1, 2);
    };
    const Tensor y =
        scaled_dot_product_attention(heads(wq), heads(wk), heads(wv), {.is_causal = true});
    return wo(y.transpose(1, 2).flatten(2));
  }
};

struct GatedUnits : Module {
  Linear w1{*this, "w1", 12, 10}, w3{*this, "w3", 12, 10}, w2{*this, "w2", 10, 12};
  Dropout dropout{*this, "dropout", {.p = 0}};
  using Module::Module;
  Tensor forward(const Tensor& x) const override { return w2(dropout(silu(w1(x)) * w3(x))); }
};

struct LlamaBlock : Module {
  LayerNorm attention_norm{*this, "attention_norm", 12}, ffn_norm{*this, "ffn_norm", 12};
  HeadsAttention attention{*this, "attention"};
  GatedUnits feed_forward{*this, "feed_forward"};
  Dropout dropout{*this, "dropout", {.p = 0}};
  using Module::Module;
  Tensor forward(const Tensor& x) const override {
    const Tensor h = x + attention(attention_norm(x));
    return h + dropout(feed_forward(ffn_norm(h)));
  }
};

// A network of 11 words, which no number of ranks divides: words (N, L) -> (N, L, 11).
struct Llama : Module {
  Embedding tok_embeddings{*this, "tok_embeddings", 11, 12};
  ModuleList layers{*this, "layers"};
  LayerNorm norm{*this, "norm", 12};
  Linear output{*this, "output", 12, 11};
  Llama() {
    layers.push_back(LlamaBlock());
    layers.push_back(LlamaBlock());
  }
  Tensor forward(const Tensor& words) const override {
    return output(norm(layers[1](layers[0](tok_embeddings(words)))));
  }
};

inline Llama llama(uint64_t seed) {
  Generator random(seed);
  const DefaultGeneratorScope scope(random);
  return Llama();
}

// Between the layers that are divided each rank has all of what they give.
inline const ParallelPlan kWholeBetween = {
    {"tok_embeddings", RowwiseParallel{.input_layouts = Replicate()}},
    {"layers.*.attention.w[qkv]", ColwiseParallel{}},
    {"layers.*.attention.wo", RowwiseParallel{}},
    {"layers.*.feed_forward.w[13]", ColwiseParallel{}},
    {"layers.*.feed_forward.w2", RowwiseParallel{}},
    {"output", ColwiseParallel{.output_layouts = Replicate()}},
};

// Each rank has its part of the sequence.
inline const ParallelPlan kRowsBetween = {
    {"tok_embeddings", RowwiseParallel{.input_layouts = Replicate(), .output_layouts = Shard(1)}},
    {"layers.*.*_norm", SequenceParallel{}},
    {"layers.*.dropout", SequenceParallel{}},
    {"layers.*.attention",
     PrepareModuleInput{.input_layouts = {Shard(1)}, .desired_input_layouts = {Replicate()}}},
    {"layers.*.attention.w[qkv]", ColwiseParallel{}},
    {"layers.*.attention.wo", RowwiseParallel{.output_layouts = Shard(1)}},
    {"layers.*.feed_forward",
     PrepareModuleInput{.input_layouts = {Shard(1)}, .desired_input_layouts = {Replicate()}}},
    {"layers.*.feed_forward.w[13]", ColwiseParallel{}},
    {"layers.*.feed_forward.dropout", SequenceParallel{}},
    {"layers.*.feed_forward.w2", RowwiseParallel{.output_layouts = Shard(1)}},
    {"norm", SequenceParallel{}},
    {"output", ColwiseParallel{.input_layouts = Shard(1), .output_layouts = Replicate()}},
};

// A batch of each step, of 3 texts of 6 words.
inline Tensor texts(int64_t step) {
  Generator random(static_cast<uint64_t>(step));
  return randint(11, {3, 6}, {}, &random);
}

inline Tensor next_word_loss(const Llama& net, const Tensor& words) {
  return cross_entropy(net(words).flatten(0, 1), words.roll({-1}, {1}).flatten());
}

}  // namespace aorta::nn
