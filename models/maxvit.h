#pragma once

#include <aorta/nn/container.h>

#include <array>

// MaxViT (Tu et al. 2022, "MaxViT: Multi-Axis Vision Transformer") with torchvision's modules and
// parameter names, for images (N, 3, input_size, input_size).

namespace aorta::models {

/// The channels of the stem and of the four blocks, the layers of each, the channels of a head, and
/// the probability with which training leaves the last layer's parts out of a sample (stochastic
/// depth, Huang et al. 2016). It grows from 0 with the depth. Attention goes over partition_size^2
/// positions, those of a window and then those of a grid, so that partition_size divides the size
/// of each block's maps.
struct MaxVitLayout {
  int64_t stem_channels;
  std::array<int64_t, 4> channels;
  std::array<int, 4> layers;
  int64_t head_dim;
  int64_t partition_size;
  double stochastic_depth = 0;
  int64_t input_size = 224;
};
/// The smallest layout of the paper, with the probability of torchvision's training.
inline constexpr MaxVitLayout kMaxVitT{64, {64, 128, 256, 512}, {2, 2, 5, 2}, 32, 7, 0.2};

/// (N, 3, input_size, input_size) -> (N, classes).
class MaxVit : public nn::Module {
 public:
  /// Errors: sizes that aren't positive, negative layers, channels of a block that aren't a
  /// multiple of head_dim, and maps that aren't one of partition_size.
  explicit MaxVit(const MaxVitLayout& layout, int64_t num_classes = 1000);
  MaxVit(nn::Module& owner, const char* name, const MaxVitLayout& layout,
         int64_t num_classes = 1000)
      : MaxVit(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  int64_t input_size;
  nn::Sequential stem{*this, "stem"};      // (N, stem_channels, input_size / 2, input_size / 2)
  nn::Sequential blocks{*this, "blocks"};  // each halves the maps
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
