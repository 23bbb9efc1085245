#pragma once

#include <aorta/nn/container.h>

// SqueezeNet (Iandola et al. 2016, "SqueezeNet: AlexNet-level accuracy with 50x fewer parameters")
// with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// The paper's network, and the one of 2.4 times fewer operations that its authors made later.
enum class SqueezeNetVersion : uint8_t { v1_0, v1_1 };

/// (N, 3, H, W) of at least 21 x 21 (v1_1: 17 x 17) -> (N, classes). Dropout is 0.5.
class SqueezeNet : public nn::Module {
 public:
  explicit SqueezeNet(SqueezeNetVersion version, int64_t num_classes = 1000);
  SqueezeNet(nn::Module& owner, const char* name, SqueezeNetVersion version,
             int64_t num_classes = 1000)
      : SqueezeNet(version, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential features{*this, "features"};  // (N, 512, H', W')
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
