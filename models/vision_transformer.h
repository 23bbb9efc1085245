#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/normalization.h>

// The vision transformer (Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words") with
// torchvision's modules and parameter names, for images (N, 3, image_size, image_size).

namespace aorta::models {

/// The sizes of a VisionTransformer.
struct VisionTransformerOptions {
  int64_t image_size = 224;  // a multiple of patch_size
  int64_t patch_size = 16;
  int64_t num_layers = 12;
  int64_t num_heads = 12;
  int64_t hidden_dim = 768;
  int64_t mlp_dim = 3072;
  int64_t num_classes = 1000;
};

/// Adds what is learned of each position, and goes through the layers: (N, L, hidden_dim) -> the
/// same, L = 1 + (image_size / patch_size)^2.
class VisionTransformerEncoder : public nn::Module {
 public:
  explicit VisionTransformerEncoder(const VisionTransformerOptions& options);
  VisionTransformerEncoder(nn::Module& owner, const char* name,
                           const VisionTransformerOptions& options)
      : VisionTransformerEncoder(options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Parameter pos_embedding;  // (1, L, hidden_dim)
  nn::Sequential layers{*this, "layers"};
  nn::LayerNorm ln;
};

/// (N, 3, image_size, image_size) -> (N, classes).
class VisionTransformer : public nn::Module {
 public:
  explicit VisionTransformer(const VisionTransformerOptions& options = {});
  VisionTransformer(nn::Module& owner, const char* name,
                    const VisionTransformerOptions& options = {})
      : VisionTransformer(options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  VisionTransformerOptions options;
  nn::Parameter class_token;  // (1, 1, hidden_dim)
  nn::Conv2d conv_proj;       // of a patch, hidden_dim features
  VisionTransformerEncoder encoder;
  nn::Sequential heads{*this, "heads"};
};

}  // namespace aorta::models
