#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/pooling.h>

// EfficientNet (Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
// Networks") with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// How far the channels and the depth of B0 are scaled, and the numbers that go with it.
struct EfficientNetLayout {
  double width = 1, depth = 1;
  double dropout = 0.2;
  double norm_eps = 1e-5, norm_momentum = 0.1;
};
/// The networks of the paper.
inline constexpr EfficientNetLayout kEfficientNetB0{1.0, 1.0, 0.2};
inline constexpr EfficientNetLayout kEfficientNetB1{1.0, 1.1, 0.2};
inline constexpr EfficientNetLayout kEfficientNetB2{1.1, 1.2, 0.3};
inline constexpr EfficientNetLayout kEfficientNetB3{1.2, 1.4, 0.3};
inline constexpr EfficientNetLayout kEfficientNetB4{1.4, 1.8, 0.4};
inline constexpr EfficientNetLayout kEfficientNetB5{1.6, 2.2, 0.4, 1e-3, 0.01};
inline constexpr EfficientNetLayout kEfficientNetB6{1.8, 2.6, 0.5, 1e-3, 0.01};
inline constexpr EfficientNetLayout kEfficientNetB7{2.0, 3.1, 0.5, 1e-3, 0.01};

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
