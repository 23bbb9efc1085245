#include <aorta/models/conv_parts.h>
#include <aorta/models/mobilenet.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/linear.h>

#include <vector>

namespace aorta::models {
namespace {

using detail::conv_norm;
using detail::MapActivation;

// Channels times `expansion`, in which a depthwise convolution works, and a linear way down.
detail::Branch linear_bottleneck(int64_t channels, int64_t planes, int64_t stride,
                                 int64_t expansion) {
  const int64_t hidden = channels * expansion;
  nn::Sequential layers;
  if (expansion != 1)
    layers.push_back(
        conv_norm(channels, hidden, {.kernel_size = 1, .activation = MapActivation::relu6}));
  layers.push_back(conv_norm(
      hidden, hidden, {.stride = stride, .groups = hidden, .activation = MapActivation::relu6}));
  layers.push_back(nn::Conv2d(hidden, planes, 1, {.bias = false}));
  layers.push_back(nn::BatchNorm2d(planes));
  return detail::Branch("conv", layers, stride == 1 && channels == planes);
}

struct V2Stage {
  int64_t expansion, planes, blocks, stride;
};
constexpr V2Stage kV2Stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                 {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};

struct V3Block {
  int64_t kernel_size, hidden, planes;
  bool squeezes;
  MapActivation activation;
  int64_t stride;
};
constexpr MapActivation kRelu = MapActivation::relu, kHard = MapActivation::hardswish;
constexpr V3Block kV3Large[] = {
    {3, 16, 16, false, kRelu, 1},  {3, 64, 24, false, kRelu, 2},  {3, 72, 24, false, kRelu, 1},
    {5, 72, 40, true, kRelu, 2},   {5, 120, 40, true, kRelu, 1},  {5, 120, 40, true, kRelu, 1},
    {3, 240, 80, false, kHard, 2}, {3, 200, 80, false, kHard, 1}, {3, 184, 80, false, kHard, 1},
    {3, 184, 80, false, kHard, 1}, {3, 480, 112, true, kHard, 1}, {3, 672, 112, true, kHard, 1},
    {5, 672, 160, true, kHard, 2}, {5, 960, 160, true, kHard, 1}, {5, 960, 160, true, kHard, 1}};
constexpr V3Block kV3Small[] = {
    {3, 16, 16, true, kRelu, 2},  {3, 72, 24, false, kRelu, 2}, {3, 88, 24, false, kRelu, 1},
    {5, 96, 40, true, kHard, 2},  {5, 240, 40, true, kHard, 1}, {5, 240, 40, true, kHard, 1},
    {5, 120, 48, true, kHard, 1}, {5, 144, 48, true, kHard, 1}, {5, 288, 96, true, kHard, 2},
    {5, 576, 96, true, kHard, 1}, {5, 576, 96, true, kHard, 1}};

detail::ConvNormOptions v3_options(int64_t kernel_size, MapActivation activation) {
  return {.kernel_size = kernel_size,
          .activation = activation,
          .norm = {.eps = 1e-3, .momentum = 0.01}};
}

detail::Branch inverted_residual(int64_t channels, const V3Block& block) {
  nn::Sequential layers;
  if (block.hidden != channels)
    layers.push_back(conv_norm(channels, block.hidden, v3_options(1, block.activation)));
  detail::ConvNormOptions depthwise = v3_options(block.kernel_size, block.activation);
  depthwise.stride = block.stride;
  depthwise.groups = block.hidden;
  layers.push_back(conv_norm(block.hidden, block.hidden, depthwise));
  if (block.squeezes) {
    const int64_t squeezed = detail::divisible(static_cast<double>(block.hidden / 4));
    layers.push_back(detail::SqueezeExcitation(block.hidden, squeezed, MapActivation::relu, true));
  }
  layers.push_back(conv_norm(block.hidden, block.planes, v3_options(1, MapActivation::none)));
  return detail::Branch("block", layers, block.stride == 1 && channels == block.planes);
}

}  // namespace

MobileNetV2::MobileNetV2(int64_t num_classes) {
  const auto options = [](int64_t kernel_size, int64_t stride) {
    return detail::ConvNormOptions{
        .kernel_size = kernel_size, .stride = stride, .activation = MapActivation::relu6};
  };
  int64_t channels = 32;
  features.push_back(conv_norm(3, channels, options(3, 2)));
  for (const V2Stage& stage : kV2Stages) {
    for (int64_t i = 0; i < stage.blocks; ++i) {
      features.push_back(
          linear_bottleneck(channels, stage.planes, i == 0 ? stage.stride : 1, stage.expansion));
      channels = stage.planes;
    }
  }
  features.push_back(conv_norm(channels, 1280, options(1, 1)));
  classifier.push_back(nn::Dropout(0.2));
  classifier.push_back(nn::Linear(1280, num_classes));
  detail::reset_by_fan_out(*this);
}

Tensor MobileNetV2::forward(const Tensor& input) const {
  return classifier(adaptive_avg_pool2d(features(input), 1).flatten(1));
}

MobileNetV3::MobileNetV3(MobileNetV3Size size, int64_t num_classes) {
  const bool is_large = size == MobileNetV3Size::large;
  check(is_large || size == MobileNetV3Size::small, "MobileNetV3", "size must be large or small",
        static_cast<int>(size));
  int64_t channels = 16;
  detail::ConvNormOptions first = v3_options(3, MapActivation::hardswish);
  first.stride = 2;
  features.push_back(conv_norm(3, channels, first));
  const auto add = [&](const V3Block& block) {
    features.push_back(inverted_residual(channels, block));
    channels = block.planes;
  };
  if (is_large)
    for (const V3Block& block : kV3Large) add(block);
  else
    for (const V3Block& block : kV3Small) add(block);
  features.push_back(conv_norm(channels, 6 * channels, v3_options(1, MapActivation::hardswish)));
  const int64_t hidden = is_large ? 1280 : 1024;
  classifier.push_back(nn::Linear(6 * channels, hidden));
  classifier.push_back(nn::Hardswish());
  classifier.push_back(nn::Dropout(0.2));
  classifier.push_back(nn::Linear(hidden, num_classes));
  detail::reset_by_fan_out(*this);
}

Tensor MobileNetV3::forward(const Tensor& input) const {
  return classifier(avgpool(features(input)).flatten(1));
}

}  // namespace aorta::models
