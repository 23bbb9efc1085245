#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/models/squeezenet.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/init.h>
#include <aorta/nn/pooling.h>

namespace aorta::models {
namespace {

// 1x1 to `squeezed` channels, and of these `planes` by 1x1 and as many by 3x3.
struct Fire : nn::Module {
  Fire(int64_t channels, int64_t squeezed, int64_t planes)
      : squeeze(*this, "squeeze", channels, squeezed, 1),
        expand1x1(*this, "expand1x1", squeezed, planes, 1),
        expand3x3(*this, "expand3x3", squeezed, planes, 3, {.padding = 1}) {}
  Tensor forward(const Tensor& input) const override {
    const Tensor x = relu(squeeze(input));
    return cat({relu(expand1x1(x)), relu(expand3x3(x))}, 1);
  }

  nn::Conv2d squeeze, expand1x1, expand3x3;
};

}  // namespace

SqueezeNet::SqueezeNet(SqueezeNetVersion version, int64_t num_classes) {
  const bool is_first = version == SqueezeNetVersion::v1_0;
  check(is_first || version == SqueezeNetVersion::v1_1, "SqueezeNet",
        "version must be v1_0 or v1_1", static_cast<int>(version));
  int64_t channels = is_first ? 96 : 64;
  const auto add_fire = [&](int64_t squeezed, int64_t planes) {
    features.push_back(Fire(channels, squeezed, planes));
    channels = 2 * planes;
  };
  const auto add_pool = [&] {
    features.push_back(nn::MaxPool2d(3, {.stride = 2, .ceil_mode = true}));
  };
  features.push_back(nn::Conv2d(3, channels, is_first ? 7 : 3, {.stride = 2}));
  features.push_back(nn::ReLU(true));
  add_pool();
  add_fire(16, 64);
  add_fire(16, 64);
  if (!is_first) add_pool();
  add_fire(32, 128);
  if (is_first) add_pool();
  add_fire(32, 128);
  if (!is_first) add_pool();
  add_fire(48, 192);
  add_fire(48, 192);
  add_fire(64, 256);
  if (is_first) add_pool();
  add_fire(64, 256);
  const nn::Conv2d last(channels, num_classes, 1);
  classifier.push_back(nn::Dropout(0.5));
  classifier.push_back(last);
  classifier.push_back(nn::ReLU(true));
  classifier.push_back(nn::AdaptiveAvgPool2d(1));
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::kaiming_uniform_(conv->weight);
      nn::init::zeros_(conv->bias);
    }
  });
  nn::init::normal_(last.weight, 0, 0.01);
}

Tensor SqueezeNet::forward(const Tensor& input) const {
  return classifier(features(input)).flatten(1);
}

}  // namespace aorta::models
