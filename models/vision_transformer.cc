#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/models/vision_transformer.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/attention.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <cmath>

namespace aorta::models {
namespace {

// Self-attention and a small network of each position, each behind a norm and beside its input.
struct VisionBlock : nn::Module {
  explicit VisionBlock(const VisionTransformerOptions& o)
      : ln_1(*this, "ln_1", o.hidden_dim, {.eps = 1e-6}),
        self_attention(*this, "self_attention", o.hidden_dim, o.num_heads, {.batch_first = true}),
        ln_2(*this, "ln_2", o.hidden_dim, {.eps = 1e-6}) {
    const nn::Linear up(o.hidden_dim, o.mlp_dim), down(o.mlp_dim, o.hidden_dim);
    for (const nn::Linear& linear : {up, down}) {
      nn::init::xavier_uniform_(linear.weight);
      nn::init::normal_(linear.bias, 0, 1e-6);
    }
    mlp.push_back("0", up);
    mlp.push_back("1", nn::GELU());
    mlp.push_back("3", down);
  }
  Tensor forward(const Tensor& input) const override {
    const Tensor x = ln_1(input);
    const Tensor attended = input + self_attention(x, x, x, {}, false).output;
    return attended + mlp(ln_2(attended));
  }

  nn::LayerNorm ln_1;
  nn::MultiheadAttention self_attention;
  nn::LayerNorm ln_2;
  nn::Sequential mlp{*this, "mlp"};
};

const VisionTransformerOptions& checked(const VisionTransformerOptions& o) {
  check(o.patch_size > 0 && o.image_size > 0 && o.image_size % o.patch_size == 0,
        "VisionTransformer", "image_size must be a multiple of patch_size", o.image_size, " and ",
        o.patch_size);
  check(o.hidden_dim > 0 && o.mlp_dim > 0 && o.num_layers >= 0, "VisionTransformer",
        "hidden_dim and mlp_dim must be positive, and num_layers not negative", o.hidden_dim, ", ",
        o.mlp_dim, " and ", o.num_layers);
  return o;
}

Tensor positions(const VisionTransformerOptions& o) {
  const int64_t side = checked(o).image_size / o.patch_size;
  return empty({1, checked_numel("VisionTransformer", {side, side}) + 1, o.hidden_dim});
}

}  // namespace

VisionTransformerEncoder::VisionTransformerEncoder(const VisionTransformerOptions& options)
    : pos_embedding(*this, "pos_embedding", positions(options)),
      ln(*this, "ln", options.hidden_dim, {.eps = 1e-6}) {
  nn::init::normal_(pos_embedding, 0, 0.02);
  for (int64_t i = 0; i < options.num_layers; ++i)
    layers.push_back("encoder_layer_" + std::to_string(i), VisionBlock(options));
}

Tensor VisionTransformerEncoder::forward(const Tensor& input) const {
  return ln(layers(input + pos_embedding));
}

VisionTransformer::VisionTransformer(const VisionTransformerOptions& options)
    : options(checked(options)),
      class_token(*this, "class_token", zeros({1, 1, options.hidden_dim})),
      conv_proj(*this, "conv_proj", 3, options.hidden_dim, options.patch_size,
                {.stride = options.patch_size}),
      encoder(*this, "encoder", options) {
  const nn::Linear head(options.hidden_dim, options.num_classes);
  nn::init::zeros_(head.weight);
  nn::init::zeros_(head.bias);
  heads.push_back("head", head);
  const double fan_in = 3.0 * static_cast<double>(options.patch_size * options.patch_size);
  nn::init::trunc_normal_(conv_proj.weight, {.std = std::sqrt(1 / fan_in)});
  nn::init::zeros_(conv_proj.bias);
}

Tensor VisionTransformer::forward(const Tensor& input) const {
  check(input.dim() == 4 && input.size(2) == options.image_size &&
            input.size(3) == options.image_size,
        "VisionTransformer", "input must be (N, 3, image_size, image_size)", input.shape(), " for ",
        options.image_size);
  const Tensor patches = conv_proj(input).flatten(2).transpose(1, 2);
  const Tensor token = class_token.expand({input.size(0), 1, options.hidden_dim});
  return heads(encoder(cat({token, patches}, 1)).select(1, 0));
}

}  // namespace aorta::models
