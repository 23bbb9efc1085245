#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/pooling.h>

#include <span>

// EfficientNet (Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
// Networks") and EfficientNetV2 (Tan and Le 2021, "EfficientNetV2: Smaller Models and Faster
// Training") with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// Blocks behind one another, the first of which has the stride and other channels than it gives. A
/// fused one has a convolution in place of the first two, and scales no channels.
struct MBConvStage {
  int64_t expansion, kernel_size, stride, channels, planes, blocks;
  bool is_fused = false;
};

/// How far the channels and the depth of the stages are scaled, and the numbers that go with it.
struct EfficientNetLayout {
  double width = 1, depth = 1;
  double dropout = 0.2;
  double norm_eps = 1e-5, norm_momentum = 0.1;
  std::span<const MBConvStage> stages = {};  // where there are none, B0's
  int64_t last_channels = 0;  // in front of the classifier; 0: four times the last stage's
};
/// The networks of the papers.
inline constexpr EfficientNetLayout kEfficientNetB0{1.0, 1.0, 0.2};
inline constexpr EfficientNetLayout kEfficientNetB1{1.0, 1.1, 0.2};
inline constexpr EfficientNetLayout kEfficientNetB2{1.1, 1.2, 0.3};
inline constexpr EfficientNetLayout kEfficientNetB3{1.2, 1.4, 0.3};
inline constexpr EfficientNetLayout kEfficientNetB4{1.4, 1.8, 0.4};
inline constexpr EfficientNetLayout kEfficientNetB5{1.6, 2.2, 0.4, 1e-3, 0.01};
inline constexpr EfficientNetLayout kEfficientNetB6{1.8, 2.6, 0.5, 1e-3, 0.01};
inline constexpr EfficientNetLayout kEfficientNetB7{2.0, 3.1, 0.5, 1e-3, 0.01};
extern const EfficientNetLayout kEfficientNetV2S, kEfficientNetV2M, kEfficientNetV2L;

/// (N, 3, H, W) -> (N, classes). In training each residual block is left out for a sample with a
/// probability that grows from 0 to 0.2 with its depth (stochastic depth, Huang et al. 2016).
class EfficientNet : public nn::Module {
 public:
  /// width and depth must be in (0, 8].
  explicit EfficientNet(const EfficientNetLayout& layout, int64_t num_classes = 1000);
  EfficientNet(nn::Module& owner, const char* name, const EfficientNetLayout& layout,
               int64_t num_classes = 1000)
      : EfficientNet(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
