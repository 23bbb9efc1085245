#include <aorta/models/conv_parts.h>
#include <aorta/models/vgg.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/linear.h>

#include <algorithm>

namespace aorta::models {

AlexNet::AlexNet(int64_t num_classes) {
  const auto add = [&](const nn::Conv2d& conv, bool is_pooled) {
    features.push_back(conv);
    features.push_back(nn::ReLU(true));
    if (is_pooled) features.push_back(nn::MaxPool2d(3, {.stride = 2}));
  };
  add(nn::Conv2d(3, 64, 11, {.stride = 4, .padding = 2}), true);
  add(nn::Conv2d(64, 192, 5, {.padding = 2}), true);
  add(nn::Conv2d(192, 384, 3, {.padding = 1}), false);
  add(nn::Conv2d(384, 256, 3, {.padding = 1}), false);
  add(nn::Conv2d(256, 256, 3, {.padding = 1}), true);
  classifier.push_back(nn::Dropout(0.5));
  classifier.push_back(nn::Linear(256 * 6 * 6, 4096));
  classifier.push_back(nn::ReLU(true));
  classifier.push_back(nn::Dropout(0.5));
  classifier.push_back(nn::Linear(4096, 4096));
  classifier.push_back(nn::ReLU(true));
  classifier.push_back(nn::Linear(4096, num_classes));
}

Tensor AlexNet::forward(const Tensor& input) const {
  return classifier(avgpool(features(input)).flatten(1));
}

VGG::VGG(const VGGLayout& layout, int64_t num_classes) {
  int64_t channels = 3, planes = 64, number = 0;
  const auto add = [&](nn::AnyModule module) {
    features.push_back(std::to_string(number++), std::move(module));
  };
  for (const int convolutions : layout.convolutions) {
    for (int i = 0; i < convolutions; ++i) {
      add(nn::Conv2d(channels, planes, 3, {.padding = 1}));
      if (layout.batch_norm) {
        add(nn::BatchNorm2d(planes, {.relu = true}));
        ++number;
      } else {
        add(nn::ReLU(true));
      }
      channels = planes;
    }
    add(nn::MaxPool2d(2));
    planes = std::min<int64_t>(2 * planes, 512);
  }
  classifier.push_back(nn::Linear(512 * 7 * 7, 4096));
  classifier.push_back(nn::ReLU(true));
  classifier.push_back(nn::Dropout(0.5));
  classifier.push_back(nn::Linear(4096, 4096));
  classifier.push_back(nn::ReLU(true));
  classifier.push_back(nn::Dropout(0.5));
  classifier.push_back(nn::Linear(4096, num_classes));
  detail::reset_by_fan_out(*this);
}

Tensor VGG::forward(const Tensor& input) const {
  return classifier(avgpool(features(input)).flatten(1));
}

}  // namespace aorta::models
