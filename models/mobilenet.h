#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/pooling.h>

// Networks of depthwise convolutions, small enough for phones, with torchvision's modules and
// parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// Sandler et al. 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks": (N, 3, H, W) ->
/// (N, classes). Dropout is 0.2.
class MobileNetV2 : public nn::Module {
 public:
  explicit MobileNetV2(int64_t num_classes = 1000);
  MobileNetV2(nn::Module& owner, const char* name, int64_t num_classes = 1000)
      : MobileNetV2(num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // (N, 1280, H / 32, W / 32), rounded up
  nn::Sequential classifier{*this, "classifier"};
};

/// The two networks of Howard et al. 2019.
enum class MobileNetV3Size : uint8_t { large, small };

/// Howard et al. 2019, "Searching for MobileNetV3": (N, 3, H, W) -> (N, classes). Dropout is 0.2.
class MobileNetV3 : public nn::Module {
 public:
  explicit MobileNetV3(MobileNetV3Size size, int64_t num_classes = 1000);
  MobileNetV3(nn::Module& owner, const char* name, MobileNetV3Size size, int64_t num_classes = 1000)
      : MobileNetV3(size, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // (N, 960 or 576, H / 32, W / 32), rounded up
  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
