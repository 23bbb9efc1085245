#include <aorta/models/video_resnet.h>
#include <aorta/nn/init.h>

namespace aorta::models {
namespace {

// Where a batch norm has the ReLU that torchvision puts behind it, the names go on as if it were
// there.

// A 1x3x3 and a 3x1x1 convolution, with `middle` channels between them.
nn::Sequential factored(int64_t channels, int64_t planes, int64_t middle, int64_t stride) {
  nn::Sequential both;
  both.push_back("0",
                 nn::Conv3d(channels, middle, {1, 3, 3},
                            {.stride = {1, stride, stride}, .padding = {0, 1, 1}, .bias = false}));
  both.push_back("1", nn::BatchNorm3d(middle, {.relu = true}));
  both.push_back("3", nn::Conv3d(middle, planes, {3, 1, 1},
                                 {.stride = {stride, 1, 1}, .padding = {1, 0, 0}, .bias = false}));
  return both;
}

nn::AnyModule convolution(VideoConv kind, int64_t channels, int64_t planes, int64_t middle,
                          int64_t stride) {
  switch (kind) {
    case VideoConv::full:
      return nn::Conv3d(channels, planes, 3, {.stride = stride, .padding = 1, .bias = false});
    case VideoConv::spatial:
      return nn::Conv3d(channels, planes, {1, 3, 3},
                        {.stride = {1, stride, stride}, .padding = {0, 1, 1}, .bias = false});
    case VideoConv::factored:
      return factored(channels, planes, middle, stride);
  }
  fail("VideoBlock", "kind must be full, spatial or factored", static_cast<int>(kind));
}

void add_stage(nn::Sequential& layer, VideoConv kind, int64_t channels, int64_t planes,
               int64_t stride) {
  layer.push_back(VideoBlock(kind, channels, planes, stride));
  layer.push_back(VideoBlock(kind, planes, planes, 1));
}

}  // namespace

VideoBlock::VideoBlock(VideoConv kind, int64_t channels, int64_t planes, int64_t stride) {
  check(channels > 0 && planes > 0 && stride > 0, "VideoBlock",
        "channels, planes and stride must be positive", channels, ", ", planes, " and ", stride);
  checked_numel("VideoBlock", {channels, planes, 27});
  // As many weights in both parts of the first convolution as a full one has; torchvision takes the
  // same number for the second.
  const int64_t middle = channels * planes * 27 / (channels * 9 + 3 * planes);
  conv1.push_back(convolution(kind, channels, planes, middle, stride));
  conv1.push_back(nn::BatchNorm3d(planes, {.relu = true}));
  conv2.push_back(convolution(kind, planes, planes, middle, 1));
  conv2.push_back(nn::BatchNorm3d(planes));
  if (stride == 1 && channels == planes) return;
  const int64_t in_time = kind == VideoConv::spatial ? 1 : stride;
  downsample.push_back(
      nn::Conv3d(channels, planes, 1, {.stride = {in_time, stride, stride}, .bias = false}));
  downsample.push_back(nn::BatchNorm3d(planes));
}

Tensor VideoBlock::forward(const Tensor& input) const {
  const Tensor maps = conv2[0](conv1(input));
  return dynamic_cast<nn::BatchNorm3d&>(conv2[1]).add_relu(maps, downsample(input));
}

VideoResNet::VideoResNet(const VideoResNetLayout& layout, int64_t num_classes)
    : fc(*this, "fc", 512, num_classes) {
  if (layout.first == VideoConv::factored) {
    stem.push_back("0", nn::Conv3d(3, 45, {1, 7, 7},
                                   {.stride = {1, 2, 2}, .padding = {0, 3, 3}, .bias = false}));
    stem.push_back("1", nn::BatchNorm3d(45, {.relu = true}));
    stem.push_back("3", nn::Conv3d(45, 64, {3, 1, 1}, {.padding = {1, 0, 0}, .bias = false}));
    stem.push_back("4", nn::BatchNorm3d(64, {.relu = true}));
  } else {
    stem.push_back(
        nn::Conv3d(3, 64, {3, 7, 7}, {.stride = {1, 2, 2}, .padding = {1, 3, 3}, .bias = false}));
    stem.push_back(nn::BatchNorm3d(64, {.relu = true}));
  }
  add_stage(layer1, layout.first, 64, 64, 1);
  add_stage(layer2, layout.others, 64, 128, 2);
  add_stage(layer3, layout.others, 128, 256, 2);
  add_stage(layer4, layout.others, 256, 512, 2);
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module))
      nn::init::kaiming_normal_(
          conv->weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
  });
  nn::init::normal_(fc.weight, 0, 0.01);
  nn::init::constant_(fc.bias, 0);
}

Tensor VideoResNet::forward(const Tensor& input) const {
  const Tensor maps = layer4(layer3(layer2(layer1(stem(input)))));
  return fc(avgpool(maps).flatten(1));
}

}  // namespace aorta::models
