#include <aorta/core/ops/creation.h>
#include <aorta/core/ops/dropout.h>
#include <aorta/core/ops/pointwise.h>
#include <aorta/models/conv_parts.h>
#include <aorta/nn/activation.h>
#include <aorta/nn/init.h>
#include <aorta/nn/linear.h>

#include <fmt/format.h>
#include <algorithm>

namespace aorta::models::detail {

nn::AnyModule activation_of(MapActivation activation) {
  switch (activation) {
    case MapActivation::relu6:
      return nn::ReLU6(true);
    case MapActivation::silu:
      return nn::SiLU();
    case MapActivation::hardswish:
      return nn::Hardswish();
    case MapActivation::gelu:
      return nn::GELU();
    default:
      fail("models", "activation must be one with a layer", static_cast<int>(activation));
  }
}

int64_t next_number(const nn::Sequential& layers) {
  if (layers.empty()) return 0;
  const auto& [name, module] = *(layers.end() - 1);
  const auto* norm = dynamic_cast<const nn::BatchNorm*>(&*module);
  return std::stoll(name) + (norm != nullptr && norm->options.relu ? 2 : 1);
}

void add_conv_norm(nn::Sequential& layers, int64_t channels, int64_t planes,
                   const ConvNormOptions& options) {
  int64_t number = next_number(layers);
  const auto add = [&](nn::AnyModule module) {
    layers.push_back(std::to_string(number), std::move(module));
    ++number;
  };
  add(nn::Conv2d(channels, planes, options.kernel_size,
                 {.stride = options.stride,
                  .padding = options.kernel_size / 2,
                  .groups = options.groups,
                  .bias = false}));
  nn::BatchNormOptions norm = options.norm;
  norm.relu = options.activation == MapActivation::relu;
  add(nn::BatchNorm2d(planes, norm));
  if (options.activation != MapActivation::none && !norm.relu)
    add(activation_of(options.activation));
}

nn::Sequential conv_norm(int64_t channels, int64_t planes, const ConvNormOptions& options) {
  nn::Sequential layers;
  add_conv_norm(layers, channels, planes, options);
  return layers;
}

namespace {

nn::ConvOptions without_bias(nn::ConvOptions options) {
  options.bias = false;
  return options;
}

}  // namespace

BasicConv2d::BasicConv2d(int64_t channels, int64_t planes, const Dims& kernel_size,
                         const nn::ConvOptions& options)
    : conv(*this, "conv", channels, planes, kernel_size, without_bias(options)),
      bn(*this, "bn", planes, {.eps = 1e-3, .relu = true}) {}

Tensor within_one(const char* op, const Tensor& images) {
  check(images.dim() == 4 && images.size(1) == 3, op,
        "images that are transformed must be (N, 3, H, W)", images.shape());
  const ToOptions like{.dtype = images.dtype(), .device = images.device()};
  const auto of_channels = [&](const std::vector<double>& values) {
    return tensor(values).to(like).reshape({3, 1, 1});
  };
  return images * of_channels({0.229 / 0.5, 0.224 / 0.5, 0.225 / 0.5}) +
         of_channels({(0.485 - 0.5) / 0.5, (0.456 - 0.5) / 0.5, (0.406 - 0.5) / 0.5});
}

StochasticDepth::StochasticDepth(double p) : p(p) {
  check(p >= 0 && p <= 1, "StochasticDepth", "p must be in [0, 1]", p);
}

Tensor StochasticDepth::forward(const Tensor& input) const {
  if (!is_training() || p == 0) return input;
  Shape samples = Dims::filled(input.dim(), 1);
  samples[0] = input.size(0);
  return input * dropout(ones(samples, {.dtype = input.dtype(), .device = input.device()}), p);
}

std::string StochasticDepth::extra_repr() const { return fmt::format("p={}, mode=row", p); }

Branch::Branch(const char* name, const nn::Sequential& branch, bool is_residual, double drop)
    : layers(*this, name),
      stochastic_depth(*this, "stochastic_depth", drop),
      is_residual(is_residual) {
  for (const auto& [part, module] : branch) layers.push_back(part, module);
}

Tensor Branch::forward(const Tensor& input) const {
  const Tensor result = layers(input);
  return is_residual ? stochastic_depth(result) + input : result;
}

SqueezeExcitation::SqueezeExcitation(int64_t channels, int64_t squeezed, MapActivation activation,
                                     bool hard_sigmoid)
    : fc1(*this, "fc1", channels, squeezed, 1),
      fc2(*this, "fc2", squeezed, channels, 1),
      activation(activation),
      hard_sigmoid(hard_sigmoid) {}

Tensor SqueezeExcitation::forward(const Tensor& input) const {
  const Tensor squeezed = fc1(avgpool(input));
  const Tensor scale = fc2(activation == MapActivation::silu ? silu(squeezed) : relu(squeezed));
  return (hard_sigmoid ? hardsigmoid(scale) : sigmoid(scale)) * input;
}

int64_t divisible(double channels, int64_t divisor) {
  const auto half = static_cast<double>(divisor) / 2;
  const int64_t rounded =
      std::max(divisor, static_cast<int64_t>(channels + half) / divisor * divisor);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + divisor : rounded;
}

void reset_by_fan_out(nn::Module& network, bool with_biases) {
  network.apply([with_biases](nn::Module& module) {
    if (const auto* conv = dynamic_cast<nn::Conv*>(&module)) {
      nn::init::kaiming_normal_(
          conv->weight, {.mode = nn::init::Fan::out, .nonlinearity = nn::init::Nonlinearity::relu});
      if (conv->bias.defined() && with_biases) nn::init::zeros_(conv->bias);
    } else if (const auto* linear = dynamic_cast<nn::Linear*>(&module)) {
      nn::init::normal_(linear->weight, 0, 0.01);
      nn::init::zeros_(linear->bias);
    }
  });
}

}  // namespace aorta::models::detail
