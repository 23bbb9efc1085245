#include <aorta/core/ops/join.h>
#include <aorta/core/ops/reduction.h>
#include <aorta/models/unet_3d.h>

namespace aorta::models {

UNet3d::UNet3d(const UNet3dOptions& options)
    : frames(options.frames),
      net(*this, "net",
          {.in_channels = options.frames,
           .num_classes = options.num_classes,
           .base_channels = options.base_channels,
           .depth = options.depth}) {}

Tensor UNet3d::forward(const Tensor& input) const {
  check(input.dim() == 5 && input.size(2) >= frames, "UNet3d",
        "clips must be (N, C, T, H, W) of as many frames as it sees", input.shape(), " for ",
        frames);
  const Tensor grey = mean(input, 1);
  const int64_t n = grey.size(0), found = grey.size(1) - frames + 1;
  std::vector<Tensor> seen;
  for (int64_t k = 0; k < frames; ++k) seen.push_back(grey.narrow(1, k, found));
  // (N found, H, W, frames), in which frames are what channels are in channels_last.
  const Tensor maps = net(stack(seen, -1).flatten(0, 1).permute({0, 3, 1, 2}));
  return maps.reshape({n, found, maps.size(1), maps.size(2), maps.size(3)}).transpose(1, 2);
}

}  // namespace aorta::models
