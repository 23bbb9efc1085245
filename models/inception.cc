#include <aorta/core/ops/join.h>
#include <aorta/core/ops/pooling.h>
#include <aorta/models/inception.h>
#include <aorta/nn/init.h>

#include <algorithm>

namespace aorta::models {

namespace detail {
namespace {

BasicConv2d mixed_conv(int64_t channels, const MixedConv& conv) {
  Dims padding = conv.kernel_size;
  for (int64_t& size : padding) size = conv.stride == 1 ? size / 2 : 0;
  return BasicConv2d(channels, conv.planes, conv.kernel_size,
                     {.stride = conv.stride, .padding = padding});
}

// "_1", "_2" and, where the branch forks, "_3a" and "_3b".
std::string mixed_suffix(const MixedBranch& branch, size_t i) {
  const size_t count = branch.convs.size();
  if (count == 1) return "";
  if (!branch.is_forked || i + 2 < count) return "_" + std::to_string(i + 1);
  return "_" + std::to_string(count - 1) + (i + 1 == count ? "b" : "a");
}

}  // namespace

Mixed::Mixed(int64_t channels, const std::vector<MixedBranch>& branches) : branches(branches) {
  for (const MixedBranch& branch : branches) {
    int64_t entering = channels;
    for (size_t i = 0; i < branch.convs.size(); ++i) {
      push_back(branch.name + mixed_suffix(branch, i), mixed_conv(entering, branch.convs[i]));
      if (!branch.is_forked || i + 2 < branch.convs.size()) entering = branch.convs[i].planes;
    }
  }
}

Tensor Mixed::forward(const Tensor& input) const {
  std::vector<Tensor> outputs;
  auto conv = begin();
  for (const MixedBranch& branch : branches) {
    Tensor maps = input;
    if (branch.pool == MixedPool::average)
      maps = avg_pool2d(input, 3, {.stride = 1, .padding = 1});
    else if (branch.pool == MixedPool::max)
      maps = max_pool2d(input, 3, {.stride = 2});
    const size_t in_line = branch.convs.size() - (branch.is_forked ? 2 : 0);
    for (size_t i = 0; i < in_line; ++i) maps = (conv++)->second(maps);
    outputs.push_back(branch.is_forked ? (conv++)->second(maps) : maps);
    if (branch.is_forked) outputs.push_back((conv++)->second(maps));
  }
  return cat(outputs, 1);
}

std::vector<MixedBranch> mixed_a(int64_t pooled) {
  return {{"branch1x1", {{64, 1}}},
          {"branch5x5", {{48, 1}, {64, 5}}},
          {"branch3x3dbl", {{64, 1}, {96, 3}, {96, 3}}},
          {"branch_pool", {{pooled, 1}}, MixedPool::average}};
}

std::vector<MixedBranch> mixed_b() {
  return {{"branch3x3", {{384, 3, 2}}},
          {"branch3x3dbl", {{64, 1}, {96, 3}, {96, 3, 2}}},
          {"branch_pool", {}, MixedPool::max}};
}

std::vector<MixedBranch> mixed_c(int64_t width) {
  const Dims wide{1, 7}, high{7, 1};
  return {{"branch1x1", {{192, 1}}},
          {"branch7x7", {{width, 1}, {width, wide}, {192, high}}},
          {"branch7x7dbl", {{width, 1}, {width, high}, {width, wide}, {width, high}, {192, wide}}},
          {"branch_pool", {{192, 1}}, MixedPool::average}};
}

std::vector<MixedBranch> mixed_d() {
  return {{"branch3x3", {{192, 1}, {320, 3, 2}}},
          {"branch7x7x3", {{192, 1}, {192, {1, 7}}, {192, {7, 1}}, {192, 3, 2}}},
          {"branch_pool", {}, MixedPool::max}};
}

std::vector<MixedBranch> mixed_e() {
  const MixedConv wide{384, {1, 3}}, high{384, {3, 1}};
  return {{"branch1x1", {{320, 1}}},
          {"branch3x3", {{384, 1}, wide, high}, MixedPool::none, true},
          {"branch3x3dbl", {{448, 1}, {384, 3}, wide, high}, MixedPool::none, true},
          {"branch_pool", {{192, 1}}, MixedPool::average}};
}

}  // namespace detail

Inception3::Inception3(const Inception3Options& options)
    : transform_input(options.transform_input), fc(*this, "fc", 2048, options.num_classes) {
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module))
      nn::init::trunc_normal_(conv->weight, {.std = 0.1});
  });
  nn::init::trunc_normal_(fc.weight, {.std = 0.1});
  if (!options.aux_logits) return;
  const detail::BasicConv2d conv0(768, 128, 1), conv1(128, 768, 5);
  const nn::Linear last(768, options.num_classes);
  for (const detail::BasicConv2d& part : {conv0, conv1})
    nn::init::trunc_normal_(part.conv.weight, {.std = 0.1});
  nn::init::trunc_normal_(last.weight, {.std = 0.001});
  AuxLogits.push_back("pool", nn::AvgPool2d(5, {.stride = 3}));
  AuxLogits.push_back("conv0", conv0);
  AuxLogits.push_back("conv1", conv1);
  AuxLogits.push_back("mean", nn::AdaptiveAvgPool2d(1));
  AuxLogits.push_back("flatten", nn::Flatten(1));
  AuxLogits.push_back("fc", last);
}

// The maps of Mixed_6e, which the further head sees.
Tensor Inception3::sixth(const Tensor& input) const {
  const Tensor images = transform_input ? detail::within_one("Inception3", input) : input;
  const Tensor second = maxpool1(Conv2d_2b_3x3(Conv2d_2a_3x3(Conv2d_1a_3x3(images))));
  const Tensor fourth = maxpool2(Conv2d_4a_3x3(Conv2d_3b_1x1(second)));
  const Tensor fifth = Mixed_5d(Mixed_5c(Mixed_5b(fourth)));
  return Mixed_6e(Mixed_6d(Mixed_6c(Mixed_6b(Mixed_6a(fifth)))));
}

Tensor Inception3::logits_of(const Tensor& maps) const {
  return fc(dropout(avgpool(Mixed_7c(Mixed_7b(Mixed_7a(maps))))).flatten(1));
}

Inception3Output Inception3::heads(const Tensor& input) const {
  const Tensor maps = sixth(input);
  Inception3Output result;
  if (is_training() && !AuxLogits.empty()) result.aux_logits = AuxLogits(maps);
  result.logits = logits_of(maps);
  return result;
}

Tensor Inception3::forward(const Tensor& input) const { return logits_of(sixth(input)); }

}  // namespace aorta::models
