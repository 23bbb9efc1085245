#include <aorta/core/ops/pointwise.h>
#include <aorta/models/resnet.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>

namespace aorta::models {
namespace {

nn::ConvOptions three_by_three(int64_t stride, int64_t dilation) {
  return {.stride = stride, .padding = dilation, .dilation = dilation, .bias = false};
}

void add_downsample(nn::Sequential& downsample, int64_t channels, int64_t planes, int64_t stride) {
  if (stride == 1 && channels == planes) return;
  downsample.push_back(nn::Conv2d(channels, planes, 1, {.stride = stride, .bias = false}));
  downsample.push_back(nn::BatchNorm2d(planes));
}

}  // namespace

BasicBlock::BasicBlock(int64_t channels, int64_t planes, int64_t stride, int64_t dilation)
    : conv1(*this, "conv1", channels, planes, 3, three_by_three(stride, dilation)),
      bn1(*this, "bn1", planes, {.relu = true}),
      conv2(*this, "conv2", planes, planes, 3, three_by_three(1, 1)),
      bn2(*this, "bn2", planes) {
  check(dilation == 1, "BasicBlock", "dilation must be 1", dilation);
  add_downsample(downsample, channels, planes, stride);
}

Tensor BasicBlock::forward(const Tensor& input) const {
  const Tensor x = bn1(conv1(input));
  return bn2.add_relu(conv2(x), downsample(input));
}

Bottleneck::Bottleneck(int64_t channels, int64_t planes, int64_t stride, int64_t dilation)
    : conv1(*this, "conv1", channels, planes, 1, {.bias = false}),
      bn1(*this, "bn1", planes, {.relu = true}),
      conv2(*this, "conv2", planes, planes, 3, three_by_three(stride, dilation)),
      bn2(*this, "bn2", planes, {.relu = true}),
      conv3(*this, "conv3", planes, planes * expansion, 1, {.bias = false}),
      bn3(*this, "bn3", planes * expansion) {
  add_downsample(downsample, channels, planes * expansion, stride);
}

Tensor Bottleneck::forward(const Tensor& input) const {
  const Tensor x = bn2(conv2(bn1(conv1(input))));
  return bn3.add_relu(conv3(x), downsample(input));
}

ResNetFeatures::ResNetFeatures(const ResNetLayout& layout, bool dilate)
    : bottleneck_(layout.bottleneck),
      expansion_(layout.bottleneck ? Bottleneck::expansion : BasicBlock::expansion) {
  add_blocks(layer1, layout.blocks[0], 64, 1, false);
  add_blocks(layer2, layout.blocks[1], 128, 2, false);
  add_blocks(layer3, layout.blocks[2], 256, 2, dilate);
  add_blocks(layer4, layout.blocks[3], 512, 2, dilate);
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::kaiming_normal_(
          conv->weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
    }
  });
}

void ResNetFeatures::add_blocks(nn::Sequential& layer, int count, int64_t planes, int64_t stride,
                                bool dilate) {
  const int64_t first_dilation = dilation_;
  if (dilate) {
    dilation_ *= stride;
    stride = 1;
  }
  for (int i = 0; i < count; ++i) {
    const int64_t step = i == 0 ? stride : 1, dilation = i == 0 ? first_dilation : dilation_;
    if (bottleneck_)
      layer.push_back(Bottleneck(channels_, planes, step, dilation));
    else
      layer.push_back(BasicBlock(channels_, planes, step, dilation));
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
