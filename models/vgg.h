#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/pooling.h>

#include <array>

// AlexNet and the networks of VGG with torchvision's modules and parameter names, for images (N, 3,
// H, W). Dropout is 0.5.

namespace aorta::models {

/// Five convolutions and three linear layers: (N, 3, H, W) of at least 63 x 63 -> (N, classes).
/// Krizhevsky 2014, "One weird trick for parallelizing convolutional neural networks".
class AlexNet : public nn::Module {
 public:
  explicit AlexNet(int64_t num_classes = 1000);
  AlexNet(nn::Module& owner, const char* name, int64_t num_classes = 1000) : AlexNet(num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // (N, 256, H', W')
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 6};
  nn::Sequential classifier{*this, "classifier"};
};

/// How many 3x3 convolutions stand in front of each of the five poolings, and whether each has a
/// norm.
struct VGGLayout {
  std::array<int, 5> convolutions;
  bool batch_norm = false;
};
/// Configurations A, B, D and E of Simonyan and Zisserman 2015, "Very Deep Convolutional Networks
/// for Large-Scale Image Recognition".
inline constexpr VGGLayout kVGG11{{1, 1, 2, 2, 2}};
inline constexpr VGGLayout kVGG13{{2, 2, 2, 2, 2}};
inline constexpr VGGLayout kVGG16{{2, 2, 3, 3, 3}};
inline constexpr VGGLayout kVGG19{{2, 2, 4, 4, 4}};
/// Each with batch norm.
inline constexpr VGGLayout kVGG11BN{{1, 1, 2, 2, 2}, true};
inline constexpr VGGLayout kVGG13BN{{2, 2, 2, 2, 2}, true};
inline constexpr VGGLayout kVGG16BN{{2, 2, 3, 3, 3}, true};
inline constexpr VGGLayout kVGG19BN{{2, 2, 4, 4, 4}, true};

/// (N, 3, H, W) of at least 32 x 32 -> (N, classes).
class VGG : public nn::Module {
 public:
  explicit VGG(const VGGLayout& layout, int64_t num_classes = 1000);
  VGG(nn::Module& owner, const char* name, const VGGLayout& layout, int64_t num_classes = 1000)
      : VGG(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  /// (N, 512, H / 32, W / 32). Without batch norm its places are torchvision's, so that
  /// `features.slice(0, 4)` ends at relu1_2. A batch norm has its ReLU inside, and the names go on
  /// as if it were there.
  nn::Sequential features{*this, "features"};
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 7};
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
