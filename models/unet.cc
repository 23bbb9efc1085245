#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/join.h>
#include <aorta/models/unet.h>

namespace aorta::models {
namespace {

nn::Sequential two_convolutions(int64_t channels, int64_t planes) {
  const nn::ConvOptions padded{.padding = 1, .bias = false};
  return nn::Sequential({{"0", nn::Conv2d(channels, planes, 3, padded)},
                         {"1", nn::BatchNorm2d(planes, {.relu = true})},
                         {"3", nn::Conv2d(planes, planes, 3, padded)},
                         {"4", nn::BatchNorm2d(planes, {.relu = true})}});
}

}  // namespace

UNet::UNet(const UNetOptions& options)
    : head(*this, "head", options.base_channels, options.num_classes, 1) {
  check(options.depth >= 1 && options.depth <= 8, "UNet", "depth must be in [1, 8]", options.depth);
  int64_t channels = options.in_channels, planes = options.base_channels;
  for (int64_t level = 0; level <= options.depth; ++level) {
    encoder.push_back(two_convolutions(channels, planes));
    channels = planes;
    planes *= 2;
  }
  for (int64_t level = 0; level < options.depth; ++level) {
    upsample.push_back(nn::ConvTranspose2d(channels, channels / 2, 2, {.stride = 2}));
    decoder.push_back(two_convolutions(channels, channels / 2));
    channels /= 2;
  }
}

Tensor UNet::forward(const Tensor& input) const {
  std::vector<Tensor> skips;
  Tensor x = encoder[0](input);
  for (size_t level = 1; level < encoder.size(); ++level) {
    skips.push_back(x);
    x = encoder[static_cast<int64_t>(level)](pool(x));
  }
  for (size_t level = 0; level < decoder.size(); ++level) {
    const Tensor skip = std::move(skips.back());
    skips.pop_back();
    x = upsample[static_cast<int64_t>(level)](x);
    if (x.size(-1) != skip.size(-1) || x.size(-2) != skip.size(-2)) {
      x = interpolate(x,
                      {.size = {skip.size(-2), skip.size(-1)}, .mode = InterpolateMode::bilinear});
    }
    x = decoder[static_cast<int64_t>(level)](cat({skip, x}, 1));
  }
  return head(x);
}

}  // namespace aorta::models
