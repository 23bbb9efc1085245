#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/normalization.h>

namespace aorta::models {

/// The size of a UNet3d.
struct UNet3dOptions {
  int64_t in_channels = 3;
  int64_t num_classes = 1;
  int64_t base_channels = 16;  // of the first level; each level below has twice as many
  int64_t depth = 4;           // how often maps are halved; the last time in space alone
};
/// A U-Net over space and time with batch norm: clips (N, C, T, H, W) -> logits (N, classes, T, H,
/// W). The first level halves the clip already, so that no map of many channels has its size, and
/// the head gives the eight pixels of each place (Shi et al., "Real-Time Single Image and Video
/// Super-Resolution Using an Efficient Sub-Pixel Convolutional Neural Network", 2016). Heights
/// and widths that 2^depth and times that 2^(depth - 1), at least 2, doesn't divide are filled up
/// with zeros at their end, and the logits cut back.
class UNet3d : public nn::Module {
 public:
  explicit UNet3d(const UNet3dOptions& options = {});
  UNet3d(nn::Module& owner, const char* name, const UNet3dOptions& options = {}) : UNet3d(options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::ModuleList encoder{*this,
                         "encoder"};  // depth pairs of 3x3x3 convolutions that halve and keep
  nn::ModuleList upsample{*this, "upsample"};  // depth - 1 transposed ones, the lowest first
  nn::ModuleList decoder{*this, "decoder"};    // depth - 1 pairs of stride 1
  nn::Conv3d head;                             // 3x3x3, 8 channels a class
};

}  // namespace aorta::models
