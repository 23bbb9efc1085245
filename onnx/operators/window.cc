#include <aorta/onnx/operators/window.h>

#include <aorta/core/integers.h>

#include <algorithm>

namespace aorta::onnx {
Window::Window(const Node& node)
    : automatic(static_cast<Automatic>(
          node.choice("auto_pad", {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}))),
      kernel(node.integers("kernel_shape")),
      strides(node.integers("strides")),
      dilations(node.integers("dilations")),
      pads(node.integers("pads")) {
  for (const auto* numbers : {&kernel, &strides, &dilations})
    for (const int64_t number : *numbers)
      node.check(number > 0 && number < kMostPlaces,
                 "kernel_shape, strides and dilations must be 1 to 2147483647", number);
  for (const int64_t number : pads)
    node.check(number >= 0 && number < kMostPlaces, "pads must be 0 to 2147483647", number);
}

bool Window::Placed::is_dilated() const {
  return std::any_of(dilation.begin(), dilation.end(), [](int64_t step) { return step != 1; });
}

Halves halves(int64_t total, bool at_end) {
  const int64_t less = total / 2, more = total - less;
  return at_end ? Halves{less, more} : Halves{more, less};
}

Window::Placed Window::place(const char* op, const Tensor& input, const Dims& kernel_size) const {
  const int spatial = input.dim() - 2;
  check(spatial >= 1 && spatial <= 3, op, "input must have 1 to 3 spatial dimensions",
        input.shape());
  for (int d = 2; d < input.dim(); ++d)
    check(input.size(d) < kMostPlaces, op, "spatial sizes must be below 2^31", input.shape());
  for (const int64_t size : kernel_size)
    check(size < kMostPlaces, op, "kernel sizes must be below 2^31", kernel_size);
  const auto numbers = [&](const std::vector<int64_t>& given, int64_t otherwise) {
    check(given.empty() || given.size() == static_cast<size_t>(spatial), op,
          "attributes must have a number for each spatial dimension", given.size(), " of ",
          spatial);
    return given.empty() ? Dims::filled(spatial, otherwise) : Dims(given);
  };
  check(pads.empty() || pads.size() == 2 * static_cast<size_t>(spatial), op,
        "pads must be two for each spatial dimension", pads.size(), " of ", 2 * spatial);
  check(kernel_size.size() == spatial && (kernel.empty() || Dims(kernel) == kernel_size), op,
        "kernel_shape must be the kernel's", kernel_size);
  Placed placed;
  placed.kernel = kernel_size;
  placed.stride = numbers(strides, 1);
  placed.dilation = numbers(dilations, 1);
  for (int d = 0; d < spatial; ++d) {
    const int64_t size = input.size(d + 2), stride = placed.stride[d];
    placed.size.push_back(size);
    Halves pad{0, 0};
    if (is_same()) {
      const int64_t windows = divide_up(size, stride);
      pad = halves(std::max<int64_t>((windows - 1) * stride + placed.reach(d) - size, 0),
                   automatic == Automatic::same_upper);
    } else if (automatic == Automatic::none && !pads.empty()) {
      pad = {pads[static_cast<size_t>(d)], pads[static_cast<size_t>(d + spatial)]};
    }
    placed.before.push_back(pad.before);
    placed.after.push_back(pad.after);
  }
  return placed;
}

}  // namespace aorta::onnx
