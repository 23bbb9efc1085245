#include <aorta/core/ops/join.h>
#include <aorta/models/densenet.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/init.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

namespace aorta::models {
namespace {

// Layers whose outputs stand behind their inputs, as channels.
struct DenseBlock : nn::Sequential {
  DenseBlock(int64_t channels, int layers, int64_t growth_rate) {
    const int64_t hidden = 4 * growth_rate;
    for (int i = 0; i < layers; ++i) {
      push_back("denselayer" + std::to_string(i + 1),
                nn::Sequential({{"norm1", nn::BatchNorm2d(channels, {.relu = true})},
                                {"conv1", nn::Conv2d(channels, hidden, 1, {.bias = false})},
                                {"norm2", nn::BatchNorm2d(hidden, {.relu = true})},
                                {"conv2", nn::Conv2d(hidden, growth_rate, 3,
                                                     {.padding = 1, .bias = false})}}));
      channels += growth_rate;
    }
  }
  Tensor forward(const Tensor& input) const override {
    std::vector<Tensor> maps{input};
    for (const auto& [name, layer] : *this)
      maps.push_back(layer(maps.size() == 1 ? input : cat(maps, 1)));
    return cat(maps, 1);
  }
};

int64_t dense_channels(const DenseNetLayout& layout) {
  check(layout.growth_rate > 0 && layout.first_channels > 0, "DenseNet",
        "growth_rate and first_channels must be positive", layout.growth_rate, " and ",
        layout.first_channels);
  int64_t channels = layout.first_channels;
  for (size_t i = 0; i < layout.layers.size(); ++i) {
    check(layout.layers[i] >= 0, "DenseNet", "layers must not be negative", layout.layers[i]);
    if (i > 0) channels /= 2;
    channels += checked_numel("DenseNet", {layout.layers[i], layout.growth_rate});
  }
  return channels;
}

}  // namespace

DenseNet::DenseNet(const DenseNetLayout& layout, int64_t num_classes)
    : classifier(*this, "classifier", dense_channels(layout), num_classes) {
  int64_t channels = layout.first_channels;
  features.push_back("conv0",
                     nn::Conv2d(3, channels, 7, {.stride = 2, .padding = 3, .bias = false}));
  features.push_back("norm0", nn::BatchNorm2d(channels, {.relu = true}));
  features.push_back("pool0", nn::MaxPool2d(3, {.stride = 2, .padding = 1}));
  for (size_t i = 0; i < layout.layers.size(); ++i) {
    const std::string number = std::to_string(i + 1);
    features.push_back("denseblock" + number,
                       DenseBlock(channels, layout.layers[i], layout.growth_rate));
    channels += layout.layers[i] * layout.growth_rate;
    if (i + 1 == layout.layers.size()) break;
    features.push_back(
        "transition" + number,
        nn::Sequential({{"norm", nn::BatchNorm2d(channels, {.relu = true})},
                        {"conv", nn::Conv2d(channels, channels / 2, 1, {.bias = false})},
                        {"pool", nn::AvgPool2d(2, {.stride = 2})}}));
    channels /= 2;
  }
  features.push_back("norm5", nn::BatchNorm2d(channels, {.relu = true}));
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module))
      nn::init::kaiming_normal_(conv->weight);
  });
  nn::init::zeros_(classifier.bias);
}

Tensor DenseNet::forward(const Tensor& input) const {
  return classifier(adaptive_avg_pool2d(features(input), 1).flatten(1));
}

}  // namespace aorta::models
