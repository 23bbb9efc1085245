#include <aorta/core/ops/creation.h>
#include <aorta/nn/call.h>
#include <aorta/nn/conv.h>
#include <aorta/nn/init.h>

#include <fmt/format.h>
#include <cmath>

namespace aorta::nn {
namespace {

// The shape of a weight whose first two sizes are `first` and `second` (of which each group has its
// part).
Tensor weight_of(const std::string& name, int spatial, int64_t first, int64_t second,
                 int64_t groups, const Dims& kernel) {
  check(first > 0 && second > 0, name, "channels must be positive", first, " and ", second);
  check(groups > 0 && first % groups == 0 && second % groups == 0, name,
        "channels must be divisible by groups", first, " and ", second, " for groups ", groups);
  Shape shape{first, second / groups};
  for (const int64_t size : sizes_of(name, "kernel_size", kernel, spatial)) {
    check(size > 0, name, "kernel_size must be positive", kernel);
    shape.push_back(size);
  }
  return empty(shape);
}

// Uniform in +-1 / sqrt(fan_in), as kaiming_uniform_ with a slope of sqrt(5) has it.
void reset(const Tensor& weight, const Tensor& bias) {
  const double bound = 1 / std::sqrt(static_cast<double>(init::calculate_fans(weight).in));
  init::uniform_(weight, -bound, bound);
  if (bias.defined()) init::uniform_(bias, -bound, bound);
}

// Every option with a number for each dimension.
ConvOptions spread(const std::string& name, int spatial, ConvOptions options) {
  options.stride = sizes_of(name, "stride", options.stride, spatial);
  options.dilation = sizes_of(name, "dilation", options.dilation, spatial);
  if (!options.padding.same()) {
    options.padding = sizes_of(name, "padding", options.padding.sizes(), spatial);
  }
  return options;
}

ConvTransposeOptions spread(const std::string& name, int spatial, ConvTransposeOptions options) {
  options.stride = sizes_of(name, "stride", options.stride, spatial);
  options.padding = sizes_of(name, "padding", options.padding, spatial);
  options.output_padding = sizes_of(name, "output_padding", options.output_padding, spatial);
  options.dilation = sizes_of(name, "dilation", options.dilation, spatial);
  return options;
}

const char* mode_name(PadMode mode) {
  constexpr const char* kNames[] = {"zeros", "reflect", "replicate", "circular"};
  return kNames[static_cast<size_t>(mode)];
}

// The padding of every end as aorta::pad takes it, the last dimension first.
Dims explicit_padding(const Conv& conv) {
  const ConvOptions& o = conv.options;
  Dims padding;
  for (int d = conv.spatial - 1; d >= 0; --d) {
    if (o.padding.same()) {
      const int64_t total = o.dilation[d] * (conv.kernel_size[d] - 1);
      padding.push_back(total / 2);
      padding.push_back(total - total / 2);
    } else {
      padding.push_back(o.padding.sizes()[d]);
      padding.push_back(o.padding.sizes()[d]);
    }
  }
  return padding;
}

bool is_zero(const Dims& dims) {
  for (const int64_t size : dims) {
    if (size != 0) return false;
  }
  return true;
}

bool is_one(const Dims& dims) {
  for (const int64_t size : dims) {
    if (size != 1) return false;
  }
  return true;
}

}  // namespace

Conv::Conv(int dims, int64_t in, int64_t out, const Dims& kernel, const ConvOptions& conv_options)
    : spatial(dims),
      in_channels(in),
      out_channels(out),
      kernel_size(sizes_of(layer_name("Conv", dims), "kernel_size", kernel, dims)),
      options(spread(layer_name("Conv", dims), dims, conv_options)),
      weight(*this, "weight",
             weight_of(layer_name("Conv", dims), dims, out, in, conv_options.groups, kernel)),
      bias(*this, "bias", conv_options.bias ? empty({out}) : Tensor()) {
  check(!options.padding.same() || is_one(options.stride), layer_name("Conv", dims),
        "padding \"same\" needs stride 1", options.stride);
  Conv::reset_parameters();
}

void Conv::reset_parameters() { reset(weight, bias); }

std::string Conv::type_name() const { return layer_name("Conv", spatial); }

Tensor Conv::forward(const Tensor& input) const {
  ConvolutionOptions o{options.stride, options.padding, options.dilation, options.groups};
  Tensor x = input;
  if (options.padding_mode != PadMode::constant) {
    x = pad(input, explicit_padding(*this), options.padding_mode);
    o.padding = 0;
  }
  if (spatial == 1) return conv1d(x, weight, bias, o);
  return spatial == 2 ? conv2d(x, weight, bias, o) : conv3d(x, weight, bias, o);
}

std::string Conv::extra_repr() const {
  std::string text = fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels,
                                 repr(kernel_size), repr(options.stride));
  if (options.padding.same())
    text += ", padding=same";
  else if (!is_zero(options.padding.sizes()))
    text += ", padding=" + repr(options.padding.sizes());
  if (!is_one(options.dilation)) text += ", dilation=" + repr(options.dilation);
  if (options.groups != 1) text += fmt::format(", groups={}", options.groups);
  if (!bias.defined()) text += ", bias=False";
  if (options.padding_mode != PadMode::constant) {
    text += fmt::format(", padding_mode={}", mode_name(options.padding_mode));
  }
  return text;
}

