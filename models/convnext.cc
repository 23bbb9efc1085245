#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/models/conv_parts.h>
#include <aorta/models/convnext.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <algorithm>

namespace aorta::models {
namespace {

// Over the channels of (N, C, H, W).
struct LayerNorm2d : nn::LayerNorm {
  explicit LayerNorm2d(int64_t channels) : nn::LayerNorm(channels, {.eps = 1e-6}) {}
  Tensor forward(const Tensor& input) const override {
    return nn::LayerNorm::forward(input.permute({0, 2, 3, 1})).permute({0, 3, 1, 2});
  }
};

// A depthwise 7x7 convolution and a small network of each position, scaled, beside the input.
struct ConvNeXtBlock : nn::Module {
  ConvNeXtBlock(int64_t channels, double drop)
      : layer_scale(*this, "layer_scale", full({channels, 1, 1}, 1e-6)),
        stochastic_depth(*this, "stochastic_depth", drop) {
    block.push_back(nn::Conv2d(channels, channels, 7, {.padding = 3, .groups = channels}));
    block.push_back(detail::Permute({0, 2, 3, 1}));
    block.push_back(nn::LayerNorm(channels, {.eps = 1e-6}));
    block.push_back(nn::Linear(channels, 4 * channels));
    block.push_back(nn::GELU());
    block.push_back(nn::Linear(4 * channels, channels));
    block.push_back(detail::Permute({0, 3, 1, 2}));
  }
  Tensor forward(const Tensor& input) const override {
    return stochastic_depth(layer_scale * block(input)) + input;
  }

  nn::Parameter layer_scale;
  nn::Sequential block{*this, "block"};
  detail::StochasticDepth stochastic_depth;
};

}  // namespace

ConvNeXt::ConvNeXt(const ConvNeXtLayout& layout, int64_t num_classes) {
  int64_t all = 0, made = 0;
  for (size_t i = 0; i < 4; ++i) {
    check(layout.blocks[i] >= 0 && layout.channels[i] > 0, "ConvNeXt",
          "blocks must not be negative, and channels positive", layout.blocks[i], " and ",
          layout.channels[i]);
    all += layout.blocks[i];
  }
  const auto& channels = layout.channels;
  features.push_back(
      nn::Sequential(nn::Conv2d(3, channels[0], 4, {.stride = 4}), LayerNorm2d(channels[0])));
  for (size_t i = 0; i < 4; ++i) {
    nn::Sequential stage;
    for (int block = 0; block < layout.blocks[i]; ++block) {
      const double depth =
          static_cast<double>(made++) / static_cast<double>(std::max<int64_t>(1, all - 1));
      stage.push_back(ConvNeXtBlock(channels[i], layout.stochastic_depth * depth));
    }
    features.push_back(stage);
    if (i == 3) break;
    features.push_back(nn::Sequential(LayerNorm2d(channels[i]),
                                      nn::Conv2d(channels[i], channels[i + 1], 2, {.stride = 2})));
  }
  classifier.push_back(LayerNorm2d(channels[3]));
  classifier.push_back(nn::Flatten(1));
  classifier.push_back(nn::Linear(channels[3], num_classes));
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::trunc_normal_(conv->weight, {.std = 0.02});
      nn::init::zeros_(conv->bias);
    } else if (const auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::trunc_normal_(linear->weight, {.std = 0.02});
      nn::init::zeros_(linear->bias);
    }
  });
}

Tensor ConvNeXt::forward(const Tensor& input) const { return classifier(avgpool(features(input))); }

}  // namespace aorta::models
