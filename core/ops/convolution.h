#pragma once

#include <aorta/core/dispatch/op_table.h>

#include <optional>

namespace aorta {

/// Zeros around an input: a number for each spatial dimension or one for all, at both ends; or
/// "valid" for none; or "same" for as many as keep the size (stride 1; of an odd number in all, the
/// end has one more).
class ConvPadding {
 public:
  ConvPadding(const Dims& sizes) : sizes_(sizes) {}  // NOLINT: implicit
  template <std::integral First, std::integral... Rest>
  ConvPadding(First first, Rest... rest) : sizes_{first, rest...} {}  // NOLINT: implicit
  /// Errors: another name than "valid" and "same".
  ConvPadding(const char* name);

  bool same() const { return same_; }
  const Dims& sizes() const { return sizes_; }

 private:
  Dims sizes_{0};
  bool same_ = false;
};

/// Convolutions (cross-correlations) over the last n = 1, 2 or 3 dimensions:
///
///     output[b,o,p] = bias[o] + sum over c, j of
///                     weight[o,c,j] input[b, first(o) + c, p * stride - padding + j * dilation]
///
/// input (N, C, *) or (C, *), weight (O, C/groups, *kernel), bias (O) or undefined; output (N, O,
/// *) with floor((size + 2 padding - dilation (kernel - 1) - 1) / stride) + 1 positions along a
/// dimension. Output channels come in `groups` equal parts, each of which reads its part of the
/// input's. stride, padding and dilation are a number for each spatial dimension or one for all.
/// Floating dtypes, all operands of one; half types are summed in f32 and rounded once. The output
/// is channels_last when the input or the weight is. Positions in the padding cost nothing: they
/// are not multiplied. The bits don't depend on the number of threads. Errors: sizes that don't
/// fit, numbers out of range, an empty output, mixed dtypes or devices.
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const Dims& stride = 1, const ConvPadding& padding = 0, const Dims& dilation = 1,
              int64_t groups = 1);
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const Dims& stride = 1, const ConvPadding& padding = 0, const Dims& dilation = 1,
              int64_t groups = 1);
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
              const Dims& stride = 1, const ConvPadding& padding = 0, const Dims& dilation = 1,
              int64_t groups = 1);

/// Transposed convolutions: the gradient of a convolution's input as an op of its own, whose
/// `input` (N, C, *) is that convolution's output. weight (C, O/groups, *kernel), bias (O) or
/// undefined; output (N, O, *) of (size - 1) stride - 2 padding + dilation (kernel - 1) +
/// output_padding + 1 positions. output_padding, smaller than stride or dilation, chooses among the
/// sizes that the convolution makes one.
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const Dims& stride = 1, const Dims& padding = 0,
                        const Dims& output_padding = 0, int64_t groups = 1,
                        const Dims& dilation = 1);
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const Dims& stride = 1, const Dims& padding = 0,
                        const Dims& output_padding = 0, int64_t groups = 1,
                        const Dims& dilation = 1);
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias = {},
                        const Dims& stride = 1, const Dims& padding = 0,
                        const Dims& output_padding = 0, int64_t groups = 1,
                        const Dims& dilation = 1);

/// The numbers of a convolution by name: `conv2d(x, w, bias, {.stride = 2, .padding = 1})`.
struct ConvolutionOptions {
  Dims stride = 1;
  ConvPadding padding = 0;
  Dims dilation = 1;
  int64_t groups = 1;
};
struct ConvolutionTransposeOptions {
  Dims stride = 1;
  Dims padding = 0;
  Dims output_padding = 0;
  int64_t groups = 1;
  Dims dilation = 1;
};