int64_t Conv::multiply_adds(const std::vector<Tensor>&, const std::vector<Tensor>& outputs) const {
  return outputs.at(0).numel() * (weight.numel() / out_channels);
}

ConvTranspose::ConvTranspose(int dims, int64_t in, int64_t out, const Dims& kernel,
                             const ConvTransposeOptions& conv_options)
    : spatial(dims),
      in_channels(in),
      out_channels(out),
      kernel_size(sizes_of(layer_name("ConvTranspose", dims), "kernel_size", kernel, dims)),
      options(spread(layer_name("ConvTranspose", dims), dims, conv_options)),
      weight(
          *this, "weight",
          weight_of(layer_name("ConvTranspose", dims), dims, in, out, conv_options.groups, kernel)),
      bias(*this, "bias", conv_options.bias ? empty({out}) : Tensor()) {
  ConvTranspose::reset_parameters();
}

void ConvTranspose::reset_parameters() { reset(weight, bias); }

std::string ConvTranspose::type_name() const { return layer_name("ConvTranspose", spatial); }

Tensor ConvTranspose::run(const Tensor& input, const Dims& output_padding) const {
  const ConvolutionTransposeOptions o{options.stride, options.padding, output_padding,
                                      options.groups, options.dilation};
  if (spatial == 1) return conv_transpose1d(input, weight, bias, o);
  return spatial == 2 ? conv_transpose2d(input, weight, bias, o)
                      : conv_transpose3d(input, weight, bias, o);
}

Tensor ConvTranspose::forward(const Tensor& input) const {
  return run(input, options.output_padding);
}

Tensor ConvTranspose::operator()(const Tensor& input, const Dims& output_size) const {
  return call_module(*this, input, output_size);
}

Tensor ConvTranspose::forward(const Tensor& input, const Dims& wanted) const {
  const std::string name = type_name();
  check((wanted.size() == spatial || wanted.size() == input.dim()) && input.dim() > spatial, name,
        "output_size must have the spatial sizes or all", wanted, " for input ", input.shape());
  const Dims output_size = std::span(wanted.end() - spatial, wanted.end());
  Dims output_padding;
  for (int d = 0; d < spatial; ++d) {
    const int64_t stride = options.stride[d];
    const int64_t least = (input.size(d - spatial) - 1) * stride - 2 * options.padding[d] +
                          options.dilation[d] * (kernel_size[d] - 1) + 1;
    check(output_size[d] >= least && output_size[d] < least + stride, name,
          "output_size must be one that the stride makes equal", output_size[d], " for ", least,
          " to ", least + stride - 1);
    output_padding.push_back(output_size[d] - least);
  }
  return run(input, output_padding);
}

std::string ConvTranspose::extra_repr() const {
  std::string text = fmt::format("{}, {}, kernel_size={}, stride={}", in_channels, out_channels,
                                 repr(kernel_size), repr(options.stride));
  if (!is_zero(options.padding)) text += ", padding=" + repr(options.padding);
  if (!is_one(options.dilation)) text += ", dilation=" + repr(options.dilation);
  if (!is_zero(options.output_padding)) text += ", output_padding=" + repr(options.output_padding);
  if (options.groups != 1) text += fmt::format(", groups={}", options.groups);
  if (!bias.defined()) text += ", bias=False";
  return text;
}

int64_t ConvTranspose::multiply_adds(const std::vector<Tensor>& inputs,
                                     const std::vector<Tensor>&) const {
  return inputs.at(0).numel() * (weight.numel() / in_channels);
}

}  // namespace aorta::nn
