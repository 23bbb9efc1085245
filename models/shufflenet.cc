#include <aorta/core/ops/join.h>
#include <aorta/models/conv_parts.h>
#include <aorta/models/shufflenet.h>

namespace aorta::models {
namespace {

using detail::add_conv_norm;

// Half of the channels goes by, or through a branch of its own where there is a stride.
struct ShuffleUnit : nn::Module {
  ShuffleUnit(int64_t channels, int64_t planes, int64_t stride) {
    const int64_t half = planes / 2, entering = stride == 1 ? half : channels;
    const auto depthwise = [&](int64_t width) {
      return detail::ConvNormOptions{
          .stride = stride, .groups = width, .activation = detail::MapActivation::none};
    };
    if (stride != 1) {
      add_conv_norm(branch1, channels, channels, depthwise(channels));
      add_conv_norm(branch1, channels, half, {.kernel_size = 1});
    }
    add_conv_norm(branch2, entering, half, {.kernel_size = 1});
    add_conv_norm(branch2, half, half, depthwise(half));
    add_conv_norm(branch2, half, half, {.kernel_size = 1});
  }
  Tensor forward(const Tensor& input) const override {
    Tensor left = input, right = input;
    if (branch1.empty()) {
      const int64_t half = input.size(1) / 2;
      left = input.narrow(1, 0, half);
      right = input.narrow(1, half, half);
    }
    return shuffled(cat({branch1(left), branch2(right)}, 1));
  }

  nn::Sequential branch1{*this, "branch1"};
  nn::Sequential branch2{*this, "branch2"};

 private:
  // The channels of both halves in turn.
  static Tensor shuffled(const Tensor& maps) {
    return maps.unflatten(1, {2, maps.size(1) / 2}).transpose(1, 2).flatten(1, 2);
  }
};

void add_units(nn::Sequential& stage, int64_t channels, int64_t planes, int count) {
  check(planes > 0 && planes % 2 == 0, "ShuffleNetV2",
        "channels of a stage must be even and positive", planes);
  for (int i = 0; i < count; ++i)
    stage.push_back(i == 0 ? ShuffleUnit(channels, planes, 2) : ShuffleUnit(planes, planes, 1));
}

}  // namespace

ShuffleNetV2::ShuffleNetV2(const ShuffleNetV2Layout& layout, int64_t num_classes)
    : fc(*this, "fc", layout.channels[3], num_classes) {
  add_conv_norm(conv1, 3, 24, {.stride = 2});
  add_units(stage2, 24, layout.channels[0], 4);
  add_units(stage3, layout.channels[0], layout.channels[1], 8);
  add_units(stage4, layout.channels[1], layout.channels[2], 4);
  add_conv_norm(conv5, layout.channels[2], layout.channels[3], {.kernel_size = 1});
}

Tensor ShuffleNetV2::forward(const Tensor& input) const {
  const Tensor maps = conv5(stage4(stage3(stage2(maxpool(conv1(input))))));
  return fc(adaptive_avg_pool2d(maps, 1).flatten(1));
}

}  // namespace aorta::models
