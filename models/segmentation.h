#pragma once

#include <aorta/models/resnet.h>
#include <aorta/nn/dropout.h>

#include <optional>

// Segmentation networks on a dilated residual network, with torchvision's modules and parameter
// names: images (N, 3, H, W) -> logits (N, classes, H, W).

namespace aorta::models {

/// The options of FCN and DeepLabV3.
struct SegmentationOptions {
  int64_t num_classes = 21;
  /// A second head on layer3, whose loss helps in training.
  bool aux_loss = false;
};
/// The logits (N, classes, H, W) of both heads.
struct SegmentationOutput {
  Tensor out;
  Tensor aux;  // undefined without the second head
};

/// What the networks share: a backbone, a head on its layer4, and perhaps one on its layer3.
class Segmentation : public nn::Module {
 public:
  /// The logits of both heads, at the size of the input.
  SegmentationOutput heads(const Tensor& input) const;
  /// Returns the logits of the first head.
  Tensor forward(const Tensor& input) const override;

  ResNetFeatures backbone;
  nn::Sequential classifier{*this, "classifier"};
  nn::Sequential aux_classifier{*this, "aux_classifier"};  // empty without aux_loss

 protected:
  Segmentation(const ResNetLayout& layout, const SegmentationOptions& options);
};

/// A fully convolutional network (Long et al. 2015): its head is a 3x3 and a 1x1 convolution.
class FCN : public Segmentation {
 public:
  explicit FCN(const ResNetLayout& layout, const SegmentationOptions& options = {});
  FCN(nn::Module& owner, const char* name, const ResNetLayout& layout,
      const SegmentationOptions& options = {})
      : FCN(layout, options) {
    join(owner, name);
  }
};

/// Atrous spatial pyramid pooling: 1x1, three dilated 3x3 convolutions and the image's mean side by
/// side, (N, C, H, W) -> (N, 256, H, W).
class ASPP : public nn::Module {
 public:
  ASPP(int64_t channels, const List<int64_t>& rates);
  ASPP(nn::Module& owner, const char* name, int64_t channels, const List<int64_t>& rates)
      : ASPP(channels, rates) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::ModuleList convs{*this, "convs"};
  nn::Sequential project{*this, "project"};
};

/// DeepLabV3 (Chen et al. 2017) with rates 12, 24 and 36.
class DeepLabV3 : public Segmentation {
 public:
  explicit DeepLabV3(const ResNetLayout& layout, const SegmentationOptions& options = {});
  DeepLabV3(nn::Module& owner, const char* name, const ResNetLayout& layout,
            const SegmentationOptions& options = {})
      : DeepLabV3(layout, options) {
    join(owner, name);
  }
};

}  // namespace aorta::models
