#include <aorta/core/ops/pointwise.h>
#include <aorta/models/resnet.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>

namespace aorta::models {
namespace {

nn::ConvOptions three_by_three(const ResidualBlockOptions& options) {
  return {.stride = options.stride,
          .padding = options.dilation,
          .dilation = options.dilation,
          .groups = options.groups,
          .bias = false};
}

int64_t bottleneck_width(int64_t planes, const ResidualBlockOptions& options) {
  check(planes > 0 && options.groups > 0 && options.width_per_group > 0, "Bottleneck",
        "planes, groups and width_per_group must be positive", planes, ", ", options.groups,
        " and ", options.width_per_group);
  return checked_numel("Bottleneck", {planes, options.width_per_group}) / 64 * options.groups;
}

void add_downsample(nn::Sequential& downsample, int64_t channels, int64_t planes, int64_t stride) {
  if (stride == 1 && channels == planes) return;
  downsample.push_back(nn::Conv2d(channels, planes, 1, {.stride = stride, .bias = false}));
  downsample.push_back(nn::BatchNorm2d(planes));
}

}  // namespace

BasicBlock::BasicBlock(int64_t channels, int64_t planes, const ResidualBlockOptions& options)
    : conv1(*this, "conv1", channels, planes, 3, three_by_three(options)),
      bn1(*this, "bn1", planes, {.relu = true}),
      conv2(*this, "conv2", planes, planes, 3, three_by_three({})),
      bn2(*this, "bn2", planes) {
  check(options.dilation == 1, "BasicBlock", "dilation must be 1", options.dilation);
  check(options.groups == 1 && options.width_per_group == 64, "BasicBlock",
        "groups must be 1 and width_per_group 64", options.groups, " and ",
        options.width_per_group);
  add_downsample(downsample, channels, planes, options.stride);
}

Tensor BasicBlock::forward(const Tensor& input) const {
  const Tensor x = bn1(conv1(input));
  return bn2.add_relu(conv2(x), downsample(input));
}

Bottleneck::Bottleneck(int64_t channels, int64_t planes, const ResidualBlockOptions& options)
    : Bottleneck(channels, planes, bottleneck_width(planes, options), options) {}

Bottleneck::Bottleneck(int64_t channels, int64_t planes, int64_t width,
                       const ResidualBlockOptions& options)
    : conv1(*this, "conv1", channels, width, 1, {.bias = false}),
      bn1(*this, "bn1", width, {.relu = true}),
      conv2(*this, "conv2", width, width, 3, three_by_three(options)),
      bn2(*this, "bn2", width, {.relu = true}),
      conv3(*this, "conv3", width, planes * expansion, 1, {.bias = false}),
      bn3(*this, "bn3", planes * expansion) {
  add_downsample(downsample, channels, planes * expansion, options.stride);
}

Tensor Bottleneck::forward(const Tensor& input) const {
  const Tensor x = bn2(conv2(bn1(conv1(input))));
  return bn3.add_relu(conv3(x), downsample(input));
}

ResNetFeatures::ResNetFeatures(const ResNetLayout& layout, bool dilate)
    : bottleneck_(layout.bottleneck),
      expansion_(layout.bottleneck ? Bottleneck::expansion : BasicBlock::expansion) {
  const auto first = [&](int64_t stride) {
    return ResidualBlockOptions{
        .stride = stride, .groups = layout.groups, .width_per_group = layout.width_per_group};
  };
  add_blocks(layer1, layout.blocks[0], 64, first(1), false);
  add_blocks(layer2, layout.blocks[1], 128, first(2), false);
  add_blocks(layer3, layout.blocks[2], 256, first(2), dilate);
  add_blocks(layer4, layout.blocks[3], 512, first(2), dilate);
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::kaiming_normal_(
          conv->weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
    }
  });
}

void ResNetFeatures::add_blocks(nn::Sequential& layer, int count, int64_t planes,
                                ResidualBlockOptions first, bool dilate) {
  first.dilation = dilation_;
  if (dilate) {
    dilation_ *= first.stride;
    first.stride = 1;
  }
  ResidualBlockOptions others = first;
  others.stride = 1;
  others.dilation = dilation_;
  for (int i = 0; i < count; ++i) {
    const ResidualBlockOptions& options = i == 0 ? first : others;
    if (bottleneck_)
      layer.push_back(Bottleneck(channels_, planes, options));
    else
      layer.push_back(BasicBlock(channels_, planes, options));
    channels_ = planes * expansion_;
  }
}

ResNetFeatures::Maps ResNetFeatures::maps(const Tensor& input) const {
  const std::vector<Tensor> outputs = call({input}, [this](const std::vector<Tensor>& inputs) {
    const Maps result = compute(inputs.at(0));
    return std::vector<Tensor>{result.layer3, result.layer4};
  });
  return {outputs.at(0), outputs.at(1)};
}

ResNetFeatures::Maps ResNetFeatures::compute(const Tensor& input) const {
  const Tensor stem = maxpool(bn1(conv1(input)));
  const Tensor third = layer3(layer2(layer1(stem)));
  return {third, layer4(third)};
}

ResNet::ResNet(const ResNetLayout& layout, int64_t num_classes)
    : ResNetFeatures(layout), fc(*this, "fc", layer4_channels(), num_classes) {}

Tensor ResNet::forward(const Tensor& input) const {
  return fc(avgpool(ResNetFeatures::forward(input)).flatten(1));
}

}  // namespace aorta::models
