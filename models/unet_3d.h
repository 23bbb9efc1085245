#pragma once

#include <aorta/models/unet.h>

namespace aorta::models {

/// The size of a UNet3d.
struct UNet3dOptions {
  int64_t frames = 3;  // that each frame of the output is found from
  int64_t num_classes = 1;
  int64_t base_channels = 16;  // those of its UNet
  int64_t depth = 4;
};
/// A U-Net over space and time: clips (N, C, T, H, W) -> logits (N, classes, T - frames + 1, H, W).
/// Each frame's are found from `frames` of the clip, frames / 2 before it and the others from it
/// on. A 3x3 convolution over all of them at once, which is one of frames x 3 x 3 without padding
/// in time, begins a UNet that sees each frame's maps by themselves. Frames are grey: the mean of
/// their channels.
class UNet3d : public nn::Module {
 public:
  explicit UNet3d(const UNet3dOptions& options = {});
  UNet3d(nn::Module& owner, const char* name, const UNet3dOptions& options = {}) : UNet3d(options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  int64_t frames;
  UNet net;
};

}  // namespace aorta::models
