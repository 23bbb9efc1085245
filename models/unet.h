#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

namespace aorta::models {

/// The size of a UNet.
struct UNetOptions {
  int64_t in_channels = 3;
  int64_t num_classes = 1;
  int64_t base_channels = 64;  // of the first level; each level below has twice as many
  int64_t depth = 4;           // how often the maps are halved
};
/// U-Net (Ronneberger et al. 2015) with padding and batch norm: images (N, C, H, W) -> logits (N,
/// classes, H, W). Sizes that 2^depth doesn't divide are taken too: the way up is resampled to the
/// maps beside it.
class UNet : public nn::Module {
 public:
  explicit UNet(const UNetOptions& options = {});
  UNet(nn::Module& owner, const char* name, const UNetOptions& options = {}) : UNet(options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::ModuleList encoder{*this, "encoder"};    // depth + 1 pairs of 3x3 convolutions
  nn::ModuleList upsample{*this, "upsample"};  // depth transposed convolutions, the lowest first
  nn::ModuleList decoder{*this, "decoder"};    // depth pairs
  nn::MaxPool2d pool{*this, "pool", 2};
  nn::Conv2d head;
};

}  // namespace aorta::models
