#include <aorta/models/conv_parts.h>
#include <aorta/models/mnasnet.h>
#include <aorta/nn/dropout.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

namespace aorta::models {
namespace {

using detail::add_conv_norm;

struct MNASStage {
  int64_t planes, kernel_size, stride, expansion, blocks;
};
constexpr MNASStage kMNASStages[] = {{24, 3, 2, 3, 3}, {40, 5, 2, 3, 3},  {80, 5, 2, 6, 3},
                                     {96, 3, 1, 6, 2}, {192, 5, 2, 6, 4}, {320, 3, 1, 6, 1}};
// The statistics forget slower than others', as the paper has them.
constexpr double kSlowMomentum = 1 - 0.9997;

detail::ConvNormOptions slow(detail::ConvNormOptions options) {
  options.norm.momentum = kSlowMomentum;
  return options;
}

detail::Branch mnas_block(int64_t channels, const MNASStage& stage, int64_t stride) {
  const int64_t hidden = channels * stage.expansion;
  nn::Sequential layers;
  add_conv_norm(layers, channels, hidden, slow({.kernel_size = 1}));
  add_conv_norm(layers, hidden, hidden,
                slow({.kernel_size = stage.kernel_size, .stride = stride, .groups = hidden}));
  add_conv_norm(layers, hidden, stage.planes,
                slow({.kernel_size = 1, .activation = detail::MapActivation::none}));
  return detail::Branch("layers", layers, stride == 1 && channels == stage.planes);
}

}  // namespace

MNASNet::MNASNet(double alpha, int64_t num_classes) {
  check(alpha > 0 && alpha <= 8, "MNASNet", "alpha must be in (0, 8]", alpha);
  const auto scaled = [&](int64_t channels) {
    return detail::divisible(static_cast<double>(channels) * alpha);
  };
  int64_t channels = scaled(16);
  const int64_t first = scaled(32);
  add_conv_norm(layers, 3, first, slow({.stride = 2}));
  add_conv_norm(layers, first, first, slow({.groups = first}));
  add_conv_norm(layers, first, channels,
                slow({.kernel_size = 1, .activation = detail::MapActivation::none}));
  for (MNASStage stage : kMNASStages) {
    stage.planes = scaled(stage.planes);
    nn::Sequential blocks;
    for (int64_t i = 0; i < stage.blocks; ++i) {
      blocks.push_back(mnas_block(channels, stage, i == 0 ? stage.stride : 1));
      channels = stage.planes;
    }
    layers.push_back(std::to_string(detail::next_number(layers)), blocks);
  }
  add_conv_norm(layers, channels, 1280, slow({.kernel_size = 1}));
  const nn::Linear head(1280, num_classes);
  classifier.push_back(nn::Dropout(0.2));
  classifier.push_back(head);
  detail::reset_by_fan_out(*this);
  nn::init::kaiming_uniform_(
      head.weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::sigmoid});
}

Tensor MNASNet::forward(const Tensor& input) const {
  return classifier(layers(input).mean({2, 3}));
}

}  // namespace aorta::models
