#include <aorta/core/ops/pointwise.h>
#include <aorta/models/conv_parts.h>
#include <aorta/models/regnet.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace aorta::models {
namespace {

constexpr int64_t kStemWidth = 32;
constexpr double kWidest = 1 << 16;

struct RegNetStage {
  int64_t width, group_width, blocks;
};

// The widths of equal blocks next to each other, each a multiple of what a group has.
std::vector<RegNetStage> stages_of(const RegNetLayout& layout) {
  check(layout.depth >= 1 && layout.first > 0 && layout.first % 8 == 0 && layout.slope >= 0 &&
            layout.step > 1 && layout.group_width >= 1 && layout.squeeze >= 0 &&
            layout.squeeze <= 1,
        "RegNet",
        "depth and group width must be positive, the first width a multiple of 8, the slope at "
        "least 0, the step above 1 and the squeeze in [0, 1]",
        layout.depth, ", ", layout.group_width, ", ", layout.first, ", ", layout.slope, ", ",
        layout.step, " and ", layout.squeeze);
  const auto first = static_cast<double>(layout.first);
  std::vector<RegNetStage> stages;
  int64_t last = 0;
  for (int64_t block = 0; block < layout.depth; ++block) {
    const double line = first + layout.slope * static_cast<double>(block);
    const double power = std::nearbyint(std::log(line / first) / std::log(layout.step));
    const double rounded = std::nearbyint(first * std::pow(layout.step, power) / 8) * 8;
    check(rounded > 0 && rounded <= kWidest, "RegNet", "widths must be positive, up to 65536",
          rounded);
    const auto width = static_cast<int64_t>(rounded);
    if (width != last) stages.push_back({width, std::min(layout.group_width, width), 0});
    ++stages.back().blocks;
    last = width;
  }
  for (RegNetStage& stage : stages)
    stage.width = detail::divisible(static_cast<double>(stage.width), stage.group_width);
  return stages;
}

detail::ConvNormOptions without_activation(int64_t stride) {
  return {.kernel_size = 1, .stride = stride, .activation = detail::MapActivation::none};
}

// 1 x 1, 3 x 3 in groups and 1 x 1 around which the input goes, as it is or projected.
struct RegNetBlock : nn::Module {
  RegNetBlock(int64_t channels, const RegNetStage& stage, int64_t stride, double squeeze) {
    const int64_t width = stage.width;
    if (channels != width || stride != 1)
      detail::add_conv_norm(proj, channels, width, without_activation(stride));
    f.push_back("a", detail::conv_norm(channels, width, {.kernel_size = 1}));
    f.push_back("b", detail::conv_norm(width, width,
                                       {.stride = stride, .groups = width / stage.group_width}));
    if (squeeze > 0) {
      const auto squeezed =
          static_cast<int64_t>(std::nearbyint(squeeze * static_cast<double>(channels)));
      f.push_back("se",
                  detail::SqueezeExcitation(width, squeezed, detail::MapActivation::relu, false));
    }
    f.push_back("c", detail::conv_norm(width, width, without_activation(1)));
  }
  Tensor forward(const Tensor& input) const override {
    return relu((proj.empty() ? input : proj(input)) + f(input));
  }

  nn::Sequential proj{*this, "proj"}, f{*this, "f"};
};

}  // namespace

RegNet::RegNet(const RegNetLayout& layout, int64_t num_classes)
    : fc(*this, "fc", stages_of(layout).back().width, num_classes) {
  detail::add_conv_norm(stem, 3, kStemWidth, {.stride = 2});
  int64_t channels = kStemWidth, number = 1;
  for (const RegNetStage& stage : stages_of(layout)) {
    const std::string name = "block" + std::to_string(number++);
    nn::Sequential blocks;
    for (int64_t i = 0; i < stage.blocks; ++i) {
      blocks.push_back(name + "-" + std::to_string(i),
                       RegNetBlock(channels, stage, i == 0 ? 2 : 1, layout.squeeze));
      channels = stage.width;
    }
    trunk_output.push_back(name, blocks);
  }
  detail::reset_by_fan_out(*this, /*with_biases=*/false);
}

Tensor RegNet::forward(const Tensor& input) const {
  return fc(avgpool(trunk_output(stem(input))).flatten(1));
}

}  // namespace aorta::models
