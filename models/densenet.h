#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>

#include <array>

// DenseNet (Huang et al. 2017, "Densely Connected Convolutional Networks") with torchvision's
// modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// How many layers each of the four blocks has, how many channels a layer adds, and the first ones.
struct DenseNetLayout {
  std::array<int, 4> layers;
  int64_t growth_rate = 32;
  int64_t first_channels = 64;
};
/// The layouts of the paper.
inline constexpr DenseNetLayout kDenseNet121{{6, 12, 24, 16}};
inline constexpr DenseNetLayout kDenseNet161{{6, 12, 36, 24}, 48, 96};
inline constexpr DenseNetLayout kDenseNet169{{6, 12, 32, 32}};
inline constexpr DenseNetLayout kDenseNet201{{6, 12, 48, 32}};

/// (N, 3, H, W) of at least 29 x 29 -> (N, classes). Each layer of a block sees all maps in front
/// of it.
class DenseNet : public nn::Module {
 public:
  explicit DenseNet(const DenseNetLayout& layout, int64_t num_classes = 1000);
  DenseNet(nn::Module& owner, const char* name, const DenseNetLayout& layout,
           int64_t num_classes = 1000)
      : DenseNet(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // its last norm has the ReLU behind it
  nn::Linear classifier;
};

}  // namespace aorta::models
