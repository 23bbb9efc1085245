#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/pooling.h>

#include <array>

// ConvNeXt (Liu et al. 2022, "A ConvNet for the 2020s") with torchvision's modules and parameter
// names, for images (N, 3, H, W).

namespace aorta::models {

/// The blocks and channels of the four stages, and the probability with which training leaves the
/// last block out of a sample (stochastic depth, Huang et al. 2016). It grows from 0 with the
/// depth.
struct ConvNeXtLayout {
  std::array<int, 4> blocks;
  std::array<int64_t, 4> channels;
  double stochastic_depth = 0;
};
/// The layouts of the paper, with the probabilities of its training.
inline constexpr ConvNeXtLayout kConvNeXtTiny{{3, 3, 9, 3}, {96, 192, 384, 768}, 0.1};
inline constexpr ConvNeXtLayout kConvNeXtSmall{{3, 3, 27, 3}, {96, 192, 384, 768}, 0.4};
inline constexpr ConvNeXtLayout kConvNeXtBase{{3, 3, 27, 3}, {128, 256, 512, 1024}, 0.5};
inline constexpr ConvNeXtLayout kConvNeXtLarge{{3, 3, 27, 3}, {192, 384, 768, 1536}, 0.5};

/// (N, 3, H, W) of at least 32 x 32 -> (N, classes).
class ConvNeXt : public nn::Module {
 public:
  explicit ConvNeXt(const ConvNeXtLayout& layout, int64_t num_classes = 1000);
  ConvNeXt(nn::Module& owner, const char* name, const ConvNeXtLayout& layout,
           int64_t num_classes = 1000)
      : ConvNeXt(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
