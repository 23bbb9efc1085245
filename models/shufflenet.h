#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/pooling.h>

#include <array>

// ShuffleNet V2 (Ma et al. 2018, "ShuffleNet V2: Practical Guidelines for Efficient CNN
// Architecture Design") with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// The channels of stage2, stage3, stage4 and conv5; those of the stages are even.
struct ShuffleNetV2Layout {
  std::array<int64_t, 4> channels;
};
/// The networks of the paper, by their width.
inline constexpr ShuffleNetV2Layout kShuffleNetV2_0_5{{48, 96, 192, 1024}};
inline constexpr ShuffleNetV2Layout kShuffleNetV2_1_0{{116, 232, 464, 1024}};
inline constexpr ShuffleNetV2Layout kShuffleNetV2_1_5{{176, 352, 704, 1024}};
inline constexpr ShuffleNetV2Layout kShuffleNetV2_2_0{{244, 488, 976, 2048}};

/// (N, 3, H, W) -> (N, classes).
class ShuffleNetV2 : public nn::Module {
 public:
  explicit ShuffleNetV2(const ShuffleNetV2Layout& layout, int64_t num_classes = 1000);
  ShuffleNetV2(nn::Module& owner, const char* name, const ShuffleNetV2Layout& layout,
               int64_t num_classes = 1000)
      : ShuffleNetV2(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential conv1{*this, "conv1"};
  nn::MaxPool2d maxpool{*this, "maxpool", 3, {.stride = 2, .padding = 1}};
  nn::Sequential stage2{*this, "stage2"};
  nn::Sequential stage3{*this, "stage3"};
  nn::Sequential stage4{*this, "stage4"};
  nn::Sequential conv5{*this, "conv5"};
  nn::Linear fc;
};

}  // namespace aorta::models
