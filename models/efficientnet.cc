#include <aorta/models/conv_parts.h>
#include <aorta/models/efficientnet.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <algorithm>
#include <cmath>

namespace aorta::models {
namespace {

// The stages of B0.
struct MBConvStage {
  int64_t expansion, kernel_size, stride, channels, planes, blocks;
};
constexpr MBConvStage kMBConvStages[] = {
    {1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
    {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};
constexpr double kLastDrop = 0.2;

detail::ConvNormOptions silu_options(const EfficientNetLayout& layout, int64_t kernel_size) {
  return {.kernel_size = kernel_size,
          .activation = detail::MapActivation::silu,
          .norm = {.eps = layout.norm_eps, .momentum = layout.norm_momentum}};
}

detail::Branch mb_conv(const EfficientNetLayout& layout, const MBConvStage& block, double drop) {
  const int64_t hidden = detail::divisible(static_cast<double>(block.channels * block.expansion));
  nn::Sequential layers;
  if (hidden != block.channels)
    layers.push_back(detail::conv_norm(block.channels, hidden, silu_options(layout, 1)));
  detail::ConvNormOptions depthwise = silu_options(layout, block.kernel_size);
  depthwise.stride = block.stride;
  depthwise.groups = hidden;
  layers.push_back(detail::conv_norm(hidden, hidden, depthwise));
  layers.push_back(detail::SqueezeExcitation(hidden, std::max<int64_t>(1, block.channels / 4),
                                             detail::MapActivation::silu, false));
  detail::ConvNormOptions project = silu_options(layout, 1);
  project.activation = detail::MapActivation::none;
  layers.push_back(detail::conv_norm(hidden, block.planes, project));
  return detail::Branch("block", layers, block.stride == 1 && block.channels == block.planes, drop);
}

}  // namespace

EfficientNet::EfficientNet(const EfficientNetLayout& layout, int64_t num_classes) {
  check(layout.width > 0 && layout.width <= 8 && layout.depth > 0 && layout.depth <= 8,
        "EfficientNet", "width and depth must be in (0, 8]", layout.width, " and ", layout.depth);
  const auto widened = [&](int64_t channels) {
    return detail::divisible(static_cast<double>(channels) * layout.width);
  };
  const auto deepened = [&](int64_t blocks) {
    return static_cast<int64_t>(std::ceil(static_cast<double>(blocks) * layout.depth));
  };
  int64_t all = 0, made = 0;
  for (const MBConvStage& stage : kMBConvStages) all += deepened(stage.blocks);
  detail::ConvNormOptions first = silu_options(layout, 3);
  first.stride = 2;
  features.push_back(detail::conv_norm(3, widened(32), first));
  for (MBConvStage block : kMBConvStages) {
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
  }
  const int64_t last = widened(320);
  features.push_back(detail::conv_norm(last, 4 * last, silu_options(layout, 1)));
  classifier.push_back(nn::Dropout(layout.dropout));
  const nn::Linear head(4 * last, num_classes);
  classifier.push_back(head);
  detail::reset_by_fan_out(*this);
  const double bound = 1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, num_classes)));
  nn::init::uniform_(head.weight, -bound, bound);
}

Tensor EfficientNet::forward(const Tensor& input) const {
  return classifier(avgpool(features(input)).flatten(1));
}

}  // namespace aorta::models
