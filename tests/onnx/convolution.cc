#include <aorta/core/ops/convolution.h>

#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/tests/onnx/operators.h>

#include <algorithm>

namespace aorta::onnx {
namespace {

/// The attributes of a convolution; padding by dimension, before and after.
struct Window {
  int spatial;
  Dims kernel, stride, dilation, before, after;
  std::string automatic;

  explicit Window(const Case& c)
      : spatial(c.inputs[0].dim() - 2),
        stride(numbers(c, "strides", 1)),
        dilation(numbers(c, "dilations", 1)),
        automatic(c.text("auto_pad", "NOTSET")) {
    const std::vector<int64_t> pads =
        c.attributes.value("pads", std::vector<int64_t>(static_cast<size_t>(2 * spatial), 0));
    for (int d = 0; d < spatial; ++d) {
      kernel.push_back(c.inputs[1].size(d + 2));
      before.push_back(pads[static_cast<size_t>(d)]);
      after.push_back(pads[static_cast<size_t>(d + spatial)]);
    }
  }

  Dims numbers(const Case& c, const char* key, int64_t otherwise) const {
    return c.attributes.value(key, std::vector<int64_t>(static_cast<size_t>(spatial), otherwise));
  }
  bool is_same() const { return automatic == "SAME_UPPER" || automatic == "SAME_LOWER"; }
  int64_t reach(int d) const { return (kernel[d] - 1) * dilation[d] + 1; }
  /// The odd one goes to the end, or to the start.
  void pad(int d, int64_t total, bool upper) {
    before[d] = upper ? total / 2 : total - total / 2;
    after[d] = total - before[d];
  }
};

Tensor bias_of(const Case& c) { return c.has(2) ? c.inputs[2] : Tensor(); }

Tensors convolutions(const Case& c) {
  Window w(c);
  const Tensor& x = c.inputs[0];
  Dims padding;
  for (int d = w.spatial - 1; d >= 0; --d) {
    const int64_t size = x.size(d + 2), windows = (size + w.stride[d] - 1) / w.stride[d];
    if (w.is_same())
      w.pad(d, std::max<int64_t>((windows - 1) * w.stride[d] + w.reach(d) - size, 0),
            w.automatic == "SAME_UPPER");
    padding.push_back(w.before[d]);
    padding.push_back(w.after[d]);
  }
  ConvolutionOptions options{w.stride, 0, w.dilation, c.integer("group", 1)};
  Tensor padded = x;
  if (w.before == w.after)
    options.padding = w.before;
  else
    padded = pad(x, padding);
  if (w.spatial == 1) return {conv1d(padded, c.inputs[1], bias_of(c), options)};
  if (w.spatial == 2) return {conv2d(padded, c.inputs[1], bias_of(c), options)};
  return {conv3d(padded, c.inputs[1], bias_of(c), options)};
}

Tensors transposed_convolutions(const Case& c) {
  Window w(c);
  const Tensor& x = c.inputs[0];
  Dims more = w.numbers(c, "output_padding", 0);
  const std::vector<int64_t> wanted = c.attributes.value("output_shape", std::vector<int64_t>());
  for (int d = 0; d < w.spatial && !wanted.empty(); ++d) {
    const int64_t size = (x.size(d + 2) - 1) * w.stride[d] + w.reach(d);
    more[d] = std::max<int64_t>(more[d], wanted[static_cast<size_t>(d)] - size);
  }
  const ConvolutionTransposeOptions options{w.stride, 0, more, c.integer("group", 1), w.dilation};
  Tensor y = w.spatial == 1   ? conv_transpose1d(x, c.inputs[1], bias_of(c), options)
             : w.spatial == 2 ? conv_transpose2d(x, c.inputs[1], bias_of(c), options)
                              : conv_transpose3d(x, c.inputs[1], bias_of(c), options);
  for (int d = 0; d < w.spatial; ++d) {
    if (w.is_same() || !wanted.empty()) {
      const int64_t size =
          wanted.empty() ? x.size(d + 2) * w.stride[d] : wanted[static_cast<size_t>(d)];
      w.pad(d, y.size(d + 2) - size, w.automatic == "SAME_UPPER");
    }
    y = y.slice(d + 2, w.before[d], y.size(d + 2) - w.after[d]);
  }
  return {y};
}

}  // namespace

void add_convolution(Operators& table) {
  constexpr double kSums = 1e-5;
  table["Conv"] = {convolutions, kSums, kSums};
  table["ConvTranspose"] = {transposed_convolutions, kSums, kSums};
}

}  // namespace aorta::onnx