/// The functions above with such options. They are templates, so that braces without names, which
/// may be both, are the numbers above.
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv1d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Options& o) {
  return conv1d(input, weight, bias, o.stride, o.padding, o.dilation, o.groups);
}
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv1d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv1d(input, weight, {}, options);
}
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv2d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Options& o) {
  return conv2d(input, weight, bias, o.stride, o.padding, o.dilation, o.groups);
}
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv2d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv2d(input, weight, {}, options);
}
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv3d(const Tensor& input, const Tensor& weight, const Tensor& bias, const Options& o) {
  return conv3d(input, weight, bias, o.stride, o.padding, o.dilation, o.groups);
}
template <std::same_as<ConvolutionOptions> Options = ConvolutionOptions>
Tensor conv3d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv3d(input, weight, {}, options);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Options& o) {
  return conv_transpose1d(input, weight, bias, o.stride, o.padding, o.output_padding, o.groups,
                          o.dilation);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv_transpose1d(input, weight, {}, options);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Options& o) {
  return conv_transpose2d(input, weight, bias, o.stride, o.padding, o.output_padding, o.groups,
                          o.dilation);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv_transpose2d(input, weight, {}, options);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Tensor& bias,
                        const Options& o) {
  return conv_transpose3d(input, weight, bias, o.stride, o.padding, o.output_padding, o.groups,
                          o.dilation);
}
template <std::same_as<ConvolutionTransposeOptions> Options = ConvolutionTransposeOptions>
Tensor conv_transpose3d(const Tensor& input, const Tensor& weight, const Options& options) {
  return conv_transpose3d(input, weight, {}, options);
}

/// Whether f32 convolutions of kernel 3, stride 1 and dilation 1 or 2 in two dimensions take
/// Winograd's algorithm where a rule on the shape says that it's faster: a quarter of the
/// multiplications, and a relative RMS error of up to 8e-7 instead of 4e-7 (docs/accuracy.md has a
/// network's); an infinity or NaN reaches all 16 results of a tile. On at the start
/// (AORTA_WINOGRAD=0 in the environment: off); for the whole process.
/// Source: Lavin and Gray, Fast Algorithms for Convolutional Neural Networks, 2015.
void set_winograd(bool enabled);
bool winograd_enabled();

}  // namespace aorta

namespace aorta::kernel {

/// One spatial dimension: output position o reads input positions o * stride - padding + j *
/// dilation for j < kernel, those inside.
struct ConvDim {
  int64_t input = 1, output = 1;  // sizes
  int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
};
/// What a convolution and its gradients share.
struct ConvolutionPlan {
  int spatial = 2;
  ConvDim dims[3];  // depth, height, width; the last `spatial` ones count
  int64_t groups = 1;
};

// The three ops that are each other's gradients: with x (N, C, *input), w (O, C/groups, *kernel)
// and y (N, O, *output), each is the sum of products of two of them, laid out for the third.

/// y from x and w.
Tensor convolution(const Tensor& x, const Tensor& w, const Tensor& bias,
                   const ConvolutionPlan& plan);
/// x from y and w.
Tensor convolution_transpose(const Tensor& y, const Tensor& w, const Tensor& bias,
                             const ConvolutionPlan& plan);
/// w from x and y; channels_last or contiguous.
Tensor convolution_weight(const Tensor& x, const Tensor& y, const ConvolutionPlan& plan,
                          bool channels_last);

/// What a kernel gets. x (N, D, H, W, C) and y (N, D, H, W, O) are contiguous, or, for a kernel of
/// one tap on the CPU, x (N, C, D, H, W) and y (N, O, D, H, W) where `planes`; bias too. Nothing is
/// of size 0.
struct ConvolutionArgs {
  ConvDim dims[3];
  int64_t batch = 1, groups = 1;
  int64_t x_channels = 1, y_channels = 1;  // in all groups
  void* x = nullptr;
  void* y = nullptr;
  void* w = nullptr;
  /// Strides of w in elements; where w is the result, it is (O, D, H, W, C/groups) contiguous.
  int64_t w_y = 0, w_x = 0, w_dims[3] = {};
  const void* bias = nullptr;  // of the result; null for none
  DType dtype = DType::f32;
  bool planes = false;
};
using ConvolutionKernel = void (*)(const ConvolutionArgs& args);
using ConvolutionGradient = void (*)(Tensor& result, const Tensor& a, const Tensor& w,
                                     const Tensor& bias, const ConvolutionPlan& plan);
extern Op<ConvolutionKernel, ConvolutionGradient> convolution_op, convolution_transpose_op;
extern Op<ConvolutionKernel,
          void (*)(Tensor& w, const Tensor& x, const Tensor& y, const ConvolutionPlan& plan)>
    convolution_weight_op;

}  // namespace aorta::kernel
