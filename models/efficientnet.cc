#include <aorta/models/conv_parts.h>
#include <aorta/models/efficientnet.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <algorithm>
#include <cmath>

namespace aorta::models {
namespace {

constexpr MBConvStage kStagesOfB[] = {
    {1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
    {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};
constexpr MBConvStage kStagesOfV2S[] = {{1, 3, 1, 24, 24, 2, true}, {4, 3, 2, 24, 48, 4, true},
                                        {4, 3, 2, 48, 64, 4, true}, {4, 3, 2, 64, 128, 6},
                                        {6, 3, 1, 128, 160, 9},     {6, 3, 2, 160, 256, 15}};
constexpr MBConvStage kStagesOfV2M[] = {{1, 3, 1, 24, 24, 3, true}, {4, 3, 2, 24, 48, 5, true},
                                        {4, 3, 2, 48, 80, 5, true}, {4, 3, 2, 80, 160, 7},
                                        {6, 3, 1, 160, 176, 14},    {6, 3, 2, 176, 304, 18},
                                        {6, 3, 1, 304, 512, 5}};
constexpr MBConvStage kStagesOfV2L[] = {{1, 3, 1, 32, 32, 4, true}, {4, 3, 2, 32, 64, 7, true},
                                        {4, 3, 2, 64, 96, 7, true}, {4, 3, 2, 96, 192, 10},
                                        {6, 3, 1, 192, 224, 19},    {6, 3, 2, 224, 384, 25},
                                        {6, 3, 1, 384, 640, 7}};
constexpr double kLastDrop = 0.2;

detail::ConvNormOptions silu_options(const EfficientNetLayout& layout, int64_t kernel_size) {
  return {.kernel_size = kernel_size,
          .activation = detail::MapActivation::silu,
          .norm = {.eps = layout.norm_eps, .momentum = layout.norm_momentum}};
}

// What is projected has no activation.
void add_projection(nn::Sequential& layers, const EfficientNetLayout& layout, int64_t channels,
                    int64_t planes) {
  detail::ConvNormOptions project = silu_options(layout, 1);
  project.activation = detail::MapActivation::none;
  layers.push_back(detail::conv_norm(channels, planes, project));
}

nn::Sequential fused_layers(const EfficientNetLayout& layout, const MBConvStage& block,
                            int64_t hidden) {
  nn::Sequential layers;
  detail::ConvNormOptions expand = silu_options(layout, block.kernel_size);
  expand.stride = block.stride;
  const bool expands = hidden != block.channels;
  layers.push_back(detail::conv_norm(block.channels, expands ? hidden : block.planes, expand));
  if (expands) add_projection(layers, layout, hidden, block.planes);
  return layers;
}

nn::Sequential mb_conv_layers(const EfficientNetLayout& layout, const MBConvStage& block,
                              int64_t hidden) {
  nn::Sequential layers;
  if (hidden != block.channels)
    layers.push_back(detail::conv_norm(block.channels, hidden, silu_options(layout, 1)));
  detail::ConvNormOptions depthwise = silu_options(layout, block.kernel_size);
  depthwise.stride = block.stride;
  depthwise.groups = hidden;
  layers.push_back(detail::conv_norm(hidden, hidden, depthwise));
  layers.push_back(detail::SqueezeExcitation(hidden, std::max<int64_t>(1, block.channels / 4),
                                             detail::MapActivation::silu, false));
  add_projection(layers, layout, hidden, block.planes);
  return layers;
}

detail::Branch mb_conv(const EfficientNetLayout& layout, const MBConvStage& block, double drop) {
  const int64_t hidden = detail::divisible(static_cast<double>(block.channels * block.expansion));
  return detail::Branch(
      "block",
      block.is_fused ? fused_layers(layout, block, hidden) : mb_conv_layers(layout, block, hidden),
      block.stride == 1 && block.channels == block.planes, drop);
}

}  // namespace

constexpr EfficientNetLayout kEfficientNetV2S{1, 1, 0.2, 1e-3, 0.1, kStagesOfV2S, 1280};
constexpr EfficientNetLayout kEfficientNetV2M{1, 1, 0.3, 1e-3, 0.1, kStagesOfV2M, 1280};
constexpr EfficientNetLayout kEfficientNetV2L{1, 1, 0.4, 1e-3, 0.1, kStagesOfV2L, 1280};

EfficientNet::EfficientNet(const EfficientNetLayout& layout, int64_t num_classes) {
  check(layout.width > 0 && layout.width <= 8 && layout.depth > 0 && layout.depth <= 8,
        "EfficientNet", "width and depth must be in (0, 8]", layout.width, " and ", layout.depth);
  const std::span<const MBConvStage> stages =
      layout.stages.empty() ? std::span<const MBConvStage>(kStagesOfB) : layout.stages;
  const auto widened = [&](int64_t channels) {
    return detail::divisible(static_cast<double>(channels) * layout.width);
  };
  const auto deepened = [&](int64_t blocks) {
    return static_cast<int64_t>(std::ceil(static_cast<double>(blocks) * layout.depth));
  };
  int64_t all = 0, made = 0;
  for (const MBConvStage& stage : stages) all += deepened(stage.blocks);
  detail::ConvNormOptions first = silu_options(layout, 3);
  first.stride = 2;
  features.push_back(detail::conv_norm(3, widened(stages[0].channels), first));
  int64_t last = 0;
  for (MBConvStage block : stages) {
    block.channels = widened(block.channels);
    block.planes = widened(block.planes);
    nn::Sequential stage;
    for (int64_t i = deepened(block.blocks); i > 0; --i) {
      const double drop = kLastDrop * static_cast<double>(made++) / static_cast<double>(all);
      stage.push_back(mb_conv(layout, block, drop));
      block.channels = block.planes;
      block.stride = 1;
    }
    features.push_back(stage);
    last = block.planes;
  }
  const int64_t mapped = layout.last_channels > 0 ? layout.last_channels : 4 * last;
  features.push_back(detail::conv_norm(last, mapped, silu_options(layout, 1)));
  classifier.push_back(nn::Dropout(layout.dropout));
  const nn::Linear head(mapped, num_classes);
  classifier.push_back(head);
  detail::reset_by_fan_out(*this);
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, num_classes)));
  nn::init::uniform_(head.weight, -bound, bound);
}

Tensor EfficientNet::forward(const Tensor& input) const {
  return classifier(avgpool(features(input)).flatten(1));
}

}  // namespace aorta::models
