#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

#include <array>

// Residual networks (He et al. 2015) with torchvision's modules and parameter names, for images (N,
// 3, H, W).

namespace aorta::models {

/// What the 3x3 convolution with the stride is, in the first place of a BasicBlock and the second
/// of a Bottleneck.
struct ResidualBlockOptions {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
  int64_t width_per_group = 64;  // a bottleneck has planes x groups x width_per_group / 64 channels
};

/// Two 3x3 convolutions around which the input goes, (N, C, H, W) -> (N, planes, H', W').
struct BasicBlock : nn::Module {
  static constexpr int64_t expansion = 1;
  /// dilation and groups must be 1 and width_per_group 64: torchvision has no others either.
  BasicBlock(int64_t channels, int64_t planes, const ResidualBlockOptions& options = {});
  BasicBlock(nn::Module& owner, const char* name, int64_t channels, int64_t planes,
             const ResidualBlockOptions& options = {})
      : BasicBlock(channels, planes, options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Sequential downsample{*this, "downsample"};  // empty where the input fits
};

/// 1x1 to fewer channels, 3x3 (with the stride), 1x1 to 4 x planes.
struct Bottleneck : nn::Module {
  static constexpr int64_t expansion = 4;
  Bottleneck(int64_t channels, int64_t planes, const ResidualBlockOptions& options = {});
  Bottleneck(nn::Module& owner, const char* name, int64_t channels, int64_t planes,
             const ResidualBlockOptions& options = {})
      : Bottleneck(channels, planes, options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Conv2d conv1;
  nn::BatchNorm2d bn1;
  nn::Conv2d conv2;
  nn::BatchNorm2d bn2;
  nn::Conv2d conv3;
  nn::BatchNorm2d bn3;
  nn::Sequential downsample{*this, "downsample"};

 private:
  Bottleneck(int64_t channels, int64_t planes, int64_t width, const ResidualBlockOptions& options);
};

/// How many residual blocks each of the four stages has, whether they are bottlenecks (1x1, 3x3,
/// 1x1), and their groups and widths, as in ResidualBlockOptions.
struct ResNetLayout {
  std::array<int, 4> blocks;
  bool bottleneck;
  int64_t groups = 1;
  int64_t width_per_group = 64;
};
/// The layouts of He et al. 2016.
inline constexpr ResNetLayout kResNet18{{2, 2, 2, 2}, false};
inline constexpr ResNetLayout kResNet34{{3, 4, 6, 3}, false};
inline constexpr ResNetLayout kResNet50{{3, 4, 6, 3}, true};
inline constexpr ResNetLayout kResNet101{{3, 4, 23, 3}, true};
inline constexpr ResNetLayout kResNet152{{3, 8, 36, 3}, true};
/// ResNeXt: convolutions in groups (Xie et al. 2017).
inline constexpr ResNetLayout kResNeXt50_32x4d{{3, 4, 6, 3}, true, 32, 4};
inline constexpr ResNetLayout kResNeXt101_32x8d{{3, 4, 23, 3}, true, 32, 8};
inline constexpr ResNetLayout kResNeXt101_64x4d{{3, 4, 23, 3}, true, 64, 4};
/// Bottlenecks of twice the width (Zagoruyko and Komodakis 2016).
inline constexpr ResNetLayout kWideResNet50_2{{3, 4, 6, 3}, true, 1, 128};
inline constexpr ResNetLayout kWideResNet101_2{{3, 4, 23, 3}, true, 1, 128};

/// The convolutions of a residual network, without its classifier.
class ResNetFeatures : public nn::Module {
 public:
  /// With `dilate`, layer3 and layer4 keep the resolution of layer2 (1/8) and are dilated instead.
  explicit ResNetFeatures(const ResNetLayout& layout, bool dilate = false);
  ResNetFeatures(nn::Module& owner, const char* name, const ResNetLayout& layout,
                 bool dilate = false)
      : ResNetFeatures(layout, dilate) {
    join(owner, name);
  }
  struct Maps {
    Tensor layer3, layer4;
  };
  /// A call that gives the maps of both.
  Maps maps(const Tensor& input) const;
  /// The maps of layer4.
  Tensor forward(const Tensor& input) const override { return compute(input).layer4; }
  /// Channels of layer3 and layer4.
  int64_t layer3_channels() const { return 256 * expansion_; }
  int64_t layer4_channels() const { return 512 * expansion_; }

  nn::Conv2d conv1{*this, "conv1", 3, 64, 7, {.stride = 2, .padding = 3, .bias = false}};
  nn::BatchNorm2d bn1{*this, "bn1", 64, {.relu = true}};
  /// A Sequential, so that networks for small images replace it by an empty one.
  nn::Sequential maxpool{*this, "maxpool", nn::MaxPool2d(3, {.stride = 2, .padding = 1})};
  nn::Sequential layer1{*this, "layer1"};
  nn::Sequential layer2{*this, "layer2"};
  nn::Sequential layer3{*this, "layer3"};
  nn::Sequential layer4{*this, "layer4"};

 private:
  void add_blocks(nn::Sequential& layer, int count, int64_t planes, ResidualBlockOptions first,
                  bool dilate);
  Maps compute(const Tensor& input) const;
  bool bottleneck_;
  int64_t expansion_;
  int64_t channels_ = 64, dilation_ = 1;  // while it is built
};

/// (N, 3, H, W) -> (N, classes).
class ResNet : public ResNetFeatures {
 public:
  explicit ResNet(const ResNetLayout& layout, int64_t num_classes = 1000);
  ResNet(nn::Module& owner, const char* name, const ResNetLayout& layout,
         int64_t num_classes = 1000)
      : ResNet(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Linear fc;
};

}  // namespace aorta::models
