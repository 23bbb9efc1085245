#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/linear.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

#include <array>

// The Swin transformer (Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using
// Shifted Windows") and its second version (Liu et al. 2022, "Swin Transformer V2: Scaling Up
// Capacity and Resolution") with torchvision's modules and parameter names, for images (N, 3, H,
// W).

namespace aorta::models {

/// What differs between the papers: the second version's norms stand behind what they normalise,
/// its attention is of cosines, and a small network gives what is added for a distance between two
/// positions.
enum class SwinVersion : uint8_t { v1, v2 };

/// The channels of the first stage, of which each later one has twice as many; the blocks and heads
/// of each; positions along a side of a window; and the probability with which training leaves
/// either half of the last block out of a sample (stochastic depth, Huang et al. 2016). It grows
/// from 0 with the depth.
struct SwinLayout {
  int64_t embed_dim;
  std::array<int, 4> depths;
  std::array<int64_t, 4> num_heads;
  int64_t window_size;
  double stochastic_depth = 0;
  SwinVersion version = SwinVersion::v1;
};
/// The layouts of the papers, with the probabilities of torchvision's training.
inline constexpr SwinLayout kSwinT{96, {2, 2, 6, 2}, {3, 6, 12, 24}, 7, 0.2};
inline constexpr SwinLayout kSwinS{96, {2, 2, 18, 2}, {3, 6, 12, 24}, 7, 0.3};
inline constexpr SwinLayout kSwinB{128, {2, 2, 18, 2}, {4, 8, 16, 32}, 7, 0.5};
inline constexpr SwinLayout kSwinV2T{96, {2, 2, 6, 2}, {3, 6, 12, 24}, 8, 0.2, SwinVersion::v2};
inline constexpr SwinLayout kSwinV2S{96, {2, 2, 18, 2}, {3, 6, 12, 24}, 8, 0.3, SwinVersion::v2};
inline constexpr SwinLayout kSwinV2B{128, {2, 2, 18, 2}, {4, 8, 16, 32}, 8, 0.5, SwinVersion::v2};

/// (N, 3, H, W) of at least 4 x 4 -> (N, classes). Maps whose sizes aren't multiples of a window's
/// or, between two stages, of 2 are padded with zeros.
class SwinTransformer : public nn::Module {
 public:
  /// Errors: channels, heads or windows that aren't positive, channels of a stage that aren't a
  /// multiple of its heads, negative depths, and windows of one position in the second version.
  explicit SwinTransformer(const SwinLayout& layout, int64_t num_classes = 1000);
  SwinTransformer(nn::Module& owner, const char* name, const SwinLayout& layout,
                  int64_t num_classes = 1000)
      : SwinTransformer(layout, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // (N, H / 32, W / 32, 8 embed_dim)
  nn::LayerNorm norm;
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Linear head;
};

}  // namespace aorta::models
