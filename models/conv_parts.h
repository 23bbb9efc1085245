#pragma once

#include <aorta/nn/container.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/normalization.h>
#include <aorta/nn/pooling.h>

// Parts that several networks for images are made of, with torchvision's names inside.

namespace aorta::models::detail {

/// What stands behind a convolution and its norm.
enum class MapActivation : uint8_t { none, relu, relu6, silu, hardswish, gelu };
/// The activation as a layer: none and relu are errors, as the norm has them.
nn::AnyModule activation_of(MapActivation activation);

struct ConvNormOptions {
  int64_t kernel_size = 3;  // padded so that stride 1 keeps sizes
  int64_t stride = 1;
  int64_t groups = 1;
  MapActivation activation = MapActivation::relu;
  nn::BatchNormOptions norm = {};
};
/// What torchvision would name the next layer: it has a ReLU of its own behind each norm that is
/// one with it here.
int64_t next_number(const nn::Sequential& layers);
/// Appends a convolution without bias and its norm, then the activation. A ReLU is the norm's own,
/// and its number is left out.
void add_conv_norm(nn::Sequential& layers, int64_t channels, int64_t planes,
                   const ConvNormOptions& options);
/// The three as a part of their own, named "0", "1" and "2".
nn::Sequential conv_norm(int64_t channels, int64_t planes, const ConvNormOptions& options);

/// A convolution without bias, and its norm with eps 0.001 and the ReLU: torchvision's BasicConv2d.
struct BasicConv2d : nn::Module {
  BasicConv2d(int64_t channels, int64_t planes, const Dims& kernel_size,
              const nn::ConvOptions& options = {});
  BasicConv2d(nn::Module& owner, const char* name, int64_t channels, int64_t planes,
              const Dims& kernel_size, const nn::ConvOptions& options = {})
      : BasicConv2d(channels, planes, kernel_size, options) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override { return bn(conv(input)); }

  nn::Conv2d conv;
  nn::BatchNorm2d bn;
};

/// The dimensions in another order.
struct Permute : nn::Module {
  explicit Permute(const Dims& dims) : dims(dims) {}
  Tensor forward(const Tensor& input) const override { return input.permute(dims); }

  Dims dims;
};

/// Images (N, 3, H, W) less ImageNet's mean and over its deviation, as numbers in [-1, 1] instead:
/// what the weights that torchvision has from TensorFlow were trained with. Errors: other
/// dimensions; `op` is who says so.
Tensor within_one(const char* op, const Tensor& images);

/// Drops the whole of a sample with probability p in training, and divides the others by 1 - p
/// (Huang et al. 2016): torchvision's StochasticDepth of mode "row".
struct StochasticDepth : nn::Module {
  explicit StochasticDepth(double p);
  StochasticDepth(nn::Module& owner, const char* name, double p) : StochasticDepth(p) {
    join(owner, name);
  }
  Tensor forward(const Tensor& input) const override;
  std::string extra_repr() const override;

  double p;
};

/// Layers under a name, around which the input goes where `is_residual`.
struct Branch : nn::Module {
  Branch(const char* name, const nn::Sequential& branch, bool is_residual, double drop = 0);
  Tensor forward(const Tensor& input) const override;

  nn::Sequential layers;
  StochasticDepth stochastic_depth;
  bool is_residual;
};

/// Scales each channel by what a small network makes of all channels' means (Hu et al. 2018).
struct SqueezeExcitation : nn::Module {
  /// `activation` stands between its convolutions. The scale is a sigmoid, or a hard one.
  SqueezeExcitation(int64_t channels, int64_t squeezed, MapActivation activation,
                    bool hard_sigmoid);
  Tensor forward(const Tensor& input) const override;

  nn::AdaptiveAvgPool2d avgpool{*this, "avgpool", 1};
  nn::Conv2d fc1, fc2;
  MapActivation activation;
  bool hard_sigmoid;
};

/// The multiple of `divisor` next to `channels`, not below nine tenths of it.
int64_t divisible(double channels, int64_t divisor = 8);

/// He's normal distribution of the outputs' fan for convolutions, N(0, 0.01^2) for linear layers,
/// and biases 0, those of convolutions where `with_biases`.
void reset_by_fan_out(nn::Module& network, bool with_biases = true);

}  // namespace aorta::models::detail
