#include <aorta/core/ops/interpolate.h>
#include <aorta/core/ops/join.h>
#include <aorta/models/segmentation.h>

namespace aorta::models {
namespace {

// Where a batch norm has the ReLU that torchvision puts behind it, the names go on as if it were
// there.

Tensor resize(const Tensor& maps, const Tensor& like) {
  return interpolate(maps, {.size = {like.size(-2), like.size(-1)},
                            .mode = InterpolateMode::bilinear,
                            .align_corners = false});
}

nn::Sequential conv_norm_relu(int64_t channels, int64_t planes, int64_t kernel, int64_t dilation) {
  const int64_t padding = kernel == 1 ? 0 : dilation;
  return nn::Sequential(nn::Conv2d(channels, planes, kernel,
                                   {.padding = padding, .dilation = dilation, .bias = false}),
                        nn::BatchNorm2d(planes, {.relu = true}));
}

// The mean of an image, convolved, at every position.
struct ASPPPooling : nn::Sequential {
  ASPPPooling(int64_t channels, int64_t planes) {
    push_back(nn::AdaptiveAvgPool2d(1));
    push_back(nn::Conv2d(channels, planes, 1, {.bias = false}));
    push_back(nn::BatchNorm2d(planes, {.relu = true}));
  }
  Tensor forward(const Tensor& input) const override {
    return resize(nn::Sequential::forward(input), input);
  }
};

void add_fcn_head(nn::Sequential& head, int64_t channels, int64_t num_classes) {
  head.push_back("0", nn::Conv2d(channels, channels / 4, 3, {.padding = 1, .bias = false}));
  head.push_back("1", nn::BatchNorm2d(channels / 4, {.relu = true}));
  head.push_back("3", nn::Dropout(0.1));
  head.push_back("4", nn::Conv2d(channels / 4, num_classes, 1));
}

}  // namespace

Segmentation::Segmentation(const ResNetLayout& layout, const SegmentationOptions& options)
    : backbone(*this, "backbone", layout, true) {
  check(options.num_classes > 0, "Segmentation", "num_classes must be positive",
        options.num_classes);
  if (options.aux_loss) {
    add_fcn_head(aux_classifier, backbone.layer3_channels(), options.num_classes);
  }
}

SegmentationOutput Segmentation::heads(const Tensor& input) const {
  const ResNetFeatures::Maps maps = backbone.maps(input);
  SegmentationOutput result{resize(classifier(maps.layer4), input), {}};
  if (!aux_classifier.empty()) result.aux = resize(aux_classifier(maps.layer3), input);
  return result;
}

Tensor Segmentation::forward(const Tensor& input) const {
  return resize(classifier(backbone(input)), input);
}

FCN::FCN(const ResNetLayout& layout, const SegmentationOptions& options)
    : Segmentation(layout, options) {
  add_fcn_head(classifier, backbone.layer4_channels(), options.num_classes);
}

ASPP::ASPP(int64_t channels, const List<int64_t>& rates) {
  constexpr int64_t kPlanes = 256;
  convs.push_back(conv_norm_relu(channels, kPlanes, 1, 1));
  for (const int64_t rate : rates) convs.push_back(conv_norm_relu(channels, kPlanes, 3, rate));
  convs.push_back(ASPPPooling(channels, kPlanes));
  const int64_t joined = kPlanes * static_cast<int64_t>(convs.size());
  project.push_back(nn::Conv2d(joined, kPlanes, 1, {.bias = false}));
  project.push_back(nn::BatchNorm2d(kPlanes, {.relu = true}));
  project.push_back(nn::Dropout(0.5));
}

Tensor ASPP::forward(const Tensor& input) const {
  std::vector<Tensor> parts;
  for (const nn::AnyModule& conv : convs) parts.push_back(conv(input));
  const Tensor joined = cat(parts, 1);
  parts.clear();
  return project(joined);
}

DeepLabV3::DeepLabV3(const ResNetLayout& layout, const SegmentationOptions& options)
    : Segmentation(layout, options) {
  classifier.push_back("0", ASPP(backbone.layer4_channels(), {12, 24, 36}));
  classifier.push_back("1", nn::Conv2d(256, 256, 3, {.padding = 1, .bias = false}));
  classifier.push_back("2", nn::BatchNorm2d(256, {.relu = true}));
  classifier.push_back("4", nn::Conv2d(256, options.num_classes, 1));
}

}  // namespace aorta::models
