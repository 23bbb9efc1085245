#pragma once

#include <aorta/nn/container.h>

// MNASNet (Tan et al. 2019, "MnasNet: Platform-Aware Neural Architecture Search for Mobile"), its
// variant B1, with torchvision's modules and parameter names, for images (N, 3, H, W).

namespace aorta::models {

/// (N, 3, H, W) -> (N, classes). Dropout is 0.2.
class MNASNet : public nn::Module {
 public:
  /// `alpha` scales the channels of all layers but the last, and must be in (0, 8].
  explicit MNASNet(double alpha, int64_t num_classes = 1000);
  MNASNet(nn::Module& owner, const char* name, double alpha, int64_t num_classes = 1000)
      : MNASNet(alpha, num_classes) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;

  nn::Sequential layers{*this, "layers"};  // (N, 1280, H / 32, W / 32), rounded up
  nn::Sequential classifier{*this, "classifier"};
};

}  // namespace aorta::models
