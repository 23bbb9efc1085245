#include <aorta/core/ops/join.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/models/unet_3d.h>

#include <algorithm>

namespace aorta::models {
namespace {

nn::Sequential convolutions_3d(int64_t channels, int64_t planes, const Dims& stride) {
  const nn::ConvOptions second{.padding = 1, .bias = false};
  return nn::Sequential(
      {{"0", nn::Conv3d(channels, planes, 3, {.stride = stride, .padding = 1, .bias = false})},
       {"1", nn::BatchNorm3d(planes, {.relu = true})},
       {"3", nn::Conv3d(planes, planes, 3, second)},
       {"4", nn::BatchNorm3d(planes, {.relu = true})}});
}

// (N, 8 C, T, H, W) -> (N, C, 2 T, 2 H, 2 W): channel 8 c + 4 t + 2 y + x is the pixel (t, y, x) of
// each place's eight.
Tensor shuffled(const Tensor& maps) {
  const int64_t n = maps.size(0), c = maps.size(1) / 8, t = maps.size(2), h = maps.size(3),
                w = maps.size(4);
  return maps.reshape({n, c, 2, 2, 2, t, h, w})
      .permute({0, 1, 5, 2, 6, 3, 7, 4})
      .reshape({n, c, 2 * t, 2 * h, 2 * w});
}

}  // namespace

UNet3d::UNet3d(const UNet3dOptions& options)
    : head(*this, "head", options.base_channels, 8 * options.num_classes, 3, {.padding = 1}) {
  check(options.depth >= 1 && options.depth <= 8, "UNet3d", "depth must be in [1, 8]",
        options.depth);
  int64_t channels = options.in_channels, planes = options.base_channels;
  for (int64_t level = 0; level < options.depth; ++level) {
    const bool keeps_time = level > 0 && level + 1 == options.depth;
    encoder.push_back(convolutions_3d(channels, planes, {keeps_time ? 1 : 2, 2, 2}));
    channels = planes;
    planes *= 2;
  }
  for (int64_t level = 1; level < options.depth; ++level) {
    const Dims factor = {level == 1 ? 1 : 2, 2, 2};
    upsample.push_back(nn::ConvTranspose3d(channels, channels / 2, factor, {.stride = factor}));
    decoder.push_back(convolutions_3d(channels, channels / 2, 1));
    channels /= 2;
  }
}

Tensor UNet3d::forward(const Tensor& input) const {
  check(input.dim() == 5, "UNet3d", "clips must be (N, C, T, H, W)", input.shape());
  const int64_t unit = int64_t{1} << encoder.size(), time_unit = std::max<int64_t>(unit / 2, 2);
  const auto missing = [&](int64_t dim, int64_t of) { return (of - input.size(dim) % of) % of; };
  const int64_t t = missing(2, time_unit), h = missing(3, unit), w = missing(4, unit);
  Tensor x = t + h + w > 0 ? pad(input, {0, w, 0, h, 0, t}) : input;
  std::vector<Tensor> skips;
  for (const nn::AnyModule& level : encoder) {
    x = level(x);
    skips.push_back(x);
  }
  skips.pop_back();
  for (size_t level = 0; level < decoder.size(); ++level) {
    const Tensor skip = std::move(skips.back());
    skips.pop_back();
    x = upsample[static_cast<int64_t>(level)](x);
    x = decoder[static_cast<int64_t>(level)](cat({skip, x}, 1));
  }
  x = shuffled(head(x));
  return t + h + w > 0 ? pad(x, {0, -w, 0, -h, 0, -t}) : x;
}

}  // namespace aorta::models
