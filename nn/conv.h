#pragma once

#include <aorta/core/ops/convolution.h>
#include <aorta/core/ops/rearrange.h>
#include <aorta/nn/module.h>
#include <aorta/nn/sizes.h>

namespace aorta::nn {

/// The options of a convolution, with PyTorch's names and defaults.
struct ConvOptions {
  Dims stride = 1;
  ConvPadding padding = 0;
  Dims dilation = 1;
  int64_t groups = 1;
  bool bias = true;
  /// What stands in the padding: zeros (constant), reflect, replicate or circular.
  PadMode padding_mode = PadMode::constant;
};

/// What the convolutions of 1, 2 and 3 dimensions share: input (N, C, *) or (C, *), weight (O,
/// C/groups, *kernel), bias (O) -> (N, O, *); see aorta::conv2d. Weight and bias start uniform in
/// +-1 / sqrt(C / groups x kernel).
class Conv : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  std::string type_name() const override;
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int spatial;  // dimensions
  int64_t in_channels, out_channels;
  Dims kernel_size;
  ConvOptions options;
  Parameter weight;
  Parameter bias;

 protected:
  Conv(int spatial, int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
       const ConvOptions& options);
};

/// A Conv over N dimensions. Two numbers in braces are a stride, as in PyTorch; other
/// options are named.
template <int N>
class ConvOf : public Conv {
 public:
  ConvOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size)
      : ConvOf(in_channels, out_channels, kernel_size, ConvOptions()) {}
  template <std::same_as<ConvOptions> Options = ConvOptions>
  ConvOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size, const Options& options)
      : Conv(N, in_channels, out_channels, kernel_size, options) {}
  ConvOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size, const Dims& stride)
      : ConvOf(in_channels, out_channels, kernel_size,
               ConvOptions{.stride = detail::or_one(stride)}) {}
  ConvOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
         const Dims& kernel_size)
      : ConvOf(in_channels, out_channels, kernel_size) {
    join(owner, name);
  }
  template <std::same_as<ConvOptions> Options = ConvOptions>
  ConvOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
         const Dims& kernel_size, const Options& options)
      : ConvOf(in_channels, out_channels, kernel_size, options) {
    join(owner, name);
  }
  ConvOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
         const Dims& kernel_size, const Dims& stride)
      : ConvOf(in_channels, out_channels, kernel_size,
               ConvOptions{.stride = detail::or_one(stride)}) {
    join(owner, name);
  }
};
/// Convolutions of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using Conv1d = ConvOf<1>;
using Conv2d = ConvOf<2>;
using Conv3d = ConvOf<3>;

/// The options of a transposed convolution, with PyTorch's names and defaults.
struct ConvTransposeOptions {
  Dims stride = 1;
  Dims padding = 0;
  Dims output_padding = 0;
  int64_t groups = 1;
  bool bias = true;
  Dims dilation = 1;
};

/// A transposed convolution, weight (C, O/groups, *kernel); see aorta::conv_transpose2d. Weight and
/// bias start uniform in +-1 / sqrt(O / groups x kernel).
class ConvTranspose : public Module {
 public:
  Tensor forward(const Tensor& input) const override;
  Tensor operator()(const Tensor& input) const { return Module::operator()(input); }
  /// The output with these spatial sizes, of those that the convolution makes one; or a whole
  /// shape, `x.shape()`, whose last sizes count.
  Tensor operator()(const Tensor& input, const Dims& output_size) const;
  Tensor forward(const Tensor& input, const Dims& output_size) const;
  std::string type_name() const override;
  void reset_parameters() override;
  std::string extra_repr() const override;
  int64_t multiply_adds(const std::vector<Tensor>& inputs,
                        const std::vector<Tensor>& outputs) const override;

  int spatial;
  int64_t in_channels, out_channels;
  Dims kernel_size;
  ConvTransposeOptions options;
  Parameter weight;
  Parameter bias;

 protected:
  ConvTranspose(int spatial, int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                const ConvTransposeOptions& options);

 private:
  Tensor run(const Tensor& input, const Dims& output_padding) const;
};

/// A ConvTranspose over N dimensions. Two numbers in braces are a stride, as in PyTorch; other
/// options are named.
template <int N>
class ConvTransposeOf : public ConvTranspose {
 public:
  ConvTransposeOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size)
      : ConvTransposeOf(in_channels, out_channels, kernel_size, ConvTransposeOptions()) {}
  template <std::same_as<ConvTransposeOptions> Options = ConvTransposeOptions>
  ConvTransposeOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                  const Options& options)
      : ConvTranspose(N, in_channels, out_channels, kernel_size, options) {}
  ConvTransposeOf(int64_t in_channels, int64_t out_channels, const Dims& kernel_size,
                  const Dims& stride)
      : ConvTransposeOf(in_channels, out_channels, kernel_size,
                        ConvTransposeOptions{.stride = detail::or_one(stride)}) {}
  ConvTransposeOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
                  const Dims& kernel_size)
      : ConvTransposeOf(in_channels, out_channels, kernel_size) {
    join(owner, name);
  }
  template <std::same_as<ConvTransposeOptions> Options = ConvTransposeOptions>
  ConvTransposeOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
                  const Dims& kernel_size, const Options& options)
      : ConvTransposeOf(in_channels, out_channels, kernel_size, options) {
    join(owner, name);
  }
  ConvTransposeOf(Module& owner, const char* name, int64_t in_channels, int64_t out_channels,
                  const Dims& kernel_size, const Dims& stride)
      : ConvTransposeOf(in_channels, out_channels, kernel_size,
                        ConvTransposeOptions{.stride = detail::or_one(stride)}) {
    join(owner, name);
  }
};
/// Transposed convolutions of (N, C, L), (N, C, H, W) and (N, C, D, H, W).
using ConvTranspose1d = ConvTransposeOf<1>;
using ConvTranspose2d = ConvTransposeOf<2>;
using ConvTranspose3d = ConvTransposeOf<3>;

}  // namespace aorta::nn
