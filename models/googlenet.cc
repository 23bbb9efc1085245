#include <aorta/core/ops/join.h>
#include <aorta/models/googlenet.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>

namespace aorta::models {
namespace {

void add_googlenet_head(nn::Sequential& head, int64_t channels, int64_t num_classes) {
  head.push_back("pool", nn::AdaptiveAvgPool2d(4));
  head.push_back("conv", detail::BasicConv2d(channels, 128, 1));
  head.push_back("flatten", nn::Flatten(1));
  head.push_back("fc1", nn::Linear(2048, 1024));
  head.push_back("relu", nn::ReLU(true));
  head.push_back("dropout", nn::Dropout(0.7));
  head.push_back("fc2", nn::Linear(1024, num_classes));
}

}  // namespace

namespace detail {

Inception::Inception(int64_t channels, const InceptionWidths& widths)
    : branch1(*this, "branch1", channels, widths.one, 1) {
  branch2.push_back(BasicConv2d(channels, widths.reduced_three, 1));
  branch2.push_back(BasicConv2d(widths.reduced_three, widths.three, 3, {.padding = 1}));
  branch3.push_back(BasicConv2d(channels, widths.reduced_five, 1));
  branch3.push_back(BasicConv2d(widths.reduced_five, widths.five, 3, {.padding = 1}));
  branch4.push_back(nn::MaxPool2d(3, {.stride = 1, .padding = 1, .ceil_mode = true}));
  branch4.push_back(BasicConv2d(channels, widths.pooled, 1));
}

Tensor Inception::forward(const Tensor& input) const {
  return cat({branch1(input), branch2(input), branch3(input), branch4(input)}, 1);
}

}  // namespace detail

GoogLeNet::GoogLeNet(const GoogLeNetOptions& options)
    : transform_input(options.transform_input), fc(*this, "fc", 1024, options.num_classes) {
  if (options.aux_logits) {
    add_googlenet_head(aux1, 512, options.num_classes);
    add_googlenet_head(aux2, 528, options.num_classes);
  }
  apply([](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module))
      nn::init::trunc_normal_(conv->weight, {.std = 0.01});
    else if (const auto* linear = dynamic_cast<nn::Linear*>(&module))
      nn::init::trunc_normal_(linear->weight, {.std = 0.01});
  });
}

// The maps of inception4a, which the first of the further heads sees.
Tensor GoogLeNet::fourth_a(const Tensor& input) const {
  const Tensor images = transform_input ? detail::within_one("GoogLeNet", input) : input;
  const Tensor second = maxpool2(conv3(conv2(maxpool1(conv1(images)))));
  return inception4a(maxpool3(inception3b(inception3a(second))));
}

Tensor GoogLeNet::fourth_d(const Tensor& maps) const {
  return inception4d(inception4c(inception4b(maps)));
}

Tensor GoogLeNet::logits_of(const Tensor& maps) const {
  const Tensor last = inception5b(inception5a(maxpool4(inception4e(maps))));
  return fc(dropout(avgpool(last).flatten(1)));
}

GoogLeNetOutput GoogLeNet::heads(const Tensor& input) const {
  const bool has_aux = is_training() && !aux1.empty();
  const Tensor first = fourth_a(input);
  GoogLeNetOutput result;
  if (has_aux) result.aux_logits1 = aux1(first);
  const Tensor second = fourth_d(first);
  if (has_aux) result.aux_logits2 = aux2(second);
  result.logits = logits_of(second);
  return result;
}

Tensor GoogLeNet::forward(const Tensor& input) const {
  return logits_of(fourth_d(fourth_a(input)));
}

}  // namespace aorta::models
