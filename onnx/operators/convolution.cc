#include <aorta/core/ops/convolution.h>

#include <aorta/core/ops/rearrange.h>
#include <aorta/core/ops/view.h>
#include <aorta/onnx/operators/window.h>

#include <algorithm>

namespace aorta::onnx {
namespace {

Dims kernel_of(const Tensor& weight) {
  Dims kernel;
  for (int d = 2; d < weight.dim(); ++d) kernel.push_back(weight.size(d));
  return kernel;
}

int64_t groups_of(const Node& node) {
  const int64_t groups = node.integer("group", 1);
  node.check(groups > 0, "attribute group must be positive", groups);
  return groups;
}

// What padding or a wanted shape leave of the whole result: what stands beyond is cut off.
Run transposed_convolutions(const Node& node) {
  const Window window(node);
  const int64_t groups = groups_of(node);
  const std::vector<int64_t> more = node.integers("output_padding");
  const std::vector<int64_t> wanted = node.integers("output_shape");
  for (const auto* numbers : {&more, &wanted})
    for (const int64_t number : *numbers)
      node.check(number >= 0 && number < kMostPlaces,
                 "output_padding and output_shape must be 0 to 2147483647", number);
  return [=](const Inputs& x) -> Tensors {
    const Window::Placed w = window.place("ConvTranspose", x[0], kernel_of(x[1]));
    const auto spatial = static_cast<size_t>(w.spatial());
    check((more.empty() || more.size() == spatial) && (wanted.empty() || wanted.size() >= spatial),
          "ConvTranspose", "output_padding and output_shape must have a number for each dimension",
          more.size(), " and ", wanted.size(), " for ", spatial);
    Dims begin, size, extra;
    for (int d = 0; d < w.spatial(); ++d) {
      const auto place = static_cast<size_t>(d);
      const int64_t whole = (w.size[d] - 1) * w.stride[d] + w.reach(d);
      const int64_t added = more.empty() ? 0 : more[place];
      int64_t length = whole + added - w.before[d] - w.after[d], before = w.before[d];
      if (!wanted.empty() || window.is_same()) {
        // An output_shape of all dimensions has those of samples and channels in front.
        length = wanted.empty() ? w.size[d] * w.stride[d] : wanted[wanted.size() - spatial + place];
        const bool upper = window.automatic == Window::Automatic::same_upper;
        before = halves(std::max<int64_t>(whole + added - length, 0), upper).before;
      }
      check(length >= 0 && before + length - whole < std::max(w.stride[d], w.dilation[d]) + added,
            "ConvTranspose", "output_shape must be one that the input gives", length, " from ",
            w.size[d]);
      begin.push_back(before);
      size.push_back(length);
      extra.push_back(std::max<int64_t>(before + length - whole, 0));
    }
    const ConvolutionTransposeOptions options{w.stride, 0, extra, groups, w.dilation};
    const Tensor bias = x.or_none(2);
    Tensor y = w.spatial() == 1   ? conv_transpose1d(x[0], x[1], bias, options)
               : w.spatial() == 2 ? conv_transpose2d(x[0], x[1], bias, options)
                                  : conv_transpose3d(x[0], x[1], bias, options);
    for (int d = 0; d < w.spatial(); ++d) y = y.narrow(d + 2, begin[d], size[d]);
    return {y};
  };
}

}  // namespace

Run convolution(const Node& node) {
  const Window window(node);
  const int64_t groups = groups_of(node);
  return [=](const Inputs& x) -> Tensors {
    const Window::Placed w = window.place("Conv", x[0], kernel_of(x[1]));
    ConvolutionOptions options{w.stride, 0, w.dilation, groups};
    Tensor input = x[0];
    if (w.before == w.after) {
      options.padding = w.before;
    } else {
      Dims padding;
      for (int d = w.spatial() - 1; d >= 0; --d) {
        padding.push_back(w.before[d]);
        padding.push_back(w.after[d]);
      }
      input = pad(input, padding);
    }
    const Tensor bias = x.or_none(2);
    if (w.spatial() == 1) return {conv1d(input, x[1], bias, options)};
    if (w.spatial() == 2) return {conv2d(input, x[1], bias, options)};
    return {conv3d(input, x[1], bias, options)};
  };
}

void add_convolution(Operators& table) {
  table["Conv"] = {convolution, 2, 3};
  table["ConvTranspose"] = {transposed_convolutions, 2, 3};
}

}  // namespace aorta::onnx
