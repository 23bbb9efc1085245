#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

// Residual networks over space and time (Tran et al., "A Closer Look at Spatiotemporal Convolutions
// for Action Recognition", 2018) with torchvision's modules and parameter names, for clips
// (N, 3, T, H, W).

namespace aorta::models {

/// What the convolutions of a video network's blocks are.
enum class VideoConv : uint8_t {
  full,      // 3x3x3
  spatial,   // 1x3x3: nothing of time
  factored,  // 1x3x3 and 3x1x1, norm and ReLU between them, with as many weights as a full one
};

/// Two convolutions around which the input goes, (N, C, T, H, W) -> (N, planes, T', H', W').
struct VideoBlock : nn::Module {
  VideoBlock(VideoConv kind, int64_t channels, int64_t planes, int64_t stride);
  VideoBlock(nn::Module& owner, const char* name, VideoConv kind, int64_t channels, int64_t planes,
             int64_t stride)
      : VideoBlock(kind, channels, planes, stride) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential conv1{*this, "conv1"};            // the convolution, and its norm with the ReLU
  nn::Sequential conv2{*this, "conv2"};            // the same, but for the ReLU
  nn::Sequential downsample{*this, "downsample"};  // empty where the input fits
};

/// The convolutions of layer1 and those of layer2 to layer4.
struct VideoResNetLayout {
  VideoConv first, others;
};
/// 3x3x3 throughout.
inline constexpr VideoResNetLayout kR3D18{VideoConv::full, VideoConv::full};
/// 3x3x3 in layer1, then frame by frame.
inline constexpr VideoResNetLayout kMC318{VideoConv::full, VideoConv::spatial};
/// R(2+1)D: time and space apart, in the stem too.
inline constexpr VideoResNetLayout kR2Plus1D18{VideoConv::factored, VideoConv::factored};

/// 18 layers in four stages of two blocks: clips (N, 3, T, H, W) -> (N, classes).
class VideoResNet : public nn::Module {
 public:
  explicit VideoResNet(const VideoResNetLayout& layout, int64_t num_classes = 400);
  VideoResNet(nn::Module& owner, const char* name, const VideoResNetLayout& layout,
              int64_t num_classes = 400)
      : VideoResNet(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential stem{*this, "stem"};
  nn::Sequential layer1{*this, "layer1"};
  nn::Sequential layer2{*this, "layer2"};
  nn::Sequential layer3{*this, "layer3"};
  nn::Sequential layer4{*this, "layer4"};
  nn::AdaptiveAvgPool3d avgpool{*this, "avgpool", 1};
  nn::Linear fc;
};

}  // namespace aorta::models
